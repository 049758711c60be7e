// The frame of every page: navigation, who is signed in, how live it is, and the page of the address.
import { html, render, classes, keep, useEffect, useState, useStore, useErrorBoundary } from './lib.js'
import { session, readSession, signIn, signOut } from './api.js'
import { t, languages, locale, setLocale, setZone, zone, zoneName, zoneShort } from './i18n.js'
import { follow, link, place } from './router.js'
import { Icon } from './icons.js'
import { liveState, togglePause } from './live.js'
import { Keys, listen, showKeys } from './keys.js'
import { Acting } from './act.js'
import { Button, Loading, Problem } from './parts.js'

// Page of an address: module and what it is called there. ui.go has the same list.
const routes = [
  [/^$/, 'overview', 'Overview'], [/^plans$/, 'plans', 'Plans'], [/^plans\/(\d+)$/, 'plan', 'Plan'],
  [/^runs$/, 'runs', 'Runs'], [/^runs\/(\d+)$/, 'run', 'Run'], [/^schedules$/, 'schedules', 'Schedules'],
  [/^tasks$/, 'tasks', 'Tasks'], [/^tasks\/(\d+)$/, 'task', 'Task'], [/^types$/, 'tasks', 'Types'],
  [/^webhooks$/, 'webhooks', 'Webhooks'], [/^webhooks\/(\d+)$/, 'webhooks', 'Webhook'], [/^deliveries$/, 'webhooks', 'Deliveries'],
  [/^deliveries\/(\d+)$/, 'webhooks', 'Delivery'], [/^replicas$/, 'replicas', 'Replicas'], [/^limits$/, 'limits', 'Limits'], [/^acts$/, 'acts', 'Acts'],
  [/^acts\/(\d+)$/, 'acts', 'OneAct'], [/^sign-in$/, 'signin', 'SignIn'],
]

const nav = [
  ['overview', '', /^$/], ['plans', 'plans', /^plans/], ['runs', 'runs', /^runs/], ['schedules', 'schedules', /^schedules/],
  ['tasks', 'tasks', /^(tasks|types)/], ['webhooks', 'webhooks', /^(webhooks|deliveries)/], ['limits', 'limits', /^limits/], ['replicas', 'replicas', /^replicas/],
  ['acts', 'acts', /^acts/],
]

function Page({ path }) {
  const [page, set] = useState(null)
  const [error, reset] = useErrorBoundary((problem) => console.error(problem))
  useEffect(() => {
    let gone = false
    reset()
    for (const [pattern, module, name] of routes) {
      const found = pattern.exec(path)
      if (!found) continue
      import(`./pages/${module}.js`).then(
        (loaded) => gone || set({ path, Component: loaded[name], id: found[1] }),
        (problem) => gone || set({ path, problem }),
      )
      return () => { gone = true }
    }
    set({ path, none: true })
    return undefined
  }, [path])
  if (error) return html`<${Problem} error=${{ code: 'page', message: String(error.message ?? error) }} retry=${reset} />`
  if (!page) return html`<${Loading} />`
  if (page.problem) return html`<${Problem} error=${{ code: 'unreachable' }} retry=${() => location.reload()} />`
  if (page.none) return html`<h1>${t('error.not_found')}</h1>`
  return html`<${page.Component} key=${page.path} id=${page.id} />`
}

function Live() {
  const state = useStore(liveState)
  if (state === 'off') return html`<span class="live off" role="status"></span>`
  return html`<button type="button" class=${`live ${state}`} onClick=${togglePause} title=${t('live.toggle')}>
    <span class="dot" aria-hidden="true"></span><span role="status">${t(`live.${state}`)}</span></button>`
}

function Zone() {
  const now = useStore(zone)
  return html`<button type="button" class="button quiet zone" onClick=${() => setZone(now === 'utc' ? 'local' : 'utc')}
    title=${t('zone.toggle', { zone: zoneName() })}>${zoneShort()}</button>`
}

function setTheme(theme) {
  keep.set('theme', theme === 'auto' ? null : theme)
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  dispatchEvent(new Event('themechange'))
}

