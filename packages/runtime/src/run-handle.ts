/**
 * The handle of a run: how it is watched, answered and commanded from outside.
 *
 * Owns: the `Run` interface and its methods over the engine's few verbs. Does not own: starting (start.ts), decisions
 * (decisions.ts), reading (run-feed.ts). A handle holds no state of the run: any number of them, in any number of
 * processes, are the same. K9: dropping one changes nothing.
 */
import {
  mustBeId,
  mustBeOptions,
  newId,
  optionProblems,
  present,
  refuseProblems,
  systemClock,
  text,
  underName,
  type ActivationId,
  type Checks,
  type Clock,
  type Failure,
  type Json,
  type Outcome,
  type RunId,
  type RunTextChange,
  type Usage,
} from '@reeve/core'
import type { Agent } from '@reeve/agent'
import { unknownRun, type Engine, type Question, type RunSummary } from '@reeve/engine'
import { delegationsIn, viewOf, type DelegationView, type Recorded, type RunView, type Spoken } from '@reeve/journal'
import { approvalsAmong, unanswered, type Approval } from './operator/open-approvals.ts'
import { answer, decide, storeTime, type Answer, type Decision, type DecisionAccess } from './operator/decisions.ts'
import {
  follow,
  followMessages,
  hasEnded,
  hearParts,
  liveParts,
  type MessagesOptions,
  type PartsOptions,
  type ReadOptions,
} from './feed/run-feed.ts'
import type { RunPart } from './feed/part-origin.ts'
import { contentPart, contentPieces, type ContentPart, type ContentRange } from './feed/run-contents.ts'
import { queuedBehind, withPlaceInQueue, withQueue } from './session-queue.ts'
import { runControl, type RunControl } from './operator/run-control.ts'
import { runTeam, type RunTeam } from './operator/run-team.ts'
import { textChangesOf, textOf } from './feed/run-text.ts'
import { readerFeed, type StreamItem } from './feed/reader-feed.ts'
import { NoticeWatch } from './feed/notice-watch.ts'
import { delegationsFold, foldsOf, viewFold } from './feed/run-folds.ts'
import { runPages } from './feed/whole-feed.ts'

/** How a run ended, which run it was and what its whole tree used. */
export type RunOutcome<O = Json> = Outcome<O> & { readonly run: RunId; readonly usage: Usage }

/**
 * A run that cannot go on without an answer or a command: its open approvals, and all that is open (`questions`:
 * approvals too), without what has passed its deadline.
 */
export interface RunWaiting {
  readonly status: 'waiting' | 'queued' | 'paused' | 'human_control' | 'stuck'
  /**
   * Of a run that waits for its turn in its session: the run ahead of it, and what that one needs. Its approvals are
   * decided by `runtime.decide`, or its own handle.
   */
  readonly queued?: { readonly behind: RunId; readonly needs: RunWaiting }
  /** Why it is stuck. */
  readonly reason?: string
  /**
   * It is stuck because it was set aside for this: `run.control.resume()` tries it again, `run.control.cancel()`
   * ends it without its code.
   */
  readonly failure?: Failure
  readonly waiting: readonly Approval[]
  readonly questions: readonly Question[]
}

/** A page of a journal. */
export interface JournalOptions {
  /** Events after this position. Default 0: from the beginning. */
  readonly from?: number
  /** At most so many. Default: all. */
  readonly limit?: number
  /**
   * No more after the event that makes the stored text this many characters long. Such a page may also be shorter: read
   * on until one is empty. Default: no bound.
   */
  readonly length?: number
}

/** How a message is sent. */
export interface MessagePostOptions {
  /** Makes the call idempotent: repeating an id sends no second message. Default: a new id. */
  readonly id?: string
  /** Who sends it: recorded beside the message. What a message says of its sender counts for nothing. */
  readonly by?: string
}

