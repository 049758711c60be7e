// One run: its chain, where it is and was, what it waits for, what it says.
import { html, useEffect, useMemo, useRef, useState, throttle } from '../lib.js'
import { get } from '../api.js'
import { t, has, moment, num, percent } from '../i18n.js'
import { useLive } from '../live.js'
import { link } from '../router.js'
import { Icon, Status, StatusIcon } from '../icons.js'
import { Act } from '../act.js'
import { Answer, Copy, Crumbs, PlanLink, RunLink, TaskLink, Time, Took, useData, useTitle } from '../parts.js'
import { Exact, write } from '../exact.js'
import { Json, plain } from '../json.js'
import { Why } from './plan_parts.js'
import { Machine } from './run_machine.js'
import { Timeline } from './run_timeline.js'

export function Run({ id }) {
  const run = useData(`runs/${id}`)
  const again = useMemo(() => throttle(run.reload, 1500), [id])
  useEffect(() => () => again.stop(), [again])
  useLive(run.data && { run: run.data.root_id }, () => again(), () => again())
  const live = run.data && !run.data.ended_at
  useEffect(() => { // progress is no transition: the stream doesn't tell of it
    if (!live) return undefined
    const timer = setInterval(() => document.hidden || again(), 4000)
    return () => clearInterval(timer)
  }, [live, again])
  useTitle(run.data ? `#${id} ${run.data.task}` : `#${id}`)
  return html`<${Crumbs} items=${[[t('nav.runs'), 'runs']]} /><${Answer} of=${run}>${run.data && html`<${Details} run=${run.data} reload=${run.reload} />`}<//>`
}

function Details({ run, reload }) {
  const on = { kind: 'run', ids: [run.id] }
  const last = run.chain.at(-1)
  return html`<header class="title">
      <div class="what"><h1 dir="auto">${run.task || t('link.run', { id: run.id })}</h1>
        <p class="sub"><${Status} status=${run.status} /><span class="id">#${run.id}</span><span>${run.type}</span>
          ${run.attempt > 0 && html`<span>${t('run.attempt', { n: run.attempt + 1 })}</span>`}
          ${run.cancel_requested_at && run.status === 'RUNNING' && html`<span class="tag warn">${t('run.canceling')}</span>`}
          ${run.started_at && html`<${Took} from=${run.started_at} to=${run.ended_at} />`}</p></div>
      <div class="acts">
        ${run.may.retry && html`<${Act} act="retry" on=${on} then=${reload} icon="retry" kind="primary" />`}
        ${run.may.cancel && html`<${Act} act="cancel" on=${on} then=${reload} />`}
        ${run.may.abandon && html`<${Act} act="abandon" on=${on} then=${reload} kind="danger" />`}
        <${Copy} text=${run.sql} label=${t('run.copy_sql')} /><${Copy} text=${run.command} label=${t('run.copy_command')} />
      </div>
    </header>
    ${last && last.id !== run.id && html`<p class="notice"><${Icon} name="right" size=${13} />${t('run.later')} <${RunLink} id=${last.id} /> <${Status} status=${last.status} /></p>`}
    ${run.progress !== null && run.progress !== undefined && html`<${Progress} run=${run} />`}
    ${run.detail && html`<section class="card bad"><h2>${t(run.status === 'CANCELED' ? 'run.why_canceled' : 'run.failure')} ${run.code && html`<code>${run.code}</code>`}</h2><pre class="detail" dir="auto">${run.detail}</pre></section>`}
    ${run.waiting.length > 0 && html`<section class="card"><h2>${t('run.waits')}</h2><${Why} waiting=${run.waiting} /></section>`}
    <div class="columns">
      <div>
        <section class="card"><h2>${t('run.way')}</h2><${Machine} run=${run} /></section>
        <section class="card"><h2>${t('run.timeline')}</h2><${Timeline} run=${run} /></section>
        <${Gates} run=${run} />
        ${run.hidden ? html`<p class="notice">${t('run.hidden')}</p>` : html`<${Log} run=${run} />`}
      </div>
      <div>
        <section class="card"><h2>${t('run.facts')}</h2><${Facts} run=${run} /></section>
        <${Chain} run=${run} />
        ${!run.hidden && ['payload', 'input', 'result'].map((name) => html`<section class="card" key=${name}><h2>${t(`run.${name}`)}
          <${Copy} text=${write(run[name], 2)} /></h2><${Json} value=${run[name]} /></section>`)}
      </div>
    </div>`
}

function Progress({ run }) {
  const progress = run.progress instanceof Exact ? Number(run.progress) : run.progress
  const part = typeof progress === 'number' ? progress : progress.percent !== undefined ? progress.percent / 100
    : progress.total > 0 ? (progress.done ?? progress.current ?? 0) / progress.total : null
  if (typeof part === 'number' && part >= 0 && part <= 1) {
    return html`<div class="runprogress"><progress max="1" value=${part} aria-label=${t('run.progress')}></progress><b class="n">${percent(part)}</b>
      <span class="hint" dir="auto">${plain(progress.message ?? progress.text ?? '')}</span></div>`
  }
  return html`<section class="card"><h2>${t('run.progress')}</h2><${Json} value=${run.progress} /></section>`
}

