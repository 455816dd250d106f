/**
 * The composition root: an engine, the agents it may run, and the handles of what runs.
 *
 * Owns: `createRuntime`, the `Runtime` interface, which engine is opened, that closing lets everything go. Does not
 * own: anything that happens in a run. Recovery is the engine's: opening a store goes on with what was left there, as
 * soon as it drives.
 */
import type { Agent, InputOf, OutputOf } from '../agent/index.ts'
import {
  mustBeOptions,
  newId,
  ReeveError,
  systemClock,
  underName,
  own,
  type Clock,
  type Json,
  type RunId,
} from '../core/index.ts'
import { defaultLimits, type Limits, type Revision } from '../edge/index.ts'
import type { Engine, Question, RunFilter, RunSummary, StartRun } from '../engine/index.ts'
import type { EmbeddedOptions } from '../engine/embedded/index.ts'
import { placeNamed } from '../engine/store-name.ts'
import type { ApprovalGrant, AuditDocument, TrustPresets } from '../oversight/index.ts'
import { auditRun, type AuditOptions } from './operator/audit.ts'
import { approvalsAmong, unanswered, type Approval } from './operator/open-approvals.ts'
import {
  answer,
  decide,
  settleDivergence,
  settleDoubt,
  type Answer,
  type Decision,
  type DecisionAccess,
  type DivergenceSettlement,
  type DoubtSettlement,
} from './operator/decisions.ts'
import { forkRun, type ForkOptions } from './operator/fork.ts'
import { grantsOf, revokeGrants, type GrantsOf } from './operator/grants.ts'
import { listRuns } from './session-queue.ts'
import { findHook, measuringAgents, type Hooks } from './hooks.ts'
import { runHandle, type Run, type RunOutcome } from './run-handle.ts'
import { mustBeChoices, mustBeFine, mustBeForSomebody, mustMeanSomething, type RuntimeOptions } from './options.ts'
import { registerAgents, type Agents } from './registry.ts'
import { defaultsIn, mustHavePrices, startRequest, type Named, type StartOptions } from './start.ts'
import { ownedRun, type RunStream } from './feed/owned-run.ts'
import {
  allTrust,
  noteIncident,
  setTrust,
  trustOf,
  type Incident,
  type TrustAccess,
  type TrustSetting,
  type TrustView,
} from './operator/trust.ts'
import {
  chosenBy,
  resolvedIn,
  unknownVersion,
  Versions,
  type Chosen,
  type KeptRevision,
  type Resolved,
} from './versions.ts'

