// What recurs: when it is next, how it went last.
import { html, useMemo, throttle } from '../lib.js'
import { t } from '../i18n.js'
import { useLive } from '../live.js'
import { Status } from '../icons.js'
import { Act } from '../act.js'
import { Answer, RunLink, TaskLink, Time, useList, useTitle } from '../parts.js'
import { List } from '../table.js'

export function Schedules() {
  const list = useList('schedules')
  const again = useMemo(() => throttle(list.reload, 5000), [])
  useLive({}, () => again(), () => again())
  useTitle(t('nav.schedules'))
  const columns = [
    { key: 'name', label: t('col.task'), kind: 'wide', cell: (s) => html`<span dir="auto"><${TaskLink} id=${s.task_id} name=${s.name} /></span>` },
    { key: 'schedule', label: t('schedule.rule'), cell: (s) => html`<code>${s.schedule}</code> <span class="hint">${s.time_zone}</span>` },
    { key: 'next', label: t('schedule.next'), cell: (s) => (s.error ? html`<span class="bad" dir="auto">${s.error}</span>` : s.paused ? html`<span class="tag warn">${t('plan.paused')}</span>`
      : html`<${Time} at=${s.next_at} /> <span class="hint"><${Time} at=${s.next_at} ago /></span>`) },
    { key: 'now', label: t('schedule.now'), kind: 'mid', cell: (s) => s.run_id && html`<${RunLink} id=${s.run_id}><${Status} status=${s.run_status} /><//>` },
    { key: 'last', label: t('schedule.last'), cell: (s) => s.last && html`<${RunLink} id=${s.last.run_id}><${Status} status=${s.last.status} /><//> <span class="hint"><${Time} at=${s.last.ended_at} ago /></span>${s.last.code && html` <code>${s.last.code}</code>`}` },
    { key: 'rules', label: t('schedule.misfire'), kind: 'lo', cell: (s) => html`<span class="hint">${s.misfire} · ${s.overlap}</span>` },
    { key: 'acts', label: t('col.acts'), cell: (s) => html`<span class="acts row"><${Act} act="run" on=${{ kind: 'task', ids: [s.task_id] }} kind="small" then=${list.reload} />
      <${Act} act=${s.paused ? 'resume' : 'pause'} on=${{ kind: 'task', ids: [s.task_id] }} kind="small" then=${list.reload} /></span>` },
  ]
  return html`<header class="title"><h1>${t('nav.schedules')}</h1></header>
    <${Answer} of=${list}><${List} list=${list} label=${t('nav.schedules')} id=${(s) => s.task_id} columns=${columns} none=${t('schedules.none')} /><//>`
}
