/**
 * Delegations: all delegations of one activation of a leader, and the steps of each: request, hooks, work, result.
 *
 * Owns: the order of these steps (spec delegation M2), the list of delegations, that a bailing hook stops the others.
 * Does not own: the options (options.ts), what hooks may say (delegation-hooks.ts), the tools by which a model
 * delegates (../delegate-tools.ts), the edge (../../edge). Lives in memory; replay rebuilds it from the same calls and
 * the recorded replies of hooks (K1, K3).
 */
import {
  andThen,
  asText,
  failure,
  formatRefusedDelegation,
  messageOf,
  present,
  type Failure,
  type Json,
  type Now,
  type Outcome,
} from '@reeve/core'
import { BackgroundWork, defaultTurns, isBlank, refuse, type ModelAccess, type CallResult } from '@reeve/agent'
import {
  briefText,
  crossing,
  crossingMessages,
  edgeMessagesProblem,
  revised,
  thrownText,
  turnsOf,
  type Brief,
  type Conversation,
  type EdgeMessage,
} from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import {
  Attempts,
  newEntry,
  type DelegationEntry,
  type AttemptEnd,
  type DelegationAttempt,
  type LeaderState,
  type Worker,
} from './attempts.ts'
import { isDelegating, policyFor, verbNames, type Delegation, type VerbNames, type WorkerPolicy } from './options.ts'
import {
  mergeEndReplies,
  askHook,
  endProblem,
  ownCopy,
  hookLayersOf,
  startProblem,
  type DelegationHookCall,
  type DelegationEnd,
  type DelegationEndReply,
  type DelegationHooks,
  type DelegationMoment,
  type DelegationStartReply,
  type HookLayer,
  type HookLayers,
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

/** The position of a call to delegate among the others. Empty until it has become a delegation. */
export interface DelegationPosition {
  readonly callId: string
  /** `d1` for the first call, `d2` for the second, … */
  readonly label: string
  entry: DelegationEntry | undefined
  /** All delegations of this call, if it started a race. */
  race?: readonly DelegationEntry[]
}

/** All delegations of one activation of a leader. */
export class Delegations {
  /** How many characters of a result are shown; undefined without references. */
  readonly shown: number | undefined
  #background: BackgroundWork | undefined
  /** The hooks around all of them: those of its leader and of the start of the run. */
  #hooks: HookLayers | undefined
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
    this.shown = shownCharacters(policy.references)
    this.#leader = leader
    this.#policy = policy
    this.#attempts = new Attempts(
      { all: concurrency, background: planOf(policy)?.concurrency },
      {
        completed: (job, ended) => this.#resultOf(job, ended),
        refused: (job, what) => refuseWork(job, what),
        abandoned: async (job, ended) => {
          for (const layer of job.hooks.onComplete) await this.#callOnComplete(layer, job, ended, undefined)
        },
        asked: (job, question) => answers.answer(job, question, this.#moment(job)),
      },
    )
    this.#race = new DelegationRace(this.#attempts, async (given) =>
      this.#delegateOne(given, policyFor(policy, given.worker.name), true),
    )
    this.#verbs = verbs
  }

  /** Background delegations. Only for leaders that can be told of their ends. */
  get background(): BackgroundWork {
    return (this.#background ??= new BackgroundWork(planOf(this.#policy)))
  }

  /** In the order of the calls. */
  get list(): readonly DelegationEntry[] {
    return this.#places.flatMap(({ entry, race }) => race ?? (entry === undefined ? [] : [entry]))
  }

  /** Taken as soon as a call arrives, so that the order of calls counts, and not that of approvals or ends. */
  place(call: ToolCall): DelegationPosition {
    const place: DelegationPosition = { callId: call.id, label: `d${this.#places.length + 1}`, entry: undefined }
    this.#places.push(place)
    return place
  }

  /** Calls the hooks, runs the worker, and calls the hooks again. */
  run(
    ctx: Context,
    call: ToolCall,
    state: LeaderState,
    worker: Worker,
    asked: DelegationRequest,
    place: DelegationPosition,
    workerOf: (name: string) => Worker,
  ): Promise<CallResult> {
    const entry = (place.entry = newEntry(worker.name, call.id, place.label))
    const given: DelegationCall = { ctx, call, state, worker, asked, entry }
    const policy = policyFor(this.#policy, worker.name)
    const { hedge } = policy
    if (hedge === undefined) return Promise.resolve(this.#delegateOne(given, policy))
    const beside = hedge.with === undefined ? worker : workerOf(hedge.with)
    const work = (): Promise<CallResult> =>
      this.#race.hedged(given, hedge.afterMs, beside).then((told) => noteTold(given, told))
    return Promise.resolve(asked.deferred === true ? this.#defer(given, work) : work())
  }

  /** Gives one brief to several workers. The kept answer is the result of the call. */
  async several(shared: SharedDelegation, place: DelegationPosition): Promise<CallResult> {
    place.race = this.#race.entries(shared, place.label)
    const { counts, ...told } = await this.#race.several(shared, place.race)
    place.entry = counts
    return noteTold(shared, told)
  }

  /** Runs the work in the background. */
  #defer({ ctx, call, worker, entry }: DelegationCall, work: () => Promise<CallResult>): CallResult {
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
   * Stops pending delegations by the name that a model uses, and waits for the ends of background ones. Returns those
   * that were stopped.
   */
  async stop(name: string, reason: string): Promise<readonly DelegationEntry[]> {
    const running = this.#attempts.find(name)
    for (const entry of running) this.#attempts.stop(entry, reason)
    await this.background.settled(new Set(running.map(({ label }) => label)))
    return running
  }

  /**
   * One delegation, from its hooks to the result for the leader's model. One of several under one call is awaited in
   * any case.
   */
  #delegateOne(given: DelegationCall, policy: WorkerPolicy, isOneOfSeveral = false): Now<CallResult> {
    const { ctx, call, state, worker, asked, entry, hedge } = given
    const hooks = (this.#hooks ??= hookLayersOf(this.#policy, ctx, state.edge))
    const toldBy = isOneOfSeveral || this.#changesResult(policy, hooks) ? 'leader' : undefined
    const job: DelegationAttempt = {
      ctx,
      call,
      state,
      worker,
      policy,
      hooks,
      entry,
      turn: state.turn,
      deferred: asked.deferred === true,
      isOneOfSeveral,
      toldBy,
      brief: this.#withReferences(ctx, asked, entry),
      grant: grantOf(policy, worker, asked, entry, state),
      onWait: hedge?.onWait,
      after: hedge?.after,
    }
    this.#attempts.open(entry, ctx)
    return andThen(this.#refusalOf(job), (refused) => {
      if (refused === undefined) {
        const attempts = (): Promise<CallResult> => this.#attempts.work(job)
        if (isOneOfSeveral) return attempts()
        // what a refusal tells is recorded with it
        const tell = (told: CallResult): CallResult => (told.refused === undefined ? noteTold(given, told) : told)
        const work = toldBy === undefined ? attempts : () => attempts().then(tell)
        return job.deferred ? this.#defer(given, work) : work()
      }
      this.#attempts.close(entry)
      return refuseWork(job, refused)
    })
  }

  /** Whether what the leader's model is told may be another text than the end of a worker alone gives. */
  #changesResult({ results, retry, timeoutMs }: WorkerPolicy, { onComplete }: HookLayers): boolean {
    return (
      onComplete.length > 0 ||
      this.shown !== undefined ||
      results === 'full' ||
      retry !== undefined ||
      timeoutMs !== undefined
    )
  }

  /** Calls the hooks before the work, and decides what crosses. A failure says why the worker does not start. */
  #refusalOf(job: DelegationAttempt): Now<Failure | undefined> {
    const { entry, hooks } = job
    const stopped = this.#attempts.refusal(entry)
    if (stopped !== undefined || hooks.onStart.length === 0) return stopped ?? this.#contextRefusal(job)
    return this.#askOnStart(job).then((failed) => this.#attempts.refusal(entry) ?? failed ?? this.#contextRefusal(job))
  }

  /** Why no further delegation may begin. */
  get over(): Failure | undefined {
    const { bailed } = this.#attempts
    return bailed === undefined ? undefined : failure('delegation.refused', bailed, 'policy')
  }

  /** The leader has ended: stops all pending delegations and returns them. No further ones may begin. */
  leave(why: string): readonly { readonly delegation: string; readonly worker: string }[] {
    return this.#attempts.leave(why).map(({ label, worker }) => ({ delegation: label, worker }))
  }

  /** The delegation of this name. */
  find(name: string): DelegationEntry | undefined {
    const { list } = this
    // labels before ids: a model chooses the ids of calls, and they may look like labels
    const called = (what: string): DelegationEntry | undefined =>
      list.find(({ label }) => label === what) ?? list.find(({ callId, id }) => callId === what || id === what)
    // a hedge whose answer counts stands for its delegation
    return this.#places.find(({ label }) => label === name)?.entry ?? called(name) ?? called(name.replace(/\.\d+$/, ''))
  }

  /** The brief with the referenced results before it. */
  #withReferences(
    ctx: Context,
    { brief, refs = [], worker }: DelegationRequest,
    { callId, label }: DelegationEntry,
  ): Brief {
    if (this.shown === undefined || refs.length === 0 || !('instructions' in brief)) return brief
    const about = { worker, callId, delegation: label }
    return { instructions: expanded(ctx, brief.instructions, refs, (ref) => this.find(ref), about) }
  }

  /** Runs each `onStart`. A failure says why the worker does not start. */
  async #askOnStart(job: DelegationAttempt): Promise<Failure | undefined> {
    for (const layer of job.hooks.onStart) {
      const refused = await this.#callOnStart(layer, job)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  async #callOnStart({ onStart, of, ...layer }: HookLayer, job: DelegationAttempt): Promise<Failure | undefined> {
    if (onStart === undefined) return undefined
    const start = ownCopy({ ...this.#moment(job), messages: this.#conversation(job.state) })
    const read = (reply: Json): string | undefined => startProblem(reply, job.brief, job.worker.inputSchema)
    const ask = askHook<DelegationStartReply>(job.ctx, about(`${of}onStart`, job), (io) => onStart(start, io), read)
    const { reply, failure: failed } = await ask
    if (failed !== undefined) return isStrict(layer) ? failed : undefined
    if (reply === undefined) return undefined
    if (reply.proceed === false) return rejection(reply.reason)
    const { grant } = job
    if (typeof reply.prompt === 'string') job.brief = { instructions: isBlank(reply.prompt) ? '' : reply.prompt }
    else if (reply.input !== undefined && 'input' in job.brief) job.brief = { input: reply.input }
    if (typeof reply.instructions === 'string')
      grant.added = grant.added === undefined ? reply.instructions : `${grant.added}\n\n${reply.instructions}`
    if (typeof reply.turns === 'number') grant.turns = reply.turns
    if (reply.metadata !== undefined && reply.metadata !== null)
      grant.metadata = { ...grant.metadata, ...reply.metadata }
    return undefined
  }

  /**
   * Decides what crosses besides the brief: the context policy, then `filterMessages`. A failure says why the worker
   * does not start.
   */
  #contextRefusal(job: DelegationAttempt): Now<Failure | undefined> {
    const { worker, policy, state, grant, brief, entry, hooks } = job
    const isFiltered = hooks.filterMessages.length > 0
    const context = policy.context ?? (isFiltered ? 'conversation' : undefined)
    const view = (): Conversation => ({
      worker: worker.name,
      brief: briefText(brief),
      messages: this.#conversation(state),
    })
    try {
      const crossed = crossing(context, this.#leader, view)
      if (crossed !== undefined) grant.context = crossed
    } catch (thrown) {
      return failure(
        'delegation.refused',
        `the context policy for "${worker.name}" failed: ${thrownText(thrown)}`,
        'internal',
        {
          details: { why: messageOf(thrown) },
        },
      )
    }
    return isFiltered
      ? this.#askFilterMessages(job).then((failed) => this.#attempts.refusal(entry) ?? failed ?? emptyBrief(job))
      : emptyBrief(job)
  }

  async #askFilterMessages(job: DelegationAttempt): Promise<Failure | undefined> {
    const { grant, hooks } = job
    for (const { filterMessages, of, ...layer } of hooks.filterMessages) {
      if (grant.context === undefined) break
      const shown = ownCopy({ ...this.#moment(job), messages: grant.context })
      const ask = askHook<readonly EdgeMessage[]>(
        job.ctx,
        about(`${of}filterMessages`, job),
        async (io) => (await filterMessages?.(shown, io)) ?? 'nothing',
        edgeMessagesProblem,
      )
      const { reply, failure: failed } = await ask
      if (failed !== undefined && isStrict(layer)) return failed
      if (failed !== undefined) grant.context = []
      else if (reply !== undefined) grant.context = crossingMessages(reply)
    }
    return undefined
  }

  /** The result for the leader's model, as `onComplete` leaves it. */
  #resultOf(job: DelegationAttempt, ended: AttemptEnd): Now<CallResult> {
    return job.hooks.onComplete.length === 0 ? this.#toldOf(job, ended) : this.#askOnComplete(job, ended)
  }

  async #askOnComplete(job: DelegationAttempt, ended: AttemptEnd): Promise<CallResult> {
    let reply: DelegationEndReply | undefined
    let withheld: Failure | undefined
    for (const layer of job.hooks.onComplete) {
      const said = await this.#callOnComplete(layer, job, ended, reply)
      if (said.failure !== undefined && isStrict(layer)) withheld ??= said.failure
      reply = mergeEndReplies(reply, said.reply)
    }
    return this.#toldOf(job, ended, reply, withheld)
  }

  /** `word`: what hooks said. `withheld`: one of them failed. */
  #toldOf(
    { entry, worker, state, policy }: DelegationAttempt,
    { outcome, said }: AttemptEnd,
    reply?: DelegationEndReply,
    withheld?: Failure,
  ): CallResult {
    if (withheld !== undefined && outcome.status === 'completed')
      return { content: `[the answer of "${worker.name}" is withheld: ${withheld.message}]`, isError: true }
    entry.output = handedOnOutput(outcome, reply)
    if (policy.memory !== undefined) entry.remembered = rememberedText(outcome, reply)
    if (typeof reply?.feedback === 'string' && reply.feedback.trim() !== '') state.tell(reply.feedback, 'kept')
    const above = this.shown
    const references = above === undefined ? undefined : { above, read: this.#verbs.readResult }
    const telling = { worker: worker.name, label: entry.label, outcome, said, results: policy.results, references }
    const result = resultOfCall(telling, reply)
    if (reply?.bail === undefined || reply.bail === null || reply.bail === false || this.#attempts.bailed !== undefined)
      return result
    const answer = typeof reply.bail === 'object' ? reply.bail.answer : ''
    const text = [answer, reply.result ?? ''].find((each) => !isBlank(each)) ?? ownText(outcome) ?? endText(telling)
    const message = `onComplete of ${entry.label} ("${worker.name}") ended the work`
    this.#attempts.bail(message)
    state.stopCalls?.(message)
    return { ...result, finish: { outcome: { status: 'bailed', message, text } } }
  }

  /** `before`: the merged replies of earlier hooks. */
  #callOnComplete(
    { onComplete, of }: HookLayer,
    job: DelegationAttempt,
    ended: AttemptEnd,
    before: DelegationEndReply | undefined,
  ): ReturnType<typeof askHook<DelegationEndReply>> {
    const { outcome, said, ...rest } = ended
    const end: Omit<DelegationEnd, 'bail'> = ownCopy({
      ...this.#moment(job),
      ...rest,
      status: outcome.status,
      outcome,
      text: before?.result ?? endText({ worker: job.worker.name, outcome }),
      ...(job.grant.report === true ? { said } : undefined),
    })
    return askHook<DelegationEndReply>(
      job.ctx,
      about(`${of}onComplete`, job),
      async (io) => {
        let bail: DelegationEndReply['bail']
        const moment: DelegationEnd = {
          ...end,
          bail: (answer) => {
            bail = answer === undefined ? true : { answer }
          },
        }
        const reply = await onComplete?.(moment, io)
        return bail === undefined ? reply : { ...reply, bail }
      },
      endProblem,
    )
  }

  #moment({ ctx, worker, entry, turn, brief, grant: { files } }: DelegationAttempt): DelegationMoment {
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
      ...present({ files }),
    }
  }

  /** The leader's conversation as it may cross, with the workers' answers in the place of their calls. */
  #conversation(state: LeaderState): readonly EdgeMessage[] {
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

