/**
 * The composition root: an engine, the agents it may run, and the handles of what runs.
 *
 * Owns: what `createRuntime` does, the `Runtime` interface, which engine is opened, that closing lets everything go. Does not
 * own: anything that happens in a run. Recovery is the engine's: opening a store goes on with what was left there, as
 * soon as it drives.
 */
import type { Agent, InputOf, ModelRules, OutputOf } from '@reeve/agent'
import {
  functionCheck,
  interval,
  mustBeId,
  mustBeOptions,
  optionProblems,
  refuseProblems,
  type Checks,
  newId,
  ReeveError,
  systemClock,
  underName,
  own,
  present,
  type Clock,
  type Json,
  type RunId,
  type RunKey,
} from '@reeve/core'
import { defaultLimits, type Limits, type Revisions } from '@reeve/edge'
import {
  mustBeQuestionFilter,
  warning,
  type Causes,
  type CloseOptions,
  type RunCounter,
  type Engine,
  type FeedEvent,
  type FiguresFilter,
  type Question,
  type QuestionFilter,
  type RunFilter,
  type RunSummary,
  type StartRun,
  type Totals,
  type TotalsOptions,
} from '@reeve/engine'
import type { EmbeddedOptions } from '@reeve/sqlite'
import { storeKind } from '@reeve/stores/store-name'
import type { Prices } from '@reeve/model'
import type { AuditDocument, TrustPresets } from '@reeve/oversight'
import { auditRun, type AuditOptions } from './operator/audit.ts'
import { approvalsAmong, type Approval } from './operator/open-approvals.ts'
import {
  answer,
  decide,
  decideAll,
  settleDivergence,
  settleDoubt,
  type Answer,
  type Decision,
  type DecisionAccess,
  type DecisionResult,
  type DecisionTogether,
  type DivergenceSettlement,
  type DoubtSettlement,
} from './operator/decisions.ts'
import { forkRun, mustBeForkOptions, type ForkOptions } from './operator/fork.ts'
import { retryRun, type RetryOptions, type RetryScope } from './operator/retry.ts'
import { batchCode } from './batch/batch-agent.ts'
import { runtimeBatches, startBatch, type BatchHandle, type RuntimeBatches } from './batch/batches.ts'
import type { BatchFilter, BatchOptions, BatchVerb } from './batch/request.ts'
import { runtimeLinks, type RuntimeLinks } from './operator/approval-links.ts'
import { runtimeGrants, type RuntimeGrants } from './operator/grants.ts'
import { enterSession, runtimeSessions, type RuntimeSessions } from './operator/sessions.ts'
import type { EndOf } from './session.ts'
import { logRuns, warningsTo } from './run-log.ts'
import { endOfRun, listRuns } from './session-queue.ts'
import { findHook, measuringAgents, type Hooks } from './hooks.ts'
import { outcomeOf, runHandle, type Run, type RunOutcome } from './run-handle.ts'
import {
  mustBeChoices,
  mustBeValid,
  mustNameAgents,
  mustBeTenants,
  mustMeanSomething,
  type RuntimeOptions,
} from './options.ts'
import { registeredAgents, type RegisteredAgent } from './registered-agents.ts'
import { rememberEngine } from './installation-values.ts'
import { registerAgents, type Agents } from './registry.ts'
import { isUsableBy } from './tenants.ts'
import { defaultsIn, mustHavePrices, startRequest, type StartNames, type StartOptions } from './start.ts'
import { followAll, type FeedOptions } from './feed/all-runs.ts'
import { ownedRun, type RunStream } from './feed/owned-run.ts'
import { runtimeTrust, type RuntimeTrust } from './operator/trust.ts'
import { trialModels, triedVersions, type TrialAccess, type TrialChanges } from './trials.ts'
import { hintAtUndeclaredTools } from './undeclared-tools.ts'
import { causesOf, totalsOf } from './figures.ts'
import { mustBeSystemOptions, systemView, type SystemOptions, type SystemView } from './system.ts'
import {
  chosenBy,
  resolvedIn,
  runtimeVersions,
  unknownVersion,
  Versions,
  type Chosen,
  type Resolved,
  type RuntimeVersions,
} from './versions.ts'

