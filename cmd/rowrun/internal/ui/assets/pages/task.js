// One task: what it is and how its runs went.
import { html, useMemo, throttle } from '../lib.js'
import { t, duration, num } from '../i18n.js'
import { link } from '../router.js'
import { useLive } from '../live.js'
import { Status } from '../icons.js'
import { Act } from '../act.js'
import { Answer, Copy, Crumbs, PlanLink, TaskLink, Time, useData, useTitle } from '../parts.js'
import { List } from '../table.js'
import { write } from '../exact.js'
import { Json } from '../json.js'
import { columns } from './runs.js'

export function Task({ id }) {
  const task = useData(`tasks/${id}`)
  const again = useMemo(() => throttle(task.reload, 2000), [id])
  // A stream filters by run or plan: lines of other tasks are left aside here.
  useLive(task.data && (task.data.plan_id ? { plan: task.data.plan_id } : { task: id }), (lines) => lines.some((line) => line.task_id === id) && again(), () => again())
  useTitle(task.data?.name ?? `#${id}`)
  return html`<${Crumbs} items=${task.data?.plan_id ? [[t('nav.plans'), 'plans'], [task.data.plan || `#${task.data.plan_id}`, `plans/${task.data.plan_id}`]] : [[t('nav.tasks'), 'tasks']]} />
    <${Answer} of=${task}>${task.data && html`<${Details} task=${task.data} reload=${task.reload} />`}<//>`
}

function Details({ task, reload }) {
  const on = { kind: 'task', ids: [task.id] }
  const acts = ['run', 'retry', 'cancel', 'skip', 'unskip', 'pause', 'resume'].filter((act) => task.may[act])
  const rows = [
    ['col.type', task.type], ['col.plan', task.plan_id && html`<${PlanLink} id=${task.plan_id} name=${task.plan} />`], ['col.database', task.database_id], ['col.version', task.version],
    ['col.queue', task.queue], ['col.priority', num(task.priority)], ['schedule.rule', task.schedule && html`<code>${task.schedule}</code>`],
    ['task.attempts', num(task.max_attempts)], ['task.retry_delay', duration(task.retry_delay_ms)], ['task.timeout', task.timeout_ms !== null && (task.timeout_ms === 0 ? t('task.no_timeout') : duration(task.timeout_ms))],
    ['task.progress_timeout', task.progress_timeout_ms !== null && duration(task.progress_timeout_ms)], ['task.on_stale', task.on_stale], ['task.sequential', task.sequential && t('common.yes')],
    ['task.skip_reason', task.skip_reason], ['col.created', html`<${Time} at=${task.created_at} />`],
  ]
  return html`<header class="title"><div class="what"><h1 dir="auto">${task.name || `#${task.id}`}</h1>
      <p class="sub"><${Status} status=${task.status} />${task.paused && html`<span class="tag warn">${t('plan.paused')}</span>`}<span class="id">#${task.id}</span><span>${task.type}</span></p></div>
      <div class="acts">${acts.map((act) => html`<${Act} key=${act} act=${act} on=${on} then=${reload} kind=${act === 'run' ? 'primary' : ''} />`)}
        <${Copy} text=${task.sql} label=${t('run.copy_sql')} /><${Copy} text=${task.command} label=${t('run.copy_command')} /></div></header>
    <div class="columns"><div>
        <section class="card flush"><h2><a href=${link('runs', { task: task.id })}>${t('task.runs')}</a></h2><${List} list=${{ items: task.runs, next: null }} label=${t('task.runs')} columns=${columns().filter((c) => !['task', 'type', 'plan', 'where'].includes(c.key))} none=${t('panel.never')} /></section></div>
      <div><section class="card"><h2>${t('run.facts')}</h2><dl class="facts">${rows.filter(([, value]) => value).map(([key, value]) => html`<dt>${t(key)}</dt><dd dir="auto">${value}</dd>`)}</dl></section>
        ${['depends_on', 'needed_by'].filter((key) => task[key].length).map((key) => html`<section class="card"><h2>${t(`panel.${key}`)}</h2><p class="links">${task[key].slice(0, 50).map((id) => html`<${TaskLink} id=${id} />`)}</p></section>`)}
        ${task.hidden ? html`<p class="notice">${t('run.hidden')}</p>` : html`<section class="card"><h2>${t('run.payload')}<${Copy} text=${write(task.payload, 2)} /></h2><${Json} value=${task.payload} /></section>
          ${Object.keys(task.labels ?? {}).length > 0 && html`<section class="card"><h2>${t('task.labels')}</h2><${Json} value=${task.labels} /></section>`}`}
      </div></div>`
}
