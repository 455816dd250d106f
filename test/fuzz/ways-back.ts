/**
 * Plays a random team that pays, and takes every way back at random moments: its runs are forked, retried, cancelled,
 * paused, taken over and finished by hand, their work is sent back, their processes die, and newer versions are
 * deployed. An oracle beside it counts what people permitted and what was done.
 *
 * Owns: the moves, the people, the oracle. Does not own: the teams (ways-back-teams.ts).
 * Holds, for every run: no payment without a yes of the run's own, none twice, none that its origin had made before; no
 * question about a payment that the run has recorded; nothing that was paid is ever told as unpaid; every run ends.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, ReeveError, type Agent, type Run, type Runtime } from 'reeve'
import type { Recorded } from 'reeve/views'
import { checkJournal, manualClock } from 'reeve/testing'
import { dice } from '../dice.ts'
import {
  everybodyIn,
  isToldDone,
  hedgedIn,
  payingAgent,
  randomPayingTeam,
  receiptOf,
  unpaidBy,
  type Outside,
  type PayingTeam,
} from './ways-back-teams.ts'

/** What was played, and everything that is wrong with it. */
export interface WaysBackPlayed {
  readonly team: PayingTeam
  readonly runs: number
  readonly acts: number
  readonly yeses: number
  readonly moves: Readonly<Record<Move, number>>
  readonly wrong: readonly string[]
}

const moves = [
  'fork',
  'retry',
  'cancel',
  'pause',
  'takeover',
  'finish',
  'sent back',
  'death',
  'deploy',
  'restart',
] as const
type Move = (typeof moves)[number]

/** A run of the play. */
interface Played {
  readonly id: string
  /** Labels that its origins had paid when it was forked. */
  readonly before: ReadonlySet<string>
  readonly yeses: Map<string, number>
  readonly acts: Map<string, number>
}

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1)
const labelIn = (text: string): string | undefined => text.match(/payer_\d+(?!.*payer_\d+)/s)?.[0]

/** The outside world, which pays, and knows for which run. */
class Bank implements Outside {
  readonly runs = new Map<string, Played>()
  readonly keys = new Map<string, string>()
  readonly wrong: string[] = []
  readonly hedged: ReadonlySet<string>
  readonly #failed = new Set<string>()

  constructor(hedged: ReadonlySet<string>) {
    this.hedged = hedged
  }

  runOf(text: string): Played {
    const found = [...this.runs.values()].filter(({ id }) => text.includes(id))
    if (found.length !== 1) throw new Error(`of no run, or of several: ${text}`)
    return found[0]!
  }

  pay(label: string, key: string): string {
    const run = this.runOf(key)
    this.keys.set(key, label)
    count(run.acts, label)
    // a race may pay beside the one that has paid: who hedges what pays has said so
    if (run.before.has(label) && !this.hedged.has(label))
      this.wrong.push(`${run.id} pays ${label}, which its origin has paid`)
    return receiptOf(label)
  }

  weather(label: string, key: string): string {
    const place = `${label} ${key === '' ? '' : this.runOf(key).id}`
    if (this.#failed.has(place)) return 'fine'
    this.#failed.add(place)
    throw new Error('bad weather')
  }

  /** Whether a payment was made in this run, or before it. */
  knows(run: Played, label: string): boolean {
    return run.before.has(label) || run.acts.has(label)
  }
}

/** How long a play may take. Milliseconds. */
const patienceMs = 20_000

const isLate: ReadonlySet<string> = new Set([
  'interrupt.already-answered',
  'interrupt.expired',
  'interrupt.unknown',
  'approval.already-decided',
  'approval.unknown',
  'approval.expired',
])

/** What a command may reject with, because it came too late or too early. */
const isUntimely: ReadonlySet<string> = new Set([
  'run.ended',
  'run.taken-over',
  'run.not-taken-over',
  'run.not-paused',
  'run.paused',
  'fork.invalid',
  'run.unknown', // its process died before it had begun
])

type Asked = Awaited<ReturnType<Runtime['questions']>>[number]

class Play {
  readonly #team: PayingTeam
  readonly #gates: ReadonlyMap<string, string>
  readonly #hedged: ReadonlySet<string>
  readonly #roll: () => number
  readonly #file: string
  readonly #session: string | undefined
  readonly #bank: Bank
  readonly #clock = manualClock()
  readonly #agents: Agent[] = []
  readonly #moves = Object.fromEntries(moves.map((each) => [each, 0])) as Record<Move, number>
  readonly #seed: number
  #began = performance.now()
  #commits = Infinity
  #made = 0
  readonly #endless = new Set<string>()
  #isDead = false
  /** Which process it is that lives. */
  #life = 0

