// What is under the pointer, in words; why it waits is asked for when the pointer stays.
import { html, useEffect, useState } from '../lib.js'
import { get, session } from '../api.js'
import { t, duration, clock } from '../i18n.js'
import { Status } from '../icons.js'

const known = new Map() // run → its causes, for a few seconds

export function Tip({ model, i, x, y }) {
  const { tasks } = model
  const [waiting, set] = useState(null)
  const run = tasks.run_id[i]
  const word = model.word(i)
  const waits = (word === 'PENDING' || word === 'AVAILABLE') && run !== null && !model.replay
  useEffect(() => {
    set(null)
    if (!waits) return undefined
    const kept = known.get(run)
    if (kept && performance.now() - kept.at < 5000) {
      set(kept.waiting)
      return undefined
    }
    const abort = new AbortController()
    const timer = setTimeout(() => get(`runs/${run}`, {}, abort.signal).then(({ waiting }) => {
      if (known.size > 500) known.clear()
      known.set(run, { at: performance.now(), waiting })
      set(waiting)
    }, () => {}), 350)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [run, word])
  const group = tasks.error_group[i]
  const took = model.duration(i, Date.now())
  const left = Math.min(x + 14, innerWidth - 340)
  const top = y + 180 > innerHeight ? y - 12 : y + 18
  return html`<div class=${y + 180 > innerHeight ? 'tip above' : 'tip'} role="tooltip" style=${{ left: Math.max(8, left) + 'px', top: top + 'px' }}>
    <p class="tip-name" dir="auto">${tasks.name[i] || `#${tasks.id[i]}`}</p>
    <p class="tip-where">${[model.database(i), model.version(i), model.types[tasks.type[i]]].filter(Boolean).join(' · ')}</p>
    <p class="tip-state"><${Status} status=${word} />
      ${took !== null && took !== undefined && html`<span class="n">${duration(took)}</span>`}
      ${tasks.since[i] && !model.replay && html`<span>${t('plan.since_at', { at: clock(tasks.since[i]) })}</span>`}
      ${tasks.attempt[i] > 0 && html`<span>${t('run.attempt', { n: tasks.attempt[i] + 1 })}</span>`}</p>
    ${tasks.paused[i] === 1 && html`<p>${t('cause.PAUSED')}</p>`}
    ${waits && (waiting?.length ? waiting.map((w) => html`<p class="why" dir="auto">${w.message}</p>`)
      : tasks.cause[i] && html`<p class="why">${t(`cause.${tasks.cause[i]}`)}</p>`)}
    ${group >= 0 && !session.get()?.hide_data && html`<p class="why bad" dir="auto">${model.errors[group]?.text}</p>`}
  </div>`
}
