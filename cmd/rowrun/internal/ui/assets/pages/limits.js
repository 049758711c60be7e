// What may run at once, or start in a time: who holds the places, who waits for them.
import { html, useEffect, useRef, useStore } from '../lib.js'
import { t, decimal, duration, num } from '../i18n.js'
import { go, link, place } from '../router.js'
import { Act } from '../act.js'
import { Answer, Crumbs, Empty, RunLink, Time, useData, useTitle } from '../parts.js'
import { List } from '../table.js'
import { columns as runColumns } from './runs.js'

const counted = 1000 // where the server ends counting who waits
const rate = (l) => (l.rate === null ? '' : `${num(l.rate)} / ${duration(l.per_ms)}`)
const scope = (l) => [l.type, l.queue && `${t('col.queue')} ${l.queue}`, l.key_path && `${t('limit.key')} ${l.key_path.join('.')}`].filter(Boolean).join(' · ') || t('limit.any')
const ahead = (at) => at !== null && new Date(at) > Date.now()
const waiting = (n) => html`<span class=${n > 0 ? 'n warn-text' : 'n'}>${num(n)}${n >= counted ? '+' : ''}</span>`

function Places({ l }) {
  if (l.max_running === null) return html`<span class="n">${num(l.taken)}</span>`
  if (l.key_path) return html`<span class="n">${num(l.taken)}</span> <span class="hint">${t('limit.each', { n: l.max_running })}</span>`
  return html`<meter min="0" max=${l.max_running || 1} value=${Math.min(l.taken, l.max_running || 1)} aria-label=${t('limit.places')}></meter> <span class=${l.taken > l.max_running ? 'n bad' : 'n'}>${num(l.taken)} / ${num(l.max_running)}</span>`
}

function Pause({ at }) {
  if (!at) return null
  return ahead(at) ? html`<span class="tag warn">${t('plan.paused')}</span> <${Time} at=${at} />` : html`<span class="hint"><${Time} at=${at} /></span>`
}

function Acts({ l, then, gone }) {
  const on = { kind: 'limit', ids: [l.name] }
  return html`<span class="acts row"><${Act} act="limit" on=${on} args=${{ limit: l.max_running }} kind="small" then=${then} />
    <${Act} act="pause" on=${on} kind="small" then=${then} />
    ${l.not_before !== null && html`<${Act} act="resume" on=${on} kind="small" then=${then} />`}
    <${Act} act="delete" on=${on} kind="small danger" then=${gone ?? then} /></span>`
}

// What a poll shows without a stream: no transition tells of a token.
function usePolled(answer) {
  const last = useRef(answer)
  last.current = answer // of the key that is shown by now
  useEffect(() => {
    const timer = setInterval(() => document.hidden || last.current.reload(), 5000)
    return () => clearInterval(timer)
  }, [])
  return answer
}

export function Limits() {
  const { query } = useStore(place)
  return query.name ? html`<${Limit} key=${query.name} name=${query.name} of=${query.key} />` : html`<${All} />`
}

function All() {
  const answer = usePolled(useData('limits'))
  useTitle(t('nav.limits'))
  const columns = [
    { key: 'name', label: t('col.name'), kind: 'wide', cell: (l) => html`<a data-main href=${link('limits', { name: l.name })} dir="auto"><b>${l.name}</b></a><br /><span class="hint" dir="auto">${scope(l)}</span>` },
    { key: 'places', label: t('limit.places'), cell: (l) => html`<${Places} l=${l} />` },
    { key: 'waiting', label: t('limit.waiting'), kind: 'num', cell: (l) => waiting(l.waiting) },
    { key: 'rate', label: t('limit.rate'), kind: 'mid', cell: (l) => html`<span class="n">${rate(l)}</span>` },
    { key: 'pause', label: t('limit.not_before'), kind: 'mid', cell: (l) => html`<${Pause} at=${l.not_before} />` },
    { key: 'acts', label: t('col.acts'), cell: (l) => html`<${Acts} l=${l} then=${answer.reload} />` },
  ]
  return html`<header class="title"><h1>${t('nav.limits')}</h1></header>
    <${Answer} of=${answer}><${List} list=${{ items: answer.data?.items ?? [], next: null }} label=${t('nav.limits')} id=${(l) => l.name} columns=${columns} none=${t('limits.none')} /><//>`
}

