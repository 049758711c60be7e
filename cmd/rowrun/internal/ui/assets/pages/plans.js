// Rollouts, the newest first.
import { html, useMemo, useStore, throttle } from '../lib.js'
import { t, num } from '../i18n.js'
import { place, setQuery } from '../router.js'
import { useLive } from '../live.js'
import { Icon, Status } from '../icons.js'
import { Answer, Empty, More, StatusBar, Time, useList, useTitle } from '../parts.js'
import { Filters, Pick, Search } from '../filters.js'

const statuses = ['FAILED', 'RUNNING', 'AVAILABLE', 'PENDING', 'CANCELED', 'DONE', 'NOT_STARTED']

export function Plans() {
  const { query } = useStore(place)
  const list = useList('plans', { status: query.status, q: query.q, project: query.project })
  const again = useMemo(() => throttle(list.reload, 3000), [query.status, query.q, query.project])
  useLive({}, () => again(), () => again())
  useTitle(t('nav.plans'))
  return html`<header class="title"><h1>${t('nav.plans')}</h1></header>
    <${Filters} words=${['status', 'q', 'project']}>
      <${Search} name="q" label=${t('plans.search')} />
      <${Pick} name="status" label=${t('filter.status')} values=${statuses.map((s) => [s, t(`status.${s}`)])} />
    <//>
    <${Answer} of=${list}>${list.items?.length === 0 && !list.next && html`<${Empty}>${t('plans.none')}<//>`}
      ${list.items?.length > 0 && html`<ul class="plans">${list.items.map((plan) => html`<li key=${plan.id} data-row>
        <div class="plan-head"><a class="plan-name" data-main href=${`plans/${plan.id}`} dir="auto">${plan.name || `#${plan.id}`}</a>
          <${Status} status=${plan.status} />
          ${plan.paused && html`<span class="tag warn"><${Icon} name="pause" size=${12} />${t('plan.paused')}</span>`}
          ${plan.attention > 0 && html`<a class="tag bad" href=${`plans/${plan.id}?attention=1`}><${Icon} name="warn" size=${12} />${t('plans.attention', { n: plan.attention })}</a>`}
          <span class="grow"></span><span class="id">#${plan.id}</span><${Time} at=${plan.started_at ?? plan.created_at} ago /></div>
        <div class="plan-bar"><${StatusBar} counts=${plan.counts} /><span class="n hint">${num(plan.counts.DONE + plan.counts.SKIPPED)} / ${num(plan.tasks)}</span></div>
      </li>`)}</ul>`}<${More} list=${list} /><//>`
}
