/**
 * The audit: reads a store with nothing but SQLite and JSON, and says everything that is wrong with it after all its runs have ended.
 * It shares no code with the engine, so that a mistake is not made twice.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Done } from './world.ts'

interface Row {
  readonly position: number
  readonly id: string
  readonly seq: number
  readonly body: string
}
interface Entry {
  readonly type: string
  readonly address?: string
  readonly op?: string
  readonly outcome?: { readonly status: string; readonly output?: unknown }
}
export interface Audit {
  readonly problems: readonly string[]
  readonly entries: number
  readonly settled: number
  /** Outcomes of the roots by run, as JSON. */
  readonly outcomes: ReadonlyMap<string, string>
}

/** Audits a store whose runs are to have ended. `done` are the calls of the outside world by nonce. */
export function audit(file: string, runs: readonly string[], done: readonly Done[]): Audit {
  const db = new DatabaseSync(file)
  try {
    const problems: string[] = []
    const integrity = (db.prepare('PRAGMA integrity_check').get() as { integrity_check: string }).integrity_check
    if (integrity !== 'ok') problems.push(`integrity_check: ${integrity}`)
    const rows = db
      .prepare('SELECT l.position, a.id, l.seq, l.body FROM log l JOIN activation a ON a.num = l.act ORDER BY l.position')
      .all() as unknown as Row[]
    const journal = new Journal(problems, done)
    for (const row of rows) journal.take(row)
    journal.end()
    for (const run of runs) checkRun(db, run, journal, problems)
    return { problems, entries: rows.length, settled: journal.settled, outcomes: journal.outcomes }
  } finally {
    db.close()
  }
}

class Journal {
  settled = 0
  readonly outcomes = new Map<string, string>()
  readonly #problems: string[]
  readonly #done: readonly Done[]
  readonly #next = new Map<string, number>()
  readonly #seen = new Set<string>()
  readonly #ended = new Map<string, string>()
  readonly #born = new Set<string>()
  readonly #newest = new Map<string, Done>()

  constructor(problems: string[], done: readonly Done[]) {
    this.#problems = problems
    this.#done = done
  }

  take({ id, seq, body }: Row): void {
    const entry = JSON.parse(body) as Entry
    const next = this.#next.get(id) ?? 0
    if (seq !== next) this.#problems.push(`${id}: entry ${seq} where ${next} was due`)
    this.#next.set(id, seq + 1)
    if (!id.startsWith('act_')) return
    if (this.#ended.has(id)) this.#problems.push(`${id}: ${entry.type} after its end`)
    if (entry.type === 'activation.started') this.#born.add(id)
    if (entry.type === 'activation.settled') this.#end(id, entry)
    if (entry.address === undefined) return
    const what = entry.op !== undefined ? 'begun' : entry.type.endsWith('.settled') ? 'ended' : undefined
    if (what === undefined) return
    const key = `${id}:${entry.address} ${what}`
    if (this.#seen.has(key)) this.#problems.push(`recorded twice: ${key}`)
    this.#seen.add(key)
    if (what === 'ended' && !this.#seen.has(`${id}:${entry.address} begun`)) this.#problems.push(`${key}, but never begun`)
    if (entry.type === 'step.settled') this.#step(id, entry)
  }

  #end(id: string, entry: Entry): void {
    this.#ended.set(id, entry.outcome?.status ?? '?')
    if (!id.includes('>')) this.outcomes.set(id.slice(4), JSON.stringify(entry.outcome))
  }

  /** A step's recorded value names the call it came from: an older epoch must not record after a newer one of another process. */
  #step(id: string, entry: Entry): void {
    this.settled++
    const nonce = /~(\d+)"$/.exec(JSON.stringify(entry.outcome?.output ?? null))?.[1]
    if (nonce === undefined) return
    const call = this.#done[Number(nonce)]
    const run = /^act_([^>]+)/.exec(id)?.[1] ?? ''
    if (call === undefined) return void this.#problems.push(`${id}: records a call that nobody made`)
    if (call.key !== `${id}:${entry.address}`) this.#problems.push(`${id}: records the value of ${call.key}`)
    // A `once` in doubt is recorded by somebody's word, whoever did it.
    if (call.kind === 'once') return
    const newest = this.#newest.get(run)
    if (newest !== undefined && call.epoch < newest.epoch && call.pid !== newest.pid)
      this.#problems.push(`${id}: a stale process recorded "${entry.address}" (epoch ${call.epoch} after ${newest.epoch})`)
    if (newest === undefined || call.epoch >= newest.epoch) this.#newest.set(run, call)
  }

  end(): void {
    for (const id of this.#born) if (!this.#ended.has(id)) this.#problems.push(`${id} has no end`)
    for (const id of this.#ended.keys()) if (!this.#born.has(id)) this.#problems.push(`${id} has no beginning`)
  }

  ended(run: string): string | undefined {
    return this.#ended.get(`act_${run}`)
  }
}

function checkRun(db: DatabaseSync, run: string, journal: Journal, problems: string[]): void {
  const row = db.prepare('SELECT status, ended, owner FROM run WHERE id = ?').get(run) as
    { status: string; ended: number | null; owner: string | null } | undefined
  if (row === undefined) return void problems.push(`${run} is lost`)
  if (row.ended === null) problems.push(`${run} has not ended`)
  if (row.owner !== null) problems.push(`${run} is held though it has ended`)
  if (row.status !== journal.ended(run)) problems.push(`${run}: its row says ${row.status}, its journal ${journal.ended(run)}`)
  const root = `act_${run}`
  const left = (sql: string): number =>
    (
      db.prepare(`SELECT count(*) AS n FROM ${sql} AND (act = ? OR (act > ? AND act < ?))`).get(root, `${root}>`, `${root}?`) as {
        n: number
      }
    ).n
  const questions = left('question WHERE true')
  if (questions > 0) problems.push(`${run}: ${questions} questions left open`)
  const unread = left('inbox WHERE taken = 0')
  if (unread > 0) problems.push(`${run}: ${unread} rows of its inbox never used up`)
}
