// Failures by what they say, what a start would make, and what is done with a selection.
import { html, useMemo, useState } from '../lib.js'
import { t, num } from '../i18n.js'
import { setQuery } from '../router.js'
import { Icon, Status } from '../icons.js'
import { Act } from '../act.js'
import { FAILED } from './plan_model.js'
import { Answer, Button, Dialog, useData } from '../parts.js'

const most = 1000 // ids that one act may name

export function Failures({ model, group, arranged, after }) {
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
      ${ids.length > 0 && html`<${Act} act="retry" on=${{ kind: 'task', ids: ids.slice(0, most) }} then=${after} icon="retry" kind="small">${t('plan.retry_group', { n: ids.length })}<//>`}
    </li>`
  })}</ul>
    ${groups.length > 3 && html`<button type="button" class="inline" onClick=${() => set(!all)}>${all ? t('common.less') : t('plan.more_kinds', { n: groups.length - 3 })}</button>`}
  </section>`
}

export function Selected({ plan, model, selected, clear, after }) {
  if (selected.size === 0) return null
  const of = (...words) => [...selected].filter((id) => words.includes(model.word(model.index.get(id))))
  const offer = (act, ids, kind) => ids.length > 0 && html`<${Act} act=${act} on=${{ kind: 'task', ids: ids.slice(0, most) }} then=${after} kind=${kind}>${t(`act.${act}`)} <b class="n">${num(ids.length)}</b><//>`
  return html`<div class="selection" role="group" aria-label=${t('plan.selection')}>
    <b>${t('plan.selected', { n: selected.size })}</b>
    ${offer('run', of('NOT_STARTED'))}${offer('retry', of('FAILED', 'CANCELED'))}
    ${offer('cancel', of('PENDING', 'AVAILABLE', 'RUNNING'))}${offer('skip', of('NOT_STARTED', 'PENDING', 'FAILED', 'CANCELED'))}${offer('unskip', of('SKIPPED'))}
    ${selected.size > most && html`<span class="hint">${t('plan.first_only', { n: most })}</span>`}
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
  for (const [name, value] of Object.entries(detail ?? {})) {
    const kind = /^(waiting_)?(run|task|plan)_ids?$/.exec(name)?.[2]
    if (!kind) continue
    for (const id of [value].flat()) if (id !== null) found.push(html`<a href=${`${kind}s/${id}`}>${t(`link.${kind}`, { id: String(id) })}</a>`)
  }
  return found
}
