// The grid: a cell per task with icon, colour and duration. Only what is on the screen stands in the document, and cells are
// changed in place: thousands of tasks cost what a screenful costs.
import { html, useEffect, useLayoutEffect, useRef } from '../lib.js'
import { brief, duration, num, t } from '../i18n.js'
import { shapes, statuses, statusName } from '../icons.js'
import { second } from '../parts.js'

const rowHeight = 30
const headHeight = 44
const space = 'http://www.w3.org/2000/svg'

function iconOf(status) {
  const svg = document.createElementNS(space, 'svg')
  svg.setAttribute('viewBox', '0 0 16 16')
  svg.setAttribute('aria-hidden', 'true')
  svg.setAttribute('class', 'ico')
  const { stroke, fill, width = 1.6, dash } = shapes[status]
  if (stroke) {
    const path = svg.appendChild(document.createElementNS(space, 'path'))
    for (const [name, value] of Object.entries({ d: stroke, fill: 'none', stroke: 'var(--st)', 'stroke-width': width, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' })) path.setAttribute(name, value)
    if (dash) path.setAttribute('stroke-dasharray', dash)
  }
  if (fill) {
    const path = svg.appendChild(document.createElementNS(space, 'path'))
    path.setAttribute('d', fill)
    path.setAttribute('fill', 'var(--st)')
  }
  return svg
}

function element(kind, name, parent, role) {
  const made = document.createElement(kind)
  made.className = name
  if (role) made.setAttribute('role', role)
  parent?.append(made)
  return made
}

// What a screen reader hears of a cell; took is what the cell shows, which is longer a moment later.
export function describe(model, i, took = model.duration(i, Date.now())) {
  const { tasks } = model
  const parts = [model.database(i), model.version(i), tasks.name[i], statusName(model.word(i))]
  if (took !== null && took !== undefined) parts.push(duration(took))
  if (tasks.cause[i] && model.word(i) === 'PENDING') parts.push(t(`cause.${tasks.cause[i]}`))
  return parts.filter(Boolean).join(', ')
}

// One surface, fed by the page: draw() after anything changed.
class Surface {
  constructor(scroller, props) {
    this.scroller = scroller
    this.props = props
    this.icons = Object.fromEntries(statuses.map((status) => [status, iconOf(status)]))
    this.size = element('div', 'size', scroller, 'rowgroup')
    this.head = element('div', 'ghead', this.size, 'row')
    this.rows = new Map()
    this.heads = new Map()
    this.frame = 0
    scroller.addEventListener('scroll', () => this.later(), { passive: true })
    this.observer = new ResizeObserver(() => this.later())
    this.observer.observe(scroller)
  }

  end() {
    this.observer.disconnect()
    cancelAnimationFrame(this.frame)
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.draw()
    })
  }

  // Columns' places; after the layout changed.
  lay() {
    const { layout } = this.props
    const narrow = this.scroller.clientWidth < 640
    this.headWidth = narrow ? 118 : 190
    const width = (col) => (col.named ? 148 : col.fold ? 92 : 78)
    this.x = [this.headWidth]
    for (const col of layout.cols) this.x.push(this.x.at(-1) + width(col))
    this.size.style.width = this.x.at(-1) + 'px'
    this.size.style.height = headHeight + layout.rows.length * rowHeight + 'px'
    this.size.style.setProperty('--head', this.headWidth + 'px')
    this.scroller.setAttribute('aria-rowcount', layout.rows.length + 1)
    this.scroller.setAttribute('aria-colcount', layout.cols.length + 1)
    for (const row of this.rows.values()) row.remove()
    this.rows.clear()
    this.head.replaceChildren()
    this.heads.clear()
    this.corner = element('div', 'corner', this.head, 'columnheader')
    this.corner.textContent = t('plan.database')
    this.draw()
  }

  window() {
    const { layout } = this.props
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.scroller
    const r0 = Math.max(0, Math.floor((scrollTop - headHeight) / rowHeight) - 2)
    const r1 = Math.min(layout.rows.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + 2)
    let c0 = 0
    while (c0 < layout.cols.length - 1 && this.x[c0 + 1] < scrollLeft + this.headWidth - 80) c0++
    let c1 = c0
    while (c1 < layout.cols.length && this.x[c1] < scrollLeft + clientWidth + 80) c1++
    return { r0, r1, c0, c1 }
  }

  draw() {
    if (!this.x) return
    const { layout } = this.props
    const view = (this.view = this.window())
    this.drawHead(view)
    for (const [r, row] of this.rows) {
      if (r < view.r0 || r >= view.r1) {
        row.remove()
        this.rows.delete(r)
      }
    }
    for (let r = view.r0; r < view.r1; r++) {
      let row = this.rows.get(r)
      if (!row) this.rows.set(r, (row = this.makeRow(r)))
      for (const [c, cell] of row.cells) {
        if (c < view.c0 || c >= view.c1) {
          cell.remove()
          row.cells.delete(c)
        }
      }
      for (let c = view.c0; c < view.c1; c++) {
        const content = layout.cells.get(r * layout.cols.length + c)
        if (content === undefined) continue
        let cell = row.cells.get(c)
        if (!cell) row.cells.set(c, (cell = this.makeCell(row, r, c)))
        this.fill(cell, content)
      }
      this.fillHead(row, layout.rows[r])
    }
    this.mark()
  }

  drawHead({ c0, c1 }) {
    const { layout, model, onFold } = this.props
    for (const [c, head] of this.heads) {
      if (c < c0 || c >= c1) {
        head.remove()
        this.heads.delete(c)
      }
    }
    for (let c = c0; c < c1; c++) {
      const col = layout.cols[c]
      let head = this.heads.get(c)
      if (!head) {
        head = element('div', 'chead' + (col.fold ? ' fold' : ''), this.head, 'columnheader')
        head.style.left = this.x[c] + 'px'
        head.style.width = this.x[c + 1] - this.x[c] + 'px'
        head.setAttribute('aria-colindex', c + 2)
        if (col.wave !== null && (c === 0 || layout.cols[c - 1].wave !== col.wave)) {
          const fold = element('button', 'wave', head)
          fold.type = 'button'
          fold.tabIndex = -1
          fold.textContent = (col.fold ? '▸ ' : '▾ ') + col.wave
          fold.title = t(col.fold ? 'plan.unfold' : 'plan.fold', { name: col.wave })
          fold.addEventListener('click', () => onFold(col.wave))
        }
        const name = element('span', 'vname', head)
        name.textContent = col.fold ? num(col.versions.length) + ' ×' : col.label
        name.title = col.label
        head.meter = element('span', 'meter', head)
        element('i', '', head.meter)
        this.heads.set(c, head)
      }
      const ended = model.ended(col.all)
      head.meter.firstChild.style.width = (100 * ended) / Math.max(1, col.all.length) + '%'
      head.meter.title = `${num(ended)} / ${num(col.all.length)}`
    }
  }

  makeRow(r) {
    const row = element('div', 'grow-row', this.size, 'row')
    row.style.top = headHeight + r * rowHeight + 'px'
    row.setAttribute('aria-rowindex', r + 2)
    row.cells = new Map()
    const head = element('div', 'rhead', row, 'rowheader')
    row.name = element('span', 'rname', head)
    row.name.dir = 'auto'
    row.count = element('span', 'rcount n', head)
    return row
  }

  fillHead(row, { head, label, all, d }) {
    const { model } = this.props
    const name = !head ? '' : d < 0 ? t('plan.no_database') : label
    if (row.name.textContent !== name) {
      row.name.textContent = name
      row.name.title = name
    }
    const count = head ? `${num(model.ended(all))}/${num(all.length)}` : ''
    if (row.count.textContent !== count) row.count.textContent = count
  }

  makeCell(row, r, c) {
    const cell = element('div', 'cell', row, 'gridcell')
    cell.id = `cell-${r}-${c}`
    cell.style.left = this.x[c] + 2 + 'px'
    cell.style.width = this.x[c + 1] - this.x[c] - 4 + 'px'
    cell.setAttribute('aria-colindex', c + 2)
    cell.r = r
    cell.c = c
    cell.label = element('span', 'clabel', cell)
    return cell
  }

  fill(cell, content) {
    const { model, shown, selected, layout } = this.props
    const many = Array.isArray(content)
    const status = many ? model.worst(content) : model.word(content)
    const named = layout.cols[cell.c].named || (!many && model.tasks.database[content] < 0)
    const took = many ? null : model.duration(content, Date.now())
    const text = many ? `${num(model.ended(content))}/${num(content.length)}` : named ? model.tasks.name[content] : brief(took)
    const dim = shown && (many ? !content.some((i) => shown[i]) : !shown[content])
    const chosen = many ? content.every((i) => selected.has(model.tasks.id[i])) : selected.has(model.tasks.id[content])
    const paused = !many && model.tasks.paused[content] === 1
    const name = `cell st-${status} s-${status}${dim ? ' dim' : ''}${chosen ? ' chosen' : ''}${named ? ' named' : ''}${paused ? ' paused' : ''}`
    if (cell.className !== name) cell.className = name
    if (cell.status !== status) {
      cell.status = status
      cell.icon?.remove()
      cell.icon = this.icons[status].cloneNode(true)
      cell.prepend(cell.icon)
    }
    if (cell.label.textContent !== text) cell.label.textContent = text
    const label = many ? `${layout.cols[cell.c].label}, ${statusName(status)}, ${text}` : describe(model, content, took)
    if (cell.said !== label) cell.setAttribute('aria-label', (cell.said = label))
    cell.setAttribute('aria-selected', chosen ? 'true' : 'false')
  }

  mark() {
    const { cursor } = this.props
    this.active?.classList.remove('active')
    this.active = cursor && this.rows.get(cursor[0])?.cells.get(cursor[1])
    this.active?.classList.add('active')
    if (this.active) this.scroller.setAttribute('aria-activedescendant', this.active.id)
    else this.scroller.removeAttribute('aria-activedescendant')
  }

  // Pixels of a cell, for edges.
  box(r, c) {
    return { x: this.x[c] + 2, y: headHeight + r * rowHeight + 2, w: this.x[c + 1] - this.x[c] - 4, h: rowHeight - 4 }
  }

  reveal(r, c) {
    const { x, y, w, h } = this.box(r, c)
    const s = this.scroller
    if (y - headHeight < s.scrollTop) s.scrollTop = y - headHeight
    else if (y + h > s.scrollTop + s.clientHeight) s.scrollTop = y + h - s.clientHeight + 6
    if (x - this.headWidth < s.scrollLeft) s.scrollLeft = x - this.headWidth
    else if (x + w > s.scrollLeft + s.clientWidth) s.scrollLeft = x + w - s.clientWidth + 6
  }

  hit(event) {
    const cell = event.target.closest('.cell')
    return cell ? [cell.r, cell.c] : null
  }
}

export function Grid(props) {
  const ref = useRef()
  const surface = useRef()
  const { layout, handle, onPick, onHover, onKeys, label } = props
  useLayoutEffect(() => {
    const made = (surface.current = new Surface(ref.current, props))
    const unwatch = second.watch(() => made.later()) // what runs gets longer
    return () => {
      unwatch()
      made.end()
    }
  }, [])
  if (surface.current) surface.current.props = props
  useLayoutEffect(() => {
    surface.current.props = props
    surface.current.lay()
    handle.current = surface.current
  }, [layout])
  useEffect(() => surface.current.draw())
  return html`<div ref=${ref} class="grid" role="grid" tabindex="0" aria-label=${label} aria-multiselectable="true"
    onKeyDown=${onKeys}
    onClick=${(e) => { const at = surface.current.hit(e); if (at) onPick(at, e) }}
    onPointerOver=${(e) => onHover(surface.current.hit(e), e)} onPointerLeave=${() => onHover(null)}></div>`
}
