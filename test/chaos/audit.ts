/**
 * The audit: reads the store with nothing but SQL and the codec of entries, beside what the outside world and the recorder have seen,
 * and says everything that is wrong after all runs have ended. It shares no other code with the engine, so that a
 * mistake is not made twice.
 */
import { decode } from '@reeve/journal'
import { Journal, type Row } from '../crash/kill/journal.ts'
import { partsOfKey, plain, runOfKey, type Done, type World } from '../crash/kill/world.ts'
import type { Reference } from '../crash/kill/reference.ts'
import type { Downtime } from './downtime.ts'
import type { Operator } from './operator.ts'
import type { Recorder } from './recorder.ts'

export type Problems = Record<
  'lost' | 'outcome' | 'journal' | 'effect' | 'once' | 'epoch' | 'operator' | 'left' | 'hostile',
  string[]
>

/** A run that was started. */
export interface Started {
  readonly agent: string
  /** How it ends, if no decision counts but these (by address). */
  readonly expected: (words: ReadonlySet<string>) => Promise<Reference>
}

export interface AuditFigures {
  entries: number
  steps: number
  claims: number
  /** Runs that more than one process has moved. */
  moved: number
  /** Between two entries of a run: seconds in which it could move, all of them, and where. The longest first. */
  stalls: { seconds: number; all: number; where: string }[]
}

interface Written extends Row {
  readonly epoch: number | null
  readonly who: string | null
  readonly at: Date | null
}

export interface AuditOptions {
  readonly recorder: Recorder
  readonly world: World
  readonly operator: Operator
  readonly runs: ReadonlyMap<string, Started>
  readonly problems: Problems
  readonly downtime: Downtime
  /** Whether a process could have missed that it was not the one any more when it made this call. */
  readonly isExcused: (call: Done) => boolean
}

export class Audit {
  readonly figures: AuditFigures = { entries: 0, steps: 0, claims: 0, moved: 0, stalls: [] }
  readonly #o: AuditOptions
  readonly #claimants = new Map<string, string>()
  /** When each run was claimed. */
  readonly #taken = new Map<string, { readonly epoch: number; readonly at: number }[]>()
  /** Calls by the step's key. */
  readonly #calls = new Map<string, Done[]>()
  /** The recorded ends of steps by key. */
  readonly #ends = new Map<string, { readonly epoch: number; readonly nonce: number; readonly at: number }>()
  readonly #begun = new Set<string>()
  readonly #answers = new Map<string, string>()
  readonly #journal: Journal

