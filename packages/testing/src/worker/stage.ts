/**
 * Stage of one case: a store, the processes that follow one another on it, a leader, the worker under test.
 *
 * Owns: what all cases have in common. Does not own: what they check (cases.ts). Conditions are awaited, in real time,
 * because a worker may live in another process; the clock of the runtime stands still until a case moves it.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '@reeve/agent'
import type { Json, RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import type { DelegationView } from '@reeve/journal'
import { createRuntime, type Question, type Run, type RunOutcome, type Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { bury } from '../dead-process.ts'
import { manualClock } from '../manual-clock.ts'
import type { WorkerUnderTest } from './claims.ts'
import { WorkerWorld, type WorkerPart, type WorkerTurn } from './part.ts'

/** Makes a worker that plays a part. */
export type MakeWorker = (part: WorkerPart) => WorkerUnderTest | Promise<WorkerUnderTest>

/** How the leader of a case treats the worker. */
export interface StageOptions {
  readonly turns: readonly WorkerTurn[]
  /** Default: a short brief. */
  readonly brief?: string
  /** The time limit of the leader, in milliseconds of the stage's clock. Default: none. */
  readonly timeoutMs?: number
}

/** One process on the store. */
interface StageProcess {
  readonly process: { dead: boolean }
  readonly engine: EmbeddedEngine
  readonly runtime: Runtime
}

/** What the leader says once its worker has ended: whatever came of it, the leader goes on. */
const leaderIsDone = 'the leader is done'

export class WorkerStage {
  readonly world: WorkerWorld
  readonly clock = manualClock()
  readonly subject: WorkerUnderTest
  readonly brief: string
  readonly #patienceMs: number
  readonly #timeoutMs: number | undefined
  readonly #folder = mkdtempSync(join(tmpdir(), 'reeve-worker-'))
  #life: StageProcess | undefined
  #worker = ''
  #run: RunId | undefined

  private constructor(world: WorkerWorld, subject: WorkerUnderTest, options: StageOptions, patienceMs: number) {
    this.world = world
    this.subject = subject
    this.brief = options.brief ?? 'Do your part.'
    this.#timeoutMs = options.timeoutMs
    this.#patienceMs = patienceMs
  }

  static async open(make: MakeWorker, options: StageOptions, patienceMs: number): Promise<WorkerStage> {
    const world = new WorkerWorld(options.turns)
    return new WorkerStage(world, await make(world.outside), options, patienceMs)
  }

  /** Begins the first process, or another one after a kill. */
  async begin(): Promise<void> {
    const process = { dead: false }
    const worker = await this.subject.worker(this.world.part(process))
    this.#worker = worker.name
    const lead = this.#leaderOf(worker)
    const engine = createEmbeddedEngine({
      file: this.#file,
      clock: this.clock,
      strict: true,
      durability: 'relaxed',
      pollMs: 2,
      crash: () => process.dead,
      onWarning: () => {},
    })
    this.#life = { process, engine, runtime: await createRuntime({ engine, clock: this.clock, agents: [lead] }) }
  }

  get #file(): string {
    return join(this.#folder, 'reeve.db')
  }

