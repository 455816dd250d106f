/**
 * Delegations: all of one activation of a leader, and the way of one of them: asked for, looked at by the leader's
 * hooks, worked on, told.
 *
 * Owns: the order of these steps (spec delegation M2), the list of what was delegated, that a hook which bails stops
 * the others.
 * Does not own: the options (options.ts), what hooks may say (delegation-hooks.ts), the tools by which a model delegates
 * (../delegate-tools.ts), what an edge is (../edge). Lives in memory; replay makes it again from the same calls and the recorded
 * words of the hooks (K1, K3).
 */
import { asText, failure, messageOf, own, type Failure, type Json, type Outcome } from '../../core/index.ts'
import { BackgroundWork, defaultTurns, isBlank, refuse, type ModelAccess, type CallResult } from '../../agent/index.ts'
import {
  briefText,
  crossing,
  edgeMessagesProblem,
  narrow,
  revised,
  stricter,
  thrownTold,
  tighter,
  turnsOf,
  type Brief,
  type Conversation,
  type EdgeMessage,
} from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { ToolCall } from '../../model/index.ts'
import {
  Attempts,
  newEntry,
  type DelegationEntry,
  type AttemptEnd,
  type Job,
  type LeaderState,
  type Worker,
} from './attempts.ts'
import { isDelegating, policyFor, verbNames, type Delegation, type VerbNames } from './options.ts'
import {
  mergeEndWords,
  askHook,
  endProblem,
  ownCopy,
  delegationHooksOfStart,
  startProblem,
  type DelegationHookCall,
  type DelegationEnd,
  type DelegationEndWord,
  type DelegationHooks,
  type DelegationMoment,
  type DelegationStartWord,
} from './delegation-hooks.ts'
import {
  DelegationRace,
  type DelegationRequest,
  type DelegationCall,
  type SharedDelegation,
} from './delegation-race.ts'
import { planOf } from './dispatch.ts'
import { LeaderAnswers } from './worker-questions.ts'
import { expanded, shownCharacters } from './references.ts'
import { endText, handedOnOutput, rememberedText, resultOfCall } from './result-text.ts'

export type { DelegationEntry, LeaderState, Worker } from './attempts.ts'
export type { DelegationRequest, SharedDelegation } from './delegation-race.ts'

/** Where a call to delegate stands among the others. Empty until it has become a delegation. */
export interface DelegationPosition {
  readonly callId: string
  /** `d1` for the first call, `d2` for the second, … */
  readonly label: string
  entry: DelegationEntry | undefined
  /** All that were given the same brief by this call. */
  race?: readonly DelegationEntry[]
}

/** All delegations of one activation of a leader. */
export class Delegations {
  /** Those that its leader does not wait for. Only a leader that lets it tell of their ends may defer any. */
  readonly background: BackgroundWork
  readonly #leader: string
  readonly #policy: Delegation
  readonly #attempts: Attempts
  readonly #race: DelegationRace
  readonly #verbs: VerbNames
  readonly #places: DelegationPosition[] = []

  constructor(
    leader: string,
    policy: Delegation,
    concurrency: number | undefined,
    verbs: VerbNames = verbNames,
    access?: ModelAccess,
  ) {
    const answers = new LeaderAnswers(access, policy.hookErrors !== 'lenient')
    this.#leader = leader
    this.#policy = policy
    this.#attempts = new Attempts(
      { all: concurrency, background: planOf(policy)?.concurrency },
      {
        completed: (job, ended) => this.#completed(job, ended),
        abandoned: (job) => {
          const all = this.#layers(job).filter(({ onComplete }) => onComplete !== undefined)
          if (all.length === 0) return undefined
          return async (again, ended) => {
            for (const layer of all) await this.#asked(layer, again, ended, undefined)
          }
        },
        asked: (job, question) => answers.answer(job, question, this.#moment(job)),
      },
    )
    this.#race = new DelegationRace(this.#attempts, (given) => this.#given(given, true))
    this.background = new BackgroundWork(planOf(policy))
    this.#verbs = verbs
  }

