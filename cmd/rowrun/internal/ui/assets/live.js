// One stream a page. What it says comes in batches, once per animation frame.
//
// The page may have missed something when the stream says so (stream.gap), when a closed one is opened again, and when the
// tab was hidden: then `again` is called, and the page reads what it shows. It also may have missed what happened between its
// first reading and the moment when the stream was open: once it is, `again` is called when no answer from before that is given
// any more.
import { store, useEffect, useRef } from './lib.js'
import { eventsAddress } from './api.js'

// For how long a server may give an answer again (gridLife, and overview of the API), and a little more.
export const answersLast = 1100

export const liveState = store('off') // off, live, reconnecting, paused
const paused = store(false)
export const togglePause = () => paused.set(!paused.get())

// Ids of 64 bits, made texts before JSON.parse could round them. A quote inside a text is written \" and never matches.
const asTexts = (line) => line.replace(/"((?:\w+_)?id)":(\d+)/g, '"$1":"$2"')

export function parseLine(line) {
  try {
    return JSON.parse(asTexts(line))
  } catch {
    return null
  }
}

function open(query, on, again) {
  const address = new URL(eventsAddress)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  let source = null
  let timer = 0
  let frame = 0
  let wait = 1000
  let missed = false
  let first = 0 // the reading after the first opening
  let heard = false // this source has a position to come back with
  let batch = []

  const flush = () => {
    frame = 0
    const lines = batch
    batch = []
    on(lines)
  }
  const take = ({ data, lastEventId }) => {
    heard ||= lastEventId !== ''
    const line = parseLine(data)
    if (!line) return
    if (line.event === 'stream.gap') {
      again()
      return
    }
    batch.push(line)
    frame ||= requestAnimationFrame(flush)
  }
  const connect = () => {
    clearTimeout(timer)
    source = new EventSource(address)
    heard = false
    source.onmessage = take
    source.onopen = () => {
      wait = 1000
      liveState.set('live')
      if (missed) again()
      missed = false
      first ||= setTimeout(() => document.hidden || again('opened'), answersLast)
    }
    source.onerror = () => {
      liveState.set('reconnecting')
      missed ||= !heard
      if (source.readyState !== EventSource.CLOSED) return // it comes back by itself, with Last-Event-ID
      missed = true
      source.close()
      timer = setTimeout(connect, wait * (0.75 + Math.random() / 2))
      wait = Math.min(wait * 2, 30000)
    }
  }
  const close = () => {
    clearTimeout(timer)
    if (frame) cancelAnimationFrame(frame)
    frame = 0
    batch = []
    source?.close()
    source = null
  }
  const decide = () => {
    const quiet = document.hidden || paused.get()
    if (quiet && source) {
      close()
      missed = true
    }
    if (quiet) liveState.set('paused')
    else if (!source) {
      liveState.set('reconnecting')
      connect()
    }
  }
  const unwatch = paused.watch(decide)
  document.addEventListener('visibilitychange', decide)
  decide()
  return () => {
    clearTimeout(first)
    unwatch()
    document.removeEventListener('visibilitychange', decide)
    close()
    liveState.set('off')
  }
}

// useLive(query, on, again): a stream as long as the page is there. query null: none. again('opened') is that after the opening.
export function useLive(query, on, again) {
  const handlers = useRef({})
  handlers.current = { on, again }
  const key = query && JSON.stringify(query)
  useEffect(() => {
    if (!key) return undefined
    return open(JSON.parse(key), (lines) => handlers.current.on(lines), (why) => handlers.current.again(why))
  }, [key])
}