/** What crosses to this worker besides the brief, before hooks change it. */
function grantOf(
  { grant: stated }: WorkerPolicy,
  worker: Worker,
  { turns, files }: DelegationRequest,
  { label }: DelegationEntry,
  { edge }: LeaderState,
): DelegationAttempt['grant'] {
  const grant: DelegationAttempt['grant'] = { ...stated, delegation: label, ...present({ files }) }
  if (turns !== undefined)
    grant.turns = Math.min(turns, turnsOf(revised(edge.run.versions, worker).limits) ?? defaultTurns)
  return grant
}

const isStrict = ({ hookErrors }: Pick<DelegationHooks, 'hookErrors'>): boolean => hookErrors !== 'lenient'

const about = (hook: string, { worker, call, entry }: DelegationAttempt): DelegationHookCall => ({
  hook,
  worker: worker.name,
  callId: call.id,
  delegation: entry.label,
})

/** Why a worker does not start that would be told nothing. */
const emptyBrief = ({ brief, grant: { context = [] }, worker }: DelegationAttempt): Failure | undefined =>
  briefText(brief).trim() === '' && context.every(({ text }) => text.trim() === '')
    ? failure('delegation.refused', `the instructions for "${worker.name}" are empty`, 'validation')
    : undefined

const rejection = (reason: string | null | undefined): Failure =>
  failure(
    'delegation.refused',
    `rejected: ${reason === undefined || reason === null || isBlank(reason) ? 'no reason given' : reason}`,
    'rejected',
  )

