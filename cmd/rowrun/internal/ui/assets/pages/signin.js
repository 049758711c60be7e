// Signing in: once per browser; the token is sent and not kept here.
import { html, useEffect, useRef, useState, useStore } from '../lib.js'
import { session, signIn } from '../api.js'
import { t } from '../i18n.js'
import { go, place } from '../router.js'
import { Problem, useTitle } from '../parts.js'

export function SignIn() {
  const { path, query } = useStore(place)
  const who = useStore(session)
  const [token, set] = useState('')
  const [error, setError] = useState(null)
  const [busy, setBusy] = useState(false)
  const field = useRef()
  useTitle(t('session.sign_in'))
  const send = async (value) => {
    setBusy(true)
    setError(null)
    try {
      await signIn(value)
      set('')
      if (path === 'sign-in') go(/^[a-z]+(\/\d+)?$/.test(query.to ?? '') ? query.to : './', { replace: true })
    } catch (problem) {
      setError(problem)
      field.current?.focus()
    }
    setBusy(false)
  }
  useEffect(() => field.current?.focus(), [])
  return html`<form class="signin" onSubmit=${(e) => { e.preventDefault(); send(token) }}>
    <p class="brand"><span class="mark" aria-hidden="true"><i></i><i></i><i></i><i></i><i></i><i></i></span>Rowrun</p>
    <h1>${t('session.sign_in')}</h1>
    <p class="hint">${t(who?.needs_token ? 'session.needs_token' : 'session.to_act')}</p>
    <label class="field"><span>${t('session.token')}</span><input ref=${field} type="password" autocomplete="current-password" spellcheck="false" required value=${token} onInput=${(e) => set(e.target.value)} /></label>
    <${Problem} error=${error} />
    <button type="submit" class="button primary" disabled=${busy}><span>${t('session.sign_in')}</span></button>
    ${!who?.needs_token && html`<p><a href="./">${t('session.only_read')}</a></p>`}
  </form>`
}
