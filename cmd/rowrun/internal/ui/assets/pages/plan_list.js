// The same tasks as rows of a table, those first that need somebody; only what is on the screen stands in the document.
import { html, useEffect, useMemo, useRef, useState } from '../lib.js'
import { t, duration } from '../i18n.js'
import { Status } from '../icons.js'

const height = 30
// Within a status rows stand as the plan has them.
const order = { FAILED: 0, CANCELED: 1, RUNNING: 2, AVAILABLE: 3, PENDING: 4, NOT_STARTED: 5, SKIPPED: 6, DONE: 7 }

export function TaskTable({ model, shown, selected, toggle, open, arranged }) {
  const ref = useRef()
  const [view, set] = useState({ top: 0, high: 600 })
  const list = useMemo(() => {
    const buckets = Object.keys(order).map(() => [])
    for (let i = 0; i < model.size; i++) if (!shown || shown[i]) buckets[order[model.word(i)]].push(i)
    return buckets.flat()
  }, [model, shown, arranged]) // rows stay where they are while things merely run
  useEffect(() => {
    const look = () => ref.current && set({ top: ref.current.scrollTop, high: ref.current.clientHeight })
    look()
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  }, [])
  const from = Math.max(0, Math.floor(view.top / height) - 6)
  const to = Math.min(list.length, Math.ceil((view.top + view.high) / height) + 6)
  const { tasks } = model
  return html`<div class="vlist" ref=${ref} onScroll=${(e) => set({ top: e.currentTarget.scrollTop, high: e.currentTarget.clientHeight })}>
    <table class="rows" aria-rowcount=${list.length + 1}>
      <thead><tr><th class="tick"><span class="sr">${t('common.select')}</span></th><th>${t('col.task')}</th><th>${t('col.status')}</th><th class="mid">${t('col.database')}</th>
        <th class="mid">${t('col.version')}</th><th class="num">${t('col.took')}</th><th class="lo">${t('col.why')}</th></tr></thead>
      <tbody>
        ${from > 0 && html`<tr aria-hidden="true"><td colspan="7" class="pad" style=${{ height: from * height + 'px' }}></td></tr>`}
        ${list.slice(from, to).map((i, n) => html`<tr key=${tasks.id[i]} data-row aria-rowindex=${from + n + 2} class=${selected.has(tasks.id[i]) ? 'chosen' : ''}>
          <td class="tick"><input type="checkbox" aria-label=${tasks.name[i] || tasks.id[i]} checked=${selected.has(tasks.id[i])} onChange=${() => toggle([i])} /></td>
          <td class="wide"><button type="button" class="inline" data-main dir="auto" onClick=${() => open(i)}>${tasks.name[i] || `#${tasks.id[i]}`}</button></td>
          <td><${Status} status=${model.word(i)} /></td>
          <td class="mid" dir="auto">${model.database(i)}</td><td class="mid n">${model.version(i)}</td>
          <td class="num n">${duration(model.duration(i, Date.now()))}</td>
          <td class="lo wide" dir="auto">${why(model, i)}</td></tr>`)}
        ${to < list.length && html`<tr aria-hidden="true"><td colspan="7" class="pad" style=${{ height: (list.length - to) * height + 'px' }}></td></tr>`}
      </tbody></table></div>`
}

function why(model, i) {
  const { cause, error_group: group } = model.tasks
  if (group[i] >= 0) return model.errors[group[i]]?.text
  return model.word(i) === 'PENDING' && cause[i] ? t(`cause.${cause[i]}`) : ''
}