function Limit({ name, of }) {
  const answer = usePolled(useData(`limits/${encodeURIComponent(name)}`, { key: of }))
  const l = answer.data
  useTitle(name)
  return html`<${Crumbs} items=${[[t('nav.limits'), 'limits']]} /><${Answer} of=${answer}>${l && html`<header class="title">
      <div class="what"><h1 dir="auto">${l.name}</h1><p class="sub"><span dir="auto">${scope(l)}</span></p></div><${Acts} l=${l} then=${answer.reload} gone=${() => go('limits')} /></header>
    <dl class="facts"><dt>${t('limit.places')}</dt><dd><${Places} l=${l} /></dd><dt>${t('limit.waiting')}</dt><dd>${waiting(l.waiting)}</dd>
      ${l.rate !== null && html`<dt>${t('limit.rate')}</dt><dd class="n">${rate(l)}</dd><dt>${t('limit.burst')}</dt><dd class="n">${num(l.burst ?? l.rate)}</dd>`}
      ${l.not_before !== null && html`<dt>${t('limit.not_before')}</dt><dd><${Pause} at=${l.not_before} /></dd>`}</dl>
    <${Keys} l=${l} />
    ${l.of_key !== null && html`<${Runs} title=${t('limit.holding')} runs=${l.holding} /><${Runs} title=${t('limit.waits')} runs=${l.waiting_runs} />`}`}<//>`
}

function Keys({ l }) {
  const columns = [
    { key: 'key', label: t('limit.key'), kind: 'wide', cell: (k) => (k.key === null ? html`<span class="hint">${l.key_path ? t('run.hidden') : t('limit.none_key')}</span>`
      : html`<a data-main href=${link('limits', { name: l.name, key: k.key })} dir="auto" aria-current=${k.key === l.of_key ? 'true' : undefined}>${k.key}</a>`) },
    { key: 'taken', label: t('limit.places'), kind: 'num', cell: (k) => html`<span class="n">${num(k.taken)}${l.max_running === null ? '' : ` / ${num(l.max_running)}`}</span>` },
    { key: 'waiting', label: t('limit.waiting'), kind: 'num', cell: (k) => waiting(k.waiting) },
    ...(l.rate === null ? [] : [{ key: 'tokens', label: t('limit.tokens'), kind: 'num', cell: (k) => html`<span class="n">${k.tokens === null ? '' : decimal(k.tokens)}</span>` }]),
    { key: 'opens', label: t('limit.opens'), kind: 'mid', cell: (k) => k.opens_at && html`<${Time} at=${k.opens_at} />` },
    { key: 'first', label: t('limit.first'), kind: 'mid', cell: (k) => k.first_run_id && html`<${RunLink} id=${k.first_run_id} />` },
  ]
  return html`<section><h2>${t('limit.keys')}</h2><${List} list=${{ items: l.keys.map((k, i) => ({ ...k, at: i })), next: null }} label=${t('limit.keys')} id=${(k) => k.at} columns=${columns} none=${t('limit.no_keys')} /></section>`
}

function Runs({ title, runs }) {
  const wanted = ['id', 'status', 'task', 'why', 'at']
  return html`<section><h2>${title}</h2>${runs.length === 0 ? html`<${Empty}>${t('runs.none')}<//>`
    : html`<${List} list=${{ items: runs, next: null }} label=${title} columns=${runColumns().filter((c) => wanted.includes(c.key))} none="" />`}</section>`
}