/** A run seen from outside. Everything is asynchronous, everything returned is a copy. */
export interface Run<O = Json> {
  readonly id: RunId
  /** Of a handle that `start` or `fork` gave: false if the run of this id was begun before. */
  readonly created?: boolean
  /**
   * How it ended; waits for the end, also while the store is away for a while or its disk is full. Rejects with
   * `run.unknown`, `engine.closed`, and `store.*` where waiting would not help.
   */
  outcome(): Promise<RunOutcome<O>>
  /** The journal after `from`, then live, until the run has ended. Leaving changes nothing. */
  events(options?: ReadOptions): AsyncIterableIterator<Recorded, undefined>
  /**
   * The journal after the position `from`, as it is now: all of it, or the first `limit` events. The position of the
   * last one is the `from` of the next page. Rejects with `run.unknown`.
   */
  journal(page?: JournalOptions): Promise<readonly Recorded[]>
  /**
   * A part of a large result, by the name in its reference (`$content`): at most 262,144 characters. A run reads what it
   * and its child runs have kept. Rejects with `content.unknown`, `run.unknown` and `input.invalid`.
   */
  content(name: string, range?: ContentRange): Promise<ContentPart>
  /** The whole of it in order, at most 262,144 characters at a time. Throws as `content`. */
  contentPieces(name: string): AsyncIterableIterator<string, undefined>
  /** What the agents said after the position `from`, then live, until the run has ended. Leaving changes nothing. */
  messages(options?: MessagesOptions): AsyncIterableIterator<Spoken, undefined>
  /**
   * Live pieces of work, each with its agent and path, until the run has ended. First, in the process that drives the
   * run, the text so far of the calls under way: adjacent deltas joined, the first with offset 0. What else was shown
   * before this is called is gone, and so is what is shown in another process, unless the engine passes it on.
   * `runtime.stream` listens from the start and misses nothing.
   */
  parts(options?: PartsOptions): AsyncIterableIterator<RunPart, undefined>
  /**
   * The same as `parts`, as a callback: `hear` is called with each part while it is shown, in order, so it must be
   * quick: the agent waits for it. Resolves when the run has ended or the signal aborts. Rejects with what `hear`
   * throws, which ends the hearing and not the run, and as `parts` does.
   */
  onPart(hear: (part: RunPart) => void, options?: PartsOptions): Promise<void>
  /**
   * The events after `from` and the live parts between them, in one order, until the run has ended. No part comes
   * before the event that began its step. Parts are live only, as in `parts`; with a `from`, they begin without the text
   * so far. Those dropped for a slow reader are counted. Leaving changes nothing.
   */
  feed(options?: ReadOptions): AsyncIterableIterator<StreamItem, undefined>
  /**
   * The text of the run, from its first word to its end, while it is written. A reader that begins late gets at once
   * what was said before, in the process that drives the run also of a call under way. Without options it is the text
   * of the agent in control: the root and, in flows, the agent that control was handed to; also an answer that is
   * forwarded, or that a hook ends the work with. Workers of a delegation, of an agent as a tool, or of code are left
   * out: name them by `agent` or `path`. The text of the branches of a `parallel` is mixed; `parts` tells them apart.
   */
  text(options?: PartsOptions): AsyncIterableIterator<string, undefined>
  /**
   * The same as `text`, for a reader that can take words back: what an attempt of a model call said that did not become
   * the answer is withdrawn. Each change takes `withdrawn` characters off the end of what its agent has said, then adds
   * `text`: all of them together give the text that was recorded.
   */
  textChanges(options?: PartsOptions): AsyncIterableIterator<RunTextChange, undefined>
  /**
   * Resolves when the run has ended, or cannot go on without an answer or a command from outside.
   * `runtime.questions({ run })` lists what is open before that. A run that waits for its turn in its session resolves
   * as `queued` when the run ahead of it needs an answer; while that one works, it waits. Rejects with the reason of the
   * signal once that aborts.
   */
  until(state: 'waiting', options?: { readonly signal?: AbortSignal }): Promise<RunWaiting | RunOutcome<O>>
  /** Decides an open approval of this run; the first decision wins. */
  decide(decision: Decision): Promise<void>
  /** Answers an open question of this run; the first answer wins. */
  answer(answer: Answer): Promise<void>
  /**
   * Sends a message to an agent at work in this run. Resolves to whether it was taken. Rejects with `input.invalid` for
   * a message whose `type` begins with `$`: those are Reeve's own.
   */
  post(to: ActivationId, message: Json, options?: MessagePostOptions): Promise<'accepted' | 'closed' | 'unknown'>
  /** One line about the run, as `runtime.runs()` has it; reads no journal. Rejects with `run.unknown`. */
  summary(): Promise<RunSummary>
  /** The state of the run: its activations, open questions, teams and usage. */
  view(): Promise<RunView>
  /**
   * One row for each delegation so far, at any depth: who was asked what, what came of it, what the worker's tools
   * answered. Whatever its leader's model was told.
   */
  delegations(): Promise<readonly DelegationView[]>
  /** What the whole tree has used so far. */
  usage(): Promise<Usage>
  /** What an operator does to the run: pause, resume, cancel, take over, settle. */
  readonly control: RunControl
  /** Members of the run's planned team, and mail to them. */
  readonly team: RunTeam
}