/** Which open questions to list. A question of the list can be given as `after`. */
export interface OpenFilter extends Pick<QuestionFilter, 'id' | 'kind' | 'tenant' | 'limit' | 'after'> {
  /** Of this run and its child runs. */
  readonly run?: string
}

/** What a start takes of an agent; of one that is only named nothing is known. */
export type StartInput<A> = [A] extends [string] ? Json : A extends Agent ? InputOf<A> : Json
/** What its run gives. */
export type StartOutput<A> = [A] extends [string] ? Json : A extends Agent ? OutputOf<A> : Json

/** Starts runs and finds them again. */
export interface Runtime extends AsyncDisposable {
  /** Starts a run and waits for its end. */
  run<A extends Agent | string>(
    agent: A,
    input: StartInput<A>,
    options?: StartOptions,
  ): Promise<RunOutcome<StartOutput<A>>>
  /**
   * Starts a run; resolves when it is durable. The same `runId` again is the same run; by another caller or with
   * another input it is `run.conflict`.
   */
  start<A extends Agent | string>(agent: A, input: StartInput<A>, options?: StartOptions): Promise<Run<StartOutput<A>>>
  /** Starts a run that belongs to its reader: leaving the iteration before the end cancels it. */
  stream<A extends Agent | string>(agent: A, input: StartInput<A>, options?: StartOptions): RunStream<StartOutput<A>>
  /** The agents that may be started here, with everything that they can reach. By name. */
  agents(): readonly RegisteredAgent[]
  /**
   * The handle of a run. Nothing is read; an unknown id shows when the handle is used. Throws `input.invalid` for what
   * cannot be an id, such as `undefined`.
   */
  handle<O = Json>(id: string): Run<O>
  /** Runs that fit the filter, newest first; by an index, so that a page is fast in a large store. Throws `input.invalid`. */
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  /**
   * How many runs there are of a filter, how they ended, what they used, how long they took and waited: all together, in
   * groups, over time. Runs that are not in the index yet are taken into it first, for a moment; `behind` says how many
   * are still missing. Throws `input.invalid`.
   */
  totals(filter?: FiguresFilter, options?: TotalsOptions): Promise<Totals>
  /** Why runs of a filter ended badly: equal failures together, the most frequent first. As `totals`. */
  causes(filter?: FiguresFilter, options?: Pick<TotalsOptions, 'agents'>): Promise<Causes>
  /**
   * How many runs are not in the index as they are now: a list by `text`, `code` or `cause` does not find them. They are
   * taken into it first, for a moment. Throws `input.invalid`.
   */
  unindexed(options?: SystemOptions): Promise<number>
  /**
   * What was counted of all runs of the store that have ended, also of those that were removed: it only grows. A server
   * makes its metrics of it.
   */
  counters(): Promise<readonly RunCounter[]>
  /**
   * Follows all runs: every event of every run, child runs included, in the order in which they were recorded, whichever
   * process drives the run; then new ones. Each event has an `id`; a reader that goes on `from` the last id it has
   * handled misses nothing, and may get again what it had not noted yet. Throws `input.invalid`.
   */
  feed(options?: FeedOptions): AsyncIterableIterator<FeedEvent, undefined>
  /** Open approvals, of all runs or of one. */
  approvals(filter?: Omit<OpenFilter, 'kind'>): Promise<readonly Approval[]>
  /**
   * Open questions, approvals among them, of all runs or of one, oldest first; by an index, in pages with `limit` and
   * `after`. Throws `input.invalid`.
   */
  questions(filter?: OpenFilter): Promise<readonly Question[]>
  /** Decides an open approval of any run; the first decision wins. */
  decide(decision: Decision): Promise<void>
  /**
   * Approves or rejects several open approvals, of any runs, each recorded by itself. Says of each what became of it, in
   * their order; what is wrong with one stops none of the others. One of critical risk, or that two approvers decide, is
   * refused (`approval.alone`). At most 500. Throws `input.invalid`.
   */
  decideAll(decisions: readonly DecisionTogether[]): Promise<readonly DecisionResult[]>
  /** Answers an open question of any run; the first answer wins. */
  answer(answer: Answer): Promise<void>
  /** As `run.control.settleDoubt`, by the id of the question alone. */
  settleDoubt(settlement: DoubtSettlement): Promise<void>
  /** As `run.control.settleDivergence`, by the id of the question alone. */
  settleDivergence(settlement: DivergenceSettlement): Promise<void>
  /** Versions of agents that are published while the code stays. */
  readonly versions: RuntimeVersions
  /** What was granted for a session or a run, and taking it back. */
  readonly grants: RuntimeGrants
  /** Whose sessions are, and sharing them. */
  readonly sessions: RuntimeSessions
  /** Links by which people outside decide one approval once. */
  readonly links: RuntimeLinks
  /** How much agents are trusted, and incidents. */
  readonly trust: RuntimeTrust
  /**
   * How the installation is: engine, store, the processes that drive runs, what waits for one, how many runs there are.
   * Counts are bounded. Throws `input.invalid`.
   */
  system(options?: SystemOptions): Promise<SystemView>
  /**
   * Who decided what in a run so far, when, and on what evidence: hash-chained, its head signed if a key is given.
   * `verifyAudit` checks it without the store. Rejects with `run.unknown`.
   */
  audit(run: string, options?: AuditOptions): Promise<AuditDocument>
  /**
   * Starts a new run from a position of another one, optionally with an edit, and repeats no recorded work. The origin
   * is not changed. Its later effects are repeated only after `settleDoubt`; grants are not copied, and a yes only with
   * the recorded end of what it permitted. A fork of a run of a session has a session of its own. With an edit of type
   * `trial` a model call is made again with a change, and no effect leaves unasked. Throws `fork.invalid`,
   * `input.invalid`, `run.unknown`; `run.conflict` for a `runId` of another run.
   */
  fork(options: ForkOptions): Promise<Run>
  /**
   * The models that a trial may use, by id: those of the registered agents and of kept versions, where an id says them,
   * and `createRuntime({ trialModels })`. Sorted.
   */
  trialModels(): Promise<readonly string[]>
  /**
   * Goes on with a run that ended as `failed`, `limited` by its minutes, `timed-out` or `cancelled`: a fork that begins
   * before what made it end. What had ended by then is not done again, and what failed is tried again: a model whose
   * answer was refused is asked again, a human who said no, too. `from` says where it goes on. Once for each run, unless
   * it says `again` or names a `runId`. Throws `fork.invalid` for a run that cannot be retried,
   * `input.invalid`, `run.unknown`; `run.conflict` for a `runId` of another run.
   */
  retry(run: string, options?: RetryOptions): Promise<Run & RetryScope>
  /**
   * Retries, cancels, pauses or resumes all runs that match: resolves when that is durable. It is a run of its own, which
   * a process that drives runs works on: which runs match is recorded first, then each is done once, with its result. It
   * goes on after a crash; what is wrong with one run stops none of the others. The filter has at least one condition;
   * without a status it is for the runs that the verb can be for, and `retry` for those that failed. Throws
   * `input.invalid`; `run.conflict` for the `id` of another run.
   */
  batch(verb: BatchVerb, filter: BatchFilter, options?: BatchOptions): Promise<BatchHandle>
  /** Batches, found again. `runtime.runs` leaves them out. */
  readonly batches: RuntimeBatches
  /** Removes an ended run and all its data. Changes no session. */
  remove(run: string): Promise<void>
  /**
   * Stops driving and closes the store. Nothing new begins; model calls, tools and steps that are under way have
   * `graceMs` to end (default: that of the runtime, 25 seconds; a store in memory waits for no answers of models and of
   * tools that only read) and are recorded, then they are aborted. Resolves at once where nothing is under way. Runs are parked and continue when the store is opened again; those for which nothing is
   * under way are free for other processes at once. Idempotent: a second call waits for the first one, and one with a
   * shorter `graceMs` shortens it.
   */
  close(options?: CloseOptions): Promise<void>
}

