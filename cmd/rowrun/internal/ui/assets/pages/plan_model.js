// A plan's tasks as columns of values, and where each stands: rows are databases, columns versions.
import { statuses, statusOf } from '../icons.js'

const rank = Object.fromEntries(statuses.map((status, i) => [status, i]))
// What a folded column, a row or a wave shows: the worst of what it holds.
const worstFirst = ['FAILED', 'CANCELED', 'RUNNING', 'AVAILABLE', 'PENDING', 'NOT_STARTED', 'SKIPPED', 'DONE'].map((s) => rank[s])
const badness = new Uint8Array(statuses.length)
worstFirst.forEach((status, i) => { badness[status] = statuses.length - i })

export const FAILED = rank.FAILED
const DONE = rank.DONE
const SKIPPED = rank.SKIPPED
const newer = (a, b) => b === null || (a.length === b.length ? a >= b : a.length > b.length) // ids as texts

export class Model {
  constructor(grid) {
    this.read(grid)
    this.changed = new Set() // tasks that the map has still to draw
    this.replay = null // statuses of another moment, of the scrubber
  }

  read(grid) {
    const { tasks } = grid
    this.token = grid.token
    this.databases = grid.databases
    this.versions = grid.versions
    this.types = grid.types
    this.errors = grid.errors
    this.capped = grid.capped
    this.tasks = tasks
    this.status = Uint8Array.from(tasks.status, (letter) => rank[statusOf(letter)])
    this.index = new Map(tasks.id.map((id, i) => [id, i]))
  }

  // What changed since the last reading; true: its places may have changed too.
  merge(grid) {
    if (grid.full) {
      this.read(grid)
      return true
    }
    this.token = grid.token
    this.errors = grid.errors
    const { tasks } = grid
    let moved = grid.databases.length !== this.databases.length || grid.versions.length !== this.versions.length
    this.databases = grid.databases
    this.versions = grid.versions
    this.types = grid.types
    tasks.id.forEach((id, j) => {
      let i = this.index.get(id)
      if (i === undefined) {
        i = this.tasks.id.length
        this.index.set(id, i)
        moved = true
        const longer = new Uint8Array(i + 1)
        longer.set(this.status)
        this.status = longer
      } else if (this.tasks.run_id[i] !== null && tasks.run_id[j] !== null && !newer(tasks.run_id[j], this.tasks.run_id[i])) {
        return // the stream told of a later run
      }
      // A run never goes back: what was read before the stream's last line is left aside. Skipping is the task's, and is taken back.
      const read = rank[statusOf(tasks.status[j])]
      if (this.tasks.run_id[i] !== null && tasks.run_id[j] === this.tasks.run_id[i] && read !== SKIPPED && this.status[i] !== SKIPPED && read < this.status[i]) return
      const was = this.status[i]
      this.changed.add(i)
      for (const name of Object.keys(tasks)) this.tasks[name][i] = tasks[name][j]
      this.status[i] = read
      if ((was === FAILED) !== (this.status[i] === FAILED)) moved = true
    })
    return moved
  }

  // One line of the stream; returns the task's index where it changed something.
  apply(line) {
    const i = this.index.get(line.task_id)
    if (i === undefined || !(line.to in rank)) return -1
    const { tasks } = this
    if (!newer(line.run_id, tasks.run_id[i])) return -1
    const same = tasks.run_id[i] === line.run_id
    if (same && this.status[i] === SKIPPED) return -1 // whatever its run does
    if (same && rank[line.to] < this.status[i] && rank[line.to] < DONE) return -1 // told again
    const at = Date.parse(line.time)
    if (line.to === 'RUNNING') tasks.duration_ms[i] = null
    else if (rank[line.to] >= DONE && same && this.status[i] === rank.RUNNING) tasks.duration_ms[i] = at - tasks.since[i]
    else if (!same) tasks.duration_ms[i] = null
    tasks.run_id[i] = line.run_id
    tasks.attempt[i] = line.attempt
    tasks.since[i] = at
    if (line.to !== 'PENDING') tasks.cause[i] = null
    if (line.to !== 'FAILED') tasks.error_group[i] = -1
    this.status[i] = rank[line.to]
    this.changed.add(i)
    return i
  }

  get size() { return this.tasks.id.length }
  of(i) { return this.replay ? this.replay[i] : this.status[i] }
  word(i) { return statuses[this.of(i)] }

  duration(i, now) {
    const { duration_ms: took, since } = this.tasks
    if (this.replay) return null
    if (this.status[i] === rank.RUNNING && since[i] !== null) return now - since[i]
    return took[i]
  }

  attention(i) {
    const s = this.word(i)
    return s === 'FAILED' || s === 'CANCELED' || (s === 'PENDING' && this.tasks.cause[i] === 'NO_REPLICA')
  }

  counts() {
    const counts = new Array(statuses.length).fill(0)
    for (let i = 0; i < this.size; i++) counts[this.of(i)]++
    return Object.fromEntries(statuses.map((status, s) => [status, counts[s]]))
  }

  worst(list) {
    let found = list[0]
    for (const i of list) if (badness[this.of(i)] > badness[this.of(found)]) found = i
    return statuses[this.of(found)]
  }

  ended(list) {
    let n = 0
    for (const i of list) if (this.of(i) === DONE || this.of(i) === SKIPPED) n++
    return n
  }

