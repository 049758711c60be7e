// Small parts that pages are made of.
import { html, classes, store, useEffect, useRef, useState, useStore } from './lib.js'
import { get } from './api.js'
import { t, has, moment, clock, relative, duration, num, zone, locale } from './i18n.js'
import { link } from './router.js'
import { Icon, StatusIcon, statuses, statusName } from './icons.js'

// The second that shows how long things last; it stands still while nobody looks.
export const second = store(Date.now())
setInterval(() => document.hidden || second.set(Date.now()), 1000)

export function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · Rowrun` : 'Rowrun'
  }, [title])
}

// useData(path, query): what the API answers; the last answer stays while the next one is on its way. path null: nothing.
export function useData(path, query = {}) {
  const [state, set] = useState({ data: null, error: null, loading: true })
  const key = path && JSON.stringify([path, query])
  const running = useRef(null)
  const load = (clear) => {
    if (!key) return
    running.current?.abort()
    const abort = (running.current = new AbortController())
    set((s) => ({ data: clear ? null : s.data, error: null, loading: true }))
    get(path, query, abort.signal).then(
      (data) => abort.signal.aborted || set({ data, error: null, loading: false }),
      (error) => abort.signal.aborted || error.name === 'AbortError' || set((s) => ({ ...s, error, loading: false })),
    )
  }
  useEffect(() => {
    load(true)
    return () => running.current?.abort()
  }, [key])
  return { ...state, reload: () => load(false), set: (data) => set((s) => ({ ...s, data })) }
}

// useList(path, query): keyset pages, one after another.
export function useList(path, query = {}) {
  const [state, set] = useState({ items: null, next: null, error: null, loading: true })
  const key = JSON.stringify([path, query])
  const running = useRef(null)
  const load = async (cursor) => {
    running.current?.abort()
    const abort = (running.current = new AbortController())
    set((s) => ({ ...s, loading: true, error: null }))
    try {
      const page = await get(path, { ...query, cursor }, abort.signal)
      if (abort.signal.aborted) return
      set((s) => ({
        items: cursor ? [...(s.items ?? []), ...page.items] : page.items, next: page.next ?? null, searched: page.searched_to ?? null, error: null, loading: false,
      }))
    } catch (error) {
      if (!abort.signal.aborted && error.name !== 'AbortError') set((s) => ({ ...s, error, loading: false }))
    }
  }
  useEffect(() => {
    set({ items: null, next: null, error: null, loading: true })
    load()
    return () => running.current?.abort()
  }, [key])
  return { ...state, more: () => load(state.next), reload: () => load() }
}

export function Time({ at, ago }) {
  useStore(zone)
  useStore(locale)
  const now = useStore(second)
  if (!at) return html`<span class="none">–</span>`
  return html`<time datetime=${new Date(at).toISOString()} title=${moment(at)}>${ago ? relative(at, now) : clock(at)}</time>`
}

// How long something took, or takes: ended null counts on.
export function Took({ from, to }) {
  const now = useStore(second)
  if (!from) return html`<span class="none">–</span>`
  return html`<span class="n">${duration((to ? new Date(to) : now) - new Date(from))}</span>`
}

export function Button({ icon, kind, children, ...rest }) {
  return html`<button type="button" class=${classes('button', kind)} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}</button>`
}

export function Problem({ error, retry }) {
  if (!error) return null
  const known = `error.${error.code}`
  return html`<div class="problem" role="alert">
    <${Icon} name="warn" />
    <div><p>${has(known) ? t(known) : error.message || t('error.unknown', { code: error.code })}</p>
      ${error.hint && html`<p class="hint">${error.hint}</p>`}</div>
    ${retry && html`<${Button} icon="retry" onClick=${retry}>${t('common.again')}<//>`}
  </div>`
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`

export function Loading() {
  return html`<p class="loading" role="status"><span>${t('common.loading')}</span></p>`
}

// Data or what stands in for it.
export function Answer({ of, children }) {
  return html`<${Problem} error=${of.error} retry=${of.reload} />
    ${of.data !== undefined ? (of.data ? children : !of.error && html`<${Loading} />`)
      : of.items ? children : !of.error && html`<${Loading} />`}`
}

export function More({ list }) {
  if (!list.next) return null
  return html`<div class="more"><${Button} onClick=${list.more} disabled=${list.loading}>
    ${list.loading ? t('common.loading') : list.items?.length ? t('common.more') : t('common.look_on')}<//>
    ${list.searched && html`<p class="hint">${t('list.searched')} <${Time} at=${list.searched} /></p>`}</div>`
}

