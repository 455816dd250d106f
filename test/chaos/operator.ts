/**
 * The operator: another process than the workers, on an engine that drives nothing, or rather one for each node, as
 * somebody's client would use whichever answers. Starts runs, decides what they ask, pauses, resumes and cancels, and
 * says truthfully whether a `once` in doubt has happened.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { completed, ReeveError, type Json, type RunId } from '@reeve/core'
import type { Engine, Post, PostResult, Question } from '@reeve/engine'
import { createRuntime, type Runtime } from '@reeve/runtime'
import type { Dice } from '../crash/kill/random.ts'
import { team } from '../crash/kill/team.ts'
import { runOfKey, valueOf, type World } from '../crash/kill/world.ts'
import type { Recorder } from './recorder.ts'

/** What became of a decision: it counts, it came too late, or the answer was lost on its way. */
export type Word = 'accepted' | 'refused' | 'unsure'

/** A result; `unsure`: it was tried before, and that may have done it. */
interface Tried<T> {
  readonly value: T
  readonly unsure: boolean
}

const pauses = ['next', 'now', 'after-model', 'after-tools'] as const

export interface OperatorOptions {
  readonly engines: readonly Engine[]
  readonly world: World
  readonly recorder: Recorder
  readonly dice: Dice
  /** A clerk's questions are answered within about this time, or not. */
  readonly clerkMs: number
}

export class Operator {
  readonly problems: string[] = []
  /** Decisions by `activation:address`. */
  readonly words = new Map<string, Word>()
  /** Runs that somebody has cancelled. */
  readonly cancelled = new Set<string>()
  doubts = 0
  pauses = 0
  cancels = 0
  readonly #o: OperatorOptions
  readonly #runtimes: Promise<readonly Runtime[]>
  readonly #seen = new Set<string>()
  readonly #busy = new Set<Promise<void>>()
  #calm = false

  constructor(options: OperatorOptions) {
    this.#o = options
    const agents = [team(() => Promise.reject(new Error('the operator runs nothing')))]
    this.#runtimes = Promise.all(options.engines.map((engine) => createRuntime({ engine, drive: false, agents })))
  }

  /** The questions that were asked so far. */
  get asked(): readonly string[] {
    return [...this.#seen]
  }

  /** From now on everything is decided at once, and nothing is paused. */
  calm(): void {
    this.#calm = true
  }

  /** Any engine, and another one as long as it cannot: a node is down, or the database. */
  async #patiently<T>(attempt: (which: number) => Promise<T>): Promise<Tried<T>> {
    for (let unsure = false; ; unsure = true) {
      try {
        return { value: await attempt(this.#o.dice.between(0, this.#o.engines.length - 1)), unsure }
      } catch (thrown) {
        if (!ReeveError.is(thrown) || !/^(store|engine)\./.test(thrown.code) || thrown.code === 'engine.closed')
          throw thrown
        await sleep(50)
      }
    }
  }

  ask<T>(question: (engine: Engine) => Promise<T>): Promise<T> {
    return this.#patiently((which) => question(this.#o.engines[which]!)).then(({ value }) => value)
  }

  async start(run: string, agent: string, input: Json): Promise<void> {
    const runtimes = await this.#runtimes
    if (agent === 'team')
      await this.#patiently(async (which) =>
        runtimes[which]!.start('team', 'A report on ravens, please.', { runId: run }),
      )
    else await this.ask((engine) => engine.start({ run: run as RunId, agent, version: '1', input }))
  }

  /** Takes note of everything that is asked now. */
  async look(): Promise<void> {
    for (const question of await this.ask((engine) => engine.questions())) {
      if (this.#seen.has(question.id)) continue
      this.#seen.add(question.id)
      this.#do(`answering ${question.id}`, () => this.#answer(question))
    }
  }

  #do(what: string, work: () => Promise<void>): void {
    const done = work()
      .catch((thrown: unknown) => void this.problems.push(`${what}: ${String(thrown)}`))
      .finally(() => this.#busy.delete(done))
    this.#busy.add(done)
  }

  /** When everything that is being done is done. */
  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy)
  }

  async #after(ms: number): Promise<void> {
    for (const until = Date.now() + ms; Date.now() < until && !this.#calm;)
      await sleep(Math.min(50, Math.max(1, until - Date.now())))
  }

