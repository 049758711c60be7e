// Who does the work: leases, load, what wakes them.
import { html, useEffect, useStore } from '../lib.js'
import { t, duration, num } from '../i18n.js'
import { Act } from '../act.js'
import { Answer, Time, useData, useTitle, second } from '../parts.js'
import { List } from '../table.js'

export function Lease({ of }) {
  const now = useStore(second)
  const silent = Math.max(of.silent_ms, now - new Date(of.last_heartbeat)) // clocks differ: never less than the server said
  return html`<span class=${of.live ? 'n' : 'n bad'}>${duration(of.live ? Math.min(silent, of.lease_ms) : silent)}</span><span class="hint n"> / ${duration(of.lease_ms)}</span>`
}

export function Replicas() {
  const answer = useData('replicas')
  useEffect(() => {
    const timer = setInterval(() => document.hidden || answer.reload(), 5000)
    return () => clearInterval(timer)
  }, [])
  useTitle(t('nav.replicas'))
  const columns = [
    { key: 'name', label: t('col.name'), kind: 'wide', cell: (r) => html`<span class=${r.live ? 'lamp on' : 'lamp'} aria-hidden="true"></span><b dir="auto">${r.name}</b>
      ${r.worker && html` <span class="tag">${t('replica.worker')}</span>`}${r.stream && html` <span class="tag">${t('replica.stream')}</span>`}<br /><span class="id hint">${r.replica_id}</span>` },
    { key: 'state', label: t('col.status'), cell: (r) => html`${t(`replica.state.${r.live || r.state !== 'ACTIVE' ? r.state : 'STALE'}`)}${r.paused_at && html` <span class="tag warn">${t('plan.paused')}</span>`}` },
    { key: 'lease', label: t('replica.lease'), cell: (r) => html`<${Lease} of=${r} />` },
    { key: 'load', label: t('replica.load'), kind: 'num', cell: (r) => html`<meter min="0" max=${r.concurrency || 1} value=${Number(r.running)} aria-label=${t('replica.load')}></meter> <span class="n">${num(r.running)} / ${num(r.concurrency)}</span>` },
    { key: 'wake', label: t('replica.wake'), kind: 'mid', cell: (r) => r.wake_source ?? '–' },
    { key: 'version', label: t('replica.version'), kind: 'lo', cell: (r) => r.version },
    { key: 'takes', label: t('replica.takes'), kind: 'lo wide', cell: (r) => html`<span class="hint cut" title=${[...r.queues, ...r.types, ...r.databases].join(', ')} dir="auto">${[r.queues.join(', '), r.types.join(', '), r.databases.join(', ')].filter(Boolean).join(' · ')}</span>` },
    { key: 'since', label: t('col.started'), kind: 'lo', cell: (r) => html`<${Time} at=${r.started_at} />` },
    { key: 'acts', label: t('col.acts'), cell: (r) => r.live && !r.worker && r.state === 'ACTIVE' && html`<span class="acts row">${[r.paused_at ? 'resume' : 'pause', 'drain'].map((act) => html`<${Act} key=${act} act=${act} on=${{ kind: 'replica', ids: [r.replica_id] }} kind="small" then=${answer.reload} />`)}</span>` },
  ]
  return html`<header class="title"><h1>${t('nav.replicas')}</h1></header>
    <${Answer} of=${answer}><${List} list=${{ items: answer.data?.items ?? [], next: null }} label=${t('nav.replicas')} id=${(r) => r.replica_id} columns=${columns} none=${t('replicas.none')} /><//>`
}