  constructor(seed: number, folder: string) {
    this.#seed = seed
    this.#team = randomPayingTeam(seed)
    this.#gates = new Map(
      everybodyIn(this.#team).flatMap((each) => (each.type === 'payer' ? [[each.name, each.gate]] : [])),
    )
    this.#hedged = hedgedIn(this.#team)
    this.#bank = new Bank(this.#hedged)
    this.#roll = dice(seed * 104_723 + 17)
    this.#file = join(folder, 'store.db')
    this.#session = this.#roll() < 0.5 ? `chat_${seed}` : undefined
    this.#deploy()
  }

  get played(): WaysBackPlayed {
    const sum = (of: 'acts' | 'yeses'): number =>
      [...this.#bank.runs.values()].reduce((all, run) => all + [...run[of].values()].reduce((a, b) => a + b, 0), 0)
    return {
      team: this.#team,
      runs: this.#bank.runs.size,
      acts: sum('acts'),
      yeses: sum('yeses'),
      moves: this.#moves,
      wrong: this.#bank.wrong,
    }
  }

  async play(): Promise<WaysBackPlayed> {
    try {
      for (let life = 0; ; life++) {
        const isLast = life >= 3 + Math.floor(this.#roll() * 3)
        if (await this.#live(life, isLast)) break
      }
      await this.#check()
    } catch (thrown) {
      this.#bank.wrong.push(String(thrown instanceof Error ? thrown.stack : thrown))
    }
    return this.played
  }

  #below(limit: number): number {
    return Math.floor(this.#roll() * limit)
  }

  /** No id of a run is the beginning of another one. */
  #newId(kind: string): string {
    return `${kind}_${this.#seed}_${++this.#made}_end`
  }

  #deploy(): void {
    this.#agents.unshift(payingAgent(this.#team, this.#bank, String(this.#agents.length + 1)))
  }

  #add(id: string, before: ReadonlySet<string> = new Set()): void {
    if (!this.#bank.runs.has(id)) this.#bank.runs.set(id, { id, before, yeses: new Map(), acts: new Map() })
  }

  /** One process. True: every run has ended. */
  async #live(life: number, isLast: boolean): Promise<boolean> {
    this.#isDead = false
    this.#life = life
    this.#commits = isLast || this.#roll() < 0.4 ? Infinity : 1 + this.#below(40)
    const crash = (point: string): boolean => (this.#isDead ||= point.startsWith('commit') && --this.#commits <= 0)
    const [newest, ...earlier] = this.#agents
    const runtime = await createRuntime({
      store: this.#file,
      agents: [newest!],
      earlier,
      clock: this.#clock,
      strict: true,
      onWarning: () => {},
      crash,
    })
    try {
      if (life === 0) {
        for (const id of this.#session === undefined
          ? [this.#newId('run')]
          : [this.#newId('run'), this.#newId('run')]) {
          this.#add(id)
          await this.#orDead(
            runtime.start(newest as Agent<string>, 'Go', {
              runId: id,
              ...(this.#session === undefined ? {} : { session: this.#session }),
            }),
          )
        }
      }
      for (let turns = 4 + this.#below(12); turns > 0 && !isLast && !this.#isDead; turns--) {
        await this.#rest(1 + this.#below(30))
        if (this.#roll() < 0.4) await this.#orDead(this.#answerOne(runtime))
        else await this.#orDead(this.#move(runtime))
      }
      if (isLast) return await this.#finish(runtime)
      return false
    } finally {
      await runtime.close()
      if (this.#isDead) this.#moves.death++
      else this.#moves.restart++
      if (!isLast && this.#roll() < 0.3) {
        this.#moves.deploy++
        this.#deploy()
      }
      const db = new DatabaseSync(this.#file)
      db.exec('DELETE FROM process') // a dead process is this one, which lives
      db.close()
    }
  }

  /** Lets the runs go on. */
  async #rest(turns: number): Promise<void> {
    for (let i = 0; i < turns && !this.#isDead; i++) await new Promise((resolve) => setImmediate(resolve))
    this.#clock.advance(this.#roll() < 0.5 ? 0 : this.#below(1_500))
  }

  /** What it resolves to; nothing once the process is dead, whose promises may never settle. */
  async #orDead<T>(work: Promise<T>): Promise<T | undefined> {
    let end: { readonly value: T } | { readonly thrown: unknown } | undefined
    void work.then(
      (value) => (end = { value }),
      (thrown: unknown) => (end = { thrown }),
    )
    const began = performance.now()
    while (end === undefined && !this.#isDead) {
      if (performance.now() - began > patienceMs) throw new Error('a command does not end')
      await new Promise((resolve) => setImmediate(resolve))
      this.#clock.advance(1)
    }
    if (end === undefined || 'value' in end) return end?.value
    if (this.#isDead) return undefined
    throw end.thrown
  }

  /** Something that a person does to a run, or a way back. */
  async #move(runtime: Runtime): Promise<void> {
    const ids = [...this.#bank.runs.keys()]
    const id = ids[this.#below(ids.length)]!
    const run = runtime.handle(id)
    const chance = this.#roll()
    try {
      if (chance < 0.3) {
        if (ids.length < 7) await this.#fork(runtime, run)
      } else if (chance < 0.5) {
        if (ids.length < 7) await this.#retry(runtime, run)
      } else if (chance < 0.58) {
        await run.control.cancel('enough', 'ann', { undo: false })
        this.#moves.cancel++
      } else if (chance < 0.78) {
        await run.control.pause({ by: 'ann' })
        this.#moves.pause++
        await this.#rest(this.#below(20))
        if (this.#roll() < 0.6) await this.#answerOne(runtime)
        await this.#rest(this.#below(20))
        if (this.#roll() < 0.7) await run.control.resume({ by: 'ann' })
      } else if (chance < 0.95) {
        await run.control.takeOver({ by: 'ann' })
        this.#moves.takeover++
        await this.#rest(this.#below(20))
        if (this.#roll() < 0.6) await this.#answerOne(runtime)
        await this.#rest(this.#below(20))
        if (this.#roll() < 0.7) await run.control.handBack({ by: 'ann' })
      } else {
        await run.control.takeOver({ by: 'ann' })
        await run.control.finish({ by: 'ann', output: 'by hand' })
        this.#moves.finish++
      }
    } catch (thrown) {
      if (!ReeveError.is(thrown) || !isUntimely.has(thrown.code)) throw thrown
    }
  }

  async #fork(runtime: Runtime, run: Run<unknown>): Promise<void> {
    const feed = await run.journal()
    const at = feed[this.#below(feed.length)]
    if (at === undefined) return
    const id = this.#newId('fork')
    this.#add(id, this.#paidBefore(run.id))
    const life = this.#life
    try {
      await runtime.fork({ run: run.id, at: at.position, runId: id, by: 'ann' })
      this.#moves.fork++
    } catch (thrown) {
      if (!this.#isDead && life === this.#life) this.#bank.runs.delete(id) // of a dead process it is unknown
      throw thrown
    }
  }

  async #retry(runtime: Runtime, run: Run<unknown>): Promise<void> {
    const id = this.#newId('retry')
    this.#add(id, this.#paidBefore(run.id))
    const life = this.#life
    try {
      await runtime.retry(run.id, { runId: id, by: 'ann', again: true })
      this.#moves.retry++
    } catch (thrown) {
      if (!this.#isDead && life === this.#life) this.#bank.runs.delete(id) // of a dead process it is unknown
      throw thrown
    }
  }

  #paidBefore(id: string): ReadonlySet<string> {
    const origin = this.#bank.runs.get(id)!
    return new Set([...origin.before, ...origin.acts.keys()])
  }

  async #answerOne(runtime: Runtime): Promise<boolean> {
    const asked = await runtime.questions()
    const question = asked[this.#below(asked.length)]
    if (question === undefined) return false
    try {
      await this.#answer(runtime, question)
    } catch (thrown) {
      if (!ReeveError.is(thrown) || !(isLate.has(thrown.code) || isUntimely.has(thrown.code))) throw thrown
    }
    return true
  }

  async #answer(runtime: Runtime, question: Asked): Promise<void> {
    const run = this.#bank.runOf(question.run)
    const body = question.body as Readonly<Record<string, unknown>>
    if (question.kind === 'in-doubt') {
      const label = labelIn(question.activation)
      const key = body['key'] as string
      if (label === undefined || this.#bank.keys.has(key) === false)
        if (label === undefined || !this.#bank.knows(run, label)) {
          await runtime.settleDoubt({ id: question.id, happened: false })
          return
        }
      await runtime.settleDoubt({ id: question.id, happened: true, value: receiptOf(label) })
      return
    }
    if (question.kind !== 'approval') throw new Error(`what is asked? ${JSON.stringify(question)}`)
    const kind = body['kind'] as string | undefined
    const label =
      kind === 'plan' || kind === 'result'
        ? undefined
        : kind === 'work' || kind === 'task'
          ? labelIn(JSON.stringify([body['tool'], body['task'], body['description'], body['input']]))
          : labelIn(JSON.stringify([body['path'], question.activation]))
    if (label !== undefined) await this.#mayBeAsked(runtime, run, label, question)
    // who is told that it was done says no to doing it again; code is told of the effect itself when it asks for it
    const isTold = label !== undefined && kind === undefined && saysDone(body)
    const wouldRepeat = isTold && this.#gates.get(label) === 'tool' && this.#bank.knows(run, label)
    const isForCode = isTold && this.#gates.get(label) === 'code'
    const options = (body['options'] ?? ['approve', 'reject']) as readonly string[]
    const chance = this.#roll()
    const decision =
      (kind === 'task' || kind === 'result') && options.includes('retry') && chance < 0.25
        ? 'retry'
        : isForCode || (chance < 0.85 && !wouldRepeat)
          ? 'approve'
          : 'reject'
    if (decision === 'approve' && label !== undefined) count(run.yeses, label)
    try {
      await runtime.decide({ approvalId: question.id, decision, approver: 'ann', comment: 'So be it.' })
      if (decision === 'retry') this.#moves['sent back']++
    } catch (thrown) {
      // no yes was recorded
      if (decision === 'approve' && label !== undefined && ReeveError.is(thrown))
        run.yeses.set(label, run.yeses.get(label)! - 1)
      throw thrown
    }
  }

  /** What its run has recorded as paid is not asked about. */
  async #mayBeAsked(runtime: Runtime, run: Played, label: string, question: Asked): Promise<void> {
    const body = question.body as Readonly<Record<string, unknown>>
    if (this.#hedged.has(label) || this.#gates.get(label) === 'command' || saysDone(body)) return
    if (run.before.has(label)) this.#bank.wrong.push(`${run.id} asks about ${label}, and does not say that it was paid`)
    const feed = await runtime.handle(run.id).journal()
    const asked = feed.findIndex(({ event }) => event.type === 'approval.requested' && event.id === question.id)
    const receipt = feed.slice(0, asked).find((each) => isReceipt(each, label))
    if (receipt !== undefined)
      this.#bank.wrong.push(`${run.id} asks about ${label}, which it has recorded as paid at ${receipt.position}`)
  }

  /** Everything is answered until every run has ended. */
  async #finish(runtime: Runtime): Promise<boolean> {
    await this.#handBack(runtime, this.#bank.runs.keys())
    const open = new Set(this.#bank.runs.keys())
    for (const id of open)
      void runtime
        .handle(id)
        .outcome()
        .then(
          () => open.delete(id),
          (thrown: unknown) => this.#bank.wrong.push(`${id} has no outcome: ${String(thrown)}`),
        )
    this.#began = performance.now()
    let rounds = 0
    while (open.size > 0) {
      if (performance.now() - this.#began > patienceMs) {
        for (const id of open) this.#endless.add(id)
        for (const id of open)
          this.#bank.wrong.push(`${id} does not end: ${JSON.stringify(await runtime.handle(id).view())}`)
        return true
      }
      await this.#rest(10)
      await this.#answerOne(runtime)
      // a command of a process that died is heard by the next one
      if (++rounds % 50 === 0) await this.#handBack(runtime, open)
    }
    return true
  }

  /** What a person has, or has paused, goes on. */
  async #handBack(runtime: Runtime, ids: Iterable<string>): Promise<void> {
    for (const id of ids) {
      const run = runtime.handle(id)
      try {
        const { state } = await run.control.state()
        if (state === 'human_control') await run.control.handBack({ by: 'ann' })
        else if (state === 'paused' || state === 'pausing') await run.control.resume({ by: 'ann' })
      } catch (thrown) {
        if (ReeveError.is(thrown, 'run.unknown'))
          this.#bank.runs.delete(id) // its process died before it was
        else if (!ReeveError.is(thrown) || !isUntimely.has(thrown.code)) throw thrown
      }
    }
  }

  async #check(): Promise<void> {
    const { wrong } = this.#bank
    const runtime = await createRuntime({
      store: this.#file,
      agents: [this.#agents[0]!],
      drive: false,
      onWarning: () => {},
    })
    try {
      for (const run of this.#bank.runs.values()) {
        for (const [label, acts] of run.acts) {
          if (this.#hedged.has(label)) continue
          if (acts > 1) wrong.push(`${run.id} pays ${label} ${acts} times`)
          const yeses = run.yeses.get(label) ?? 0
          if (this.#gates.get(label) !== 'none' && acts > yeses)
            wrong.push(`${run.id} pays ${label} ${acts} times with a yes for ${yeses}`)
        }
        const events: Recorded[] = []
        for (const each of [
          run.id,
          ...(await runtime.runs({ childrenOf: run.id as never })).map((child) => child.run),
        ]) {
          const own = []
          for await (const event of runtime.handle(each).events()) own.push(event)
          wrong.push(...checkJournal(own).map((fault) => `${each}: ${fault}`))
          events.push(...own)
        }
        this.#checkTold(
          run,
          events.toSorted((a, b) => a.position - b.position),
        )
        if (this.#endless.has(run.id)) continue
        const outcome = await runtime.handle(run.id).outcome()
        if (
          outcome.status === 'failed' &&
          ['session.busy', 'orchestration.address-in-use', 'replay.diverged'].includes(outcome.failure.code)
        )
          wrong.push(`${run.id} fails: ${outcome.failure.code}`)
      }
    } finally {
      await runtime.close()
    }
  }

  /** What was paid is not told as unpaid, and workers have the version of their leader. */
  #checkTold(run: Played, events: readonly Recorded[]): void {
    const paid = new Set<string>()
    const versions = new Map<string, string>()
    for (const recorded of events) {
      const { event, activation, position } = recorded
      // what was copied was said before the origin did the rest, and is checked with the origin
      if (event.type === 'run.forked') for (const label of run.before) paid.add(label)
      for (const label of this.#gates.keys()) {
        if (isReceipt(recorded, label)) paid.add(label)
        if (
          event.type === 'activation.settled' &&
          paid.has(label) &&
          JSON.stringify(event.outcome).includes(unpaidBy(label)) &&
          labelIn(activation) === label &&
          !this.#hedged.has(label)
        )
          this.#bank.wrong.push(`${run.id} tells ${label} as unpaid at ${position}`)
      }
      if (event.type === 'replay.diverged') this.#bank.wrong.push(`${run.id} diverges at ${position}`)
      if (event.type === 'agent.moved') versions.set(activation, numberOf(event.to))
      if (event.type !== 'activation.started') continue
      const version = numberOf(event.version)
      const leader = versions.get(activation.slice(0, activation.lastIndexOf('>')))
      if (leader !== undefined && leader !== version && event.agent.includes('_'))
        this.#bank.wrong.push(
          `${run.id} has ${event.agent} in version ${version}, its leader in ${leader}, at ${position}`,
        )
      versions.set(activation, version)
    }
  }
}

/** Whether an approver is told what was done before. */
const saysDone = ({ reason }: Readonly<Record<string, unknown>>): boolean =>
  typeof reason === 'string' && isToldDone(reason)

const isReceipt = ({ event }: Recorded, label: string): boolean =>
  event.type === 'step.settled' && event.outcome.status === 'completed' && event.outcome.output === receiptOf(label)

/** The declared part of a version. */
const numberOf = (version: string): string => version.split('+')[0]!

/** Plays the team of a seed. */
export async function playWaysBack(seed: number): Promise<WaysBackPlayed> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-ways-back-'))
  try {
    return await new Play(seed, folder).play()
  } finally {
    rmSync(folder, { recursive: true })
  }
}