  /** In the order of the calls. */
  get list(): readonly DelegationEntry[] {
    return this.#places.flatMap(({ entry, race }) => race ?? (entry === undefined ? [] : [entry]))
  }

  /** Taken as soon as a call is known, so that the order of the calls counts, not that of approvals or ends. */
  place(call: ToolCall): DelegationPosition {
    const place: DelegationPosition = { callId: call.id, label: `d${this.#places.length + 1}`, entry: undefined }
    this.#places.push(place)
    return place
  }

  /** Asks the hooks, starts the worker, waits for its end, asks the hooks again. */
  async run(
    ctx: Context,
    call: ToolCall,
    state: LeaderState,
    worker: Worker,
    asked: DelegationRequest,
    place: DelegationPosition,
    beside?: Worker,
  ): Promise<CallResult> {
    const entry = (place.entry = newEntry(worker.name, call.id, place.label))
    const given: DelegationCall = { ctx, call, state, worker, asked, entry }
    const { hedge } = policyFor(this.#policy, worker.name)
    if (hedge === undefined) return this.#given(given)
    return this.#dispatched(given, () => this.#race.hedged(given, hedge.afterMs, beside ?? worker))
  }

  /** One brief for several workers; what is kept counts as the result of the call. */
  async several(shared: SharedDelegation, place: DelegationPosition): Promise<CallResult> {
    place.race = this.#race.entries(shared, place.label)
    const { counts, ...told } = await this.#race.several(shared, place.race)
    place.entry = counts
    return told
  }

  /** Whether its leader waits. */
  #dispatched(
    { ctx, call, worker, asked, entry }: DelegationCall,
    work: () => Promise<CallResult>,
  ): Promise<CallResult> | CallResult {
    if (asked.deferred !== true) return work()
    ctx.emit({ type: 'delegation.deferred', worker: worker.name, callId: call.id, delegation: entry.label })
    const { callId, label } = entry
    const what = {
      callId,
      label,
      who: entry.worker,
      status: () => entry.outcome?.status,
      state: () => (entry.state === 'waiting' ? 'waiting for a human' : entry.state),
      stop: (reason: string) => this.#attempts.find(label).forEach((each) => this.#attempts.stop(each, reason)),
    }
    return this.background.defer(what, work())
  }

  /**
   * Stops delegations under way by the name that a model gives them, and waits until those that nobody waits for have
   * ended. What was stopped.
   */
  async stop(name: string, reason: string): Promise<readonly DelegationEntry[]> {
    const found = this.#attempts.find(name)
    for (const entry of found) this.#attempts.stop(entry, reason)
    await this.background.settled(new Set(found.map(({ label }) => label)))
    return found
  }

