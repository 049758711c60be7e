// How the deployment stands: each number leads to its list.
import { html, useEffect, useMemo, useStore, throttle } from '../lib.js'
import { t, has, atLeast, decimal, duration, num } from '../i18n.js'
import { link, place, setQuery } from '../router.js'
import { useLive } from '../live.js'
import { Icon, Status, StatusIcon, colorOf } from '../icons.js'
import { Chart } from '../chart.js'
import { Answer, Copy, Empty, Figure, RunLink, TaskLink, Time, Took, useData, useTitle } from '../parts.js'
import { count } from '../table.js'
import { Lease } from './replicas.js'

const ranges = ['15m', '1h', '24h', '7d']

export function Overview() {
  const { query } = useStore(place)
  const range = ranges.includes(query.range) ? query.range : '1h'
  const answer = useData('overview', { range })
  const again = useMemo(() => throttle(answer.reload, 4000), [range])
  useLive({}, () => again(), () => again())
  useEffect(() => {
    const timer = setInterval(() => document.hidden || again(), 10000)
    return () => {
      clearInterval(timer)
      again.stop()
    }
  }, [again])
  useTitle(t('nav.overview'))
  return html`<header class="title"><h1>${t('nav.overview')}</h1>
    <div class="switch" role="group" aria-label=${t('overview.range')}>${ranges.map((name) => html`<button type="button" aria-pressed=${range === name ? 'true' : 'false'} onClick=${() => setQuery({ range: name })}>${t(`since.${name}`)}</button>`)}</div></header>
    <${Answer} of=${answer}>${answer.data && html`<${Board} o=${answer.data} />`}<//>`
}

