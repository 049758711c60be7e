// Icons as paths of a 16 × 16 field, for pages and for canvases. Those of statuses follow the characters that terminals show.
import { html } from './lib.js'
import looks from './statuses.js'
import { t } from './i18n.js'

const circle = (r) => `M8 ${8 - r}a${r} ${r} 0 1 1 0 ${2 * r}a${r} ${r} 0 1 1 0 ${-2 * r}z`

// stroke is drawn as a line of 1.6, fill is filled.
export const shapes = {
  NOT_STARTED: { stroke: circle(5.2), dash: '2 2.08' },
  PENDING: { stroke: circle(5.6), fill: 'M8 8V4.2A3.8 3.8 0 0 1 11.8 8z' },
  AVAILABLE: { stroke: circle(5.6), fill: circle(2.6) },
  RUNNING: { fill: 'M4.6 2.9v10.2c0 .5.6.8 1 .5l7.6-5.1c.4-.3.4-.8 0-1L5.6 2.4c-.4-.3-1 0-1 .5z' },
  DONE: { stroke: 'M3 8.6l3.3 3.3L13 4.9', width: 2 },
  SKIPPED: { stroke: 'M3.5 4l4 4-4 4M8.5 4l4 4-4 4', width: 1.8 },
  FAILED: { stroke: 'M4 4l8 8M12 4l-8 8', width: 2.2 },
  CANCELED: { stroke: circle(5.6) + 'M4.2 11.8l7.6-7.6' },
}

export const statuses = looks.map((look) => look.status)
const letters = { '-': 'NOT_STARTED', P: 'PENDING', A: 'AVAILABLE', R: 'RUNNING', D: 'DONE', S: 'SKIPPED', F: 'FAILED', C: 'CANCELED' }
export const statusOf = (letter) => letters[letter] ?? 'NOT_STARTED'
export const colorOf = Object.fromEntries(looks.map((look) => [look.status, look.color]))

export function StatusIcon({ status, size = 14 }) {
  const shape = shapes[status]
  if (!shape) return null
  return html`<svg class=${`ico st-${status}`} width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true">
    ${shape.stroke && html`<path d=${shape.stroke} fill="none" stroke="var(--st)" stroke-width=${shape.width ?? 1.6}
      stroke-dasharray=${shape.dash} stroke-linecap="round" stroke-linejoin="round" />`}
    ${shape.fill && html`<path d=${shape.fill} fill="var(--st)" />`}
  </svg>`
}

export const statusName = (status) => t(`status.${status}`)

// name: what else is said to be in that status, where it has words of its own.
export function Status({ status, title, name }) {
  return html`<span class=${`status st-${status}`} title=${title}><${StatusIcon} status=${status} /><span>${name ?? statusName(status)}</span></span>`
}

const drawn = {
  overview: 'M2.5 13.5V9M6.2 13.5V5M9.8 13.5V7.5M13.5 13.5V2.5',
  plans: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  runs: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  schedules: 'M8 2.3a5.7 5.7 0 1 1 0 11.4a5.7 5.7 0 1 1 0-11.4zM8 4.8V8l2.3 1.5',
  tasks: 'M3 2.5h10v11H3zM5.5 6h5M5.5 9h5',
  webhooks: 'M2.5 4h11v8h-11zM2.5 4.5L8 9l5.5-4.5',
  replicas: 'M2.5 2.8h11v4h-11zM2.5 9.2h11v4h-11zM5 4.8h.01M5 11.2h.01',
  limits: 'M3 12.5a5.5 5.5 0 1 1 10 0M8 10L10.8 6.2',
  acts: 'M3 13.5V3M3 3.5h9l-2 2.7 2 2.8H3',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9zM10.3 10.3L13.7 13.7',
  close: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3v10l8-5z',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4L6 8l4 4',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  warn: 'M8 2.5l6 11H2zM8 6.5v3M8 11.5h.01',
  link: 'M6.5 9.5l3-3M7 4.5l1.2-1.2a2.7 2.7 0 0 1 3.9 3.9L11 8.4M9 11.5l-1.2 1.2a2.7 2.7 0 0 1-3.9-3.9L5 7.6',
  user: 'M8 2.5a2.7 2.7 0 1 1 0 5.4a2.7 2.7 0 1 1 0-5.4zM2.8 13.5c.4-2.7 2.6-4 5.2-4s4.8 1.3 5.2 4',
}

export function Icon({ name, size = 16 }) {
  return html`<svg class="ico" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true">
    <path d=${drawn[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
  </svg>`
}
