// A JSON value as a tree that opens branch by branch. Everything is set as text: markup in a value stays what it is.
import { html, useState } from './lib.js'
import { t, num } from './i18n.js'
import { Exact, write } from './exact.js'

// Quotes stand outside of <bdi>: a mark in the text that turns the direction of writing moves nothing beyond it.
const longest = 2000
const widest = 200

function Text({ value, quote = '"' }) {
  const [all, set] = useState(false)
  if (value.length <= longest || all) return html`<span class="s">${quote}<bdi>${value}</bdi>${quote}</span>`
  return html`<span class="s">${quote}<bdi>${value.slice(0, longest)}</bdi>…</span>
    <button type="button" class="inline" onClick=${() => set(true)}>${t('json.all', { n: value.length })}</button>`
}

function Leaf({ value }) {
  if (value === null) return html`<span class="k">null</span>`
  if (typeof value === 'string') return html`<${Text} value=${value} />`
  return html`<span class=${typeof value === 'boolean' ? 'k' : 'd'}>${String(value)}</span>`
}

function Branch({ name, value, depth }) {
  const list = Array.isArray(value)
  const keys = Object.keys(value)
  const [open, set] = useState(depth < 2 && keys.length <= 50)
  const [wide, setWide] = useState(false)
  if (keys.length === 0) return html`<div class="leaf">${name}<span class="p">${list ? '[]' : '{}'}</span></div>`
  const shown = wide ? keys : keys.slice(0, widest)
  return html`<details open=${open} onToggle=${(e) => set(e.currentTarget.open)}>
    <summary>${name}<span class="p">${list ? '[' : '{'}</span>${!open && html`<span class="c"> ${num(keys.length)} </span><span class="p">${list ? ']' : '}'}</span>`}</summary>
    ${open && html`<div class="in">${shown.map((key) => html`<${Node} key=${key} name=${list ? key : `"${key}"`} value=${value[key]} depth=${depth + 1} />`)}
      ${shown.length < keys.length && html`<button type="button" class="inline" onClick=${() => setWide(true)}>${t('json.all', { n: keys.length })}</button>`}</div>
      <span class="p">${list ? ']' : '}'}</span>`}
  </details>`
}

function Node({ name, value, depth }) {
  const label = name !== undefined && html`<span class="key" dir="auto">${name}</span><span class="p">: </span>`
  if (value !== null && typeof value === 'object' && !(value instanceof Exact)) return html`<${Branch} name=${label} value=${value} depth=${depth} />`
  return html`<div class="leaf">${label}<${Leaf} value=${value} /></div>`
}

// A value on one line: a text as it is.
export const plain = (value) => (typeof value === 'string' ? value : write(value))

export const Json = ({ value }) => html`<div class="json"><${Node} value=${value} depth=${0} /></div>`