/** `createRuntime`, loaded. */
export async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  mustBeOptions(options, 'createRuntime', 'config.invalid')
  const {
    store,
    engine: given,
    agents = [],
    earlier = [],
    drive = true,
    onMissingVersion = 'move',
    logger,
    ...others
  } = options
  const {
    channels,
    tenants,
    mayDecide,
    memory,
    hooks,
    prices,
    trust,
    versions,
    trialModels: allowed = [],
    defaultStatus,
    limits,
    onUnknownVersion = others.strict === true ? 'refuse' : 'warn',
    ...embedded
  } = others
  const onWarning = embedded.onWarning ?? (logger === undefined ? undefined : warningsTo(logger))
  // agents are checked before a store is opened; how a run has ended is asked for only when one drives
  const endOf = async (run: RunId): ReturnType<EndOf> => (engine === undefined ? {} : endOfRun(engine, run))
  let engine = given
  let runtime: EngineRuntime | undefined
  try {
    mustBeValid(options)
    const place = storeKind(store)
    mustMeanSomething(given === undefined ? place : 'engine', { store, ...embedded })
    const find = findHook(hooks ?? {}, (name) => registry.named(name))
    const models = (): ModelRules => ({
      prices,
      silenceMs: (engine?.deadlines ?? embedded.deadlines)?.silenceMs,
    })
    const builtIn = [batchCode(() => runtime!)]
    const parts = { endOf, memory, trust, find, models }
    const registry: Agents = registerAgents(
      agents,
      earlier,
      onMissingVersion,
      parts,
      drive === true ? (channels ?? []) : undefined,
      tenants,
      builtIn,
    )
    mustBeChoices(versions, registry.names)
    mustNameAgents(trust, registry.trusts)
    mustBeTenants(tenants, registry.names)
    registry.mustHaveChannels()
    engine ??= await (place === 'postgres'
      ? openPostgres(store!, { ...embedded, ...present({ onWarning }) })
      : openEmbedded({ file: store ?? ':memory:', ...embedded, ...present({ onWarning }) }))
    const logged = logger === undefined ? undefined : logRuns(engine, logger)
    const chosen: Chosen = {
      ...(versions === undefined ? undefined : { versions }),
      ...(defaultStatus === undefined ? undefined : { defaultStatus }),
    }
    runtime = new EngineRuntime({
      engine,
      registry,
      clock: embedded.clock ?? systemClock,
      chosen,
      defaults: { ...defaultLimits, ...limits },
      onUnknownVersion,
      prices,
      trust,
      mayDecide,
      hooks,
      trialModels: allowed,
      logged,
    })
    if (drive === 'batches')
      await engine.drive({ onMissingVersion, find: (name) => builtIn.find((each) => each.name === name) })
    else if (drive) {
      hintAtUndeclaredTools(agents, onWarning ?? warning)
      await engine.drive(registry)
    }
    return runtime
  } catch (thrown) {
    await engine?.close()
    throw thrown
  }
}

