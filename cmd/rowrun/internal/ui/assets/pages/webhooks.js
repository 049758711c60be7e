// Whom plans tell, and each message: its body, its tries, once more.
import { html, useStore } from '../lib.js'
import { t, num } from '../i18n.js'
import { link, place } from '../router.js'
import { Act } from '../act.js'
import { Answer, Copy, Crumbs, PlanLink, RunLink, Tabs, TaskLink, Time, useData, useList, useTitle } from '../parts.js'
import { Filters, Pick, Word } from '../filters.js'
import { List, count } from '../table.js'
import { parse } from '../exact.js'
import { Json } from '../json.js'

const tabs = (at) => html`<${Tabs} label=${t('nav.webhooks')} items=${[[t('nav.webhooks'), 'webhooks', at === 'webhooks'], [t('nav.deliveries'), 'deliveries', at === 'deliveries']]} />`
const states = ['PENDING', 'DELIVERED', 'EXHAUSTED', 'DISABLED']
// What a message is about: a plan, a task and its run, or a type of task.
const About = ({ of: d }) => html`<span dir="auto">${d.plan_id ? html`<${PlanLink} id=${d.plan_id} name=${d.plan} />` : d.task_id ? html`<${TaskLink} id=${d.task_id} name=${d.task} />` : d.type}${d.run_id && html` <${RunLink} id=${d.run_id} />`}</span>`
const State = ({ of }) => html`<span class=${`delivery ${of.toLowerCase()}`}>${t(`delivery.${of}`)}</span>`