  #leaderOf(worker: Agent): Agent {
    const { brief } = this
    const timeoutMs = this.#timeoutMs
    return supervisor({
      name: 'lead_of_the_case',
      workers: [worker],
      ...(timeoutMs === undefined ? undefined : { delegation: { timeoutMs } }),
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? leaderIsDone
          : { calls: [{ name: 'delegate', input: { worker: worker.name, instructions: brief } }] },
    })
  }

  get runtime(): Runtime {
    assert.ok(this.#life !== undefined)
    return this.#life.runtime
  }

  get run(): Run {
    assert.ok(this.#run !== undefined)
    return this.runtime.handle(this.#run)
  }

  /** The name of the worker. */
  get worker(): string {
    return this.#worker
  }

  async start(): Promise<void> {
    await this.begin()
    this.#run = (await this.runtime.start('lead_of_the_case', 'Begin.')).id
  }

  /** Starts, and shows every piece of text of the worker to `hear`, until the run has ended. */
  async startHeard(hear: (text: string) => void): Promise<{ readonly over: Promise<void> }> {
    await this.begin()
    const stream = this.runtime.stream('lead_of_the_case', 'Begin.')
    this.#run = (await stream.run).id
    const heard = async (): Promise<void> => {
      for await (const item of stream) {
        if (item.type !== 'part' || item.part.agent !== this.#worker) continue
        const { part } = item.part
        if (part.type === 'text.delta') hear(part.text)
      }
    }
    const over = heard()
    // a case that fails does not wait for it
    over.catch(() => {})
    return { over }
  }

  /** The process dies at once: nothing of it is recorded any more, and nothing in it goes on. */
  async kill(): Promise<void> {
    assert.ok(this.#life !== undefined)
    const { process, engine } = this.#life
    process.dead = true
    engine.driver.stop()
    await engine.close()
    bury(this.#file)
  }

  /** Waits until a condition holds. Rejects with `what` if it does not in time. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const end = Date.now() + this.#patienceMs
    for (let turn = 0; !(await condition()); turn++) {
      if (Date.now() > end)
        throw new Error(`waited ${this.#patienceMs} ms in vain until ${what}; ${await this.#state()}`)
      await new Promise((resolve) => (turn < 200 ? setImmediate(resolve) : setTimeout(resolve, 2)))
    }
  }

  async #state(): Promise<string> {
    const summary = this.#run === undefined ? undefined : await this.run.summary()
    return `the run is ${JSON.stringify(summary?.status ?? 'not begun')}, its worker was asked for ${this.world.asked.length} turns; ${JSON.stringify((await this.#delegation())?.outcome ?? null)}`
  }

  /** Waits for an open question of this kind. */
  async question(kind: Question['kind']): Promise<Question> {
    let found: Question | undefined
    await this.until(`there is an open question (${kind})`, async () => {
      found = (await this.runtime.questions({ kind })).find(({ answered }) => answered !== true)
      return found !== undefined
    })
    return found!
  }

  /** Waits for the end of the run; the leader has to have gone on, whatever came of its worker. */
  async ended(): Promise<RunOutcome> {
    await this.until('the run has ended', async () => (await this.run.view()).endedAt !== undefined)
    return this.run.outcome()
  }

  /** What came of the worker, once the run has ended with the words of its leader. */
  async outcome(): Promise<NonNullable<DelegationView['outcome']>> {
    const end = await this.ended()
    assert.deepEqual(end.status === 'completed' ? end.output : end, leaderIsDone, 'the leader goes on')
    const outcome = (await this.#delegation())?.outcome
    assert.ok(outcome !== undefined, 'the delegation has an outcome')
    return outcome
  }

  async #delegation(): Promise<DelegationView | undefined> {
    return this.#run === undefined ? undefined : (await this.run.delegations())[0]
  }

  /** The output of the worker, which has completed. */
  async output(): Promise<Json> {
    const outcome = await this.outcome()
    assert.equal(outcome.status, 'completed', `the worker has completed: ${JSON.stringify(outcome)}`)
    return outcome.status === 'completed' ? outcome.output : null
  }

  /** Waits for the end; whatever is in doubt meanwhile has not happened. Returns whether something was. */
  async endedDoubting(): Promise<boolean> {
    const doubts = new Set<string>()
    await this.until('the run has ended', async () => {
      for (const { id } of await this.runtime.questions({ kind: 'in-doubt' })) {
        if (doubts.has(id)) continue
        doubts.add(id)
        await this.runtime.settleDoubt({ id, happened: false })
      }
      return (await this.run.view()).endedAt !== undefined
    })
    return doubts.size > 0
  }

  /** Closes the process: whatever it still does is over afterwards. */
  async close(): Promise<void> {
    const life = this.#life
    this.#life = undefined
    if (life === undefined) return
    await life.runtime.close()
    life.process.dead = true
  }

  /** Closes everything and removes what is left. */
  async dispose(): Promise<void> {
    try {
      this.world.end()
      if (this.#life !== undefined) {
        this.#life.process.dead = true
        this.#life.engine.driver.stop()
        await this.#life.engine.close()
      }
    } finally {
      await this.subject.close?.()
      rmSync(this.#folder, { recursive: true, force: true })
    }
  }
}
