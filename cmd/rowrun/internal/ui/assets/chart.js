// Charts by uPlot, which is read when the first one is drawn.
import { html, useEffect, useRef, useStore } from './lib.js'
import { locale, zone, zoneName, decimal, clock } from './i18n.js'

let library

function load() {
  library ??= new Promise((done, failed) => {
    const sheet = document.createElement('link')
    sheet.rel = 'stylesheet'
    sheet.href = new URL('libs/uplot.css', import.meta.url)
    // The small build of uPlot is no module: it leaves its name on the window.
    const script = document.createElement('script')
    script.src = new URL('libs/uplot.js', import.meta.url)
    script.onload = () => done(window.uPlot)
    script.onerror = failed
    document.head.append(sheet, script)
  })
  return library
}

const color = (name) => {
  const probe = document.createElement('i')
  probe.style.color = name
  document.body.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

// A line wants two values: what stands alone is a point.
export const alone = (u, i) => u.data[i].reduce((n, value) => n + (value !== null), 0) === 1

// series: [{label, values, color, fill, unit}] over at, in ms.
export function Chart({ at, series, label, height = 150 }) {
  const ref = useRef()
  const chart = useRef(null)
  const lang = useStore(locale)
  const where = useStore(zone)
  const data = [at.map((ms) => ms / 1000), ...series.map((s) => s.values)]
  const newest = useRef(data)
  newest.current = data
  useEffect(() => {
    let gone = false
    const draw = async () => {
      const Plot = await load()
      if (gone || !ref.current) return
      chart.current?.destroy()
      const grid = { stroke: color('var(--line)'), width: 1 }
      const axis = { stroke: color('var(--ink-3)'), grid, ticks: { show: false }, font: '11px system-ui, sans-serif' }
      chart.current = new Plot({
        width: Math.max(200, ref.current.clientWidth), height, padding: [8, 18, 0, 0], legend: { show: false },
        tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), zoneName()),
        cursor: { points: { size: 5 }, drag: { x: false, y: false } },
        scales: { y: { range: (u, min, max) => [0, Math.max(max * 1.1, 1)] } },
        axes: [
          { ...axis, values: (u, ticks) => ticks.map((tick) => clock(tick * 1000).replace(/:00$/, '')), size: 26, space: newest.current[0].at(-1) - newest.current[0][0] > 40000 ? 120 : 70 },
          { ...axis, values: (u, ticks) => ticks.map((tick) => decimal(tick)), size: 42, space: 30 },
        ],
        series: [{}, ...series.map((s) => ({ label: s.label, stroke: color(s.color), fill: s.fill && color(s.fill), width: 1.5, points: { show: alone }, spanGaps: true }))],
        hooks: { setCursor: [(u) => show(u.cursor.idx)] },
      }, newest.current, ref.current)
      for (const part of ref.current.querySelectorAll('canvas')) part.setAttribute('aria-hidden', 'true')
    }
    draw()
    const observer = new ResizeObserver(() => ref.current && chart.current?.setSize({ width: Math.max(200, ref.current.clientWidth), height }))
    observer.observe(ref.current)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    addEventListener('themechange', draw)
    dark.addEventListener('change', draw)
    return () => {
      gone = true
      observer.disconnect()
      removeEventListener('themechange', draw)
      dark.removeEventListener('change', draw)
      chart.current?.destroy()
      chart.current = null
    }
  }, [lang, where, series.length])
  useEffect(() => { chart.current?.setData(data) }, [at, ...series.map((s) => s.values)])
  const read = useRef()
  const show = (i) => {
    if (!read.current) return
    read.current.textContent = i === null || i === undefined ? ''
      : [clock(newest.current[0][i] * 1000), ...series.map((s, n) => `${s.label} ${newest.current[n + 1][i] === null ? '–' : decimal(newest.current[n + 1][i])}${s.unit ?? ''}`)].join('   ')
  }
  return html`<figure class="chart"><figcaption><b>${label}</b>
      ${series.map((s) => html`<span class="key"><i style=${{ background: s.color }}></i>${s.unit ? `${s.label} (${s.unit.trim()})` : s.label}</span>`)}<span class="at n" ref=${read}></span></figcaption>
    <div ref=${ref} class="plot" style=${{ minHeight: height + 'px' }}></div></figure>`
}
