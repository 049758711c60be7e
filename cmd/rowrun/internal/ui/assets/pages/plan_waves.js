// The waves of a plan: how far each is, what the next one waits for, and what moves them where they have stopped.
import { html, classes } from '../lib.js'
import { t, duration, num } from '../i18n.js'
import { Status } from '../icons.js'
import { Act } from '../act.js'
import { Time } from '../parts.js'

// Which status a wave's own looks like.
const looks = { WAITING: 'PENDING', RUNNING: 'RUNNING', SOAKING: 'AVAILABLE', STOPPED: 'FAILED', DONE: 'DONE' }

export function Waves({ plan, unfinished, after }) {
  const { waves } = plan
  if (!waves?.length) return null
  const on = { kind: 'plan', ids: [plan.id] }
  const coming = waves.findIndex((wave) => wave.opened_at === null)
  const open = waves[coming < 0 ? waves.length - 1 : coming - 1]
  const stopped = waves.some((wave) => wave.status === 'STOPPED')
  return html`<section class=${classes('card', 'waves', stopped && 'stopped')} aria-label=${t('waves.title')}>
    <h2><span>${t('waves.title')}</span><span class="acts">
      ${open?.failed > 0 && html`<${Act} act="resume_wave" on=${on} then=${after} icon="retry" kind=${stopped ? 'primary' : ''} />`}
      ${coming > 0 && html`<${Act} act="roll_on" on=${on} args=${{ wave: waves[coming].wave }} then=${after} icon="right" />`}
      ${unfinished > 0 && html`<${Act} act="give_up" on=${on} then=${after} kind="danger" />`}</span></h2>
    ${stopped && html`<p class="says">${t('waves.stopped')}</p>`}
    <ol>${waves.map((wave) => html`<li key=${wave.wave} class=${`w-${wave.status}`} aria-current=${wave === open ? 'step' : undefined}>
      <span class="n hint">${num(wave.wave)}</span><b class="name" dir="auto">${wave.name || t('waves.wave', { n: wave.wave })}</b>
      <${Status} status=${looks[wave.status]} name=${t(`waves.${wave.status}`)} />
      <meter min="0" max=${wave.tasks || 1} value=${wave.done} aria-label=${t('waves.done')}></meter>
      <span class="n count">${num(wave.done)} / ${num(wave.tasks)}</span>
      <span class=${classes('n', wave.failed > wave.max_failures ? 'bad' : wave.failed > 0 && 'warn-text')}>${t('waves.failed', { failed: num(wave.failed), most: num(wave.max_failures) })}</span>
      <span class="hint when"><${When} wave=${wave} next=${waves[waves.indexOf(wave) + 1]} /></span></li>`)}</ol>
  </section>`
}

// What a wave's times say: since when it is open, until when it soaks, when it begins.
function When({ wave, next }) {
  if (wave.status === 'SOAKING' && next?.opens_at) return html`${t('waves.soaks')} <${Time} at=${next.opens_at} ago /> (${duration(wave.soak_ms)})`
  if (wave.status === 'STOPPED') return html`${t('waves.stopped_at')} <${Time} at=${wave.stopped_at} ago />`
  if (wave.status === 'WAITING' && wave.opens_at) return html`${t('waves.opens')} <${Time} at=${wave.opens_at} ago />`
  if (wave.status === 'WAITING' || !wave.opened_at) return wave.soak_ms > 0 ? t('waves.soak', { took: duration(wave.soak_ms) }) : ''
  return html`${t('waves.opened')} <${Time} at=${wave.opened_at} />`
}
