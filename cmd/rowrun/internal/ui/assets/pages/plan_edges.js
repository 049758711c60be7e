// Dependencies of one task, drawn over the grid: what it waits for, and what waits for it.
import { html, useEffect, useState } from '../lib.js'
import { get } from '../api.js'

export function Edges({ plan, model, task, layout, handle }) {
  const [edges, set] = useState(null)
  const [, redraw] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    get(`plans/${plan.id}/edges`, { task }, abort.signal).then(set, () => {})
    return () => abort.abort()
  }, [plan.id, task])
  const surface = handle.current
  useEffect(() => {
    if (!surface) return undefined
    const draw = () => redraw((n) => n + 1)
    surface.scroller.addEventListener('scroll', draw, { passive: true })
    addEventListener('resize', draw)
    draw()
    return () => {
      surface.scroller.removeEventListener('scroll', draw)
      removeEventListener('resize', draw)
    }
  }, [surface, layout])
  if (!edges || !surface?.box) return null
  const { scrollLeft, scrollTop, clientWidth, clientHeight, offsetTop, offsetLeft } = surface.scroller
  const middle = (id) => {
    const at = layout.at.get(model.index.get(id))
    if (!at) return null
    const { x, y, w, h } = surface.box(...at)
    return { x: x - scrollLeft, y: y - scrollTop, w, h }
  }
  const lines = edges.task.map((from, n) => {
    const [a, b] = [middle(edges.depends_on[n]), middle(from)]
    if (!a || !b) return null
    const [x1, y1, x2, y2] = [a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2]
    const bend = Math.max(24, Math.abs(x2 - x1) / 2)
    return html`<path key=${n} class=${from === task ? 'edge needs' : 'edge needed'} d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />
      <circle class="edge-end" cx=${x2} cy=${y2} r="3.5" />`
  })
  return html`<svg class="edges" aria-hidden="true" width=${clientWidth} height=${clientHeight}
    style=${{ top: offsetTop + 'px', left: offsetLeft + 'px' }}>${lines}</svg>`
}
