// Tasks, and the types that replicas run.
import { html, useEffect, useStore } from '../lib.js'
import { t, num } from '../i18n.js'
import { link, place } from '../router.js'
import { Status, statuses } from '../icons.js'
import { Answer, PlanLink, Tabs, Time, useData, useList, useTitle } from '../parts.js'
import { Filters, Pick, Search, Word } from '../filters.js'
import { List, count } from '../table.js'

const tabs = (at) => html`<${Tabs} label=${t('nav.tasks')} items=${[[t('nav.tasks'), 'tasks', at === 'tasks'], [t('nav.types'), 'types', at === 'types']]} />`

export function Tasks() {
  const { query } = useStore(place)
  const { q, type, status, database, version, plan } = query
  const filter = Object.fromEntries(Object.entries({ q, type, status, database, version, plan: plan ?? 'none' }).filter(([, value]) => value && value !== 'any'))
  const list = useList('tasks', filter)
  useTitle(t('nav.tasks'))
  const columns = [
    { key: 'name', label: t('col.task'), kind: 'wide', cell: (task) => html`<a data-main href=${`tasks/${task.id}`} dir="auto">${task.name || `#${task.id}`}</a>` },
    { key: 'status', label: t('task.last'), cell: (task) => html`<${Status} status=${task.status} />${task.paused && html` <span class="tag warn">${t('plan.paused')}</span>`}` },
    { key: 'type', label: t('col.type'), kind: 'mid', cell: (task) => task.type },
    { key: 'plan', label: t('col.plan'), kind: 'lo', cell: (task) => html`<span dir="auto"><${PlanLink} id=${task.plan_id} name=${task.plan} /></span>` },
    { key: 'queue', label: t('col.queue'), kind: 'lo', cell: (task) => task.queue },
    { key: 'database', label: t('col.database'), kind: 'mid', cell: (task) => html`<span dir="auto">${task.database_id}</span> <span class="n hint">${task.version}</span>` },
    { key: 'schedule', label: t('schedule.rule'), kind: 'lo', cell: (task) => task.schedule && html`<code>${task.schedule}</code>` },
    { key: 'at', label: t('col.created'), kind: 'num', cell: (task) => html`<${Time} at=${task.created_at} />` },
  ]
  return html`<header class="title"><h1>${t('nav.tasks')}</h1></header>${tabs('tasks')}
    <${Filters} words=${['q', 'type', 'status', 'database', 'version', 'plan']}><${Search} name="q" label=${t('plan.search')} /><${Word} name="type" label=${t('col.type')} />
      <${Pick} name="status" label=${t('filter.status')} values=${statuses.map((s) => [s, t(`status.${s}`)])} /><${Word} name="database" label=${t('col.database')} />
      <${Pick} name="plan" label=${t('filter.plan')} first=${t('tasks.without_plan')} values=${[['any', t('filter.all')]]} /><//>
    <${Answer} of=${list}><${List} list=${list} label=${t('nav.tasks')} columns=${columns} none=${t('tasks.none')}
      acts=${{ kind: 'task', names: ['run', 'pause', 'resume'], filter, then: list.reload }} /><//>`
}

export function Types() {
  const answer = useData('types')
  useEffect(() => {
    const timer = setInterval(() => document.hidden || answer.reload(), 5000)
    return () => clearInterval(timer)
  }, [])
  useTitle(t('nav.types'))
  const columns = [
    { key: 'type', label: t('col.type'), kind: 'wide', cell: (type) => html`<a data-main href=${link('runs', { type: type.type })} dir="auto">${type.type}</a>
      ${type.draining && html` <span class="tag warn">${t('type.draining')}</span>`}${type.alias_of && html` <span class="hint">→ ${type.alias_of}</span>`}` },
    { key: 'replicas', label: t('nav.replicas'), kind: 'num', cell: (type) => html`<span class=${type.replicas === '0' ? 'n bad' : 'n'}>${num(type.replicas)}</span>` },
    { key: 'tasks', label: t('nav.tasks'), kind: 'num', cell: (type) => html`<a href=${link('tasks', { type: type.type })}>${count(type.tasks)}</a>` },
    ...['PENDING', 'AVAILABLE', 'RUNNING'].map((status) => ({
      key: status, label: t(`status.${status}`), kind: 'num', cell: (type) => html`<a href=${link('runs', { type: type.type, status })}>${count(type[status.toLowerCase()])}</a>`,
    })),
    { key: 'orphans', label: t('overview.orphans'), kind: 'num', cell: (type) => html`<span class=${type.orphans === '0' ? 'n' : 'n bad'}>${num(type.orphans)}</span>` },
  ]
  return html`<header class="title"><h1>${t('nav.types')}</h1></header>${tabs('types')}
    <${Answer} of=${answer}><${List} list=${{ items: answer.data?.items ?? [], next: null }} label=${t('nav.types')} id=${(type) => type.type} columns=${columns} none=${t('types.none')} /><//>`
}

