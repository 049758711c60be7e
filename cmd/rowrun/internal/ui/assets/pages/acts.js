// What people did here, on what and how it went.
import { html, useEffect } from '../lib.js'
import { post } from '../api.js'
import { t, has, num } from '../i18n.js'
import { Outcome } from '../act.js'
import { link } from '../router.js'
import { Answer, Crumbs, Time, useData, useList, useTitle } from '../parts.js'
import { List } from '../table.js'
import { parse, write } from '../exact.js'
import { Json } from '../json.js'

const onWhat = (act) => (has(`kind.${act.kind}`) ? t(`kind.${act.kind}`, { n: act.count ?? 2 }) : act.kind)

// Acts whose runs can be listed.
const about = (act) => ['run', 'retry'].includes(act.act) || (['cancel', 'abandon'].includes(act.act) && act.kind !== 'plan')

export function Acts() {
  const list = useList('acts')
  useTitle(t('nav.acts'))
  const columns = [
    { key: 'id', label: t('col.act'), cell: (a) => html`<a class="id" data-main href=${`acts/${a.act_id}`}>#${a.act_id}</a>` },
    { key: 'act', label: t('act.what'), kind: 'wide', cell: (a) => html`<b>${t(`act.${a.act}`)}</b> ${onWhat(a)}${a.args?.reason && html` <span class="hint cut" dir="auto">“${a.args.reason}”</span>`}` },
    { key: 'by', label: t('act.by'), cell: (a) => html`<span dir="auto">${a.by}</span>` },
    { key: 'state', label: t('col.status'), cell: (a) => t(`act.state.${a.state}`) },
    { key: 'done', label: t('act.done_col'), kind: 'num', cell: (a) => html`<span class="n">${num(a.done)}${a.count !== null ? ` / ${num(a.count)}${a.capped ? '+' : ''}` : ''}</span>` },
    { key: 'failed', label: t('act.failed_col'), kind: 'num mid', cell: (a) => html`<span class=${a.failed_count ? 'n bad' : 'n'}>${num(a.failed_count)}</span>` },
    { key: 'at', label: t('act.at'), kind: 'num', cell: (a) => html`<${Time} at=${a.at} />` },
  ]
  return html`<header class="title"><h1>${t('nav.acts')}</h1></header>
    <${Answer} of=${list}><${List} list=${list} label=${t('nav.acts')} id=${(a) => a.act_id} columns=${columns} none=${t('acts.none')} /><//>`
}

export function OneAct({ id }) {
  const answer = useData(`acts/${id}`)
  const a = answer.data
  useEffect(() => { // also after a look without an answer
    if (a?.state !== 'RUNNING' || answer.loading) return undefined
    const timer = setTimeout(answer.reload, 1500)
    return () => clearTimeout(timer)
  }, [a, answer.loading])
  useTitle(`#${id}`)
  return html`<${Crumbs} items=${[[t('nav.acts'), 'acts']]} /><${Answer} of=${answer}>${a && html`<header class="title"><div class="what"><h1>${t(`act.${a.act}`)} ${onWhat(a)}</h1>
      <p class="sub"><span class="id">#${a.act_id}</span><span dir="auto">${t('act.by_at', { name: a.by })}</span><${Time} at=${a.at} />${a.stopped_by && html`<span>${t('act.stopped_by', { name: a.stopped_by })}</span>`}</p></div></header>
    <div class="columns"><section class="card"><${Outcome} result=${a} stop=${() => post(`acts/${id}/stop`, {}).then(answer.set)} />
        ${a.done > 0 && about(a) && html`<p><a href=${link('runs', { act: a.act_id })}>${t('act.runs')}</a></p>`}</section>
      <section class="card"><h2>${t('act.named')}</h2><${Json} value=${parse(write({ kind: a.kind, ids: a.ids ?? undefined, filter: a.filter ?? undefined, args: a.args, made: a.made }))} /></section></div>`}<//>`
}