/** What a handle works with. */
export interface HandleParts {
  readonly engine: Engine
  readonly clock: Clock
  readonly mayDecide?: DecisionAccess['mayDecide']
  /** An agent that is registered here. */
  readonly find?: (name: string, version?: string) => Agent | undefined
}

/** A handle. Cheap: nothing is read until it is asked. */
export function runHandle<O>(id: RunId, { engine, clock, mayDecide, find }: HandleParts): Run<O> {
  const access = { engine, clock, mayDecide, find, run: id }
  const folds = foldsOf(engine)
  const outcome = (): Promise<RunOutcome<O>> => outcomeOf<O>(engine, id)
  return {
    id,
    outcome,
    events: (options) => follow(engine, id, optionsOf(options, 'events')),
    journal: async (page) => {
      const { from = 0, limit, length } = optionsOf(page, 'journal') ?? {}
      const events = await engine.read(id, from, limit, length)
      if (events.length === 0 && (await engine.summary(id)) === undefined) throw unknownRun(id)
      return events
    },
    content: (name, range) => contentPart(engine, id, name, range),
    contentPieces: (name) => contentPieces(engine, id, name),
    messages: (options) => followMessages(engine, id, optionsOf(options, 'messages')),
    parts: (options) => liveParts(engine, id, optionsOf(options, 'parts')),
    onPart: (hear, options) => hearParts(engine, id, hear, options),
    feed: (options) => readerFeed(engine, id, optionsOf(options, 'feed')),
    text: (options) => textOf(engine, id, optionsOf(options, 'text')),
    textChanges: (options) => textChangesOf(engine, id, optionsOf(options, 'textChanges')),
    until: async (_state, { signal } = {}) => (await untilWaiting({ ...access, signal })) ?? outcome(),
    decide: (decision) => decide(access, underName(decision)),
    answer: (given) => answer(access, underName(given)),
    post: (to, message, options) => postMessage(engine, to, message, underName(options)),
    summary: async () => {
      const found = await engine.summary(id)
      if (found === undefined) throw unknownRun(id)
      return withPlaceInQueue(engine, found)
    },
    view: async () => {
      const { fold, position, summary } = await folds.of(viewFold, id)
      const { status } = summary
      const view = { ...viewOf(fold), position }
      if (view.endedAt !== undefined) return view
      // why a run is stuck may be what its journal cannot hold; a timer that was called off stands in it as open
      if (status === 'stuck' || (status === 'waiting' && view.status === 'running')) return { ...view, status }
      return withQueue(engine, view)
    },
    delegations: async () => delegationsIn((await folds.of(delegationsFold, id)).fold),
    usage: async () => viewOf((await folds.of(viewFold, id)).fold).usage,
    control: runControl(access),
    team: runTeam(access),
  }
}

/** The options of a call, which may be left out. Throws `input.invalid` for what are none. */
function optionsOf<T extends object>(given: T | undefined, call: string): T | undefined {
  if (given !== undefined) mustBeOptions(given, `run.${call}`, 'input.invalid')
  return given
}

/** How a run ended; waits for the end. */
export async function outcomeOf<O>(engine: Engine, run: RunId): Promise<RunOutcome<O>> {
  const { outcome, usage } = await engine.outcome(run)
  return { ...(outcome as Outcome<O>), run, usage }
}

