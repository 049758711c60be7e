// The rollout: one plan, what is done, what runs, what waits and why.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState, useStore, settled, throttle } from '../lib.js'
import { get } from '../api.js'
import { t, num, decimal, duration, percent } from '../i18n.js'
import { place as address, setQuery } from '../router.js'
import { answersLast, useLive } from '../live.js'
import { Icon, Status, statuses } from '../icons.js'
import { Act } from '../act.js'
import { Search } from '../filters.js'
import { Answer, Button, Crumbs, Figure, StatusBar, Time, Took, useData, useTitle } from '../parts.js'
import { Model, place } from './plan_model.js'
import { Grid, describe } from './plan_grid.js'
import { HeatMap } from './plan_map.js'
import { TaskTable } from './plan_list.js'
import { Panel } from './plan_panel.js'
import { Scrubber } from './plan_scrub.js'
import { Tip } from './plan_tip.js'
import { Edges } from './plan_edges.js'
import { Waves } from './plan_waves.js'
import { Failures, Preview, Selected } from './plan_parts.js'

const mapFrom = 1000 // tasks

export function Plan({ id }) {
  const plan = useData(`plans/${id}`)
  const grid = useData(`plans/${id}/grid`)
  const model = useRef(null)
  const made = useRef(null)
  if (grid.data && made.current !== grid.data) {
    made.current = grid.data
    model.current = new Model(grid.data)
  }
  useTitle(plan.data ? plan.data.name || `#${id}` : '')
  return html`<${Crumbs} items=${[[t('nav.plans'), 'plans']]} />
    <${Answer} of=${plan}>${plan.data && html`<${Rollout} plan=${plan.data} reload=${plan.reload} grid=${grid} model=${model.current} />`}<//>`
}

