// Addresses. The path says which page, its query which filter: each can be sent to somebody.
import { store } from './lib.js'

const base = new URL(document.baseURI).pathname

function read() {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : ''
  return { path: path.replace(/\/+$/, ''), query: Object.fromEntries(new URLSearchParams(location.search)) }
}

export const place = store(read())

// link('runs', {status: 'FAILED'}) is an address for href, relative to the base.
export function link(path, query = {}) {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') words.set(name, value)
  }
  const text = words.toString()
  return (path || './') + (text ? '?' + text : '')
}

export function go(to, { replace = false } = {}) {
  const address = new URL(to, document.baseURI)
  const same = address.pathname === location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  place.set(read())
  if (!same) scrollTo(0, 0)
}

// Changes words of the filter and keeps the others.
export function setQuery(changes, options = { replace: true }) {
  const now = place.get()
  go(link(now.path, { ...now.query, ...changes }), options)
}

export function follow() {
  addEventListener('popstate', () => place.set(read()))
  addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const anchor = event.target.closest?.('a[href]')
    if (!anchor || anchor.target || anchor.hasAttribute('download') || anchor.origin !== location.origin) return
    if (!anchor.pathname.startsWith(base) || anchor.getAttribute('href').startsWith('#')) return
    event.preventDefault()
    go(anchor.href)
  })
}