function Settings() {
  const now = useStore(locale)
  const [theme, set] = useState(keep.get('theme', 'auto'))
  return html`<div class="settings">
    <label><span class="sr">${t('settings.language')}</span><select value=${now} onChange=${(e) => setLocale(e.target.value, true)}>
      ${Object.entries(languages).map(([code, name]) => html`<option value=${code} lang=${code} selected=${code === now}>${name}</option>`)}</select></label>
    <label><span class="sr">${t('settings.theme')}</span><select value=${theme} onChange=${(e) => { set(e.target.value); setTheme(e.target.value) }}>
      ${['auto', 'light', 'dark'].map((name) => html`<option value=${name} selected=${name === theme}>${t(`theme.${name}`)}</option>`)}</select></label>
  </div>`
}

function Who({ who }) {
  if (who.as) {
    return html`<span class="who" title=${t('session.as', { name: who.as })}><${Icon} name="user" /><span dir="auto">${who.as}</span></span>
      <${Button} kind="quiet" onClick=${signOut}>${t('session.sign_out')}<//>`
  }
  if (who.ui === 'read-only' || !who.can_sign_in) {
    return !who.acts && html`<span class="tag" title=${t('session.read_only_why')}>${t('session.read_only')}</span>`
  }
  return html`<a class="button quiet" href=${link('sign-in', { to: place.get().path })}><${Icon} name="user" /><span>${t('session.sign_in')}</span></a>`
}

// `rowrun ui` prints an address with the token behind #, which no server ever sees; it is taken off at once.
async function begin() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given) {
    history.replaceState(null, '', location.pathname + location.search)
    try {
      await signIn(given)
      return
    } catch { /* who asks is asked for below */ }
  }
  await readSession()
}

function App() {
  const { path } = useStore(place)
  const who = useStore(session)
  const [problem, setProblem] = useState(null)
  const [open, setOpen] = useState(false)
  useStore(locale)
  const read = () => begin().then(() => setProblem(null), setProblem)
  useEffect(() => { read() }, [])
  useEffect(() => setOpen(false), [path])
  if (!who) return problem ? html`<main class="alone"><${Problem} error=${problem} retry=${read} /></main>` : html`<main class="alone"><${Loading} /></main>`
  if (who.needs_token || path === 'sign-in') return html`<main class="alone" id="main"><${Page} path="sign-in" /><${Settings} /></main>`
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus() }}>${t('common.skip')}</a>
    <header class=${classes('side', open && 'open')}>
      <div class="brand"><a href="./" aria-label=${t('nav.home')}><span class="mark" aria-hidden="true"><i></i><i></i><i></i><i></i><i></i><i></i></span>Rowrun</a>
        <button type="button" class="button quiet burger" aria-expanded=${open ? 'true' : 'false'} aria-controls="nav" onClick=${() => setOpen(!open)}>
          <${Icon} name=${open ? 'close' : 'menu'} /><span class="sr">${t('nav.menu')}</span></button></div>
      <nav id="nav" aria-label=${t('nav.label')}>${who.shard && html`
        <a href="../../" title=${t('nav.shards')}><${Icon} name="left" /><span dir="auto">${who.shard}</span></a>`}${nav.map(([key, to, here]) => html`
        <a href=${to || './'} aria-current=${here.test(path) ? 'page' : undefined}><${Icon} name=${key} /><span>${t(`nav.${key}`)}</span></a>`)}</nav>
      <div class="foot"><${Settings} />
        <p class="version"><span title=${who.replica ?? ''}>${who.version}</span> · <button type="button" class="inline" onClick=${showKeys}>${t('keys.title')} <kbd>?</kbd></button></p></div>
    </header>
    <section class="top" aria-label=${t('session.label')}><${Live} /><${Zone} /><span class="grow"></span><${Who} who=${who} /></section>
    <main id="main" tabindex="-1"><${Page} path=${path} /></main>
    <${Acting} /><${Keys} />`
}

await setLocale(keep.get('locale') ?? '')
follow()
listen()
render(html`<${App} />`, document.getElementById('app'))