function Rollout({ plan, reload, grid, model }) {
  const { query } = useStore(address)
  const [version, bump] = useState(0)
  const [arranged, rearrange] = useState(0)
  const dirty = useRef(false)
  const catchUp = useMemo(() => throttle(async () => {
    if (!model || document.hidden) return
    dirty.current = false
    try {
      if (model.merge(await get(`plans/${plan.id}/grid`, { since: model.token }))) rearrange((n) => n + 1)
      bump((n) => n + 1)
    } catch { /* the status region tells of a server that is away */ }
  }, 2500), [model, plan.id])
  const show = useMemo(() => throttle(() => bump((n) => n + 1), 100), []) // lines are taken in at each frame; nobody reads faster than this
  const head = useMemo(() => throttle(reload, 4000), [plan.id])
  // What is read at once after a line may have been read by the server before it: the last line is followed by one more reading.
  const settle = useMemo(() => settled(() => { catchUp(); head() }, answersLast), [catchUp, head])
  useEffect(() => () => { settle.stop(); catchUp.stop(); show.stop(); head.stop() }, [catchUp, head])
  useLive({ plan: plan.id }, (lines) => {
    if (!model) return
    let changed = false
    let moved = false
    for (const line of lines) {
      const before = line.task_id !== undefined && model.status[model.index.get(line.task_id)]
      const i = model.apply(line)
      if (i < 0) continue
      changed = true
      if ((statuses[before] === 'FAILED') !== (line.to === 'FAILED')) moved = true
    }
    if (moved) rearrange((n) => n + 1)
    if (changed) show()
    catchUp()
    head()
    settle()
  }, () => { catchUp(); reload(); settle() })
  const after = () => { reload(); catchUp() }
  const counts = model && !model.capped ? model.counts() : plan.counts // the model of a large plan has its first tasks only
  const total = plan.tasks || Object.values(counts).reduce((a, b) => a + b, 0)
  const ended = counts.DONE + counts.SKIPPED
  const moves = counts.RUNNING + counts.AVAILABLE > 0 // what stands still has no end in sight
  const picked = query.status ? query.status.split(',') : []
  const pick = (status) => setQuery({
    status: (picked.includes(status) ? picked.filter((s) => s !== status) : [...picked, status]).join(',') || null,
  })
  return html`<div class="rollout">
    <header class="title">
      <div class="what"><h1 dir="auto">${plan.name || `#${plan.id}`}</h1>
        <p class="sub"><${Status} status=${plan.status} />${plan.paused && html`<span class="tag warn"><${Icon} name="pause" size=${12} />${t('plan.paused')}</span>`}
          <span class="id">#${plan.id}</span><span>${plan.project}</span>
          ${plan.round > 1 && html`<span>${t('plan.round', { n: plan.round })}</span>`}
          <span>${t(`plan.on_failure.${plan.on_failure}`)}</span></p></div>
      <${Acts} plan=${plan} counts=${counts} after=${after} />
    </header>
    <section class="progress" aria-label=${t('plan.progress')}>
      <div class="figures">
        <${Figure} label=${t('plan.ended')} value=${percent(total ? ended / total : 0)} note=${`${num(ended)} / ${num(total)}`} />
        <${Figure} label=${t('plan.throughput')} value=${decimal(plan.throughput_per_minute)} note=${t('plan.per_minute')} />
        ${plan.ended_at ? html`<${Figure} label=${t('plan.took')} value=${duration(new Date(plan.ended_at) - new Date(plan.started_at))} note=${html`<${Time} at=${plan.ended_at} />`} />`
          : html`<${Figure} label=${t('plan.eta')} value=${moves && plan.eta ? html`<${Time} at=${plan.eta} ago />` : '–'} note=${moves && plan.eta && html`<${Time} at=${plan.eta} />`} />
            <${Figure} label=${t('plan.since')} value=${html`<${Took} from=${plan.started_at} />`} note=${html`<${Time} at=${plan.started_at} />`} />`}
        <${Figure} label=${t('plan.parallel')} value=${`${num(counts.RUNNING + counts.AVAILABLE)} / ${plan.max_parallel === null ? '∞' : num(plan.max_parallel)}`}
          note=${t('plan.parallel_note')} />
        <${Figure} label=${t('plan.attention')} value=${num(plan.attention)} tone=${plan.attention > 0 && 'bad'}
          href=${plan.attention > 0 ? `plans/${plan.id}?attention=1` : null} note=${t('plan.attention_note')} />
      </div>
      <${StatusBar} counts=${counts} legend picked=${picked} onPick=${pick} />
    </section>
    <${Waves} plan=${plan} unfinished=${counts.PENDING + counts.AVAILABLE + counts.RUNNING} after=${after} />
    <${Answer} of=${grid}>${model && html`<${Body} plan=${plan} model=${model} query=${query} version=${version} arranged=${arranged} after=${after} onReplay=${() => bump((n) => n + 1)} />`}<//>
  </div>`
}

function Acts({ plan, counts, after }) {
  const [preview, show] = useState(false)
  const on = { kind: 'plan', ids: [plan.id] }
  const unfinished = counts.PENDING + counts.AVAILABLE + counts.RUNNING
  return html`<div class="acts">
    <${Button} onClick=${() => show(true)}>${t('plan.preview')}<//>
    ${counts.FAILED + counts.CANCELED > 0 && html`<${Act} act="retry" on=${on} then=${after} icon="retry" kind=${counts.FAILED ? 'primary' : ''}>${t('plan.retry', { n: counts.FAILED + counts.CANCELED })}<//>`}
    ${counts.NOT_STARTED > 0 && html`<${Act} act="run" on=${on} then=${after} icon="play" kind=${counts.FAILED ? '' : 'primary'}>${t('plan.run', { n: counts.NOT_STARTED })}<//>`}
    ${plan.paused ? html`<${Act} act="resume" on=${on} then=${after} icon="play" />` : html`<${Act} act="pause" on=${on} then=${after} icon="pause" />`}
    <${Act} act="limit" on=${on} args=${{ limit: plan.max_parallel }} then=${after}>${t('plan.limit')}<//>
    ${unfinished > 0 && html`<${Act} act="cancel" on=${on} then=${after} kind="danger">${t('plan.cancel', { n: unfinished })}<//>`}
    ${preview && html`<${Preview} plan=${plan} onClose=${() => show(false)} />`}
  </div>`
}

function Body({ plan, model, query, version, arranged, after, onReplay }) {
  const [selected, setSelected] = useState(new Set())
  const [all, setAll] = useState(null)
  const [cursor, setCursor] = useState(null)
  const [hover, setHover] = useState(null)
  const [replayed, setReplayed] = useState(0)
  const handle = useRef(null)
  const anchor = useRef(null)
  const view = query.view ?? (model.size > mapFrom ? 'map' : 'grid')
  const folded = useMemo(() => new Set((query.fold ?? '').split('~').filter(Boolean)), [query.fold])
  const group = query.group === undefined ? null : Number(query.group)
  const filter = { q: query.q, status: query.status?.split(','), attention: query.attention === '1', group }
  const filtered = Boolean(query.q || query.status || query.attention || group !== null)
  const shown = useMemo(() => model.filter(filter), [model, version, replayed, query.q, query.status, query.attention, query.group])
  // Rows move when the filter or the set of failures changes, not with each transition.
  const layout = useMemo(() => place(model, { shown, folded, failedFirst: query.sort !== 'name' }),
    [model, arranged, query.sort, query.fold, query.q, query.status, query.attention, query.group])
  const open = query.task !== undefined && model.index.has(query.task) ? model.index.get(query.task) : null
  const at = (r, c) => {
    const content = layout.cells.get(r * layout.cols.length + c)
    return content === undefined ? [] : Array.isArray(content) ? content : [content]
  }
  const show = (i) => setQuery({ task: i === null ? null : model.tasks.id[i] })
  useLayoutEffect(() => { // the cell of an address that somebody sent
    const where = open !== null && layout.at.get(open)
    if (where && !cursor) {
      setCursor(where)
      handle.current?.reveal?.(...where)
    }
  }, [layout])

  // The filter that names just what is selected, where all that it names was: an act on more than ids can tell is by it.
  const error = group !== null && model.errors[group]
  const named = filtered && (group === null || error?.text)
    ? { plan: plan.id, q: query.q, status: query.status, attention: query.attention, error: error?.text, text: error?.code } : null
  const asked = JSON.stringify(named)
  const selectAll = () => {
    setSelected(new Set([...layout.at.keys()].filter((i) => shown[i]).map((i) => model.tasks.id[i])))
    setAll(asked)
  }
  const toggle = (list, on) => {
    setAll(null)
    setSelected((before) => {
      const next = new Set(before)
      for (const i of list) {
        const id = model.tasks.id[i]
        if (on ?? !before.has(id)) next.add(id)
        else next.delete(id)
      }
      return next
    })
  }
  const onPick = ([r, c], event) => {
    setCursor([r, c])
    if (event.shiftKey && anchor.current) {
      const [ar, ac] = anchor.current
      const list = []
      for (let y = Math.min(r, ar); y <= Math.max(r, ar); y++) for (let x = Math.min(c, ac); x <= Math.max(c, ac); x++) list.push(...at(y, x))
      toggle(list.filter((i) => !shown || shown[i]), true)
      return
    }
    anchor.current = [r, c]
    const list = at(r, c)
    if (event.ctrlKey || event.metaKey) toggle(list)
    else if (list.length === 1) show(list[0] === open ? null : list[0])
    else if (list.length > 1) setQuery({ fold: [...folded].filter((name) => name !== layout.cols[c].fold).join('~') || null })
  }
  const onKeys = (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], k: [-1, 0], j: [1, 0], h: [0, -1], l: [0, 1] }
    const { key } = event
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (key in steps) {
      let [r, c] = cursor ?? [-1, 0]
      if (!cursor) [r, c] = [0, 0]
      else {
        const [dr, dc] = steps[key]
        let [y, x] = [r + dr, c + dc]
        while (y >= 0 && x >= 0 && y < layout.rows.length && x < layout.cols.length && !at(y, x).length) [y, x] = [y + dr, x + dc]
        if (at(y, x).length && y >= 0 && x >= 0 && x < layout.cols.length) [r, c] = [y, x]
      }
      setCursor([r, c])
      handle.current?.reveal(r, c)
      if (open !== null && at(r, c).length === 1) show(at(r, c)[0])
    } else if (key === 'Home' && cursor) setCursor([cursor[0], 0])
    else if (key === 'Enter' && cursor && at(...cursor).length) onPick(cursor, {})
    else if ((key === 'x' || key === ' ') && cursor) toggle(at(...cursor))
    else if (key === 'Escape') open !== null ? show(null) : setSelected(new Set())
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const onHover = (where, event) => {
    const list = where ? at(...where) : []
    setHover(list.length === 1 ? { i: list[0], x: event.clientX, y: event.clientY } : null)
  }
  const onFold = (name) => {
    const next = new Set(folded)
    if (!next.delete(name)) next.add(name)
    setQuery({ fold: [...next].join('~') || null })
  }
  const visible = shown ? shown.reduce((sum, x) => sum + x, 0) : model.size
  const surface = {
    model, layout, shown, selected, cursor, handle, onPick, onHover, onKeys, onFold, version, replayed,
    label: t('plan.grid_label', { n: model.size }),
  }
  const said = cursor && at(...cursor).length === 1 ? describe(model, at(...cursor)[0]) : ''
  return html`
    ${model.errors.length > 0 && html`<${Failures} plan=${plan} model=${model} group=${group} arranged=${arranged} after=${after} />`}
    <div class="toolbar">
      <${Search} name="q" label=${t('plan.search')} />
      <button type="button" class="chip" aria-pressed=${query.attention === '1' ? 'true' : 'false'} onClick=${() => setQuery({ attention: query.attention === '1' ? null : '1' })}>
        <${Icon} name="warn" size=${13} /><span>${t('plan.needs')}</span></button>
      <button type="button" class="chip" aria-pressed=${query.sort !== 'name' ? 'true' : 'false'} onClick=${() => setQuery({ sort: query.sort === 'name' ? null : 'name' })}>${t('plan.failed_first')}</button>
      ${filtered && html`<span class="found" role="status">${t('plan.found', { n: visible })}</span>
        <button type="button" class="inline" onClick=${() => setQuery({ q: null, status: null, attention: null, group: null })}>${t('filter.clear')}</button>
        <button type="button" class="inline" onClick=${selectAll}>${t('plan.select_all', { n: visible })}</button>`}
      <span class="grow"></span>
      <div class="switch" role="group" aria-label=${t('plan.view')}>${['grid', 'map', 'list'].map((name) => html`
        <button type="button" aria-pressed=${view === name ? 'true' : 'false'} onClick=${() => setQuery({ view: name })}>${t(`plan.view_${name}`)}</button>`)}</div>
    </div>
    ${model.capped && html`<p class="hint">${t('plan.capped')}</p>`}
    <${Selected} model=${model} selected=${selected} filter=${all === asked ? named : null} clear=${() => setSelected(new Set())} after=${after} />
    <div class=${open !== null ? 'split with-panel' : 'split'}>
      <div class="stage">
        ${model.size === 0 ? html`<p class="empty">${t('plan.no_tasks')}</p>`
          : layout.rows.length === 0 ? html`<p class="empty">${t('plan.none_match')}</p>`
            : view === 'list' ? html`<${TaskTable} model=${model} shown=${shown} selected=${selected} toggle=${toggle} open=${show} arranged=${arranged} />`
              : html`<${view === 'map' ? HeatMap : Grid} ...${surface} said=${said} />`}
        ${open !== null && view !== 'list' && query.edges === '1' && html`<${Edges} plan=${plan} model=${model} task=${query.task} layout=${layout} handle=${handle} />`}
        ${view !== 'list' && model.size > 0 && html`<${Scrubber} plan=${plan} model=${model} onChange=${() => { setReplayed((n) => n + 1); onReplay() }} />`}
      </div>
      ${open !== null && html`<${Panel} key=${query.task} plan=${plan} model=${model} i=${open} version=${version} edges=${query.edges === '1'} close=${() => show(null)} after=${after} />`}
    </div>
    ${hover && html`<${Tip} model=${model} ...${hover} />`}`
}