/** Starts runs and finds them again. */
export interface Runtime extends AsyncDisposable {
  /** Starts a run and waits for its end. */
  run<A extends Agent>(agent: A, input: InputOf<A>, options?: StartOptions): Promise<RunOutcome<OutputOf<A>>>
  run(agent: string, input: Json, options?: StartOptions): Promise<RunOutcome>
  /**
   * Starts a run; resolves when it is durable. The same `runId` again is the same run; by another caller or with
   * another input it is `run.conflict`.
   */
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
  /**
   * Publishes a version of an agent: data over its code. By name alone: one that is kept already, a draft or an earlier
   * one. Runs that have begun go on as they began. Throws `agent.not-registered`, `input.invalid` for data that does
   * not fit, `version.conflict` for a published one that would change, `version.unknown` for a name of nothing.
   */
  publish(agent: Agent | string, revision: Revision | string, options?: { readonly by?: string }): Promise<void>
  /**
   * Keeps a version of an agent to be tried: it holds for whoever asks for it, or for drafts. It may be kept again.
   * Throws as `publish` does.
   */
  draft(agent: Agent | string, revision: Revision, options?: { readonly by?: string }): Promise<void>
  /** All versions that are kept, drafts and earlier ones too. */
  revisions(filter?: { readonly agent?: string }): Promise<readonly KeptRevision[]>
  /** Of each agent the version that is published now. */
  published(): Promise<readonly KeptRevision[]>
  /** What was granted for a session, or for a run that belongs to none, and still holds. */
  grants(of: { readonly session: string } | { readonly run: string }): Promise<readonly ApprovalGrant[]>
  /**
   * Takes back a grant, or all of them: the next call is asked for again, in runs that have begun, too. Returns how
   * many were taken back.
   */
  revoke(of: ({ readonly session: string } | { readonly run: string }) & { readonly grant?: string }): Promise<number>
  /** How much is trusted under a name, why no more, and what became of it. */
  trust(name: string): Promise<TrustView>
  /** Every trust that something was counted or said under. */
  trusts(): Promise<readonly TrustView[]>
  /**
   * Something went wrong: less is trusted at once, in running runs from the next gate on. Throws `input.invalid` and
   * `trust.invalid` for what is none.
   */
  incident(incident: Incident): Promise<TrustView>
  /** An operator's own word on a level, with a name and a reason. Throws as `incident` does. */
  setTrust(setting: TrustSetting): Promise<TrustView>
  /**
   * Who decided what in a run so far, when, and on what evidence: hash-chained, its head signed if a key is given.
   * `verifyAudit` checks it without the store. Rejects with `run.unknown`.
   */
  audit(run: string, options?: AuditOptions): Promise<AuditDocument>
  /**
   * A new run that has everything up to a position of another one, with an edit if there is one, and goes on by itself:
   * nothing of that is done again. That run is not touched. What it did later is not done again without somebody's word
   * (`settleDoubt`); approvals and grants do not carry over. A fork of a run of a session has a session of its own.
   * Throws `fork.invalid`, `input.invalid`, `run.unknown`; `run.conflict` for a `runId` that is another run.
   */
  fork(options: ForkOptions): Promise<Run>
  /** Removes an ended run and everything of it. Changes no session. */
  remove(run: string): Promise<void>
  /** Stops driving and lets the store go. Runs stay as they are and go on when it is opened again. Idempotent. */
  close(): Promise<void>
}

/**
 * Opens a store and begins to run what is in it. Throws `config.invalid` for invalid options, `team.invalid` and its
 * like for what is wrong with the agents, `store.*` for what is wrong with the store. With `drive: false` a database is
 * connected to by the first call, which then says what is wrong with it.
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  mustBeOptions(options, 'createRuntime', 'config.invalid')
  const {
    store,
    engine: given,
    agents = [],
    earlier = [],
    drive = true,
    onMissingVersion = 'move',
    ...others
  } = options
  const {
    channels,
    mayDecide,
    memory,
    hooks,
    trust,
    versions,
    defaultStatus,
    limits,
    onUnknownVersion = others.strict === true ? 'refuse' : 'warn',
    ...embedded
  } = others
  // agents are checked before a store is opened; whether a run has ended is asked for only when one drives
  const hasEnded = async (run: RunId): Promise<boolean> => {
    const summary = await engine?.summary(run)
    return summary === undefined || summary.endedAt !== undefined
  }
  let engine = given
  try {
    mustBeFine(options)
    const place = placeNamed(store)
    mustMeanSomething(given === undefined ? place : 'engine', { store, ...embedded })
    const find = findHook(hooks ?? {}, (name) => registry.named(name))
    const parts = { hasEnded, memory, trust, find }
    const registry: Agents = registerAgents(
      agents,
      earlier,
      onMissingVersion,
      parts,
      drive ? (channels ?? []) : undefined,
    )
    mustBeChoices(versions, registry.names)
    mustBeForSomebody(trust, registry.trusts)
    registry.mustHaveChannels()
    engine ??= await (place === 'postgres'
      ? openPostgres(store!, embedded)
      : openEmbedded({ file: store ?? ':memory:', ...embedded }))
    if (drive) await engine.drive(registry)
    const chosen: Chosen = {
      ...(versions === undefined ? undefined : { versions }),
      ...(defaultStatus === undefined ? undefined : { defaultStatus }),
    }
    return new EngineRuntime(
      engine,
      registry,
      embedded.clock ?? systemClock,
      chosen,
      { ...defaultLimits, ...limits },
      onUnknownVersion,
      trust,
      mayDecide,
      hooks,
    )
  } catch (thrown) {
    await engine?.close()
    throw thrown
  }
}

/** Loaded when it is needed: with another engine, SQLite never is. */
async function openEmbedded(options: EmbeddedOptions): Promise<Engine> {
  const { createEmbeddedEngine } = await import('../engine/embedded/index.ts')
  return createEmbeddedEngine(options)
}