  constructor(options: AuditOptions) {
    this.#o = options
    this.#journal = new Journal(options.problems.journal, options.world.done, (row, _entry, call) =>
      this.#step(row as Written, call),
    )
    for (const call of options.world.done) this.#calls.set(call.key, [...(this.#calls.get(call.key) ?? []), call])
  }

  async run(): Promise<void> {
    const { problems, world, operator, runs } = this.#o
    await this.#claims()
    for (const run of runs.keys()) await this.#run(run)
    this.#journal.end()
    this.#effects()
    this.#words()
    for (const [run, started] of runs) await this.#outcome(run, started)
    await this.#left()
    problems.operator.push(...operator.problems)
    problems.epoch.push(...world.violations.filter((what) => !what.startsWith('done twice')))
    problems.once.push(...world.violations.filter((what) => what.startsWith('done twice')))
    this.figures.steps = this.#journal.settled
    this.figures.stalls.sort((a, b) => b.seconds - a.seconds)
  }

  async #claims(): Promise<void> {
    const claims = await this.#o.recorder.ask<{ run: string; epoch: number; who: string; at: Date }>(
      'SELECT run, epoch, who, at FROM $s.chaos_claim ORDER BY at',
    )
    const whose = new Map<string, Set<string>>()
    for (const { run, epoch, who, at } of claims) {
      this.#taken.set(run, [...(this.#taken.get(run) ?? []), { epoch, at: at.getTime() }])
      const held = `${run} ${epoch}`
      if (this.#claimants.has(held))
        this.#o.problems.epoch.push(`${run}: epoch ${epoch} was given to ${this.#claimants.get(held)} and ${who}`)
      this.#claimants.set(held, who)
      whose.set(run, (whose.get(run) ?? new Set()).add(who))
    }
    this.figures.claims = claims.length
    this.figures.moved = [...whose.values()].filter(({ size }) => size > 1).length
  }

  async #run(run: string): Promise<void> {
    const { recorder, problems } = this.#o
    const rows = await recorder.ask<Written>(
      `SELECT e.position, e.act AS id, e.seq, e.body, c.epoch, c.who, c.at FROM $s.entry e LEFT JOIN $s.chaos_entry c ON c.act = e.act AND c.seq = e.seq
       WHERE e.run = $1 ORDER BY e.position`,
      [run],
    )
    const seen = { epoch: 0 }
    for (const [i, row] of rows.entries()) {
      if (Number(row.position) !== i + 1)
        problems.journal.push(`${run}: position ${row.position} where ${i + 1} was due`)
      this.#journal.take(row)
      this.#note(row)
      this.#fenced(run, row, seen)
      this.#stall(run, rows[i - 1], row)
    }
    this.figures.entries += rows.length
    const [end] = await recorder.ask<{ ended: string | null; status: string | null }>(
      'SELECT ended, status FROM $s.run WHERE id = $1',
      [run],
    )
    if (end === undefined) problems.lost.push(`${run} is lost`)
    else if (end.status !== (this.#journal.ended(run) ?? null))
      problems.journal.push(`${run}: its row says ${end.status}, its journal ${this.#journal.ended(run)}`)
  }

  #note({ id, body }: Written): void {
    const entry = decode(body) as { type: string; op?: string; address?: string; outcome?: unknown }
    if (entry.op !== undefined) this.#begun.add(`${id}:${entry.address}`)
    if (entry.type === 'ask.settled') this.#answers.set(`${id}:${entry.address}`, JSON.stringify(entry.outcome))
  }

  /**
   * Written by the process that held the run then, and epochs never fall. Its first entry is that of the client that
   * started it.
   */
  #fenced(run: string, { id, seq, epoch, who }: Written, seen: { epoch: number }): void {
    if (seq === 0 && id === `act_${run}`) return
    const { epoch: problems } = this.#o.problems
    if (epoch === null || who === null) return void problems.push(`${id}: nobody saw who wrote entry ${seq}`)
    const holder = this.#claimants.get(`${run} ${epoch}`)
    if (holder !== who) problems.push(`${id}: ${who} wrote entry ${seq} in epoch ${epoch}, which is ${holder}'s`)
    if (epoch < seen.epoch) problems.push(`${id}: entry ${seq} is of epoch ${epoch}, after ${seen.epoch}`)
    seen.epoch = epoch
  }

  #step(row: Written, call: Done): void {
    const epoch = row.epoch ?? 0
    if (call.epoch > epoch)
      this.#o.problems.epoch.push(`${call.key}: a call of epoch ${call.epoch} was recorded in epoch ${epoch}`)
    this.#ends.set(call.key, { epoch, nonce: call.nonce, at: row.at?.getTime() ?? Infinity })
  }

  #stall(run: string, before: Written | undefined, after: Written): void {
    if (before?.at === null || before === undefined || after.at === null) return
    const all = (after.at.getTime() - before.at.getTime()) / 1_000
    const seconds = all - this.#o.downtime.between(before.at.getTime(), after.at.getTime())
    const said = ({ id, seq, body, who, epoch }: Written): string =>
      `${decode(body).type} (${id} ${seq}, epoch ${epoch}, ${who})`
    const [from, to] = [before.at.getTime(), after.at.getTime()]
    const claims = (this.#taken.get(run) ?? [])
      .flatMap(({ at }) => (at > from && at < to ? [((at - from) / 1_000).toFixed(1)] : []))
      .join(', ')
    if (seconds > 1)
      this.figures.stalls.push({
        seconds,
        all,
        where: `${before.at.toISOString()} ${said(before)} … ${said(after)}${claims === '' ? '' : `, claimed after ${claims} s`}`,
      })
  }

  /**
   * Every call belongs to a step that was recorded before, and none was made by somebody who could know that the step
   * had ended.
   */
  #effects(): void {
    const { problems, isExcused } = this.#o
    for (const [key, calls] of this.#calls) {
      if (!this.#begun.has(key)) problems.effect.push(`${key}: done under a key that is no step of the journal`)
      if (new Set(calls.map(({ what }) => what)).size > 1)
        problems.effect.push(`${key}: one key for ${calls.map(({ what }) => what).join(', ')}`)
      const end = this.#ends.get(key)
      if (end === undefined) continue
      for (const call of calls) {
        const { epoch, nonce, pid, kind } = call
        const again = `${key}: done again by ${pid} (epoch ${epoch}, attempt ${call.attempt}) though its end was recorded in epoch ${end.epoch}`
        if (epoch > end.epoch || (epoch === end.epoch && nonce > end.nonce && kind !== 'once'))
          problems.epoch.push(again)
        // A model is given no epoch.
        else if (epoch < 0 && call.at > end.at + 1_500 && !isExcused(call)) problems.epoch.push(again)
      }
    }
  }

  /** What was accepted is what the journal says; what was refused is not. */
  #words(): void {
    const { operator, problems } = this.#o
    for (const [key, word] of operator.words) {
      const answer = this.#answers.get(key)
      const isAnns = answer?.includes('"by":"ann"') === true
      if (answer?.includes('"by":"bob"') === true) problems.operator.push(`${key}: the second word counts: ${answer}`)
      if (word === 'refused' && isAnns) problems.operator.push(`${key}: refused, but the journal has it`)
      const cancelled = operator.cancelled.has(runOfKey(key))
      if (word === 'accepted' && !isAnns && !cancelled)
        problems.operator.push(`${key}: accepted, but the journal says ${answer ?? 'nothing'}`)
    }
  }

  async #outcome(run: string, { agent, expected }: Started): Promise<void> {
    const { operator, problems, world } = this.#o
    const got = plain(this.#journal.outcomes.get(run) ?? 'none')
    const answered = [...this.#answers].filter(
      ([key, answer]) => runOfKey(key) === run && answer.includes('"completed"'),
    )
    const want = await expected(new Set(answered.map(([key]) => partsOfKey(key).address)))
    const did = [...world.once].flatMap(([key, calls]) => (runOfKey(key) === run ? [calls[0]!.what] : [])).sort()
    // One that was cancelled at any moment may have done anything of it, and undoes what it says.
    const anyhow = operator.cancelled.has(run) && agent !== 'traveller'
    if (anyhow && got === '{"status":"cancelled","reason":"changed my mind"}') return
    if (got !== want.outcome) problems.outcome.push(`${run} (${agent}): ${differing(got, want.outcome)}`)
    if (did.join() !== want.once.join())
      problems.once.push(`${run} (${agent}): ${did.join()} instead of ${want.once.join()}`)
  }

  async #left(): Promise<void> {
    const { recorder, problems } = this.#o
    const nothing: Readonly<Record<string, string>> = {
      'questions are open': 'SELECT act FROM $s.question',
      'rows of inboxes are unread': 'SELECT act FROM $s.inbox WHERE NOT taken',
      'runs have not ended': 'SELECT id AS act FROM $s.run WHERE ended IS NULL OR control IS NOT NULL',
    }
    for (const [what, sql] of Object.entries(nothing)) {
      const rows = await recorder.ask<{ act: string }>(`${sql} LIMIT 20`)
      if (rows.length > 0) problems.left.push(`${rows.length} ${what}: ${rows.map(({ act }) => act).join(', ')}`)
    }
  }
}

/** Where two texts begin to differ. */
function differing(got: string, want: string): string {
  let k = 0
  while (k < want.length && got[k] === want[k]) k++
  const from = Math.max(0, k - 120)
  return `… ${got.slice(from, k + 160)}\n    instead of … ${want.slice(from, k + 160)}`
}
