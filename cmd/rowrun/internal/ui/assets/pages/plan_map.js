// The heat map: a small field per task on a canvas of the screen's size, for plans of more tasks than cells would be read.
import { html, useEffect, useLayoutEffect, useRef } from '../lib.js'
import { t } from '../i18n.js'
import { colorOf, statuses } from '../icons.js'

const head = 30

class Surface {
  constructor(scroller, props) {
    this.scroller = scroller
    this.props = props
    this.size = scroller.appendChild(document.createElement('div'))
    this.size.className = 'size'
    this.canvas = this.size.appendChild(document.createElement('canvas'))
    this.context = this.canvas.getContext('2d')
    this.later = () => {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0
        this.draw()
      })
    }
    scroller.addEventListener('scroll', this.later, { passive: true })
    this.observer = new ResizeObserver(() => this.lay())
    this.observer.observe(scroller)
    this.theme = () => this.lay()
    addEventListener('themechange', this.theme)
    this.dark = matchMedia('(prefers-color-scheme: dark)')
    this.dark.addEventListener('change', this.theme)
  }

  end() {
    this.observer.disconnect()
    removeEventListener('themechange', this.theme)
    this.dark.removeEventListener('change', this.theme)
    cancelAnimationFrame(this.frame)
  }

  lay() {
    const { layout } = this.props
    const { clientWidth, clientHeight } = this.scroller
    this.label = clientWidth < 640 ? 84 : 150
    const room = (clientWidth - this.label - 8) / Math.max(1, layout.cols.length)
    this.w = Math.max(10, Math.min(26, Math.floor(room)))
    const high = (clientHeight - head - 8) / Math.max(1, layout.rows.length)
    this.h = Math.max(9, Math.min(18, Math.floor(high)))
    this.size.style.width = this.label + layout.cols.length * this.w + 8 + 'px'
    this.size.style.height = head + layout.rows.length * this.h + 8 + 'px'
    const scale = devicePixelRatio || 1
    this.canvas.width = clientWidth * scale
    this.canvas.height = clientHeight * scale
    this.canvas.style.width = clientWidth + 'px'
    this.canvas.style.height = clientHeight + 'px'
    this.context.setTransform(scale, 0, 0, scale, 0, 0)
    const style = getComputedStyle(this.scroller)
    this.ink = style.color
    this.ground = style.backgroundColor
    const probe = document.createElement('i')
    this.scroller.append(probe)
    probe.style.color = 'var(--ink-3)'
    this.soft = getComputedStyle(probe).color
    probe.style.color = 'var(--focus)'
    this.focus = getComputedStyle(probe).color
    probe.remove()
    this.font = `11px ${style.fontFamily}`
    this.draw()
  }

  draw() {
    if (!this.w) return
    const { context: g, label, w, h } = this
    const { layout, model, shown, selected, cursor } = this.props
    const { scrollTop, scrollLeft, clientWidth, clientHeight } = this.scroller
    const columns = layout.cols.length
    this.sx = scrollLeft
    this.sy = scrollTop
    g.clearRect(0, 0, clientWidth, clientHeight)
    const r0 = Math.max(0, Math.floor((scrollTop) / h))
    const r1 = Math.min(layout.rows.length, Math.ceil((scrollTop + clientHeight - head) / h) + 1)
    const c0 = Math.max(0, Math.floor(scrollLeft / w))
    const c1 = Math.min(columns, Math.ceil((scrollLeft + clientWidth - label) / w) + 1)
    g.save()
    g.beginPath()
    g.rect(label, head, clientWidth, clientHeight)
    g.clip()
    // One colour after another: setting it is what costs.
    const fields = statuses.map(() => [])
    for (let r = r0; r < r1; r++) {
      for (let c = c0; c < c1; c++) {
        const content = layout.cells.get(r * columns + c)
        if (content === undefined) continue
        const status = Array.isArray(content) ? statuses.indexOf(model.worst(content)) : model.of(content)
        fields[status].push(r, c, content)
      }
    }
    fields.forEach((list, s) => {
      const status = statuses[s]
      g.fillStyle = g.strokeStyle = colorOf[status]
      for (let n = 0; n < list.length; n += 3) {
        this.field(status, list[n], list[n + 1], list[n + 2])
      }
    })
    if (cursor) this.ring(cursor)
    g.restore()
    this.names(r0, r1, c0, c1)
    this.seen = { layout, shown, selected, cursor, replay: model.replay, scrollTop, scrollLeft }
    model.changed.clear()
  }

  // After a transition: the fields of what changed, where nothing else did.
  patch() {
    const { layout, model, shown, selected, cursor } = this.props
    const { scrollTop, scrollLeft } = this.scroller
    const s = this.seen
    if (!s || model.replay || s.layout !== layout || s.shown !== shown || s.selected !== selected || s.cursor !== cursor
      || s.replay !== model.replay || s.scrollTop !== scrollTop || s.scrollLeft !== scrollLeft) {
      this.later()
      return
    }
    const { context: g, w, h } = this
    for (const i of model.changed) {
      const at = layout.at.get(i)
      if (!at) continue
      const [r, c] = at
      if (this.top(r) < head || this.top(r) > this.scroller.clientHeight || this.left(c) < this.label) {
        if (this.top(r) > head - h && this.top(r) < this.scroller.clientHeight) this.later() // half of it is seen
        continue
      }
      const content = layout.cells.get(r * layout.cols.length + c)
      const status = Array.isArray(content) ? model.worst(content) : model.word(content)
      g.clearRect(this.left(c), this.top(r), w, h)
      g.fillStyle = g.strokeStyle = colorOf[status]
      this.field(status, r, c, content)
    }
    g.globalAlpha = 1
    if (cursor) this.ring(cursor)
    model.changed.clear()
  }

  ring([r, c]) {
    if (this.top(r) >= head && this.left(c) >= this.label) this.frameOf(this.left(c) + this.gap / 2, this.top(r) + this.gap / 2, this.w - this.gap, this.h - this.gap, this.focus)
  }

  get gap() { return this.w > 12 ? 2 : 1 }
  left(c) { return this.label + c * this.w - this.sx }
  top(r) { return head + r * this.h - this.sy }

  field(status, r, c, content) {
    const { context: g, w, h, gap } = this
    const { shown, selected, model } = this.props
    const dim = shown && !(Array.isArray(content) ? content.some((i) => shown[i]) : shown[content])
    const [x, y, a, b] = [this.left(c) + gap / 2, this.top(r) + gap / 2, w - gap, h - gap]
    g.globalAlpha = dim ? 0.12 : status === 'DONE' ? 0.62 : status === 'SKIPPED' ? 0.5 : 1
    if (status === 'NOT_STARTED') {
      g.globalAlpha *= 0.55
      g.strokeStyle = colorOf[status]
      g.lineWidth = 1
      g.strokeRect(x + 0.5, y + 0.5, a - 1, b - 1)
    } else if (status === 'PENDING') {
      g.globalAlpha *= 0.24
      g.fillRect(x, y, a, b)
      g.globalAlpha *= 3 // a line beneath: told apart without colours
      g.fillRect(x, y + b - 2, a, 2)
    } else {
      g.fillRect(x, y, a, b)
      if (status === 'FAILED' || status === 'CANCELED') this.cross(x, y, a, b, status === 'FAILED', dim)
      else if (status === 'AVAILABLE' || status === 'RUNNING') this.dot(x, y, a, b, status === 'RUNNING', dim)
      g.fillStyle = colorOf[status]
    }
    const id = Array.isArray(content) ? null : model.tasks.id[content]
    if (selected.has(id)) this.frameOf(x, y, a, b, this.ink)
  }

  cross(x, y, a, b, failed, dim) {
    const g = this.context
    g.globalAlpha = dim ? 0.12 : 0.95
    g.strokeStyle = '#fff'
    g.lineWidth = 1.4
    const m = Math.min(a, b) / 3.4
    g.beginPath()
    g.moveTo(x + a / 2 - m, y + b / 2 + m)
    g.lineTo(x + a / 2 + m, y + b / 2 - m)
    if (failed) {
      g.moveTo(x + a / 2 - m, y + b / 2 - m)
      g.lineTo(x + a / 2 + m, y + b / 2 + m)
    }
    g.stroke()
  }

  dot(x, y, a, b, running, dim) {
    const g = this.context
    g.globalAlpha = dim ? 0.12 : 0.95
    g.fillStyle = '#fff'
    const m = Math.min(a, b) / 4
    g.beginPath()
    if (running) {
      g.moveTo(x + a / 2 - m, y + b / 2 - m * 1.2)
      g.lineTo(x + a / 2 + m * 1.2, y + b / 2)
      g.lineTo(x + a / 2 - m, y + b / 2 + m * 1.2)
    } else g.arc(x + a / 2, y + b / 2, m, 0, 7)
    g.fill()
  }

  frameOf(x, y, a, b, color) {
    const g = this.context
    g.globalAlpha = 1
    g.strokeStyle = color
    g.lineWidth = 2
    g.strokeRect(x, y, a, b)
  }

  names(r0, r1, c0, c1) {
    const g = this.context
    const { layout, model } = this.props
    g.font = this.font
    g.textBaseline = 'middle'
    g.fillStyle = this.soft
    g.save()
    g.beginPath()
    g.rect(0, head, this.label - 8, this.scroller.clientHeight)
    g.clip()
    let below = -1 // names that would touch the one above are left out
    for (let r = r0; r < r1; r++) {
      const row = layout.rows[r]
      if (!row.head || this.top(r) < below) continue
      const bad = row.all.some((i) => model.word(i) === 'FAILED')
      below = this.top(r) + 12.5
      g.fillStyle = bad ? this.ink : this.soft
      g.fillText(row.d < 0 ? t('plan.no_database') : row.label.slice(0, 60), 6, this.top(r) + this.h / 2)
    }
    g.restore()
    g.fillStyle = this.soft
    let free = -1
    for (let c = c0; c < c1; c++) {
      const text = layout.cols[c].label
      const x = this.left(c)
      if (!text || x < free || x < this.label) continue
      g.fillText(text, x + 1, head / 2)
      free = x + g.measureText(text).width + 10
    }
  }

  box(r, c) {
    return { x: this.label + c * this.w, y: head + r * this.h, w: this.w, h: this.h }
  }

  reveal(r, c) {
    const s = this.scroller
    const { x, y, w, h } = this.box(r, c)
    if (y - head < s.scrollTop) s.scrollTop = y - head
    else if (y + h > s.scrollTop + s.clientHeight) s.scrollTop = y + h - s.clientHeight
    if (x - this.label < s.scrollLeft) s.scrollLeft = x - this.label
    else if (x + w > s.scrollLeft + s.clientWidth) s.scrollLeft = x + w - s.clientWidth
  }

  hit(event) {
    const { layout } = this.props
    const box = this.scroller.getBoundingClientRect()
    const r = Math.floor((event.clientY - box.top - head + this.scroller.scrollTop) / this.h)
    const c = Math.floor((event.clientX - box.left - this.label + this.scroller.scrollLeft) / this.w)
    if (event.clientY - box.top < head || event.clientX - box.left < this.label) return null
    return c >= 0 && c < layout.cols.length && layout.cells.has(r * layout.cols.length + c) ? [r, c] : null
  }
}

export function HeatMap({ said, ...props }) {
  const ref = useRef()
  const surface = useRef()
  const { layout, handle, onPick, onHover, onKeys, label } = props
  useLayoutEffect(() => {
    const made = (surface.current = new Surface(ref.current, props))
    return () => made.end()
  }, [])
  if (surface.current) surface.current.props = props
  useLayoutEffect(() => {
    surface.current.props = props
    surface.current.lay()
    handle.current = surface.current
  }, [layout])
  useEffect(() => surface.current.patch())
  return html`<div class="map-box"><div ref=${ref} class="map" role="application" tabindex="0" aria-label=${label} aria-describedby="map-said"
    onKeyDown=${onKeys}
    onClick=${(e) => { const at = surface.current.hit(e); if (at) onPick(at, e) }}
    onPointerMove=${(e) => onHover(surface.current.hit(e), e)} onPointerLeave=${() => onHover(null)}></div>
    <p id="map-said" class="sr" aria-live="polite">${said}</p></div>`
}