/**
 * Loaded when it is needed; connects before its first answer. Beside it `mustMeanSomething` has let no option of a file
 * through.
 */
async function openPostgres(url: string, options: Omit<EmbeddedOptions, 'file'>): Promise<Engine> {
  const { postgres } = await import('../engine/postgres/postgres.ts')
  const { durability: _durability, busyMs: _busyMs, writer: _writer, ...others } = options
  return postgres({ url, ...others })
}

const nameOf = (agent: Agent | string): string => (typeof agent === 'string' ? agent : agent.name)

class EngineRuntime implements Runtime {
  readonly #engine: Engine
  readonly #registry: ReturnType<typeof registerAgents>
  readonly #clock: Clock
  /** What holds for every run. */
  readonly #chosen: Chosen
  /** What holds for a run where nobody says more. */
  readonly #defaults: Limits
  readonly #onUnknownVersion: 'warn' | 'refuse'
  readonly #trust: TrustPresets | undefined
  readonly #mayDecide: DecisionAccess['mayDecide']
  /** What a start may name. */
  readonly #named: Required<Named>

  constructor(
    engine: Engine,
    registry: ReturnType<typeof registerAgents>,
    clock: Clock,
    chosen: Chosen,
    defaults: Limits,
    onUnknownVersion: 'warn' | 'refuse',
    trust: TrustPresets | undefined,
    mayDecide: DecisionAccess['mayDecide'],
    hooks: Hooks | undefined,
  ) {
    this.#engine = engine
    this.#registry = registry
    this.#clock = clock
    this.#chosen = chosen
    this.#defaults = defaults
    this.#onUnknownVersion = onUnknownVersion
    this.#trust = trust
    this.#mayDecide = mayDecide
    this.#named = { hooks, find: (name) => registry.named(name) }
  }

  async run<O>(agent: Agent | string, input: unknown, options?: StartOptions): Promise<RunOutcome<O>> {
    const run = await this.start<O>(agent, input, options)
    return run.outcome()
  }

