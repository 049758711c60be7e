// One task of the rollout, beside the grid: what it is, why it waits, what it said, what can be done.
import { html, useEffect, useRef } from '../lib.js'
import { session } from '../api.js'
import { t, duration } from '../i18n.js'
import { setQuery } from '../router.js'
import { Icon, Status } from '../icons.js'
import { Act } from '../act.js'
import { Problem, RunLink, Time, Took, useData } from '../parts.js'
import { Why } from './plan_parts.js'

export function Panel({ plan, model, i, version, edges, close, after }) {
  const { tasks } = model
  const id = tasks.id[i]
  const run = tasks.run_id[i]
  const word = model.word(i)
  const task = useData(`tasks/${id}`)
  const details = useData(run && `runs/${run}`)
  const mark = `${run} ${word} ${tasks.paused[i]}`
  const before = useRef(mark)
  useEffect(() => {
    if (before.current === mark) return
    before.current = mark
    task.reload()
    details.reload()
  }, [mark])
  const on = { kind: 'task', ids: [id] }
  const done = () => { after(); task.reload(); details.reload() }
  const may = task.data?.may ?? {}
  const name = tasks.name[i] || `#${id}`
  const d = details.data
  return html`<aside class="panel" tabindex="-1" aria-label=${t('panel.label', { name })}>
    <header><div><h2 dir="auto">${name}</h2>
      <p class="sub"><${Status} status=${word} /><span>${model.types[tasks.type[i]]}</span></p></div>
      <button type="button" class="button quiet" onClick=${close}><${Icon} name="close" /><span class="sr">${t('common.close')}</span></button></header>
    <div class="acts">${['run', 'retry', 'cancel', 'skip', 'unskip', 'pause', 'resume'].filter((act) => may[act]).map((act) => html`
      <${Act} key=${act} act=${act} on=${on} then=${done} kind=${act === 'retry' || (act === 'run' && word === 'NOT_STARTED') ? 'primary' : ''} />`)}</div>
    <${Problem} error=${task.error ?? details.error} retry=${() => { task.reload(); details.reload() }} />
    ${d?.waiting.length > 0 && html`<section><h3>${t('run.waits')}</h3><${Why} waiting=${d.waiting} /></section>`}
    ${!run && html`<p class="hint">${t('panel.never')}</p>`}
    ${d?.detail && html`<section><h3>${t('run.failure')} ${d.code && html`<code>${d.code}</code>`}</h3><pre class="detail" dir="auto">${d.detail}</pre></section>`}
    <dl class="facts">
      ${model.database(i) !== null && html`<dt>${t('col.database')}</dt><dd dir="auto">${model.database(i)}</dd>`}
      ${model.version(i) !== null && html`<dt>${t('col.version')}</dt><dd class="n">${model.version(i)}</dd>`}
      <dt>${t('col.task')}</dt><dd><a href=${`tasks/${id}`} class="id">#${id}</a></dd>
      ${run && html`<dt>${t('col.run')}</dt><dd><${RunLink} id=${run} />${tasks.attempt[i] > 0 && html` <span class="hint">${t('run.attempt', { n: tasks.attempt[i] + 1 })}</span>`}</dd>`}
      ${d?.started_at && html`<dt>${t('col.took')}</dt><dd><${Took} from=${d.started_at} to=${d.ended_at} /></dd><dt>${t('col.started')}</dt><dd><${Time} at=${d.started_at} /></dd>`}
      ${d?.ended_at && html`<dt>${t('col.ended')}</dt><dd><${Time} at=${d.ended_at} /></dd>`}
      ${d?.replica_id && html`<dt>${t('col.replica')}</dt><dd class="id">${d.replica_id}</dd>`}
      ${task.data?.skip_reason && html`<dt>${t('task.skip_reason')}</dt><dd dir="auto">${task.data.skip_reason}</dd>`}
    </dl>
    ${task.data && (task.data.depends_on.length > 0 || task.data.needed_by.length > 0) && html`<section><h3>${t('panel.edges')}</h3>
      <button type="button" class="chip" aria-pressed=${edges ? 'true' : 'false'} onClick=${() => setQuery({ edges: edges ? null : '1' })}>${t('panel.draw')}</button>
      <${Tasks} title=${t('panel.depends_on')} ids=${task.data.depends_on} model=${model} />
      <${Tasks} title=${t('panel.needed_by')} ids=${task.data.needed_by} model=${model} /></section>`}
    ${task.data?.payload?.sql && html`<section><h3>SQL</h3><pre class="detail sql" dir="auto">${task.data.payload.sql}</pre></section>`}
    ${session.get()?.hide_data && html`<p class="hint">${t('run.hidden')}</p>`}
  </aside>`
}

function Tasks({ title, ids, model }) {
  if (!ids.length) return null
  return html`<h4>${title}</h4><ul class="tasks">${ids.slice(0, 20).map((id) => {
    const i = model.index.get(id)
    return html`<li key=${id}><button type="button" class="inline" onClick=${() => setQuery({ task: id })}>${i === undefined ? `#${id}` : model.tasks.name[i] || `#${id}`}</button>
      ${i !== undefined && html`<${Status} status=${model.word(i)} /><span class="n">${duration(model.duration(i, Date.now()))}</span>`}</li>`
  })}${ids.length > 20 && html`<li class="rest">${t('act.rest', { n: ids.length - 20 })}</li>`}</ul>`
}
