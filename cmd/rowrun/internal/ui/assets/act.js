// What changes something: asked for once, with what it will do to how many, and told what it did.
//
// The request id is drawn when a preview is shown and sent with each try of its confirmation: two clicks, or a try after a
// lost answer, act once. A try with another reason or limit is another decision, with a request id of its own.
import { html, store, useEffect, useRef, useState, useStore } from './lib.js'
import { get, post, requestID, session } from './api.js'
import { t, has, num, zone, zoneShort } from './i18n.js'
import { link } from './router.js'
import { Icon, Status } from './icons.js'
import { Button, Dialog, Problem } from './parts.js'

const asked = store(null)

// act({act: 'retry', on: {kind: 'run', ids: ['7']}, then}): then is called when it has been done.
export const act = (request) => asked.set({ ...request, key: requestID() })

export const mayAct = () => Boolean(session.get()?.acts)

// Acts that a page offers; nothing where this session may not act.
export function Act({ act: name, on, args, then, icon, kind, children, disabled }) {
  const may = useStore(session)?.acts
  if (!may) return null
  return html`<${Button} icon=${icon} kind=${kind} disabled=${disabled} onClick=${() => act({ act: name, on, args, then })}>${children ?? t(`act.${name}`)}<//>`
}

const reasons = { cancel: false, abandon: true, skip: false, give_up: false } // true: needed

// A moment as an input of the page's zone has it.
function wall(at) {
  const shifted = zone.get() === 'utc' ? at : new Date(at - at.getTimezoneOffset() * 60000)
  return shifted.toISOString().slice(0, 16)
}

export function Acting() {
  const request = useStore(asked)
  if (!request) return null
  return html`<${Steps} key=${request.key} request=${request} close=${() => asked.set(null)} />`
}

function Steps({ request, close }) {
  const [preview, setPreview] = useState(null)
  const [error, setError] = useState(null)
  const [result, setResult] = useState(null)
  const [away, setAway] = useState(null) // why the last look at what goes on had no answer
  const [sending, setSending] = useState(false)
  const [reason, setReason] = useState(request.args?.reason ?? '')
  const [limit, setLimit] = useState(String(request.args?.limit ?? ''))
  const [until, setUntil] = useState(() => wall(new Date(Date.now() + 3600000)))
  const busy = useRef(false)
  const tried = useRef({ key: request.key, args: null })
  const body = { act: request.act, on: request.on }
  const args = { ...request.args }
  if (request.act in reasons && reason) args.reason = reason
  if (request.act === 'limit') args.limit = limit === '' ? null : Number(limit)
  const pauses = request.act === 'pause' && request.on.kind === 'limit'
  if (pauses && until) args.until = new Date(zone.get() === 'utc' ? until + 'Z' : until).toISOString()

  const look = () => {
    setError(null)
    post('acts', { ...body, args: request.args ?? {}, preview: true }).then(setPreview, setError)
  }
  useEffect(look, [])
  useEffect(() => { // an act on many goes on at the server: it is watched until it ends, also after a look without an answer
    if (result?.state !== 'RUNNING') return undefined
    const timer = setTimeout(() => get(`acts/${result.act_id}`).then((now) => { setAway(null); setResult(now) }, setAway), 1000)
    return () => clearTimeout(timer)
  }, [result, away])

  const confirm = async (event) => {
    event.preventDefault()
    if (busy.current) return
    busy.current = true
    setSending(true)
    setError(null)
    try {
      const said = JSON.stringify(args)
      if (tried.current.args !== null && tried.current.args !== said) tried.current.key = requestID() // another decision
      tried.current.args = said
      const done = await post('acts', { ...body, args, request_id: tried.current.key })
      setResult(done)
      request.then?.(done)
    } catch (problem) {
      setError(problem)
    }
    setSending(false)
    busy.current = false
  }
  const stop = () => post(`acts/${result.act_id}/stop`, {}).then(setResult, setError)
  const name = t(`act.${request.act}`)
  const empty = preview && preview.count === 0
  return html`<${Dialog} label=${name} onClose=${close}>
    <h2>${name}</h2>
    ${result ? html`<${Outcome} result=${result} stop=${stop} />` : html`<form id="act" onSubmit=${confirm}>
      ${preview ? html`<${What} preview=${preview} request=${request} />` : !error && html`<p class="loading" role="status"><span>${t('act.looking')}</span></p>`}
      ${preview && !empty && request.act === 'limit' && html`<label class="field"><span>${t('act.limit_label')}</span>
        <input type="number" min=${request.on.kind === 'limit' ? 0 : 1} max="2147483647" value=${limit} onInput=${(e) => setLimit(e.target.value)} /></label>`}
      ${preview && !empty && pauses && html`<label class="field"><span>${t('act.until', { zone: zoneShort() })}</span>
        <input type="datetime-local" required value=${until} onInput=${(e) => setUntil(e.target.value)} /></label>`}
      ${preview && !empty && request.act in reasons && html`<label class="field">
        <span>${t(reasons[request.act] ? 'act.reason_needed' : 'act.reason')}</span>
        <input type="text" maxlength="500" required=${reasons[request.act]} value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>`}
    </form>`}
    <${Problem} error=${error ?? (result?.state === 'RUNNING' ? away : null)} retry=${!preview && look} />
    <footer>
      <${Button} onClick=${close}>${t(result || empty ? 'common.close' : 'common.back')}<//>
      ${!result && !empty && html`<button type="submit" form="act" class=${`button primary ${request.act}`} autofocus disabled=${!preview || sending}>
        <span>${sending ? t('act.sending') : preview && preview.count > 1 ? t('act.confirm_n', { act: name, n: preview.count }) : name}</span></button>`}
    </footer>
  <//>`
}

