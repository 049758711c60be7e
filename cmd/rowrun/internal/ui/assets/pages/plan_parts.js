// Failures by what they say, what a start would make, and what is done with a selection.
import { html, useMemo, useState } from '../lib.js'
import { t, num } from '../i18n.js'
import { link, setQuery } from '../router.js'
import { Icon, Status } from '../icons.js'
import { Act } from '../act.js'
import { FAILED } from './plan_model.js'
import { Answer, Button, Dialog, useData } from '../parts.js'

const most = 1000 // ids that one act may name

// What an act is done to: ids, or the filter that names them where these are too many. No filter: the first of them. The status
// stays in the filter whatever it is: without one an act reaches all of the plan.
const whole = (ids, filter) => (ids.length > most && filter
  ? { kind: 'task', filter: Object.fromEntries(Object.entries(filter).filter(([name, value]) => value || name === 'status')) } : { kind: 'task', ids: ids.slice(0, most) })

export function Failures({ plan, model, group, arranged, after }) {
  const [all, set] = useState(false)
  const groups = model.errors.map((error, g) => ({ ...error, g })).filter((error) => error.count > 0).sort((a, b) => b.count - a.count)
  const failed = useMemo(() => {
    const of = new Map()
    for (let i = 0; i < model.size; i++) {
      const g = model.tasks.error_group[i]
      if (g >= 0 && model.status[i] === FAILED) of.has(g) ? of.get(g).push(model.tasks.id[i]) : of.set(g, [model.tasks.id[i]])
    }
    return of
  }, [model, model.errors, arranged])
  if (!groups.length) return null
  const total = groups.reduce((sum, error) => sum + error.count, 0)
  const shown = all ? groups : groups.slice(0, 3)
  return html`<section class="failures" aria-label=${t('plan.failures')}>
    <h2>${t('plan.failures_n', { n: total })}<span class="hint">${t('plan.kinds', { n: groups.length })}</span></h2>
    <ul>${shown.map(({ g, text, code, count }) => {
    const ids = failed.get(g) ?? []
    return html`<li key=${g} class=${group === g ? 'picked' : ''}>
      <button type="button" class="group" aria-pressed=${group === g ? 'true' : 'false'} onClick=${() => setQuery({ group: group === g ? null : String(g) })}>
        <b class="n">${num(count)}</b>${code && html`<code>${code}</code>`}<span dir="auto">${text}</span></button>
      ${ids.length > 0 && html`<${Act} act="retry" on=${whole(ids, text && { plan: plan.id, status: 'FAILED', error: text, text: code })} then=${after} icon="retry" kind="small">${t('plan.retry_group', { n: ids.length })}<//>`}
    </li>`
  })}</ul>
    ${groups.length > 3 && html`<button type="button" class="inline" onClick=${() => set(!all)}>${all ? t('common.less') : t('plan.more_kinds', { n: groups.length - 3 })}</button>`}
  </section>`
}

// filter: what names just the tasks that are selected, in the API's words; null: nothing does.
export function Selected({ model, selected, filter, clear, after }) {
  if (selected.size === 0) return null
  const done = (result) => { clear(); after(result) }
  const offer = (act, words, of = () => true) => {
    const within = (list) => [...selected].filter((id) => list.includes(model.word(model.index.get(id))) && of(model.index.get(id)))
    const status = filter?.status ? words.filter((word) => filter.status.split(',').includes(word)) : words
    let ids = within(words)
    if (filter && ids.length > most) ids = within(status) // what has another status by now isn't named by the filter
    return ids.length > 0 && html`<${Act} act=${act} on=${whole(ids, filter && { ...filter, status: status.join(',') })} then=${done}>${t(`act.${act}`)} <b class="n">${num(ids.length)}</b><//>`
  }
  const ahead = ['NOT_STARTED', 'PENDING', 'AVAILABLE', 'FAILED', 'CANCELED']
  return html`<div class="selection" role="group" aria-label=${t('plan.selection')}>
    <b>${t('plan.selected', { n: selected.size })}</b>
    ${offer('run', ['NOT_STARTED'])}${offer('retry', ['FAILED', 'CANCELED'])}
    ${offer('cancel', ['PENDING', 'AVAILABLE', 'RUNNING'])}${offer('skip', ['NOT_STARTED', 'PENDING', 'FAILED', 'CANCELED'])}${offer('unskip', ['SKIPPED'])}
    ${offer('pause', ahead, (i) => model.tasks.paused[i] !== 1)}${offer('resume', ahead, (i) => model.tasks.paused[i] === 1)}
    ${selected.size > most && !filter && html`<span class="hint">${t('plan.first_only', { n: most })}</span>`}
    <${Button} kind="quiet" icon="close" onClick=${clear}>${t('filter.clear')}<//>
  </div>`
}

export function Preview({ plan, onClose }) {
  const answer = useData(`plans/${plan.id}/preview`)
  return html`<${Dialog} label=${t('plan.preview')} onClose=${onClose} wide>
    <h2>${t('plan.preview')}</h2>
    <${Answer} of=${answer}>${answer.data && ['run', 'retry', 'cancel'].map((act) => html`<section>
      <h3>${t(`plan.would.${act}`, { n: answer.data[act].count })}</h3>
      ${answer.data[act].count > 0 && html`<ul class="sample">${answer.data[act].sample.slice(0, 12).map((item) => html`<li key=${item.id}>
        <span class="name" dir="auto">${item.name || `#${item.id}`}</span><span>${[item.database_id, item.version].filter(Boolean).join(' · ')}</span><${Status} status=${item.status} /></li>`)}
        ${answer.data[act].count > Math.min(12, answer.data[act].sample.length) && html`<li class="rest">${t('act.rest', { n: answer.data[act].count - Math.min(12, answer.data[act].sample.length) })}</li>`}</ul>`}
    </section>`)}<//>
    <footer><${Button} onClick=${onClose}>${t('common.close')}<//></footer>
  <//>`
}

// What a cause's detail names, as links.
export function Why({ waiting }) {
  return html`<ul class="waiting">${waiting.map(({ cause, message, detail }) => html`<li key=${cause}>
    <p><span class="cause">${t(`cause.${cause}`)}</span><span dir="auto">${message}</span></p>
    ${links(detail).length > 0 && html`<p class="links"><${Icon} name="link" size=${13} />${links(detail).slice(0, 6)}</p>`}</li>`)}</ul>`
}

function links(detail) {
  const found = []
  if (detail?.limit) found.push(html`<a href=${link('limits', { name: detail.limit, key: detail.key })}>${t('link.limit', { name: detail.limit })}</a>`)
  for (const [name, value] of Object.entries(detail ?? {})) {
    const kind = /^(waiting_)?(run|task|plan)_ids?$/.exec(name)?.[2]
    if (!kind) continue
    for (const id of [value].flat()) if (id !== null) found.push(html`<a href=${`${kind}s/${id}`}>${t(`link.${kind}`, { id: String(id) })}</a>`)
  }
  return found
}
