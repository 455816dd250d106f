/**
 * The composition root: an engine, the agents it may run, and the handles of what runs.
 *
 * Owns: `createRuntime`, the `Runtime` interface, which engine is opened, that closing lets everything go. Does not own: anything that happens in a
 * run. Recovery is the engine's: opening a store goes on with what was left there, as soon as it drives.
 */
import type { Agent, InputOf, OutputOf } from '../agent/index.ts'
import {
  described,
  mustBeOptions,
  newId,
  ReeveError,
  systemClock,
  unknownNames,
  type Clock,
  type Json,
  type NamesOf,
  type Redaction,
  type RunId,
} from '../core/index.ts'
import type { Engine, Question, RunFilter, RunSummary } from '../engine/index.ts'
import type { EmbeddedOptions } from '../engine/embedded/index.ts'
import { approvalsAmong, type Approval } from './approval.ts'
import {
  answer,
  decide,
  settleDivergence,
  settleDoubt,
  type Answer,
  type Decision,
  type DivergenceSettlement,
  type DoubtSettlement,
} from './decide.ts'
import { liveParts } from './feed.ts'
import { runHandle, type Run, type RunOutcome } from './handle.ts'
import { registerAgents } from './registry.ts'
import { startRequest, type StartOptions } from './start.ts'
import { ownedRun, type RunStream } from './stream.ts'

/** How a runtime is made. */
export interface RuntimeOptions extends Omit<EmbeddedOptions, 'file'> {
  /** A file for the embedded engine, or `:memory:`. Default `:memory:`. */
  readonly store?: string
  /** Another engine instead; then `store` and the embedded engine's options are not used. The runtime closes it. */
  readonly engine?: Engine
  /** Agents to register; everything they can reach is registered with them. */
  readonly agents?: readonly Agent[]
  /** Earlier versions of agents, for runs that began with them and are to end with them. Oldest first. Default: none. */
  readonly earlier?: readonly Agent[]
  /** False: read, decide and control, without running anything. Default true. */
  readonly drive?: boolean
  /** What becomes of a run whose agent's version is not registered any more: go on with the newest, or park. Default `move`. */
  readonly onMissingVersion?: 'move' | 'park'
}

const optionNames: NamesOf<RuntimeOptions> = {
  store: true,
  engine: true,
  agents: true,
  earlier: true,
  drive: true,
  onMissingVersion: true,
  clock: true,
  strict: true,
  durability: true,
  leaseMs: true,
  parkAfterMs: true,
  undoWithinMs: true,
  pollMs: true,
  busyMs: true,
  retentionMs: true,
  redact: true,
  writer: true,
  onWarning: true,
  crash: true,
}
const redactNames: NamesOf<Redaction> = { keys: true, values: true }

/** Starts runs and finds them again. */
export interface Runtime extends AsyncDisposable {
  /** Starts a run and waits for its end. */
  run<A extends Agent>(agent: A, input: InputOf<A>, options?: StartOptions): Promise<RunOutcome<OutputOf<A>>>
  run(agent: string, input: Json, options?: StartOptions): Promise<RunOutcome>
  /** Starts a run; resolves when it is durable. The same `runId` again is the same run. */
  start<A extends Agent>(agent: A, input: InputOf<A>, options?: StartOptions): Promise<Run<OutputOf<A>>>
  start(agent: string, input: Json, options?: StartOptions): Promise<Run>
  /** Starts a run that belongs to whoever iterates: leaving before the end cancels it. */
  stream<A extends Agent>(agent: A, input: InputOf<A>, options?: StartOptions): RunStream<OutputOf<A>>
  stream(agent: string, input: Json, options?: StartOptions): RunStream
  /** The handle of a run. Nothing is read; an unknown id shows when the handle is used. */
  handle<O = Json>(id: string): Run<O>
  /** Newest first. */
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  /** Open approvals, of all runs or of one. */
  approvals(filter?: { readonly run?: string }): Promise<readonly Approval[]>
  /** Everything that somebody outside must answer. */
  questions(filter?: { readonly run?: string }): Promise<readonly Question[]>
  decide(decision: Decision): Promise<void>
  answer(answer: Answer): Promise<void>
  settleDoubt(settlement: DoubtSettlement): Promise<void>
  settleDivergence(settlement: DivergenceSettlement): Promise<void>
  /** Removes an ended run and everything of it. Changes no session. */
  remove(run: string): Promise<void>
  /** Stops driving and lets the store go. Runs stay as they are and go on when it is opened again. Idempotent. */
  close(): Promise<void>
}

