// What every module takes from the libraries, in one place.
import { h, render, createContext, Fragment } from './libs/preact.js'
import { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary } from './libs/hooks.js'
import htm from './libs/htm.js'

export const html = htm.bind(h)
export {
  h, render, createContext, Fragment,
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary,
}

// A value that others watch.
export function store(value) {
  const watchers = new Set()
  return {
    get: () => value,
    set(next) {
      value = typeof next === 'function' ? next(value) : next
      for (const watcher of [...watchers]) watcher(value)
    },
    watch(watcher) {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
  }
}

export function useStore(of) {
  const [value, set] = useState(of.get())
  useEffect(() => {
    set(of.get())
    return of.watch(set)
  }, [of])
  return value
}

// classes('a', condition && 'b')
export const classes = (...names) => names.filter(Boolean).join(' ')

// One call at most per wait; the last arguments count.
export function throttle(call, wait) {
  let timer = 0
  let last = 0
  const run = (...args) => {
    clearTimeout(timer)
    const left = last + wait - performance.now()
    if (left <= 0) {
      last = performance.now()
      call(...args)
    } else {
      timer = setTimeout(() => run(...args), left)
    }
  }
  run.stop = () => clearTimeout(timer)
  return run
}

// One call after the last of several, when nothing more came for a while.
export function settled(call, wait) {
  let timer = 0
  const run = () => {
    clearTimeout(timer)
    timer = setTimeout(call, wait)
  }
  run.stop = () => clearTimeout(timer)
  return run
}

// What a browser remembers for its user; storage may be forbidden.
export const keep = {
  get(name, fallback = null) {
    try {
      return localStorage.getItem('rowrun.' + name) ?? fallback
    } catch {
      return fallback
    }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem('rowrun.' + name)
      else localStorage.setItem('rowrun.' + name, value)
    } catch { /* only this page remembers then */ }
  },
}