const postChecks: Checks<MessagePostOptions> = { id: text, by: text }

/** Sends a message to an activation. The engine refuses one that would pass for Reeve's own. */
async function postMessage(
  engine: Engine,
  to: ActivationId,
  message: Json,
  options: MessagePostOptions = {},
): Promise<'accepted' | 'closed' | 'unknown'> {
  mustBeId(to, 'run.post(): to')
  refuseProblems('input.invalid', optionProblems(postChecks, options, 'run.post()'), 'Nothing was sent.')
  const { id = newId('msg'), by } = options
  const result = await engine.post({ type: 'message', activation: to, id, body: message, ...present({ by }) })
  return result === 'lost' ? 'accepted' : result
}

/** How long to wait for news before the status is looked at again, in milliseconds. */
const statusCheckMs = 100

interface ReadScope {
  readonly engine: Engine
  readonly clock: Clock
  readonly run: RunId
  readonly signal?: AbortSignal | undefined
}

/** Waits until the run needs an operator or an approver; undefined if it has ended instead. */
async function untilWaiting(access: ReadScope): Promise<RunWaiting | undefined> {
  const { engine, run, signal } = access
  const watch = new NoticeWatch()
  let ahead: { readonly run: RunId; readonly watch: NoticeWatch } | undefined
  for (;;) {
    signal?.throwIfAborted()
    const found = await neededBy(access, watch)
    if (found === 'ended') return undefined
    if (found !== undefined) return found
    const summary = await engine.summary(run)
    const behind = summary?.status === 'running' ? await queuedBehind(engine, summary) : undefined
    if (behind !== undefined) {
      ahead = ahead?.run === behind ? ahead : { run: behind, watch: new NoticeWatch() }
      await hear(engine, behind, ahead.watch)
      const needs = await neededBy({ ...access, run: behind }, ahead.watch)
      if (needs !== undefined && needs !== 'ended')
        return { status: 'queued', queued: { behind, needs }, waiting: [], questions: [] }
    }
    await changedOrLater(access, watch.position)
    await hear(engine, run, watch)
  }
}

async function hear(engine: Engine, run: RunId, watch: NoticeWatch): Promise<void> {
  for await (const page of runPages(engine, run, watch.position)) for (const recorded of page) watch.take(recorded)
}

/** What the run waits for, as far as its journal was read; undefined while something in it goes on. */
async function neededBy(access: ReadScope, watch: NoticeWatch): Promise<RunWaiting | 'ended' | undefined> {
  const { engine, run } = access
  // A question past its deadline is not waited for: it ends as soon as a process drives the run.
  const open = async (): Promise<readonly Question[]> => {
    const now = storeTime(access)
    return unanswered(await engine.questions({ run })).filter(({ until }) => until === undefined || until >= now)
  }
  const summary = await engine.summary(run)
  if (summary === undefined) throw unknownRun(run)
  const { status, reason, failure } = summary
  if (hasEnded(status)) return 'ended'
  if (status === 'waiting' || status === 'paused' || status === 'stuck') {
    const questions = await open()
    if (status !== 'waiting' || questions.length > 0)
      return { status, ...present({ reason, failure }), waiting: approvalsAmong(questions), questions }
  }
  // what was in flight when it was taken over may still end
  if (status === 'human_control' && watch.isHeld) {
    const questions = await open()
    return { status, waiting: approvalsAmong(questions), questions }
  }
  // a slow channel does not hold up a decision
  if (status === 'running' && watch.only) {
    const questions = await open()
    if (questions.length > 0) return { status: 'waiting', waiting: approvalsAmong(questions), questions }
  }
  return undefined
}

/**
 * A run may begin to wait without an event (it is parked a moment later), so news of the journal is not all there is to
 * wait for.
 */
async function changedOrLater({ engine, run, signal }: ReadScope, position: number): Promise<void> {
  const enough = new AbortController()
  const callOff = systemClock.timer(systemClock.now() + statusCheckMs, () => enough.abort())
  await engine.changed(run, position, signal === undefined ? enough.signal : AbortSignal.any([signal, enough.signal]))
  callOff()
}