const closeChecks: Checks<CloseOptions> = { graceMs: interval, onWaiting: functionCheck }

/** Loaded when it is needed: with another engine, SQLite never is. */
async function openEmbedded(options: EmbeddedOptions): Promise<Engine> {
  const { createEmbeddedEngine } = await import('@reeve/sqlite')
  return createEmbeddedEngine(options)
}

/**
 * Loaded when it is needed; connects before its first answer. Beside it `mustMeanSomething` has let no option of a file
 * through.
 */
async function openPostgres(url: string, options: Omit<EmbeddedOptions, 'file'>): Promise<Engine> {
  const { postgres } = await import('@reeve/postgres/postgres')
  const { durability: _durability, busyMs: _busyMs, archiveAfterMs: _archiveAfterMs, ...others } = options
  return postgres({ url, ...others })
}

/** What a runtime is put together from. */
interface RuntimeParts {
  readonly engine: Engine
  readonly registry: Agents
  readonly clock: Clock
  /** The versions that hold for every run. */
  readonly chosen: Chosen
  /** The limits of a run whose start sets no others. */
  readonly defaults: Limits
  readonly onUnknownVersion: 'warn' | 'refuse'
  readonly prices: Prices | undefined
  readonly trust: TrustPresets | undefined
  readonly mayDecide: DecisionAccess['mayDecide']
  readonly hooks: Hooks | undefined
  /** Models that a trial may use besides those of agents and versions. */
  readonly trialModels: readonly string[]
  /** Resolves when what was recorded is logged. */
  readonly logged: (() => Promise<void>) | undefined
}

