/**
 * The stage on which a contract case plays: an engine, a clock that stands still, agents made of functions, effects
 * that are counted.
 *
 * Owns: what cases have in common. Does not own: what they check. Nothing here sleeps: conditions are awaited.
 */
import assert from 'node:assert/strict'
import {
  completed,
  rootActivation,
  runId,
  type ActivationId,
  type Json,
  type OpId,
  type Outcome,
  type RunId,
} from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import type {
  Context,
  Engine,
  Orchestration,
  Post,
  PostResult,
  Question,
  Registry,
  RunEnd,
  StartRun,
  StepIO,
  StepOptions,
} from '@reeve/engine'
import { manualClock, type ManualClock } from '@reeve/testing'

/** One engine over one store, as a suite needs it. */
export interface Bench {
  /** The engine that is open now. It does not drive yet. */
  readonly engine: Engine
  /**
   * Opens another engine over the same store after this one was closed in order, or has died at once with everything
   * that was not durable. Absent: the store lives in memory.
   */
  readonly restart?: (how: 'close' | 'kill') => Promise<Engine>
  /**
   * Another process of the same store, that does not drive. Closed with the bench. Absent: the store passes no live
   * parts on.
   */
  readonly beside?: () => Engine
  /** Closes everything and removes what it left behind. */
  dispose(): Promise<void>
}

/** An engine to be tested. */
export interface EngineSubject {
  readonly name: string
  create(options: { readonly clock: ManualClock }): Promise<Bench>
  /** Its benches have a `beside`. */
  readonly passesParts?: boolean
  /** Its store keeps contents. */
  readonly keepsContents?: boolean
  /** Names of cases that do not hold, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
}

/** A case of the suite as it is written down. */
export interface Play {
  readonly invariant: string
  readonly name: string
  /** Needs a store that outlives its engine. */
  readonly restarts?: true
  /** Needs another process to which live parts are passed on. */
  readonly beside?: true
  /** Needs a store that keeps contents. */
  readonly contents?: true
  readonly play: (stage: Stage) => Promise<void>
}

export type Body = (ctx: Context, input: Json) => Promise<Json | Outcome>

const patienceMs = 10_000

/** Waits until a condition holds. Rejects with `what` if it does not within ten seconds of real time. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + patienceMs
  for (let turn = 0; !(await condition()); turn++) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => (turn < 200 ? setImmediate(resolve) : setTimeout(resolve, 2)))
  }
}

/** An effect that waits for the test. */
export interface HeldEffect {
  /** How often it was let in and has not ended. */
  readonly waiting: number
  /** Attempt numbers, in order. */
  readonly attempts: readonly number[]
  readonly keys: readonly string[]
  readonly aborted: number
  readonly effect: (io: StepIO) => Promise<Json>
  open(value?: Json): void
  fail(error: Error): void
}

/** A gate; a deaf one does not listen to its signal. */
export function gate(deaf = false): HeldEffect {
  const inside: { resolve: (value: Json) => void; reject: (error: Error) => void }[] = []
  const attempts: number[] = []
  const keys: string[] = []
  let aborted = 0
  return {
    attempts,
    keys,
    get waiting() {
      return inside.length
    },
    get aborted() {
      return aborted
    },
    effect: (io) =>
      new Promise((resolve, reject) => {
        attempts.push(io.attempt)
        keys.push(io.key)
        const entry = { resolve, reject }
        inside.push(entry)
        io.signal.addEventListener('abort', () => {
          aborted++
          if (deaf) return
          inside.splice(inside.indexOf(entry), 1)
          reject(io.signal.reason as Error)
        })
      }),
    open(value = null) {
      for (const { resolve } of inside.splice(0)) resolve(value)
    },
    fail(error) {
      for (const { reject } of inside.splice(0)) reject(error)
    },
  }
}

/** Runs a step and returns what it gave; throws if it did not complete. */
export async function step(
  ctx: Context,
  name: string,
  effect: (io: StepIO) => Json | Promise<Json>,
  options?: StepOptions,
): Promise<Json> {
  const outcome = await ended(ctx, ctx.begin(name, effect, options))
  if (outcome.status === 'completed') return outcome.output
  throw new Error(`${name} ${JSON.stringify(outcome)}`)
}

/** How an operation ended. */
export async function ended(ctx: Context, id: OpId | ActivationId): Promise<Outcome> {
  return (await ctx.next(id as OpId)).outcome
}

/** A question that any caller outside may answer. */
export const question = (
  id: string,
): { as: { type: 'interrupt.raised'; id: string; question: Json; path: readonly string[] } } => ({
  as: { type: 'interrupt.raised', id, question: 'well?', path: [] },
})

const isOutcome = (value: Json | Outcome): value is Outcome =>
  typeof value === 'object' && value !== null && 'status' in value

export class Stage {
  readonly clock: ManualClock
  readonly bench: Bench
  engine: Engine
  /** Names of effects that ran, in order. */
  readonly ran: string[] = []
  readonly agents: Orchestration[] = []
  onMissingVersion: 'move' | 'park' = 'move'
  /** Which version of a worker belongs to a leader: by `leader version worker`. */
  readonly belongs = new Map<string, string>()
  #runs = 0

