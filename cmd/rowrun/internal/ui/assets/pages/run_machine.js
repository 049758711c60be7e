// The state machine with the way that this run took.
import { html } from '../lib.js'
import { t, clock } from '../i18n.js'
import { shapes, statusName } from '../icons.js'

const places = { PENDING: [70, 62], AVAILABLE: [230, 62], RUNNING: [390, 62], DONE: [556, 22], FAILED: [556, 62], CANCELED: [556, 118] }
const edges = [
  ['PENDING', 'AVAILABLE', 'M128 62H172'], ['AVAILABLE', 'RUNNING', 'M288 62H332'],
  ['RUNNING', 'DONE', 'M448 56C470 50 476 22 498 22'], ['RUNNING', 'FAILED', 'M448 62H498'],
  ['RUNNING', 'CANCELED', 'M420 80C440 118 470 118 498 118'], ['AVAILABLE', 'CANCELED', 'M230 80C236 124 380 124 498 118'],
  ['PENDING', 'CANCELED', 'M70 80C76 138 330 134 498 118'],
]

export function Machine({ run }) {
  const way = ['PENDING']
  const at = { PENDING: run.created_at, AVAILABLE: run.available_at, RUNNING: run.started_at }
  if (run.available_at) way.push('AVAILABLE')
  if (run.started_at) way.push('RUNNING')
  if (run.ended_at) {
    way.push(run.status)
    at[run.status] = run.ended_at
  }
  const taken = (from, to) => way.some((status, i) => status === from && way[i + 1] === to)
  const said = way.map((status) => `${statusName(status)} ${at[status] ? clock(at[status]) : ''}`).join(' → ')
  return html`<div class="machine-box" tabindex="0" role="group" aria-label=${t('run.way')}><svg class="machine" viewBox="0 0 626 146" role="img" aria-label=${t('run.way_said', { way: said })}>
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 1l7 3-7 3z" /></marker>
      <marker id="tip-lit" class="lit" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 1l7 3-7 3z" /></marker></defs>
    ${edges.map(([from, to, d]) => html`<path class=${taken(from, to) ? 'way lit' : 'way'} d=${d} marker-end=${taken(from, to) ? 'url(#tip-lit)' : 'url(#tip)'} />`)}
    ${Object.entries(places).map(([status, [x, y]]) => html`<g class=${`node st-${status} ${way.includes(status) ? 'been' : ''} ${status === run.status ? 'now' : ''}`}>
      <rect x=${x - 58} y=${y - 17} width="116" height="34" rx="6" />
      <g transform=${`translate(${x - 50} ${y - 7}) scale(0.875)`}>${shapes[status].stroke && html`<path d=${shapes[status].stroke} fill="none" stroke="var(--st)" stroke-width=${shapes[status].width ?? 1.6} stroke-linecap="round" />`}
        ${shapes[status].fill && html`<path d=${shapes[status].fill} fill="var(--st)" />`}</g>
      <text x=${x - 30} y=${at[status] && way.includes(status) ? y - 1 : y + 4}>${statusName(status)}</text>
      ${at[status] && way.includes(status) && html`<text class="at" x=${x - 30} y=${y + 11}>${clock(at[status])}</text>`}</g>`)}
  </svg></div>`
}
