// Texts, numbers and times in the reader's language. No text that a person reads stands outside locales/.
import { store, keep } from './lib.js'

export const languages = { en: 'English', 'zh-CN': '简体中文', es: 'Español', ja: '日本語', vi: 'Tiếng Việt' }

let texts = {}
let plural = new Intl.PluralRules('en')
let number = new Intl.NumberFormat('en')
const made = new Map()

export const locale = store('en')
export const zone = store(keep.get('zone', 'local'))

const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
export const zoneName = () => (zone.get() === 'utc' ? 'UTC' : localZone)

export function setZone(name) {
  keep.set('zone', name)
  made.clear()
  zone.set(name)
}

// What first.js has chosen and asked for.
const first = window.rowrun

async function read(name) {
  const early = name === first.locale && first.texts
  first.texts = null
  const answer = await (early || fetch(new URL(`locales/${name}.json`, import.meta.url)))
  return answer.json()
}

export async function setLocale(name, remember = false) {
  if (!(name in languages)) name = first.locale
  if (remember) keep.set('locale', name)
  texts = await read(name)
  plural = new Intl.PluralRules(name)
  number = new Intl.NumberFormat(name)
  made.clear()
  document.documentElement.lang = name
  locale.set(name)
}

// t(key, {n: 3}): n decides on the plural. Values are put in as text; numbers as the language writes them.
export function t(key, values = {}) {
  let text = texts[key]
  if (text === undefined) return key
  if (typeof text === 'object') text = text[plural.select(Number(values.n))] ?? text.other
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name]
    return typeof value === 'number' || typeof value === 'bigint' ? num(value) : String(value ?? '')
  })
}

export const has = (key) => key in texts

// Counts come as numbers or, of tables without a bound, as texts.
export function num(value) {
  if (value === null || value === undefined) return ''
  return number.format(typeof value === 'string' ? BigInt(value) : value)
}

export const atLeast = (bounded) => (bounded ? num(bounded.n) + (bounded.at_least ? '+' : '') : '')

export function decimal(value, digits = 1) {
  return maker(`d${digits}`, () => new Intl.NumberFormat(locale.get(), { maximumFractionDigits: digits })).format(value)
}

export function percent(part) {
  return maker('%', () => new Intl.NumberFormat(locale.get(), { style: 'percent', maximumFractionDigits: 1 })).format(part)
}

function maker(key, make) {
  if (!made.has(key)) made.set(key, make())
  return made.get(key)
}

function formats(key, options) {
  return maker(key, () => new Intl.DateTimeFormat(locale.get(), { hourCycle: 'h23', ...options, timeZone: zoneName() }))
}

const date = (value) => (value instanceof Date ? value : new Date(value))

// The whole moment with its zone, for a title or a detail.
export function moment(value) {
  return formats('moment', {
    year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
    fractionalSecondDigits: 3, timeZoneName: 'short',
  }).format(date(value))
}

const dayKey = (value) => formats('day', { year: 'numeric', month: '2-digit', day: '2-digit' }).format(value)

// The time of day today; with the date on other days.
export function clock(value) {
  const at = date(value)
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' }
  if (dayKey(at) === dayKey(new Date())) return formats('clock', time).format(at)
  return formats('dated', { month: 'short', day: '2-digit', ...time }).format(at)
}

// How the zone is written now, as in "GMT+2".
export function zoneShort() {
  if (zone.get() === 'utc') return 'UTC'
  const parts = formats('zone', { timeZoneName: 'shortOffset' }).formatToParts(new Date())
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? zoneName()
}

const steps = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]]

// "3 minutes ago", "in 2 hours".
export function relative(value, now = Date.now()) {
  const seconds = (date(value) - now) / 1000
  const format = maker('rel', () => new Intl.RelativeTimeFormat(locale.get(), { numeric: 'auto', style: 'short' }))
  for (const [unit, length] of steps) {
    if (Math.abs(seconds) >= length || length === 1) return format.format(Math.trunc(seconds / length), unit)
  }
}

// "a, b or c".
export const listed = (texts) => maker('or', () => new Intl.ListFormat(locale.get(), { type: 'disjunction' })).format(texts)

const unit = (value, name, digits = 0) => maker(`u${name}${digits}`, () => new Intl.NumberFormat(locale.get(), {
  style: 'unit', unit: name, unitDisplay: 'narrow', maximumFractionDigits: digits,
})).format(value)

// Milliseconds as "850ms", "3.2s", "4m 10s", "2h 5m".
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return ''
  ms = Math.max(0, ms)
  if (ms < 1000) return unit(Math.round(ms), 'millisecond')
  if (ms < 59950) return unit(ms / 1000, 'second', ms < 9950 ? 1 : 0)
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'minute', seconds % 60, 'second')
  if (seconds < 86400) return pair(Math.floor(seconds / 3600), 'hour', Math.floor((seconds % 3600) / 60), 'minute')
  return pair(Math.floor(seconds / 86400), 'day', Math.floor((seconds % 86400) / 3600), 'hour')
}

// The same in one unit, for cells.
export function brief(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return ''
  if (ms < 59950) return duration(ms)
  if (ms < 3600e3) return unit(Math.floor(ms / 60e3), 'minute')
  return ms < 86400e3 ? unit(ms / 3600e3, 'hour', 1) : unit(ms / 86400e3, 'day', 1)
}

const pair = (a, one, b, other) => unit(a, one) + (b ? ' ' + unit(b, other) : '')
