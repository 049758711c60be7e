// The scrubber: the plan as it was at any moment, from the moments of its runs.
import { html, useEffect, useRef, useState } from '../lib.js'
import { get } from '../api.js'
import { t, moment, num } from '../i18n.js'
import { Icon, statuses, statusOf } from '../icons.js'
import { Button } from '../parts.js'

const most = 20 // pages of 2,000 runs
const word = Object.fromEntries(statuses.map((status, i) => [status, i]))

async function read(plan, model, signal) {
  const events = []
  let cursor
  for (let page = 0; page < most; page++) {
    const part = await get(`plans/${plan}/transitions`, { cursor }, signal)
    part.run_id.forEach((_, n) => {
      const i = model.index.get(part.task_id[n])
      if (i === undefined) return
      const tell = (at, status) => at !== null && at !== undefined && events.push([at, i, status])
      tell(part.created[n], word.PENDING)
      tell(part.available[n], word.AVAILABLE)
      tell(part.started[n], word.RUNNING)
      tell(part.ended[n], word[statusOf(part.status[n])])
    })
    cursor = part.next
    if (!cursor) break
  }
  events.sort((a, b) => a[0] - b[0] || a[2] - b[2])
  return { events, more: Boolean(cursor) }
}

export function Scrubber({ plan, model, onChange }) {
  const [story, set] = useState(null) // null: closed
  const [at, setAt] = useState(0)
  const [playing, play] = useState(false)
  const [error, setError] = useState(null)
  const where = useRef(0) // how many events model.replay has seen
  const abort = useRef(null)
  useEffect(() => () => { // back to now
    abort.current?.abort()
    model.replay = null
  }, [model])
  const open = async () => {
    abort.current = new AbortController()
    try {
      const read_ = await read(plan.id, model, abort.current.signal)
      if (!read_.events.length) return
      where.current = 0
      model.replay = new Uint8Array(model.size)
      set(read_)
      show(read_, read_.events[0][0])
    } catch (problem) {
      if (problem.name !== 'AbortError') setError(problem)
    }
  }
  const close = () => {
    play(false)
    model.replay = null
    set(null)
    onChange()
  }
  const show = (of, moment) => {
    const { events } = of
    if (where.current > 0 && events[where.current - 1][0] > moment) {
      where.current = 0
      model.replay = new Uint8Array(model.size)
    }
    while (where.current < events.length && events[where.current][0] <= moment) {
      const [, i, status] = events[where.current++]
      model.replay[i] = status
    }
    setAt(moment)
    onChange()
  }
  useEffect(() => {
    if (!playing || !story) return undefined
    const [first, last] = [story.events[0][0], story.events.at(-1)[0]]
    const speed = Math.max(1, (last - first) / 20000) // the whole in 20 s
    let now = at >= last ? first : at
    let before = performance.now()
    let frame = requestAnimationFrame(function step(time) {
      now = Math.min(last, now + (time - before) * speed)
      before = time
      show(story, now)
      if (now >= last) play(false)
      else frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [playing])
  if (!story) {
    return html`<div class="scrub closed"><${Button} kind="quiet" icon="retry" onClick=${open}>${t('scrub.open')}<//>
      ${error && html`<span class="bad">${error.message || t('error.unreachable')}</span>`}</div>`
  }
  const [first, last] = [story.events[0][0], story.events.at(-1)[0]]
  return html`<div class="scrub" role="group" aria-label=${t('scrub.label')}>
    <button type="button" class="button" onClick=${() => play(!playing)}><${Icon} name=${playing ? 'pause' : 'play'} /><span class="sr">${t(playing ? 'scrub.pause' : 'scrub.play')}</span></button>
    <input type="range" min=${first} max=${Math.max(last, first + 1)} step="1" value=${at} aria-label=${t('scrub.label')} aria-valuetext=${moment(at)}
      onInput=${(e) => { play(false); show(story, Number(e.target.value)) }} />
    <time class="n">${moment(at)}</time>
    <span class="hint n">${t('scrub.events', { n: where.current, of: num(story.events.length) })}${story.more ? '+' : ''}</span>
    <${Button} onClick=${close}>${t('scrub.close')}<//>
  </div>`
}
