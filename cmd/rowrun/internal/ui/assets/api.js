// The JSON API. Ids are texts in it and stay texts here: JavaScript's numbers would round them.
import { store } from './lib.js'
import { parse } from './exact.js'

const root = new URL('api/v1/', document.baseURI)
export const eventsAddress = new URL('events', document.baseURI)

// Answers with documents of users in them. The others are ours: their numbers are short, and there may be very many.
const documents = /^(runs|tasks|acts)\/\d+(\/log)?$/

// Who asks and what may be done; null until it is known.
export const session = store(null)

export class Refused extends Error {
  constructor(status, code, message, hint) {
    super(message)
    this.status = status
    this.code = code
    this.hint = hint
  }
}

async function ask(method, path, { query, body, signal } = {}) {
  const address = new URL(path, root)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') address.searchParams.set(name, value)
  }
  const headers = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const early = method === 'GET' && path === 'session' && window.rowrun.session // first.js has asked for it
  if (early) window.rowrun.session = null
  let answer
  try {
    answer = await (early || fetch(address, {
      method, signal, headers, credentials: 'same-origin', body: body === undefined ? undefined : JSON.stringify(body),
    }))
  } catch (problem) {
    if (problem.name === 'AbortError') throw problem
    throw new Refused(0, 'unreachable', '', '')
  }
  if (answer.status === 204) return null
  let value = null
  try {
    value = documents.test(path) ? parse(await answer.text()) : await answer.json()
  } catch {
    if (answer.ok) throw new Refused(answer.status, 'internal', '', '')
  }
  if (!answer.ok) {
    const error = value?.error ?? {}
    if (answer.status === 401 && path !== 'session') session.set((s) => s && { ...s, needs_token: true, signed_in: false, acts: false })
    throw new Refused(answer.status, error.code ?? `HTTP_${answer.status}`, error.message ?? '', error.hint ?? '')
  }
  return value
}

export const get = (path, query, signal) => ask('GET', path, { query, signal })
export const post = (path, body) => ask('POST', path, { body })

export async function readSession() {
  session.set(await get('session'))
}

export async function signIn(token) {
  session.set(await post('session', { token }))
}

export async function signOut() {
  await ask('DELETE', 'session')
  await readSession()
}

// A random version 4 UUID: crypto.randomUUID is there on secure origins only.
export function requestID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6] & 0x0f) | 0x40
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