class EngineRuntime implements Runtime {
  readonly versions: RuntimeVersions
  readonly grants: RuntimeGrants
  readonly sessions: RuntimeSessions
  readonly links: RuntimeLinks
  readonly trust: RuntimeTrust
  readonly batches: RuntimeBatches
  readonly #parts: RuntimeParts
  /** What a start may name. */
  readonly #named: Required<StartNames>

  constructor(parts: RuntimeParts) {
    const { engine, registry, clock, trust: presets, hooks } = parts
    this.#parts = parts
    rememberEngine(this, engine)
    this.#named = { hooks, find: (name) => registry.named(name) }
    this.versions = runtimeVersions({
      versions: () => this.#versions,
      known: (agent) => registry.require(agent).name,
      chosen: parts.chosen,
      runs: (filter) => this.runs(filter),
      birthOf: (run) => this.#birthOf(run),
    })
    this.grants = runtimeGrants(engine, clock)
    this.sessions = runtimeSessions(engine, clock)
    this.batches = runtimeBatches({ engine, handle: (id) => this.handle(id) })
    this.links = runtimeLinks(() => this.#access)
    this.trust = runtimeTrust(() => ({ engine, now: clock.now(), presets, named: registry.trusts }))
  }

  async run<A extends Agent | string>(
    agent: A,
    input: StartInput<A>,
    options?: StartOptions,
  ): Promise<RunOutcome<StartOutput<A>>> {
    const { run } = await this.#begin(agent, input, options)
    return outcomeOf<StartOutput<A>>(this.#parts.engine, run)
  }

  async start<A extends Agent | string>(
    agent: A,
    input: StartInput<A>,
    options?: StartOptions,
  ): Promise<Run<StartOutput<A>>> {
    const { run, created } = await this.#begin(agent, input, options)
    return { ...this.handle<StartOutput<A>>(run), created }
  }

  async #begin(
    agent: Agent | string,
    input: unknown,
    given: StartOptions = {},
  ): Promise<{ readonly run: RunId; readonly created: boolean }> {
    const root = this.#parts.registry.require(agent, given.tenant)
    // what is wrong with it is said before anything is read
    const request = startRequest(root, input, given, undefined, this.#parts.defaults, this.#namesFor(given.tenant))
    const { run } = request
    const { runId: _runId, ...others } = given
    const options = { ...others, key: { id: run } }
    if (options.oversight !== undefined) this.#parts.registry.mustHaveChannels(options.oversight)
    // a leader may have been given a planned team since
    const loaded = this.#parts.registry.load()
    if (loaded instanceof Promise) await loaded
    const created = await this.#startOnce(root, input, options, request)
    return { run, created }
  }

  /** What a start may name: for a tenant, no agent of another. */
  #namesFor(tenant: string | undefined): Required<StartNames> {
    const { registry } = this.#parts
    const find = (name: string): Agent | undefined => {
      const found = registry.named(name)
      return found !== undefined && isUsableBy(registry.owners()(found), tenant) ? found : undefined
    }
    return tenant === undefined ? this.#named : { ...this.#named, find }
  }

  /**
   * The same start again is the same run, whatever was published, or became a default, since: then what held then
   * counts.
   */
  async #startOnce(
    root: Agent,
    input: unknown,
    options: StartOptions & { readonly key: RunKey },
    plain: StartRun,
  ): Promise<boolean> {
    const chosen = chosenBy(this.#parts.chosen, options)
    const tried = options.trial === undefined ? {} : await triedVersions(this.#trials, options.trial)
    const begin = async (resolved: Resolved, defaults: Limits, request?: StartRun): Promise<boolean> => {
      const isTried = Object.keys(tried).length > 0
      const choice = isTried ? { ...resolved, revisions: { ...resolved.revisions, ...tried } } : resolved
      const base = own(choice.revisions, root.name)?.base
      const agent = (base === undefined ? undefined : this.#parts.registry.named(root.name, base)) ?? root
      mustHavePrices(
        agent,
        { ...defaults, ...options.limits },
        choice.revisions,
        this.#measuring(options),
        this.#parts.prices,
      )
      const choosing = chosen === undefined && !isTried ? undefined : { ...choice, chosen: chosen ?? {} }
      const begun =
        (isTried ? undefined : request) ??
        startRequest(agent, input, options, choosing, defaults, this.#namesFor(options.tenant))
      await enterSession(this.#parts.engine, begun)
      return (await this.#parts.engine.start(begun)).created
    }
    const now: Resolved = chosen === undefined ? { unknown: [] } : await this.#versions.resolve(root, chosen)
    const [missing] = now.unknown
    if (missing !== undefined && this.#parts.onUnknownVersion === 'refuse')
      throw unknownVersion(missing.agent, missing.asked, missing.known)
    try {
      return await begin(now, this.#parts.defaults, chosen === undefined ? plain : undefined)
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'run.conflict')) throw thrown
      const birth = await this.#birthOf(options.key.id)
      return begin(chosen === undefined ? now : resolvedIn(birth), defaultsIn(birth))
    }
  }

  #measuring(options: StartOptions): readonly Agent[] {
    return measuringAgents(options, this.#named.hooks ?? {}, this.#named.find)
  }

  /** What a run was begun with. */
  async #birthOf(run: RunId): Promise<Json> {
    const [first] = await this.#parts.engine.read(run, 0, 1)
    return first?.event.type === 'activation.started' ? first.event.input : {}
  }

  agents(): readonly RegisteredAgent[] {
    return registeredAgents(this.#parts.registry)
  }

  async audit(run: string, options?: AuditOptions): Promise<AuditDocument> {
    mustBeId(run, 'audit(): run')
    return auditRun(this.#parts.engine, run as RunId, options)
  }

  trialModels(): Promise<readonly string[]> {
    return trialModels(this.#trials)
  }

  get #trials(): TrialAccess {
    const { registry, trialModels: allowed } = this.#parts
    return { versions: () => this.#versions, find: (name) => registry.named(name), names: registry.names, allowed }
  }

  get #versions(): Versions {
    return new Versions(this.#parts.engine.stream('reg_agents'), this.#parts.clock, (name, version) =>
      this.#parts.registry.named(name, version),
    )
  }

  stream<A extends Agent | string>(agent: A, input: StartInput<A>, options?: StartOptions): RunStream<StartOutput<A>> {
    const { runId: named = newId('run'), key, ...others } = options ?? {}
    // a bad id is refused by the start
    const id = key?.id ?? (named as RunId)
    const once = key === undefined ? { runId: named } : { key: { id } }
    const run = Promise.resolve().then(() => this.start(agent, input, { ...others, ...once })) // not before its parts are listened to
    return ownedRun(this.#parts.engine, id, run, this.#parts.clock)
  }

  handle<O>(id: string): Run<O> {
    mustBeId(id, 'handle(): id')
    return runHandle<O>(id as RunId, {
      ...this.#access,
      find: (name, version) => this.#parts.registry.named(name, version),
    })
  }

  runs(filter?: RunFilter): Promise<readonly RunSummary[]> {
    return listRuns(this.#parts.engine, filter)
  }

  totals(filter?: FiguresFilter, options?: TotalsOptions): Promise<Totals> {
    return totalsOf(this.#parts.engine, filter, options)
  }

  causes(filter?: FiguresFilter, options?: Pick<TotalsOptions, 'agents'>): Promise<Causes> {
    return causesOf(this.#parts.engine, filter, options)
  }

  counters(): Promise<readonly RunCounter[]> {
    return this.#parts.engine.counters()
  }

  async unindexed(options: SystemOptions = {}): Promise<number> {
    mustBeSystemOptions(options, 'unindexed()')
    return this.#parts.engine.unindexed(options.tenant)
  }

  feed(options: FeedOptions = {}): AsyncIterableIterator<FeedEvent, undefined> {
    mustBeOptions(options, 'feed', 'input.invalid')
    return followAll(this.#parts.engine, options)
  }

  async approvals(filter: Omit<OpenFilter, 'kind'> = {}): Promise<readonly Approval[]> {
    return approvalsAmong(await this.questions({ ...filter, kind: 'approval' }))
  }

  async questions(filter: OpenFilter = {}): Promise<readonly Question[]> {
    mustBeQuestionFilter(filter as QuestionFilter, 'questions()')
    return this.#parts.engine.questions({ ...(filter as QuestionFilter), unanswered: true })
  }

  decide(decision: Decision): Promise<void> {
    return decide(this.#access, underName(decision))
  }

  decideAll(decisions: readonly DecisionTogether[]): Promise<readonly DecisionResult[]> {
    return decideAll(decisions, (decision) => this.decide(decision))
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
    mustBeForkOptions(options)
    const find = (name: string): Agent | undefined => this.#parts.registry.named(name)
    await this.#mustBeOfTenant(options.run)
    const tried = (changes: TrialChanges): Promise<Revisions> =>
      triedVersions(this.#trials, changes, { sameTools: true })
    const { run, created } = await forkRun(this.#parts.engine, underName(options), find, tried)
    return { ...this.handle(run), created }
  }

  async retry(run: string, options: RetryOptions = {}): Promise<Run & RetryScope> {
    mustBeId(run, 'retry(): run')
    await this.#mustBeOfTenant(run)
    const { run: to, ...retried } = await retryRun(this.#parts.engine, run as RunId, underName(options))
    return { ...this.handle(to), ...retried }
  }

  batch(verb: BatchVerb, filter: BatchFilter, options?: BatchOptions): Promise<BatchHandle> {
    return startBatch({ engine: this.#parts.engine, handle: (id) => this.handle(id) }, verb, filter, options)
  }

  /** Whose an agent is may have changed since a run began. */
  async #mustBeOfTenant(run: string): Promise<void> {
    const found = await this.#parts.engine.summary(run as RunId)
    if (found !== undefined) this.#parts.registry.mustBeOf(found.agent, found.caller.tenant)
  }

  system(options?: SystemOptions): Promise<SystemView> {
    return systemView(this.#parts.engine, options)
  }

  async remove(run: string): Promise<void> {
    mustBeId(run, 'remove(): run')
    return this.#parts.engine.remove(run as RunId)
  }

  async close(options?: CloseOptions): Promise<void> {
    refuseProblems('config.invalid', optionProblems(closeChecks, options === undefined ? {} : options, 'close'))
    // a line with the names of what came before is read from the store, which is open now
    await this.#parts.logged?.()
    await this.#parts.engine.close(options)
    await this.#parts.logged?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #access(): Omit<DecisionAccess, 'run'> {
    return { engine: this.#parts.engine, clock: this.#parts.clock, mayDecide: this.#parts.mayDecide }
  }
}