export function Webhooks() {
  const list = useList('webhooks')
  useTitle(t('nav.webhooks'))
  const columns = [
    { key: 'name', label: t('col.name'), kind: 'wide', cell: (hook) => html`<a data-main href=${`webhooks/${hook.id}`} dir="auto">${hook.name || `#${hook.id}`}</a>${!hook.enabled && html` <span class="tag warn">${t('webhook.off')}</span>`}` },
    { key: 'url', label: t('webhook.url'), kind: 'mid wide', cell: (hook) => html`<code class="cut" dir="auto">${hook.url ?? '–'}</code>` },
    { key: 'project', label: t('col.project'), kind: 'lo', cell: (hook) => hook.project },
    { key: 'signed', label: t('webhook.signed'), kind: 'lo', cell: (hook) => (hook.signed === null ? '–' : t(hook.signed ? 'common.yes' : 'common.no')) },
    { key: 'format', label: t('webhook.format'), kind: 'lo', cell: (hook) => hook.format },
    { key: 'pending', label: t('delivery.PENDING'), kind: 'num', cell: (hook) => html`<a href=${link('deliveries', { webhook: hook.id, status: 'PENDING' })}>${count(hook.pending)}</a>` },
    { key: 'acts', label: t('col.acts'), cell: (hook) => html`<${Act} act="test" on=${{ kind: 'webhook', ids: [hook.id] }} kind="small" />` },
  ]
  return html`<header class="title"><h1>${t('nav.webhooks')}</h1></header>${tabs('webhooks')}
    <${Answer} of=${list}><${List} list=${list} label=${t('nav.webhooks')} columns=${columns} none=${t('webhooks.none')} /><//>`
}

export function Webhook({ id }) {
  const hook = useData(`webhooks/${id}`)
  const list = useList('deliveries', { webhook: id })
  useTitle(hook.data?.name ?? `#${id}`)
  return html`<${Crumbs} items=${[[t('nav.webhooks'), 'webhooks']]} /><${Answer} of=${hook}>${hook.data && html`
    <header class="title"><div class="what"><h1 dir="auto">${hook.data.name || `#${id}`}</h1><p class="sub"><span>${hook.data.project}</span><code dir="auto">${hook.data.url ?? '–'}</code>
      <span>${hook.data.events.join(', ')}</span>${!hook.data.enabled && html`<span class="tag warn">${t('webhook.off')}</span>`}</p></div>
      <div class="acts"><${Act} act="test" on=${{ kind: 'webhook', ids: [id] }} then=${list.reload} kind="primary" /></div></header>
    <h2>${t('nav.deliveries')}</h2><${Answer} of=${list}><${Messages} list=${list} filter=${{ webhook: id }} /><//>`}<//>`
}

function Messages({ list, filter }) {
  const columns = [
    { key: 'id', label: t('col.message'), cell: (d) => html`<a class="id" data-main href=${`deliveries/${d.id}`}>#${d.id}</a>` },
    { key: 'status', label: t('col.status'), cell: (d) => html`<${State} of=${d.status} />` },
    { key: 'event', label: t('delivery.event'), kind: 'mid', cell: (d) => d.event_type },
    { key: 'about', label: t('delivery.about'), kind: 'wide', cell: (d) => html`<${About} of=${d} />` },
    { key: 'attempts', label: t('delivery.attempts'), kind: 'num', cell: (d) => html`<span class="n">${num(d.attempts)}</span>` },
    { key: 'answer', label: t('delivery.answer'), kind: 'mid wide', cell: (d) => html`${d.response_code && html`<code>${d.response_code}</code> `}<span class="cut" dir="auto">${d.last_error}</span>` },
    { key: 'next', label: t('delivery.next'), kind: 'lo', cell: (d) => html`<${Time} at=${d.next_attempt_at} ago />` },
    { key: 'at', label: t('col.created'), kind: 'num', cell: (d) => html`<${Time} at=${d.created_at} />` },
  ]
  return html`<${List} list=${list} label=${t('nav.deliveries')} columns=${columns} none=${t('deliveries.none')} acts=${{ kind: 'delivery', names: ['redeliver'], filter, then: list.reload }} />`
}

export function Deliveries() {
  const { query } = useStore(place)
  const filter = Object.fromEntries(['webhook', 'plan', 'status'].filter((word) => query[word]).map((word) => [word, query[word]]))
  const list = useList('deliveries', filter)
  useTitle(t('nav.deliveries'))
  return html`<header class="title"><h1>${t('nav.deliveries')}</h1></header>${tabs('deliveries')}
    <${Filters} words=${['webhook', 'plan', 'status']}><${Pick} name="status" label=${t('filter.status')} values=${states.map((s) => [s, t(`delivery.${s}`)])} />
      <${Word} name="webhook" label=${t('filter.webhook')} /><${Word} name="plan" label=${t('filter.plan')} /><//>
    <${Answer} of=${list}><${Messages} list=${list} filter=${filter} /><//>`
}

export function Delivery({ id }) {
  const answer = useData(`deliveries/${id}`)
  const d = answer.data
  useTitle(`#${id}`)
  let body = null
  try {
    body = d?.body ? parse(d.body) : null
  } catch { /* shown as it is */ }
  return html`<${Crumbs} items=${[[t('nav.webhooks'), 'webhooks'], [t('nav.deliveries'), 'deliveries']]} /><${Answer} of=${answer}>${d && html`
    <header class="title"><div class="what"><h1>${d.event_type} <span class="id">#${d.id}</span></h1><p class="sub"><${State} of=${d.status} /><${About} of=${d} /></p></div>
      <div class="acts">${d.may.redeliver && html`<${Act} act="redeliver" on=${{ kind: 'delivery', ids: [id] }} then=${answer.reload} kind="primary" icon="retry" />`}</div></header>
    <div class="columns"><div><section class="card"><h2>${t('delivery.body')}${d.body && html`<${Copy} text=${d.body} />`}</h2>
      ${d.hidden ? html`<p class="empty">${t('run.hidden')}</p>` : body ? html`<${Json} value=${body} />` : html`<pre class="detail" dir="auto">${d.body}</pre>`}</section></div>
    <div><section class="card"><h2>${t('run.facts')}</h2><dl class="facts">${[
    ['nav.webhook', html`<a href=${`webhooks/${d.webhook_id}`}>#${d.webhook_id}</a>`], ['delivery.message_id', html`<span class="id">${d.message_id}</span>`], ['delivery.attempts', num(d.attempts)],
    ['delivery.answer', d.response_code], ['delivery.error', d.last_error], ['delivery.next', d.next_attempt_at && html`<${Time} at=${d.next_attempt_at} />`],
    ['col.created', html`<${Time} at=${d.created_at} />`], ['delivery.DELIVERED', d.delivered_at && html`<${Time} at=${d.delivered_at} />`],
  ].filter(([, value]) => value).map(([key, value]) => html`<dt>${t(key)}</dt><dd dir="auto">${value}</dd>`)}</dl></section></div></div>`}<//>`
}