  /**
   * One delegation, from its hooks to what its leader's model is told of it. `inside`: whoever asks for it waits,
   * whatever its leader does.
   */
  async #given(given: DelegationCall, inside = false): Promise<CallResult> {
    const { ctx, call, state, worker, asked, entry, hedge } = given
    const { label } = entry
    const policy = policyFor(this.#policy, worker.name)
    const deferred = asked.deferred === true
    const refusal = (): Failure | undefined => this.#attempts.refusal(entry)
    const brief = this.#referring(ctx, asked, entry)
    const grant = { ...this.#granted(worker, asked, state), delegation: label }
    const job: Job = {
      ctx,
      call,
      state,
      worker,
      policy,
      entry,
      turn: state.turn,
      deferred,
      brief,
      grant,
      onWait: hedge?.onWait,
      after: hedge?.after,
    }
    this.#attempts.open(entry, ctx)
    const stopped = (failed: Failure | undefined): Failure | undefined => refusal() ?? failed
    const refused = refusal() ?? stopped(await this.#begun(job)) ?? stopped(await this.#shown(job))
    if (refused !== undefined) {
      this.#attempts.close(entry)
      return refuseDelegation(ctx, call, worker.name, refused, label)
    }
    return inside ? this.#worked(job) : this.#dispatched(given, () => this.#worked(job))
  }

  /** Why nothing is delegated any more. */
  get over(): Failure | undefined {
    const { bailed } = this.#attempts
    return bailed === undefined ? undefined : failure('delegation.refused', bailed, 'policy')
  }

  /** Its leader has ended: stops what is still under way, and nothing is delegated any more. Which they were. */
  leave(why: string): readonly { readonly delegation: string; readonly worker: string }[] {
    return this.#attempts.leave(why).map(({ label, worker }) => ({ delegation: label, worker }))
  }

  /** The delegation that a model names. */
  find(name: string): DelegationEntry | undefined {
    const { list } = this
    // a label before an id: the ids of calls are a model's, and may look like labels
    const called = (what: string): DelegationEntry | undefined =>
      list.find(({ label }) => label === what) ?? list.find(({ callId, id }) => callId === what || id === what)
    // one that was begun beside another, and whose answer counts, counts as that one
    return this.#places.find(({ label }) => label === name)?.entry ?? called(name) ?? called(name.replace(/\.\d+$/, ''))
  }

  /** How many characters of a result are shown, where results are referred to. */
  get shown(): number | undefined {
    return shownCharacters(this.#policy.references)
  }

  /** The brief with what it refers to before it. */
  #referring(ctx: Context, { brief, refs = [], worker }: DelegationRequest, { callId, label }: DelegationEntry): Brief {
    if (this.shown === undefined || refs.length === 0 || !('instructions' in brief)) return brief
    const about = { worker, callId, delegation: label }
    return { instructions: expanded(ctx, brief.instructions, refs, (ref) => this.find(ref), about) }
  }

  /** What every delegation to this worker is granted. */
  #granted(worker: Worker, asked: DelegationRequest, { edge }: LeaderState): Job['grant'] {
    const { permissions, limits, oversight, workers } = this.#policy
    const mine = own(workers, worker.name)
    const grant: Job['grant'] = {}
    const allowed = narrow(permissions, mine?.permissions)
    const limited = tighter(limits, mine?.limits)
    if (allowed !== undefined) grant.permissions = allowed
    if (limited !== undefined) grant.limits = limited
    const looks = stricter(oversight, mine?.oversight)
    if (looks !== undefined) grant.oversight = looks
    if (asked.turns !== undefined)
      grant.turns = Math.min(asked.turns, turnsOf(revised(edge.run.versions, worker).limits) ?? defaultTurns)
    const results = mine?.results ?? this.#policy.results
    if (results === 'report' || results === 'full') grant.report = true
    return grant
  }

  /** The leader's own hooks, then those of the start that it leads. */
  #layers({ ctx, state }: Pick<Job, 'ctx' | 'state'>): readonly HookLayer[] {
    const own: HookLayer = { ...this.#policy, of: '' }
    const started = delegationHooksOfStart(ctx, state.edge)
    return started === undefined ? [own] : [own, { ...started, of: 'start.' }]
  }

  /** `onStart` of each. A failure says why the worker is not started. */
  async #begun(job: Job): Promise<Failure | undefined> {
    for (const layer of this.#layers(job)) {
      const refused = await this.#beginning(layer, job)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  async #beginning({ onStart, of, ...layer }: HookLayer, job: Job): Promise<Failure | undefined> {
    if (onStart === undefined) return undefined
    const start = ownCopy({ ...this.#moment(job), messages: this.#said(job.state) })
    const read = (word: Json): string | undefined => startProblem(word, job.brief, job.worker.inputSchema)
    const ask = askHook<DelegationStartWord>(job.ctx, about(`${of}onStart`, job), (io) => onStart(start, io), read)
    const { word, failure: failed } = await ask
    if (failed !== undefined) return isStrict(layer) ? failed : undefined
    if (word === undefined) return undefined
    if (word.proceed === false) return rejection(word.reason)
    const { grant } = job
    if (typeof word.prompt === 'string') job.brief = { instructions: isBlank(word.prompt) ? '' : word.prompt }
    else if (word.input !== undefined && 'input' in job.brief) job.brief = { input: word.input }
    if (typeof word.instructions === 'string')
      grant.added = grant.added === undefined ? word.instructions : `${grant.added}\n\n${word.instructions}`
    if (typeof word.turns === 'number') grant.turns = word.turns
    if (word.metadata !== undefined && word.metadata !== null) grant.metadata = { ...grant.metadata, ...word.metadata }
    return undefined
  }

  /**
   * What crosses besides the brief: the policy, then `filterMessages`. A failure says why the worker is not started.
   */
  async #shown(job: Job): Promise<Failure | undefined> {
    const { worker, policy, state, grant, brief } = job
    const layers = this.#layers(job).filter(({ filterMessages }) => filterMessages !== undefined)
    const context = policy.context ?? (layers.length === 0 ? undefined : 'conversation')
    const view = (): Conversation => ({ worker: worker.name, brief: briefText(brief), messages: this.#said(state) })
    try {
      const crossed = crossing(context, this.#leader, view)
      if (crossed !== undefined) grant.context = crossed
    } catch (thrown) {
      return failure(
        'delegation.refused',
        `the context policy for "${worker.name}" failed: ${thrownTold(thrown)}`,
        'internal',
        {
          details: { why: messageOf(thrown) },
        },
      )
    }
    for (const { filterMessages, of, ...layer } of layers) {
      if (grant.context === undefined) break
      const shown = ownCopy({ ...this.#moment(job), messages: grant.context })
      const ask = askHook<readonly EdgeMessage[]>(
        job.ctx,
        about(`${of}filterMessages`, job),
        async (io) => (await filterMessages?.(shown, io)) ?? 'nothing',
        edgeMessagesProblem,
      )
      const { word, failure: failed } = await ask
      if (failed !== undefined && isStrict(layer)) return failed
      if (failed !== undefined) grant.context = []
      else if (word !== undefined)
        grant.context = word.map(({ role, text, agent }) =>
          agent === undefined ? { role, text } : { role, text, agent },
        )
    }
    return briefText(job.brief).trim() === '' && (grant.context ?? []).every(({ text }) => text.trim() === '')
      ? failure('delegation.refused', `the instructions for "${worker.name}" are empty`, 'validation')
      : undefined
  }

  /** The work, however often it is tried. */
  async #worked(job: Job): Promise<CallResult> {
    const { ctx, call, worker, entry } = job
    try {
      const told = await this.#attempts.work(job)
      return 'content' in told ? told : refuseDelegation(ctx, call, worker.name, told, entry.label)
    } finally {
      this.#attempts.close(entry)
    }
  }

  /** What the leader's model is told of an end, as `onComplete` lets it. */
  async #completed(job: Job, ended: AttemptEnd): Promise<CallResult> {
    const { entry, worker, state, policy } = job
    const { outcome, said } = ended
    let word: DelegationEndWord | undefined
    let withheld: Failure | undefined
    for (const layer of this.#layers(job)) {
      if (layer.onComplete === undefined) continue
      const said = await this.#asked(layer, job, ended, word)
      if (said.failure !== undefined && isStrict(layer)) withheld ??= said.failure
      word = mergeEndWords(word, said.word)
    }
    if (withheld !== undefined && outcome.status === 'completed')
      return { content: `[the answer of "${worker.name}" is withheld: ${withheld.message}]`, isError: true }
    entry.output = handedOnOutput(outcome, word)
    entry.remembered = rememberedText(outcome, word)
    if (typeof word?.feedback === 'string' && word.feedback.trim() !== '') state.tell(word.feedback, 'kept')
    const above = this.shown
    const references = above === undefined ? undefined : { above, read: this.#verbs.readResult }
    const telling = { worker: worker.name, label: entry.label, outcome, said, results: policy.results, references }
    const result = resultOfCall(telling, word)
    if (word?.bail === undefined || word.bail === null || word.bail === false || this.#attempts.bailed !== undefined)
      return result
    const answer = typeof word.bail === 'object' ? word.bail.answer : ''
    const text = [answer, word.result ?? ''].find((each) => !isBlank(each)) ?? ownText(outcome) ?? endText(telling)
    const message = `onComplete of ${entry.label} ("${worker.name}") ended the work`
    this.#attempts.bail(message)
    state.stopCalls?.(message)
    return { ...result, finish: { outcome: { status: 'bailed', message, text } } }
  }

  /** `before`: what the hooks before it have said. */
  #asked(
    { onComplete, of }: HookLayer,
    job: Job,
    ended: AttemptEnd,
    before: DelegationEndWord | undefined,
  ): ReturnType<typeof askHook<DelegationEndWord>> {
    const { outcome, said, ...rest } = ended
    const end: Omit<DelegationEnd, 'bail'> = ownCopy({
      ...this.#moment(job),
      ...rest,
      status: outcome.status,
      outcome,
      text: before?.result ?? endText({ worker: job.worker.name, outcome }),
      ...(job.grant.report === true ? { said } : undefined),
    })
    return askHook<DelegationEndWord>(
      job.ctx,
      about(`${of}onComplete`, job),
      async (io) => {
        let bail: DelegationEndWord['bail']
        const told: DelegationEnd = {
          ...end,
          bail: (answer) => {
            bail = answer === undefined ? true : { answer }
          },
        }
        const word = await onComplete?.(told, io)
        return bail === undefined ? word : { ...word, bail }
      },
      endProblem,
    )
  }

  #moment({ ctx, worker, entry, turn, brief }: Job): DelegationMoment {
    const { run, path, caller } = ctx.place
    return {
      worker: worker.name,
      delegation: entry.label,
      callId: entry.callId,
      turn,
      leader: this.#leader,
      path,
      run,
      caller,
      prompt: briefText(brief),
      ...('input' in brief ? { input: brief.input } : undefined),
    }
  }

  /** The leader's conversation as it may cross, with the workers' answers where their calls stood. */
  #said(state: LeaderState): readonly EdgeMessage[] {
    let next = 0
    return state.view(({ name, callId }) => {
      const place = this.#places[next]
      if (!isDelegating(name, this.#verbs) || place?.callId !== callId) return undefined
      next++
      const { entry } = place
      return entry?.output === undefined
        ? undefined
        : { role: 'assistant', text: asText(entry.output), agent: entry.worker }
    })
  }
}

/** Hooks of one author; `of`: what their names in the journal begin with. */
type HookLayer = DelegationHooks & { readonly of: string }

const isStrict = ({ hookErrors }: Pick<DelegationHooks, 'hookErrors'>): boolean => hookErrors !== 'lenient'

const about = (hook: string, { worker, call, entry }: Job): DelegationHookCall => ({
  hook,
  worker: worker.name,
  callId: call.id,
  delegation: entry.label,
})

const rejection = (reason: string | null | undefined): Failure =>
  failure(
    'delegation.refused',
    `rejected: ${reason === undefined || reason === null || isBlank(reason) ? 'no reason given' : reason}`,
    'rejected',
  )

/** Refuses a delegation: a fact for the journal, and for the model a text that says why. */
export function refuseDelegation(
  ctx: Context,
  call: ToolCall,
  worker: string,
  what: Failure,
  delegation: string,
): CallResult {
  ctx.emit({ type: 'delegation.refused', worker, callId: call.id, delegation, failure: what })
  return { content: `[not delegated: ${what.message}]`, isError: true, refused: what }
}

/** Refuses a call of one of Reeve's verbs for a reason of its own. */
export const refuseVerb = (ctx: Context, call: ToolCall, what: Failure): CallResult =>
  refuse(ctx, call, what, `[${what.message}]`)

/**
 * What a worker answered whose own work a hook has ended: the words themselves, without the marker by which models are
 * told.
 */
const ownText = (outcome: Outcome): string | undefined =>
  outcome.status === 'bailed' && !isBlank(outcome.text) ? outcome.text : undefined
