// Filters that stand in the address: a page with them can be sent to somebody.
import { html, useEffect, useRef, useState, useStore } from './lib.js'
import { t } from './i18n.js'
import { place, setQuery } from './router.js'
import { Icon } from './icons.js'

export function Filters({ words, children }) {
  const { query } = useStore(place)
  const any = words.some((word) => query[word])
  return html`<div class="toolbar" role="search">${children}
    ${any && html`<button type="button" class="inline" onClick=${() => setQuery(Object.fromEntries(words.map((word) => [word, null])))}>${t('filter.clear')}</button>`}</div>`
}

// A text that is asked for a moment after the last key.
function useTyped(name) {
  const { query } = useStore(place)
  const [text, set] = useState(query[name] ?? '')
  const timer = useRef(0)
  const sent = useRef(query[name] ?? '')
  useEffect(() => {
    const now = query[name] ?? ''
    if (now !== sent.current) set((sent.current = now))
  }, [query[name]])
  const type = (value) => {
    set(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      sent.current = value.trim()
      setQuery({ [name]: sent.current || null })
    }, 300)
  }
  return [text, type]
}

export function Search({ name, label }) {
  const [text, type] = useTyped(name)
  return html`<label class="search"><${Icon} name="search" /><input type="search" data-search placeholder=${label} aria-label=${label} value=${text} onInput=${(e) => type(e.target.value)} /></label>`
}

export function Word({ name, label }) {
  const [text, type] = useTyped(name)
  return html`<label class="word"><span>${label}</span><input type="text" value=${text} onInput=${(e) => type(e.target.value)} /></label>`
}

export function Pick({ name, label, values, first }) {
  const { query } = useStore(place)
  const now = query[name] ?? ''
  return html`<label class="word"><span>${label}</span><select value=${now} onChange=${(e) => setQuery({ [name]: e.target.value || null })}>
    <option value="" selected=${now === ''}>${first ?? t('filter.all')}</option>
    ${values.map(([value, text]) => html`<option key=${value} value=${value} selected=${now === value}>${text}</option>`)}
    ${now && !values.some(([value]) => value === now) && html`<option value=${now} selected>${now}</option>`}</select></label>`
}
