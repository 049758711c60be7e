// Keys: / searches, j and k walk, x selects, g and a letter goes to a page, ? says all this.
import { html, store, useStore } from './lib.js'
import { t } from './i18n.js'
import { go } from './router.js'
import { Dialog, Button } from './parts.js'

const help = store(false)
const pages = { o: '', p: 'plans', r: 'runs', s: 'schedules', t: 'tasks', w: 'webhooks', l: 'limits', e: 'replicas', a: 'acts' }
let prefix = 0

const visible = (element) => element.getClientRects().length > 0

// Moves the focus by rows: each has an element with data-main, its link or button.
function walk(step) {
  const rows = [...document.querySelectorAll('[data-row]')].filter(visible)
  if (!rows.length) return
  const now = rows.findIndex((row) => row.contains(document.activeElement))
  const next = rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : rows.length - 1) : now + step))]
  const main = next.querySelector('[data-main]') ?? next.querySelector('a, button') ?? next
  main.focus()
  next.scrollIntoView({ block: 'nearest' })
}

export function listen() {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    const { target, key } = event
    const typing = target.closest?.('input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]')
    if (typing) {
      if (key === 'Escape') target.blur()
      return
    }
    if (document.querySelector('dialog[open]')) return
    if (performance.now() - prefix < 1200 && key in pages) {
      prefix = 0
      go(pages[key] || './')
    } else if (key === '/') {
      const search = [...document.querySelectorAll('[data-search]')].find(visible)
      if (!search) return
      search.focus()
      search.select?.()
    } else if (key === '?') help.set(true)
    else if (key === 'j') walk(1)
    else if (key === 'k') walk(-1)
    else if (key === 'x') document.activeElement.closest?.('[data-row]')?.querySelector('input[type=checkbox]')?.click()
    else if (key === 'g') {
      prefix = performance.now()
      return
    } else return
    event.preventDefault()
  })
}

const lines = [
  [['/'], 'keys.search'], [['j', 'k'], 'keys.walk'], [['Enter'], 'keys.open'], [['x'], 'keys.select'], [['←', '↑', '→', '↓'], 'keys.grid'],
  [['Esc'], 'keys.close'], [['g', 'o'], 'nav.overview'], [['g', 'p'], 'nav.plans'], [['g', 'r'], 'nav.runs'], [['g', 's'], 'nav.schedules'],
  [['g', 't'], 'nav.tasks'], [['g', 'w'], 'nav.webhooks'], [['g', 'l'], 'nav.limits'], [['g', 'e'], 'nav.replicas'], [['g', 'a'], 'nav.acts'], [['?'], 'keys.help'],
]

export const showKeys = () => help.set(true)

export function Keys() {
  if (!useStore(help)) return null
  return html`<${Dialog} label=${t('keys.title')} onClose=${() => help.set(false)}>
    <h2>${t('keys.title')}</h2>
    <dl class="keys">${lines.map(([keys, text]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(text)}</dd></div>`)}</dl>
    <footer><${Button} onClick=${() => help.set(false)}>${t('common.close')}<//></footer>
  <//>`
}