  database(i) { return this.databases[this.tasks.database[i]] ?? null }
  version(i) { return this.versions[this.tasks.version[i]] ?? null }

  // Filters: {q, status: [], attention, group, failedFirst}. A task that they leave out is dimmed, a row without any isn't shown.
  filter({ q, status, attention, group }) {
    const words = (q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
    const all = !words.length && !status?.length && !attention && group === null
    if (all) return null
    const shown = new Uint8Array(this.size)
    for (let i = 0; i < this.size; i++) {
      if (status?.length && !status.includes(this.word(i))) continue
      if (attention && !this.attention(i)) continue
      if (group !== null && group !== undefined && this.tasks.error_group[i] !== group) continue
      if (words.length) {
        const text = `${this.database(i) ?? ''} ${this.version(i) ?? ''} ${this.tasks.name[i]} ${this.tasks.id[i]}`.toLowerCase()
        if (!words.every((word) => text.includes(word))) continue
      }
      shown[i] = 1
    }
    return shown
  }
}

const widthOfNamed = 8 // columns that tasks without a version take beside each other
const natural = new Intl.Collator('en', { numeric: true })

// waves of versions: by their first number, or by tens where all have one.
export function waves(versions) {
  const first = (v) => v.split('.')[0]
  const heads = new Set(versions.map(first))
  if (heads.size > 1 && heads.size < versions.length) return versions.map((v) => `${first(v)}.x`)
  if (versions.length <= 12) return versions.map(() => null)
  return versions.map((_, i) => {
    const from = Math.floor(i / 10) * 10
    return `${versions[from]} – ${versions[Math.min(from + 9, versions.length - 1)]}`
  })
}

// place(model, {shown, folded, failedFirst}) is where each task stands: rows, columns, cells by row * columns + column. Several
// tasks of one database and version stand beside each other; those without a version fill lines of their own.
export function place(model, { shown, folded, failedFirst }) {
  const { tasks } = model
  const byDatabase = new Map()
  for (let i = 0; i < model.size; i++) {
    const d = tasks.database[i]
    if (!byDatabase.has(d)) byDatabase.set(d, { d, all: [], byVersion: new Map(), seen: !shown })
    const row = byDatabase.get(d)
    row.all.push(i)
    if (shown?.[i]) row.seen = true
    const v = tasks.version[i]
    if (!row.byVersion.has(v)) row.byVersion.set(v, [])
    row.byVersion.get(v).push(i)
  }
  const groups = [...byDatabase.values()].filter((row) => row.seen)
  const order = (row) => (failedFirst && row.all.some((i) => model.status[i] === FAILED) ? 0 : 1)
  const ranks = new Map(groups.map((row) => [row, order(row)]))
  groups.sort((a, b) => ranks.get(a) - ranks.get(b) || (a.d < 0) - (b.d < 0) || natural.compare(model.databases[a.d], model.databases[b.d]))

  const wave = waves(model.versions)
  const cols = []
  const colOf = new Map() // version → its first column
  const subs = new Map() // version → how many columns it has
  model.versions.forEach((label, v) => {
    const name = wave[v]
    const widest = Math.max(0, ...groups.map((row) => row.byVersion.get(v)?.length ?? 0))
    if (widest === 0) return
    if (name !== null && folded.has(name)) {
      const last = cols.at(-1)
      if (last?.fold === name) last.versions.push(v)
      else cols.push({ label: name, wave: name, fold: name, versions: [v], all: [] })
      colOf.set(v, cols.length - 1)
      subs.set(v, 0)
      return
    }
    colOf.set(v, cols.length)
    subs.set(v, Math.min(widest, 6))
    for (let k = 0; k < subs.get(v); k++) cols.push({ label: k === 0 ? label : '', wave: name, versions: [v], all: [] })
  })
  const unnamed = Math.max(0, ...groups.map((row) => row.byVersion.get(-1)?.length ?? 0))
  if (unnamed > 0) {
    colOf.set(-1, cols.length)
    subs.set(-1, Math.min(unnamed, widthOfNamed))
    for (let k = 0; k < subs.get(-1); k++) cols.push({ label: '', named: true, wave: null, versions: [-1], all: [] })
  }

  const rows = []
  const cells = new Map()
  const at = new Map() // task → [row, column]
  for (const group of groups) {
    const first = rows.length
    let lines = 1
    for (const [v, list] of group.byVersion) if (subs.get(v)) lines = Math.max(lines, Math.ceil(list.length / subs.get(v)))
    for (let l = 0; l < lines; l++) rows.push({ d: group.d, label: l === 0 ? model.databases[group.d] ?? null : '', all: l === 0 ? group.all : [], head: l === 0 })
    for (const [v, list] of group.byVersion) {
      const n = subs.get(v)
      list.forEach((i, k) => {
        const r = n ? first + Math.floor(k / n) : first
        const c = colOf.get(v) + (n ? k % n : 0)
        const key = r * cols.length + c
        at.set(i, [r, c])
        cols[c].all.push(i)
        if (!n) cells.set(key, [...(cells.get(key) ?? []), i])
        else cells.set(key, i)
      })
    }
  }
  return { rows, cols, cells, at, hasNames: groups.some((row) => row.d < 0) }
}