/** Refuses a delegation: records a fact, and tells the model why. */
export function refuseDelegation(
  ctx: Context,
  call: ToolCall,
  worker: string,
  what: Failure,
  delegation: string,
  toldBy?: 'leader',
): CallResult {
  ctx.emit({
    type: 'delegation.refused',
    worker,
    callId: call.id,
    delegation,
    failure: what,
    ...present({ toldBy }),
  })
  return { ...formatRefusedDelegation(what), refused: what }
}

/** A refused job. One among several is told with the others. */
const refuseWork = ({ ctx, call, worker, entry, isOneOfSeveral }: DelegationAttempt, what: Failure): CallResult =>
  refuseDelegation(ctx, call, worker.name, what, entry.label, isOneOfSeveral ? 'leader' : undefined)

/** Records what the leader's model is told of a call. */
function noteTold({ ctx, call }: Pick<DelegationCall, 'ctx' | 'call'>, result: CallResult): CallResult {
  const { content, isError } = result
  ctx.emit({ type: 'result.told', callId: call.id, content, ...(isError === true ? { isError } : undefined) })
  return result
}

/** Refuses a call of one of Reeve's verbs. */
export const refuseVerb = (ctx: Context, call: ToolCall, what: Failure): CallResult =>
  refuse(ctx, call, what, `[${what.message}]`)

/** The answer of a worker whose own work a hook ended, without the marker that models see. */
const ownText = (outcome: Outcome): string | undefined =>
  outcome.status === 'bailed' && !isBlank(outcome.text) ? outcome.text : undefined