  private constructor(clock: ManualClock, bench: Bench) {
    this.clock = clock
    this.bench = bench
    this.engine = bench.engine
  }

  static async open(subject: EngineSubject): Promise<Stage> {
    const clock = manualClock()
    return new Stage(clock, await subject.create({ clock }))
  }

  /** Registers an agent made of a function. What it returns is its output, unless it is an outcome. */
  agent(name: string, body: Body, version = '1'): void {
    this.agents.push({
      name,
      version,
      async run(ctx, input) {
        const value = await body(ctx, input)
        return isOutcome(value) ? value : completed(value)
      },
    })
  }

  /** Forgets an agent, or one version of it. */
  forget(name: string, version?: string): void {
    for (let i = this.agents.length - 1; i >= 0; i--) {
      const agent = this.agents[i]!
      if (agent.name === name && (version === undefined || agent.version === version)) this.agents.splice(i, 1)
    }
  }

  /** An effect that is counted under a name and gives a value. */
  does(name: string, value: Json = name): (io: StepIO) => Json {
    return () => {
      this.ran.push(name)
      return value
    }
  }

  /** How often the effect of this name ran. */
  count(name: string): number {
    return this.ran.filter((ran) => ran === name).length
  }

  get registry(): Registry {
    const { agents, belongs } = this
    const missing = this.onMissingVersion
    return {
      onMissingVersion: missing,
      find: (name, version) =>
        agents.findLast((agent) => agent.name === name && (version === undefined || agent.version === version)),
      workerVersion: (leader, version, worker) => belongs.get(`${leader} ${version} ${worker}`),
    }
  }

  async drive(): Promise<void> {
    await this.engine.drive(this.registry)
  }

  /** Begins a run and returns its id. */
  async start(agent: string, input: Json = null, more: Partial<StartRun> = {}): Promise<RunId> {
    const run = runId(`run_${++this.#runs}`)
    const version = this.agents.findLast(({ name }) => name === agent)?.version ?? '1'
    await this.engine.start({ run, agent, version, input, ...more })
    return run
  }

  /** Begins a run and waits for its end. */
  async play(agent: string, input: Json = null, more: Partial<StartRun> = {}): Promise<RunEnd> {
    return this.engine.outcome(await this.start(agent, input, more))
  }

  async outcome(run: RunId): Promise<Outcome> {
    return (await this.engine.outcome(run)).outcome
  }

  /** Another engine over the same store, driving the agents that are registered now. */
  async restart(how: 'close' | 'kill', drive = true): Promise<void> {
    assert.ok(this.bench.restart !== undefined)
    this.engine = await this.bench.restart(how)
    if (drive) await this.drive()
  }

  async events(run: RunId): Promise<readonly Recorded[]> {
    return this.engine.read(run)
  }

  /** The log of one activation: the root's, or that of the worker at this address. */
  async log(run: RunId, address?: string): Promise<readonly JournalEvent[]> {
    const id = address === undefined ? rootActivation(run) : `${rootActivation(run)}>${address}`
    return (await this.engine.read(run)).filter(({ activation }) => activation === id).map(({ event }) => event)
  }

  async has<T extends JournalEvent['type']>(run: RunId, type: T): Promise<boolean> {
    return (await this.engine.read(run)).some(({ event }) => event.type === type)
  }

  /** Everything of one type in a run's feed. */
  async all<T extends JournalEvent['type']>(
    run: RunId,
    type: T,
  ): Promise<readonly Extract<JournalEvent, { type: T }>[]> {
    return (await this.engine.read(run))
      .map(({ event }) => event)
      .filter((event): event is Extract<JournalEvent, { type: T }> => event.type === type)
  }

  /** Waits for the open question of a run. */
  async question(run: RunId, kind: Question['kind'] = 'interrupt'): Promise<Question> {
    let found: Question | undefined
    await until(`run ${run} asks (${kind})`, async () => {
      found = (await this.engine.questions({ run })).find((asked) => asked.kind === kind)
      return found !== undefined
    })
    return found!
  }

  post(post: Post): Promise<PostResult> {
    return this.engine.post(post)
  }

  answer(asked: Question, value: Json): Promise<PostResult> {
    return this.engine.post({
      type: 'answer',
      activation: asked.activation,
      address: asked.address,
      outcome: completed(value),
    })
  }

  /** Waits until a run has this status. */
  status(run: RunId, status: string): Promise<void> {
    return until(`run ${run} is ${status}`, async () => (await this.engine.summary(run))?.status === status)
  }

  /** Waits until a run of its own has passed through the engine: whatever was to be done before then has been done. */
  async fence(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      if (!this.agents.some(({ name }) => name === 'fence'))
        this.agent('fence', async (ctx) => step(ctx, 'fence', () => null))
      await this.play('fence')
    }
  }
}
