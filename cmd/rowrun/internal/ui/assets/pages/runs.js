// Runs by filter, page after page; nothing here counts the table.
import { html, useMemo, useState, useStore, throttle } from '../lib.js'
import { session } from '../api.js'
import { t } from '../i18n.js'
import { place, setQuery } from '../router.js'
import { useLive } from '../live.js'
import { Status } from '../icons.js'
import { Button, Answer, PlanLink, TaskLink, Time, Took, useList, useTitle } from '../parts.js'
import { Filters, Pick, Search, Word } from '../filters.js'
import { List } from '../table.js'

const words = ['status', 'type', 'queue', 'database', 'plan', 'task', 'text', 'since', 'until', 'failed', 'act', 'order']
const statuses = ['PENDING', 'AVAILABLE', 'RUNNING', 'DONE', 'FAILED', 'CANCELED']
const spans = { '15m': 15, '1h': 60, '6h': 360, '24h': 1440, '7d': 10080 }

// What the address calls "1h" is a moment for the API, the same one until the filter changes.
function filterOf(query) {
  const filter = Object.fromEntries(words.filter((word) => query[word]).map((word) => [word, query[word]]))
  if (spans[filter.since]) filter.since = new Date(Date.now() - spans[filter.since] * 60000).toISOString()
  return filter
}

export function Runs() {
  const { query } = useStore(place)
  const hidden = useStore(session)?.hide_data
  const [fresh, note] = useState(false)
  const filter = useMemo(() => filterOf(query), [JSON.stringify(query)])
  const list = useList('runs', filter)
  const again = useMemo(() => throttle(() => { // whoever reads further down isn't disturbed
    if (scrollY < 200) list.reload()
    else note(true)
  }, 2500), [JSON.stringify(filter), list.items?.length > 50])
  const of = Object.fromEntries(['plan', 'task', 'type', 'queue', 'database'].filter((word) => filter[word]).map((word) => [word, filter[word]]))
  useLive(of, () => again(), (why) => (why === 'opened' && scrollY >= 200) || again())
  useTitle(t('nav.runs'))
  const { order, ...acting } = filter
  return html`<header class="title"><h1>${t('nav.runs')}</h1>
      ${fresh && html`<${Button} icon="retry" onClick=${() => { note(false); scrollTo(0, 0); list.reload() }}>${t('runs.fresh')}<//>`}</header>
    <div class="legend pills" role="group" aria-label=${t('filter.status')}>
      <button type="button" class="chip" aria-pressed=${!query.status && !query.failed ? 'true' : 'false'} onClick=${() => setQuery({ status: null, failed: null })}>${t('filter.all')}</button>
      ${statuses.map((status) => html`<button type="button" key=${status} class="chip" aria-pressed=${query.status === status ? 'true' : 'false'}
        onClick=${() => setQuery({ status: query.status === status ? null : status, failed: null })}><${Status} status=${status} /></button>`)}
      <button type="button" class="chip" aria-pressed=${query.failed === '1' ? 'true' : 'false'} onClick=${() => setQuery({ failed: query.failed === '1' ? null : '1', status: null })}>${t('runs.for_good')}</button>
    </div>
    <${Filters} words=${words}>
      ${!hidden && html`<${Search} name="text" label=${t('runs.text')} />`}
      <${Word} name="task" label=${t('col.task')} /><${Word} name="type" label=${t('col.type')} /><${Word} name="queue" label=${t('col.queue')} />
      <${Word} name="database" label=${t('col.database')} /><${Word} name="plan" label=${t('filter.plan')} /><${Word} name="act" label=${t('col.act')} />
      <${Pick} name="since" label=${t('filter.since')} values=${Object.keys(spans).map((span) => [span, t(`since.${span}`)])} first=${t('filter.any_time')} />
      <${Pick} name="order" label=${t('filter.order')} first=${t('order.newest')} values=${[['oldest', t('order.oldest')]]} />
    <//>
    <${Answer} of=${list}><${List} list=${list} label=${t('nav.runs')} none=${t('runs.none')} columns=${columns()}
      acts=${{ kind: 'run', names: ['retry', 'cancel'], filter: acting, then: list.reload }} /><//>`
}

export const columns = () => [
  { key: 'id', label: t('col.run'), cell: (run) => html`<a class="id" data-main href=${`runs/${run.id}`}>#${run.id}</a>` },
  { key: 'status', label: t('col.status'), cell: (run) => html`<${Status} status=${run.status} />${run.cancel_requested && run.status === 'RUNNING' && html` <span class="tag warn">${t('run.canceling')}</span>`}` },
  { key: 'task', label: t('col.task'), kind: 'wide', cell: (run) => html`<span dir="auto"><${TaskLink} id=${run.task_id} name=${run.task} /></span>${run.attempt > 0 && html` <span class="hint">${t('run.attempt', { n: run.attempt + 1 })}</span>`}` },
  { key: 'type', label: t('col.type'), kind: 'xl', cell: (run) => run.type },
  { key: 'where', label: t('col.database'), kind: 'mid', cell: (run) => html`<span dir="auto">${run.database_id}</span> <span class="n hint">${run.version}</span>` },
  { key: 'plan', label: t('col.plan'), kind: 'lo', cell: (run) => html`<span class="cut short-cut" dir="auto"><${PlanLink} id=${run.plan_id} name=${run.plan} /></span>` },
  { key: 'why', label: t('col.why'), kind: 'mid', cell: (run) => html`${run.code && html`<code>${run.code}</code> `}<span class="cut" dir="auto">${run.detail ?? (run.status === 'PENDING' && run.cause ? t(`cause.${run.cause}`) : '')}</span>` },
  { key: 'took', label: t('col.took'), kind: 'num', cell: (run) => html`<${Took} from=${run.started_at} to=${run.ended_at} />` },
  { key: 'at', label: t('col.created'), kind: 'num', cell: (run) => html`<${Time} at=${run.created_at} />` },
]