  async #answer(question: Question): Promise<void> {
    const { dice, clerkMs } = this.#o
    const isClerks = /^ask\d$/.test(question.address)
    await this.#after(isClerks ? dice.between(0, clerkMs * 1.7) : dice.between(0, 1_000))
    if (question.kind === 'in-doubt') return this.#settle(question)
    if (question.address === 'cancel-me') return this.#cancel(question.run, 'changed my mind')
    if (question.activation.endsWith('publisher')) return this.#approve(question.id)
    return this.#decide(question, isClerks)
  }

  /**
   * Two people at about the same time: one of them may be taken, and it is the first one, unless the clock was faster.
   */
  async #decide({ activation, address }: Question, mayExpire: boolean): Promise<void> {
    const say = (by: string): Promise<Tried<PostResult>> =>
      this.#post({ type: 'answer', activation, address, outcome: completed({ approved: true, by }) })
    const [first, second] = [await say('ann'), await say('bob')]
    const key = `${activation}:${address}`
    this.words.set(key, first.value === 'accepted' ? 'accepted' : first.unsure ? 'unsure' : 'refused')
    if (second.value === 'accepted')
      this.problems.push(`${key}: ${first.value} for ann, and bob was accepted after her`)
    // Unless it was cancelled meanwhile.
    const isRefused = first.value !== 'accepted' && !first.unsure && !mayExpire
    if (isRefused && !this.cancelled.has(runOfKey(key)))
      this.problems.push(`${key}: ${first.value} though nobody had answered`)
  }

  /** Through the runtime: who comes second is told so. */
  async #approve(approvalId: string): Promise<void> {
    const runtimes = await this.#runtimes
    const decide = async (approver: string): Promise<{ taken: boolean; unsure: boolean }> => {
      try {
        const { unsure } = await this.#patiently((which) =>
          runtimes[which]!.decide({ approvalId, decision: 'approve', approver }),
        )
        return { taken: true, unsure }
      } catch (thrown) {
        if (!ReeveError.is(thrown, 'approval.already-decided')) throw thrown
        return { taken: false, unsure: false }
      }
    }
    const first = await decide('ann')
    if ((await decide('bob')).taken)
      this.problems.push(`${approvalId} was approved by bob after ann (${first.taken ? 'too' : 'refused'})`)
  }

  /** From this moment on nothing older gets through, so the answer stays true. */
  async #settle({ run, activation, address }: Question): Promise<void> {
    const { recorder, world } = this.#o
    this.doubts++
    const rows = await recorder.ask<{ epoch: number }>('SELECT epoch FROM $s.run WHERE id = $1', [run])
    world.fence(run, rows[0]!.epoch)
    const deed = world.happened(`${activation}:${address}`)
    const word = { type: 'settle-doubt', activation, address, by: 'operator' } as const
    const { value, unsure } = await this.#post(
      deed === undefined ? { ...word, happened: false } : { ...word, happened: true, value: valueOf(deed) },
    )
    // Closed: the process that had it in flight was only slow, and recorded its end first.
    if (value !== 'accepted' && value !== 'closed' && !unsure)
      this.problems.push(`settling ${activation}:${address}: ${value}`)
  }

  #post(post: Post): Promise<Tried<PostResult>> {
    return this.#patiently((which) => this.#o.engines[which]!.post(post))
  }

  async #cancel(run: RunId, reason: string): Promise<void> {
    this.cancels++
    this.cancelled.add(run)
    const { value, unsure } = await this.#post({ type: 'cancel', run, reason, by: 'operator' })
    if (value === 'unknown' || (value === 'lost' && !unsure)) this.problems.push(`cancelling ${run}: ${value}`)
  }

  /** Cancels it some time later, wherever it is then. */
  cancelLater(run: string): void {
    this.#do(`cancelling ${run}`, async () => {
      await this.#after(this.#o.dice.between(100, 3_000))
      await this.#cancel(run as RunId, 'changed my mind')
    })
  }

  /** Pauses a run for a while. */
  pause(run: string): void {
    const { dice } = this.#o
    this.#do(`pausing ${run}`, async () => {
      this.pauses++
      const escalate = dice.next() < 0.3 ? { withinMs: dice.between(10, 300) } : {}
      await this.#post({
        type: 'pause',
        run: run as RunId,
        at: pauses[dice.between(0, 3)]!,
        ...escalate,
        by: 'operator',
      })
      await this.#after(dice.between(100, 2_500))
      const { value } = await this.#post({ type: 'resume', run: run as RunId, by: 'operator' })
      if (value !== 'accepted' && value !== 'closed') this.problems.push(`resuming ${run}: ${value}`)
    })
  }

  async close(): Promise<void> {
    for (const runtime of await this.#runtimes) await runtime.close()
  }
}