export function Copy({ text, label }) {
  const [done, set] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
    } catch { // not on a secure origin
      const area = document.createElement('textarea')
      area.value = text
      document.body.append(area)
      area.select()
      document.execCommand('copy')
      area.remove()
    }
    set(true)
    setTimeout(() => set(false), 1500)
  }
  return html`<button type="button" class="button quiet" onClick=${copy}>
    <${Icon} name="copy" /><span aria-live="polite">${done ? t('common.copied') : label ?? t('common.copy')}</span></button>`
}

export const RunLink = ({ id, children }) => html`<a class="id" href=${link(`runs/${id}`)}>${children ?? '#' + id}</a>`
export const PlanLink = ({ id, name }) => id && html`<a href=${link(`plans/${id}`)}>${name || '#' + id}</a>`
export const TaskLink = ({ id, name }) => id && html`<a href=${link(`tasks/${id}`)}>${name || '#' + id}</a>`

// The counts of a plan as one bar; each part says itself in the list beneath or in its title.
export function StatusBar({ counts, onPick, picked, legend }) {
  const total = statuses.reduce((sum, s) => sum + (counts[s] ?? 0), 0)
  const order = ['DONE', 'SKIPPED', 'RUNNING', 'AVAILABLE', 'PENDING', 'FAILED', 'CANCELED', 'NOT_STARTED']
  const parts = order.filter((s) => counts[s] > 0)
  return html`<div class="bar-block">
    <div class="bar" role="img" aria-label=${parts.map((s) => `${statusName(s)} ${num(counts[s])}`).join(', ') || t('plan.no_tasks')}>
      ${parts.map((s) => html`<span key=${s} class=${`part st-${s}`} style=${{ flexGrow: String(counts[s] / total), flexBasis: '0' }}
        title=${`${statusName(s)} ${num(counts[s])}`}></span>`)}
    </div>
    ${legend && html`<div class="legend" role="group" aria-label=${t('filter.status')}>
      ${statuses.map((s) => html`<button type="button" key=${s} class=${classes('chip', `st-${s}`)} aria-pressed=${picked?.includes(s) ? 'true' : 'false'}
        disabled=${!counts[s] && !picked?.includes(s)} onClick=${() => onPick(s)}>
        <${StatusIcon} status=${s} size=${12} /><span>${statusName(s)}</span><b class="n">${num(counts[s] ?? 0)}</b></button>`)}
    </div>`}
  </div>`
}

export function Figure({ label, value, href, tone, note }) {
  const body = html`<span class="label">${label}</span><span class="value n">${value}</span>${note && html`<span class="note">${note}</span>`}`
  return href ? html`<a class=${classes('figure', tone)} href=${href}>${body}</a>` : html`<div class=${classes('figure', tone)}>${body}</div>`
}

export function Crumbs({ items }) {
  return html`<nav class="crumbs" aria-label=${t('common.crumbs')}>${items.map(([label, href]) => html`<a href=${href}>${label}</a><span aria-hidden="true">/</span>`)}</nav>`
}

export function Tabs({ items, label }) {
  return html`<nav class="tabs" aria-label=${label}>${items.map(([text, href, current]) => html`
    <a href=${href} aria-current=${current ? 'page' : undefined}>${text}</a>`)}</nav>`
}

// What opened a dialog may be gone by what was done, at once or when the page has read again: the focus is then where the keys work.
function restore(before) {
  const rescue = () => (document.querySelector('.panel') ?? document.getElementById('main'))?.focus()
  if (!before?.isConnected || document.activeElement === document.body) {
    rescue()
    return
  }
  const watch = new MutationObserver(() => {
    if (before.isConnected && document.activeElement === before) return
    watch.disconnect()
    if (!before.isConnected && document.activeElement === document.body) rescue()
  })
  watch.observe(document.body, { childList: true, subtree: true })
}

// A dialog that Escape and a click beside it close.
export function Dialog({ label, onClose, children, wide }) {
  const ref = useRef()
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog.showModal()
    return () => {
      dialog.close()
      before?.isConnected && before.focus?.()
      setTimeout(() => restore(before))
    }
  }, [])
  return html`<dialog ref=${ref} class=${classes(wide && 'wide')} aria-label=${label} onCancel=${(e) => { e.preventDefault(); onClose() }}
    onMouseDown=${(e) => e.target === ref.current && onClose()}><div class="sheet">${children}</div></dialog>`
}
