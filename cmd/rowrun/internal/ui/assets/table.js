// Tables of lists: columns, rows that are chosen, acts on them or on all that the filter names.
import { html, useEffect, useState, useStore } from './lib.js'
import { session } from './api.js'
import { t, num } from './i18n.js'
import { Act } from './act.js'
import { Button, Empty, More } from './parts.js'

const most = 1000

// columns: {key, label, cell(item), kind: 'num' | 'wide' | 'mid' | 'lo'}. acts: {kind, names, filter, then}, where rows may be chosen.
export function List({ list, columns, id = (item) => item.id, acts, none, label }) {
  const [chosen, set] = useState(new Set())
  const may = useStore(session)?.acts && acts
  const key = JSON.stringify(acts?.filter ?? {})
  useEffect(() => set(new Set()), [key])
  if (list.items?.length === 0 && !list.next) return html`<${Empty}>${none}<//>`
  const items = list.items ?? []
  const toggle = (one) => set((before) => {
    const after = new Set(before)
    if (!after.delete(one)) after.add(one)
    return after
  })
  const all = items.length > 0 && items.every((item) => chosen.has(id(item)))
  const then = (result) => { set(new Set()); acts.then?.(result) }
  return html`${may && chosen.size > 0 && html`<div class="selection" role="group" aria-label=${t('plan.selection')}>
      <b>${t('list.selected', { n: chosen.size })}</b>
      ${acts.names.map((name) => html`<${Act} key=${name} act=${name} on=${{ kind: acts.kind, ids: [...chosen].slice(0, most) }} then=${then} />`)}
      ${all && acts.filter && html`<span class="all"><span>${t('list.or_all')}</span>
        ${acts.names.map((name) => html`<${Act} key=${name} act=${name} on=${{ kind: acts.kind, filter: acts.filter }} then=${then}>${t('list.all', { act: t(`act.${name}`) })}<//>`)}</span>`}
      <${Button} kind="quiet" icon="close" onClick=${() => set(new Set())}>${t('filter.clear')}<//></div>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${label}><table class="rows">
      <thead><tr>${may && html`<th class="tick"><input type="checkbox" checked=${all} aria-label=${t('list.select_page')}
        onChange=${() => set(all ? new Set() : new Set(items.map(id)))} /></th>`}
        ${columns.map((c) => html`<th key=${c.key} scope="col" class=${c.kind}>${c.label}</th>`)}</tr></thead>
      <tbody>${items.map((item) => html`<tr key=${id(item)} data-row class=${chosen.has(id(item)) ? 'chosen' : ''}>
        ${may && html`<td class="tick"><input type="checkbox" checked=${chosen.has(id(item))} aria-label=${t('list.select', { id: id(item) })} onChange=${() => toggle(id(item))} /></td>`}
        ${columns.map((c) => html`<td key=${c.key} class=${c.kind}>${c.cell(item)}</td>`)}</tr>`)}</tbody></table></div>
    <${More} list=${list} />`
}

export const count = (bounded) => html`<span class="n">${num(bounded.n)}${bounded.at_least ? '+' : ''}</span>`