function Facts({ run }) {
  const rows = [
    ['col.task', html`<${TaskLink} id=${run.task_id} name=${run.task} />`], ['col.plan', run.plan_id && html`<${PlanLink} id=${run.plan_id} name=${run.plan} />`],
    ['col.database', run.database_id], ['col.version', run.version], ['col.queue', run.queue], ['col.priority', num(run.priority)],
    ['col.replica', run.replica_id && html`<span class="id">${run.replica_id}</span>`], ['run.creator', run.creator], ['run.key', run.idempotency_key],
    ['col.created', html`<${Time} at=${run.created_at} />`], ['run.due', run.run_at !== run.created_at && html`<${Time} at=${run.run_at} />`],
    ['run.deadline', run.deadline && html`<${Time} at=${run.deadline} />`], ['run.cancel_asked', run.cancel_requested_at && html`<${Time} at=${run.cancel_requested_at} />`],
    ['run.cancel_reason', run.cancel_reason],
    ['nav.limits', run.limits.length > 0 && run.limits.map((name, i) => html`${i > 0 ? ', ' : ''}<a href=${link('limits', { name })}>${name}</a>`)],
    ['run.after', run.after.length > 0 && run.after.map((id, i) => html`${i > 0 ? ', ' : ''}<${RunLink} id=${id} />`)],
  ]
  return html`<dl class="facts">${rows.filter(([, value]) => value).map(([key, value]) => html`<dt>${t(key)}</dt><dd dir="auto">${value}</dd>`)}</dl>`
}

function Chain({ run }) {
  if (run.chain.length < 2) return null
  return html`<section class="card"><h2>${t('run.chain', { n: run.chain.length })}</h2><ol class="chain">${run.chain.map((one) => html`<li key=${one.id} class=${one.id === run.id ? 'here' : ''}>
    <${StatusIcon} status=${one.status} /><span class="n">${num(one.attempt + 1)}</span>
    ${one.id === run.id ? html`<b class="id" aria-current="true">#${one.id}</b>` : html`<${RunLink} id=${one.id} />`}
    ${one.code && html`<code>${one.code}</code>`}<span class="cut" dir="auto">${one.detail}</span><${Took} from=${one.started_at} to=${one.ended_at} /></li>`)}</ol></section>`
}

function Gates({ run }) {
  if (!run.gates.length) return null
  const mark = (matched) => (matched === null ? 'none' : matched ? 'open' : 'shut')
  return html`<section class="card"><h2>${t('run.gates')}</h2><table class="gates"><tbody>${run.gates.map((gate) => html`<tr class=${mark(gate.matched)}>
    <th scope="row"><span class="gate-mark" aria-hidden="true">${{ open: '✓', shut: '✗', none: '–' }[mark(gate.matched)]}</span>${has(`gate.${gate.gate}`) ? t(`gate.${gate.gate}`) : gate.gate}
      <span class="sr">${t(`gate.${mark(gate.matched)}`)}</span></th><td><code>${gate.term}</code></td><td dir="auto">${gate.message}</td></tr>`)}</tbody></table></section>`
}

// The log as it comes: what is there came with the run, the rest is asked for from where it ended.
function Log({ run }) {
  const [items, set] = useState(run.log.items)
  const [level, pick] = useState('')
  const cursor = useRef(run.log.next)
  const end = useRef()
  const follows = useRef(true)
  const over = Boolean(run.ended_at)
  useEffect(() => {
    set(run.log.items)
    cursor.current = run.log.next
  }, [run.id])
  useEffect(() => {
    let gone = false
    const read = async () => {
      while (cursor.current && !gone && !document.hidden) {
        const page = await get(`runs/${run.id}/log`, { cursor: cursor.current })
        if (gone) return
        cursor.current = page.next
        if (!page.items.length) return
        set((before) => {
          const seen = new Set(before.slice(-500).map((entry) => entry.id))
          return [...before, ...page.items.filter((entry) => !seen.has(entry.id))]
        })
      }
    }
    const quietly = () => read().catch(() => {})
    quietly()
    if (over) return () => { gone = true }
    const timer = setInterval(quietly, 2000)
    return () => {
      gone = true
      clearInterval(timer)
    }
  }, [run.id, over])
  useEffect(() => {
    if (follows.current && !over && end.current) end.current.scrollTop = end.current.scrollHeight
  }, [items])
  const types = [...new Set(items.map((entry) => entry.type))]
  const shown = level ? items.filter((entry) => entry.type === level) : items
  return html`<section class="card"><h2>${t('run.log')} ${!over && html`<span class="hint">${t('run.log_live')}</span>`}
      ${types.length > 1 && html`<select aria-label=${t('run.log_type')} value=${level} onChange=${(e) => pick(e.target.value)}><option value="">${t('filter.all')}</option>${types.map((type) => html`<option value=${type}>${type}</option>`)}</select>`}</h2>
    ${shown.length === 0 ? html`<p class="empty">${t('run.no_log')}</p>` : html`<div class="log" ref=${end} tabindex="0" role="log" aria-label=${t('run.log')}
      onScroll=${(e) => { const box = e.currentTarget; follows.current = box.scrollTop + box.clientHeight > box.scrollHeight - 20 }}>
      ${shown.slice(-2000).map((entry) => html`<div class="line" key=${entry.id}><time title=${moment(entry.at)} datetime=${entry.at}>${moment(entry.at).match(/\d\d:\d\d:\d\d[.,]?\d*/)?.[0]}</time>
        <span class="kind">${entry.type}</span><span class="text" dir="auto">${plain(entry.detail?.message ?? entry.detail)}</span></div>`)}</div>`}</section>`
}