  async start<O>(agent: Agent | string, input: unknown, options: StartOptions = {}): Promise<Run<O>> {
    const root = this.#registry.require(agent)
    // what is wrong with it is said before anything is read
    const request = startRequest(root, input, options, undefined, this.#defaults, this.#named)
    if (options.oversight !== undefined) this.#registry.mustHaveChannels(options.oversight)
    await this.#startOnce(root, input, { ...options, runId: request.run }, request)
    return this.handle<O>(request.run)
  }

  /**
   * The same start again is the same run, whatever was published, or became a default, since: then what held then
   * counts.
   */
  async #startOnce(
    root: Agent,
    input: unknown,
    options: StartOptions & { readonly runId: string },
    plain: StartRun,
  ): Promise<void> {
    const chosen = chosenBy(this.#chosen, options)
    const begin = (choice: Resolved, defaults: Limits, request?: StartRun): Promise<unknown> => {
      const base = own(choice.revisions, root.name)?.base
      const agent = (base === undefined ? undefined : this.#registry.named(root.name, base)) ?? root
      mustHavePrices(agent, { ...defaults, ...options.limits }, choice.revisions, this.#measuring(options))
      const choosing = chosen === undefined ? undefined : { ...choice, chosen }
      return this.#engine.start(request ?? startRequest(agent, input, options, choosing, defaults, this.#named))
    }
    const now: Resolved = chosen === undefined ? { unknown: [] } : await this.#versions.resolve(root, chosen)
    const [missing] = now.unknown
    if (missing !== undefined && this.#onUnknownVersion === 'refuse')
      throw unknownVersion(missing.agent, missing.asked, missing.known)
    try {
      await begin(now, this.#defaults, chosen === undefined ? plain : undefined)
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'run.conflict')) throw thrown
      const birth = await this.#birthOf(options.runId as RunId)
      await begin(chosen === undefined ? now : resolvedIn(birth), defaultsIn(birth))
    }
  }

  #measuring(options: StartOptions): readonly Agent[] {
    return measuringAgents(options, this.#named.hooks ?? {}, this.#named.find)
  }

  /** What a run was begun with. */
  async #birthOf(run: RunId): Promise<Json> {
    const [first] = await this.#engine.read(run)
    return first?.event.type === 'activation.started' ? first.event.input : {}
  }

  async grants(of: GrantsOf): Promise<readonly ApprovalGrant[]> {
    return grantsOf(this.#engine, of, this.#clock.now())
  }

  async revoke(of: GrantsOf & { readonly grant?: string }): Promise<number> {
    return revokeGrants(this.#engine, of)
  }

  trust(name: string): Promise<TrustView> {
    return trustOf(this.#trusting, name)
  }

  trusts(): Promise<readonly TrustView[]> {
    return allTrust(this.#trusting)
  }

  incident(incident: Incident): Promise<TrustView> {
    return noteIncident(this.#trusting, underName(incident))
  }

  setTrust(setting: TrustSetting): Promise<TrustView> {
    return setTrust(this.#trusting, underName(setting))
  }

  audit(run: string, options?: AuditOptions): Promise<AuditDocument> {
    return auditRun(this.#engine, run as RunId, options)
  }

  get #trusting(): TrustAccess {
    return { engine: this.#engine, now: this.#clock.now(), presets: this.#trust, named: this.#registry.trusts }
  }

  async publish(
    agent: Agent | string,
    revision: Revision | string,
    { by }: { readonly by?: string } = {},
  ): Promise<void> {
    await this.#versions.keep(this.#known(agent), revision, 'published', underName({ by }).by)
  }

  async draft(agent: Agent | string, revision: Revision, { by }: { readonly by?: string } = {}): Promise<void> {
    await this.#versions.keep(this.#known(agent), revision, 'draft', underName({ by }).by)
  }

  /** The name of a registered agent. What is published for nobody would hold for nobody. */
  #known(agent: Agent | string): string {
    return this.#registry.require(nameOf(agent)).name
  }

  async revisions({ agent }: { readonly agent?: string } = {}): Promise<readonly KeptRevision[]> {
    const all = await this.#versions.list()
    return agent === undefined ? all : all.filter((each) => each.agent === agent)
  }

  async published(): Promise<readonly KeptRevision[]> {
    return (await this.#versions.list()).filter(({ status, current }) => status === 'published' && current)
  }

  get #versions(): Versions {
    return new Versions(this.#engine.stream('reg_agents'), this.#clock, (name, version) =>
      this.#registry.named(name, version),
    )
  }

  stream<O>(agent: Agent | string, input: unknown, options?: StartOptions): RunStream<O> {
    const id = options?.runId ?? newId('run')
    const run = Promise.resolve().then(() => this.start<O>(agent, input, { ...options, runId: id })) // not before its parts are listened to
    return ownedRun(this.#engine, id as RunId, run, this.#clock)
  }

  handle<O>(id: string): Run<O> {
    return runHandle<O>(id as RunId, { ...this.#access, find: (name) => this.#registry.named(name) })
  }

  runs(filter?: RunFilter): Promise<readonly RunSummary[]> {
    return listRuns(this.#engine, filter)
  }

  async approvals(filter: { readonly run?: string } = {}): Promise<readonly Approval[]> {
    return approvalsAmong(await this.questions(filter))
  }

  async questions({ run }: { readonly run?: string } = {}): Promise<readonly Question[]> {
    return unanswered(await this.#engine.questions(run === undefined ? {} : { run: run as RunId }))
  }

  decide(decision: Decision): Promise<void> {
    return decide(this.#access, underName(decision))
  }

  answer(given: Answer): Promise<void> {
    return answer(this.#access, underName(given))
  }

  settleDoubt(settlement: DoubtSettlement): Promise<void> {
    return settleDoubt(this.#access, underName(settlement))
  }

  settleDivergence(settlement: DivergenceSettlement): Promise<void> {
    return settleDivergence(this.#access, underName(settlement))
  }

  async fork(options: ForkOptions): Promise<Run> {
    return this.handle(await forkRun(this.#engine, underName(options), (name) => this.#registry.named(name)))
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

  get #access(): Omit<DecisionAccess, 'run'> {
    return { engine: this.#engine, clock: this.#clock, mayDecide: this.#mayDecide }
  }
}