/** Opens a store and begins to run what is in it. Throws `config.invalid` for options that are none, `team.invalid` and its like for what is wrong with the agents. */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  mustBeOptions(options, 'createRuntime', 'config.invalid')
  const { store, engine: given, agents = [], earlier = [], drive = true, onMissingVersion = 'move', ...embedded } = options
  // agents are checked before a store is opened; whether a run has ended is asked for only when one drives
  const hasEnded = async (run: RunId): Promise<boolean> => {
    const summary = await engine?.summary(run)
    return summary === undefined || summary.endedAt !== undefined
  }
  let engine = given
  try {
    mustBeFine(options)
    if (given !== undefined) mustMeanSomething({ store, ...embedded })
    const registry = registerAgents(agents, earlier, onMissingVersion, hasEnded)
    engine ??= await openEmbedded({ file: store ?? ':memory:', ...embedded })
    if (drive) await engine.drive(registry)
    return new EngineRuntime(engine, registry, embedded.clock ?? systemClock)
  } catch (thrown) {
    await engine?.close()
    throw thrown
  }
}

/** Throws what is wrong with the options as such. */
function mustBeFine(options: RuntimeOptions): void {
  const { agents, earlier, redact } = options
  const problems = [
    ...unknownNames(options, optionNames, 'createRuntime'),
    ...Object.entries({ agents, earlier }).flatMap(([name, list]) =>
      list === undefined || Array.isArray(list) ? [] : [`createRuntime: ${name} is ${described(list)}, expected a list of agents`],
    ),
    ...(redact === undefined ? [] : unknownNames(redact, redactNames, 'createRuntime: redact')),
  ]
  if (problems.length > 0)
    throw new ReeveError('config.invalid', problems.join('\n'), { hint: 'Nothing was opened, and nothing was started.' })
}

/** Options of the embedded engine beside another engine would be passed over in silence, `redact` among them. */
function mustMeanSomething({ clock: _clock, ...others }: Omit<EmbeddedOptions, 'file'> & { readonly store: string | undefined }): void {
  const names = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (names.length === 0) return
  throw new ReeveError(
    'config.invalid',
    `createRuntime: ${names.join(', ')} is for the embedded engine and would have no effect on the engine that is given`,
    {
      hint: 'Give it to that engine instead, for example restate({ redact: … }).',
    },
  )
}

/** Loaded when it is needed: with another engine, SQLite never is. */
async function openEmbedded(options: EmbeddedOptions): Promise<Engine> {
  const { createEmbeddedEngine } = await import('../engine/embedded/index.ts')
  return createEmbeddedEngine(options)
}

class EngineRuntime implements Runtime {
  readonly #engine: Engine
  readonly #registry: ReturnType<typeof registerAgents>
  readonly #clock: Clock

  constructor(engine: Engine, registry: ReturnType<typeof registerAgents>, clock: Clock) {
    this.#engine = engine
    this.#registry = registry
    this.#clock = clock
  }

  async run<O>(agent: Agent | string, input: unknown, options?: StartOptions): Promise<RunOutcome<O>> {
    const run = await this.start<O>(agent, input, options)
    return run.outcome()
  }

  async start<O>(agent: Agent | string, input: unknown, options: StartOptions = {}): Promise<Run<O>> {
    const request = startRequest(this.#registry.require(agent), input, options)
    await this.#engine.start(request)
    return this.handle<O>(request.run)
  }

  stream<O>(agent: Agent | string, input: unknown, options?: StartOptions): RunStream<O> {
    const id = options?.runId ?? newId('run')
    const run = Promise.resolve().then(() => this.start<O>(agent, input, { ...options, runId: id })) // not before its parts are listened to
    return ownedRun(run, (signal) => liveParts(this.#engine, id as RunId, { signal }, run), this.#clock)
  }

  handle<O>(id: string): Run<O> {
    return runHandle<O>(id as RunId, { engine: this.#engine, clock: this.#clock })
  }

  runs(filter?: RunFilter): Promise<readonly RunSummary[]> {
    return this.#engine.runs(filter)
  }

  async approvals(filter: { readonly run?: string } = {}): Promise<readonly Approval[]> {
    return approvalsAmong(await this.questions(filter))
  }

  questions({ run }: { readonly run?: string } = {}): Promise<readonly Question[]> {
    return this.#engine.questions(run === undefined ? {} : { run: run as RunId })
  }

  decide(decision: Decision): Promise<void> {
    return decide(this.#desk, decision)
  }

  answer(given: Answer): Promise<void> {
    return answer(this.#desk, given)
  }

  settleDoubt(settlement: DoubtSettlement): Promise<void> {
    return settleDoubt(this.#desk, settlement)
  }

  settleDivergence(settlement: DivergenceSettlement): Promise<void> {
    return settleDivergence(this.#desk, settlement)
  }

  remove(run: string): Promise<void> {
    return this.#engine.remove(run as RunId)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #desk(): { engine: Engine; clock: Clock } {
    return { engine: this.#engine, clock: this.#clock }
  }
}