function What({ preview, request }) {
  const key = `act.says.${request.act}.${request.on.kind}`
  const says = has(key) ? t(key, { n: preview.count }) : preview.says?.text
  // Of a plan, its tasks are counted, and the plan is shown.
  const targets = request.on.kind === 'plan' && request.on.ids ? request.on.ids.length : preview.count
  const rest = targets - Math.min(8, preview.sample.length)
  return html`<p class="says">${preview.count === 0 ? t('act.nothing') : says}</p>
    ${preview.capped && html`<p class="hint">${t('act.capped')}</p>`}
    ${preview.sample.length > 0 && html`<ul class="sample">${preview.sample.slice(0, 8).map((item) => html`<li key=${item.id}>
      <span class="name" dir="auto">${item.name || '#' + item.id}</span>${item.status && html`<${Status} status=${item.status} />`}</li>`)}
      ${rest > 0 && html`<li class="rest">${t('act.rest', { n: rest })}</li>`}</ul>`}`
}

export function Outcome({ result, stop }) {
  const total = result.count ?? result.done + result.unchanged + result.failed_count
  return html`<div role="status" class="outcome">
    <p>${result.state === 'RUNNING' ? t('act.running') : result.state === 'STOPPED' ? t('act.stopped') : t('act.done')}
      ${' '}<b class="n">${t('act.done_n', { n: result.done })}</b>
      ${result.unchanged > 0 && html`<span>, ${t('act.unchanged_n', { n: result.unchanged })}</span>`}
      ${result.failed_count > 0 && html`<span class="bad">, ${t('act.failed_n', { n: result.failed_count })}</span>`}</p>
    ${result.state === 'RUNNING' && html`<progress max=${Math.max(total, 1)} value=${result.done + result.unchanged + result.failed_count}></progress>
      ${result.may?.stop && html`<${Button} onClick=${stop}>${t('act.stop')}<//>`}`}
    ${result.failed?.length > 0 && html`<ul class="sample">${result.failed.slice(0, 10).map((item) => html`<li>
      <span class="id">#${item.id}</span><span dir="auto">${item.message}</span></li>`)}</ul>`}
    <p class="hint"><${Icon} name="acts" size=${13} /> <a href=${link(`acts/${result.act_id}`)} onClick=${() => asked.set(null)}>${t('act.recorded', { id: result.act_id })}</a></p>
  </div>`
}