function Board({ o }) {
  const findings = o.doctor.filter((finding) => finding.severity !== 'ok')
  const live = o.replicas.filter((replica) => replica.live)
  const { history: h } = o
  const perMinute = (list) => list.map((n) => (n === null ? null : (n * 60) / h.step_seconds))
  const rows = h.source === 'rows' // what is longer ago than this replica remembers
  const throughput = [
    rows ? { label: t('overview.inserted'), values: perMinute(h.inserted), color: 'var(--ink-2)' }
      : { label: t('status.DONE'), values: perMinute(h.done), color: colorOf.DONE, fill: `color-mix(in srgb, ${colorOf.DONE} 12%, transparent)` },
    { label: t('status.FAILED'), values: perMinute(h.failed), color: colorOf.FAILED },
  ]
  const latency = [{ label: 'p50', values: h.start_latency_p50_ms, color: 'var(--ink-2)', unit: ' ms' }]
  return html`${findings.length > 0 && html`<${Doctor} findings=${findings} />`}
    ${o.recovery && html`<${Recovery} of=${o.recovery} />`}
    <section class="figures board" aria-label=${t('overview.now')}>
      <${Figure} label=${t('status.RUNNING')} value=${atLeast(o.counts.RUNNING)} href=${link('runs', { status: 'RUNNING' })} note=${t('overview.slots', { n: live.reduce((sum, r) => sum + r.concurrency, 0) })} />
      <${Figure} label=${t('status.AVAILABLE')} value=${atLeast(o.counts.AVAILABLE)} href=${link('runs', { status: 'AVAILABLE', order: 'oldest' })}
        note=${o.oldest_available_seconds > 0 ? t('overview.oldest', { age: duration(o.oldest_available_seconds * 1000) }) : ''} />
      <${Figure} label=${t('status.PENDING')} value=${atLeast(o.counts.PENDING)} href=${link('runs', { status: 'PENDING', order: 'oldest' })}
        note=${o.overdue.n !== '0' ? t('overview.overdue', { n: atLeast(o.overdue) }) : ''} />
      <${Figure} label=${t('runs.for_good')} value=${atLeast(o.counts.FAILED)} href=${link('runs', { failed: '1' })} tone=${o.counts.FAILED.n !== '0' && 'bad'} />
      <${Figure} label=${t('nav.replicas')} value=${`${num(live.length)} / ${num(o.replicas.length)}`} href="replicas" tone=${(o.stale > 0 || live.length === 0) && 'bad'} note=${o.stale > 0 ? t('overview.stale', { n: o.stale }) : ''} />
      <${Figure} label=${t('overview.orphans')} value=${num(o.orphans)} href="types" tone=${o.orphans !== '0' && 'bad'} note=${o.orphan_types > 0 ? t('overview.orphan_types', { n: o.orphan_types }) : ''} />
      <${Figure} label=${t('overview.deliveries')} value=${atLeast(o.deliveries_retrying)} href=${link('deliveries', { status: 'PENDING' })} tone=${o.deliveries_retrying.n !== '0' && 'bad'}
        note=${o.deliveries_failing[0] ? t('overview.oldest', { age: duration(o.deliveries_failing[0].oldest_seconds * 1000) }) : ''} />
    </section>
    <section class="charts"><${Chart} key=${h.source} label=${t(rows ? 'overview.rows' : 'overview.throughput')} at=${h.at} series=${throughput} /><${Chart} label=${t('overview.latency')} at=${h.at} series=${latency} /></section>
    <div class="columns even">
      <section class="card"><h2><a href=${link('runs', { status: 'RUNNING', order: 'oldest' })}>${t('overview.longest')}</a></h2><${Short} runs=${o.running_longest} none=${t('overview.nothing_runs')}
        last=${(run) => html`<${Took} from=${run.started_at} />`} /></section>
      <section class="card"><h2><a href=${link('runs', { failed: '1' })}>${t('overview.failed_last')}</a></h2><${Short} runs=${o.failed_last} none=${t('overview.nothing_failed')}
        last=${(run) => html`<${Time} at=${run.ended_at} ago />`} /></section>
      <section class="card"><h2>${t('overview.queues')}</h2>${o.queues.length === 0 ? html`<${Empty}>${t('overview.queues_empty')}<//>` : html`<table class="rows plain"><thead><tr><th>${t('col.queue')}</th><th class="num">${t('status.AVAILABLE')}</th><th class="num">${t('overview.oldest_col')}</th></tr></thead>
        <tbody>${o.queues.map((q) => html`<tr data-row><td dir="auto"><a data-main href=${link('runs', { queue: q.queue, status: 'AVAILABLE' })}>${q.queue}</a></td><td class="num">${count(q.available)}</td><td class="num n">${duration(q.oldest_seconds * 1000)}</td></tr>`)}</tbody></table>`}</section>
      <section class="card"><h2><a href="replicas">${t('nav.replicas')}</a></h2><ul class="replicas-short">${o.replicas.slice(0, 8).map((r) => html`<li key=${r.replica_id}>
        <span class=${r.live ? 'lamp on' : 'lamp'} aria-hidden="true"></span><span class="name" dir="auto">${r.name}</span>
        ${r.stream && html`<span class="tag">${t('replica.stream')}</span>`}${r.paused_at && html`<span class="tag warn">${t('plan.paused')}</span>`}
        <span class="hint mid">${[r.version, r.wake_source].filter(Boolean).join(' · ')}</span><span class="mid" title=${t('replica.lease')}><${Lease} of=${r} /></span>
        <meter min="0" max=${r.concurrency || 1} value=${Number(r.running)} aria-label=${t('replica.load')}></meter><span class="n hint">${num(r.running)}/${num(r.concurrency)}</span></li>`)}</ul></section>
      <section class="card wide-card"><h2><a href="schedules">${t('nav.schedules')}</a></h2>${o.schedules.length === 0 ? html`<${Empty}>${t('schedules.none')}<//>` : html`<div class="scroll" tabindex="0" role="region" aria-label=${t('nav.schedules')}><table class="rows plain"><tbody>${o.schedules.slice(0, 8).map((s) => html`<tr data-row>
        <td class="wide" dir="auto"><${TaskLink} id=${s.task_id} name=${s.name} /></td><td class="mid"><code>${s.schedule}</code></td>
        <td>${s.paused ? html`<span class="tag warn">${t('plan.paused')}</span>` : html`<${Time} at=${s.next_at} ago />`}</td>
        <td>${s.last && html`<${RunLink} id=${s.last.run_id}><${Status} status=${s.last.status} /><//>`}</td></tr>`)}</tbody></table></div>`}</section>
    </div>`
}

// The recovery from an outage that is under way: how much of what was overdue is left, how fast it goes, when it will be gone.
function Recovery({ of: { backlog, remaining, rate, began_at: began, estimated_end: end } }) {
  const all = Number(backlog.n)
  return html`<section class="recovery" aria-label=${t('overview.recovery')}><h2>${t('overview.recovery')}</h2>
    <progress max=${Math.max(all, 1)} value=${Math.max(all - Number(remaining.n), 0)} aria-label=${t('overview.recovery')}></progress>
    <div class="figures">
      <${Figure} label=${t('overview.recovery_left')} value=${atLeast(remaining)} note=${t('overview.recovery_of', { n: atLeast(backlog) })} />
      <${Figure} label=${t('overview.recovery_rate')} value=${decimal(rate)} />
      <${Figure} label=${t('overview.recovery_end')} value=${end ? html`<${Time} at=${end} ago />` : t('overview.recovery_unknown')} />
      <${Figure} label=${t('col.started')} value=${html`<${Time} at=${began} ago />`} />
    </div></section>`
}

function Doctor({ findings }) {
  const bad = findings.some((finding) => finding.severity === 'error')
  return html`<section class=${bad ? 'doctor bad' : 'doctor'} aria-label=${t('overview.doctor')}><h2><${Icon} name="warn" />${t('overview.doctor_n', { n: findings.length })}</h2>
    <ul>${findings.map((finding) => html`<li><span class="sev ${finding.severity}">${t(`severity.${finding.severity}`)}</span><span dir="auto"><b>${has(`check.${finding.check}`) ? t(`check.${finding.check}`) : finding.check}</b> ${finding.message}</span>
      ${finding.fix && html`<span class="fix"><code>${finding.fix}</code><${Copy} text=${finding.fix} /></span>`}</li>`)}</ul></section>`
}

function Short({ runs, none, last }) {
  if (!runs.length) return html`<${Empty}>${none}<//>`
  return html`<ul class="short">${runs.map((run) => html`<li key=${run.id} data-row><${StatusIcon} status=${run.status} />
    <a data-main class="name" href=${`runs/${run.id}`} dir="auto">${run.task || `#${run.id}`}</a>
    <span class="hint mid" dir="auto">${run.code ?? run.database_id ?? run.queue}</span>${last(run)}</li>`)}</ul>`
}

