// How long a run was in each status and why it waited; long waits are folded, so that the work keeps its width.
import { html, useStore } from '../lib.js'
import { t, duration, listed, moment, percent } from '../i18n.js'
import { StatusIcon, statusName } from '../icons.js'
import { RunLink, second } from '../parts.js'

const widest = 6 // a wait is drawn at most so many times as long as the rest

export function Timeline({ run }) {
  const now = useStore(second)
  const spans = run.timeline.map(({ phase, at, to, cause, run_id, maybe }) => {
    const from = new Date(at).getTime()
    const until = to ? new Date(to).getTime() : now
    return { phase, from, until, cause, by: run_id, maybe, ms: Math.max(0, until - from), open: !to }
  })
  if (!spans.length) return null
  const total = spans.reduce((sum, span) => sum + span.ms, 0)
  for (const span of spans) {
    const others = total - span.ms
    span.folded = span.phase !== 'RUNNING' && others > 0 && span.ms > widest * others
    span.drawn = Math.max(span.folded ? others * 1.5 : span.ms, 1)
  }
  const drawn = spans.reduce((sum, span) => sum + span.drawn, 0)
  return html`<div class="timeline">
    <div class="track" role="img" aria-label=${spans.map((span) => `${statusName(span.phase)} ${duration(span.ms)}`).join(', ')}>
      ${spans.map((span) => html`<span class=${`span st-${span.phase} p-${span.phase} ${span.folded ? 'folded' : ''} ${span.open ? 'open' : ''}`}
        style=${{ flexGrow: String(span.drawn / drawn), flexBasis: '0' }}>${span.folded && html`<i aria-hidden="true"></i>`}</span>`)}</div>
    <table class="spans"><tbody>${spans.map((span) => html`<tr>
      <th scope="row"><${StatusIcon} status=${span.phase} />${statusName(span.phase)}</th>
      <td class="n num">${duration(span.ms)}${span.open && html`<span class="hint"> ${t('run.so_far')}</span>`}</td>
      <td class="n num hint">${total > 0 ? percent(span.ms / total) : ''}</td>
      <td>${span.cause ? html`${t(`cause.${span.cause}`)}${span.by && html` <${RunLink} id=${span.by} />`}`
    : span.maybe?.length > 0 && html`<span class="hint">${t('run.untold', { causes: listed(span.maybe.map((cause) => t(`cause.${cause}`))) })}</span>`}</td>
      <td class="hint lo">${moment(span.from)}</td></tr>`)}</tbody></table>
    ${spans.some((span) => span.folded) && html`<p class="hint">${t('run.folded')}</p>`}
  </div>`
}
