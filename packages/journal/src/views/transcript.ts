/**
 * The transcript: a run's events as messages, in the order of the feed (spec collaboration 1.2).
 *
 * Owns: which events are messages, who says them, what a message holds. Does not own: what a model is shown of them
 * (../../edge), following a run (../../runtime), live text (../../runtime/feed). Only what is recorded is here, so a
 * failed attempt never is.
 * K1: the same events give the same messages. What an event gives depends only on the events before it, so a reader
 * that follows a run gets what a later reader gets. A message that a middleware may still change is said after the
 * middleware has run, as it is then.
 *
 * The end of an agent is a message only if nothing has said it before:
 *
 * - An output is said unless it is null, empty, the agent's last text, or the result of a call of its last turn. So an
 *   output from a middleware, a review or a completion by hand is said; an output that is forwarded is said again.
 * - A workflow says nothing if it only passes on the ends of those it gave control to: one end, or a list or record of
 *   their outputs.
 * - An agent that fails, or ends otherwise, exactly as such a worker did says nothing.
 * - A tool that is an activation of its own says nothing: the result of the call has said it.
 */
import {
  asText,
  canonical,
  childActivation,
  completed,
  digestJson,
  formatAgentToolResult,
  formatRefusedCall,
  formatRefusedDelegation,
  formatToolResult,
  formatWorkerResult,
  isObject,
  isToolAgent,
  saysValue,
  handoffOf,
  transferred,
  transferTool,
  withNote,
  withoutHandoff,
  withWorkDone,
  type ActivationId,
  type CallUsage,
  type Failure,
  type FilePart,
  type FormattedResult,
  type Json,
  type Outcome,
  type RanTool,
  type Source,
  type ToolCall,
  type HandoffRecord,
} from '@reeve/core'
import type { Changeable, JournalEvent, Recorded, StepSettled, WorkerSettled, WorkerStarted } from '../events/events.ts'
import type { AgentTransferred } from '../events/facts.ts'
import { isInAnswerHook, isInCall } from '../turn-scopes.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type IndexedOperation } from './run-index.ts'

/** What an agent does with control. */
export type SpokenAction =
  | { readonly type: 'transfer'; readonly to: string; readonly task?: string }
  | { readonly type: 'exit'; readonly scope: 'run' | 'supervisor' }
  /** The nearest loop is asked to end. */
  | { readonly type: 'break' }
  /** The loop ends because `from` asked for it. `iteration` counts from 0. */
  | { readonly type: 'loop-broken'; readonly from: string; readonly iteration: number }

/** The place of a message: its agent, and its position in the feed. */
interface SpokenAt {
  /** Of the event that it was made of. A transfer that no model asked for is two messages of one position. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly at: number
  /**
   * Of a transfer: the leader that recorded it. The fact does not name the activation that had control.
   */
  readonly activation: ActivationId
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /**
   * Control was not handed to its agent: a worker under delegation (also of code), a member of a planned team, an agent
   * called as a tool, or a worker below one of them.
   */
  readonly inner?: true
}

type SpokenContent =
  /** An answer of a model, or a text of code. */
  | {
      readonly type: 'assistant'
      readonly text: string
      readonly calls?: readonly ToolCall[]
      readonly files?: readonly FilePart[]
      /**
       * Why the model stopped (`FinishReason`). A text that was paused or cut off may go on in the next message. Absent: no
       * model said it, or the journal does not know.
       */
      readonly finish?: string
      /** The calls of tools that the provider ran while the model answered. */
      readonly ran?: readonly RanTool[]
      /** What the answer is taken from, as the provider says. */
      readonly sources?: readonly Source[]
      /** What this call of the model used. Absent: no model said it, or the provider did not say. */
      readonly usage?: CallUsage
    }
  /**
   * The result of a call, of a tool, a delegation or an agent as a tool, as the model was told it: after hooks and
   * middlewares. If `isError`, the content says why.
   */
  | {
      readonly type: 'tool'
      readonly tool: string
      readonly callId?: string
      readonly content: Json
      readonly isError?: true
      /** Pictures, sounds and documents that the model was shown beside it. */
      readonly files?: readonly FilePart[]
      readonly action?: Extract<SpokenAction, { type: 'transfer' }>
    }
  | { readonly type: 'action'; readonly action: SpokenAction; readonly callId?: string }
  /** A question to a human. An answer names its `id`. */
  | { readonly type: 'interrupt'; readonly id: string; readonly question: Json }
  /** A question to a human whether one call may run. A decision names its `id`. */
  | {
      readonly type: 'approval'
      readonly id: string
      readonly tool: string
      readonly callId?: string
      readonly input: Json
      readonly reason: string
    }
  /** The agent failed. */
  | { readonly type: 'error'; readonly failure: Failure }
  /** The agent neither completed nor failed. */
  | { readonly type: 'ended'; readonly outcome: Exclude<Outcome, { status: 'completed' | 'failed' }> }

/** One message of an agent: what it said or did. */
export type Spoken = SpokenAt & SpokenContent

interface SpeakerState {
  readonly indexed: IndexedActivation
  readonly inner: boolean
  /** Undefined once it has ended. */
  work: SpeakerWork | undefined
}

/** The state of an agent at work. */
interface SpeakerWork {
  /** Of workers that answer a call: the name of the call, by the address of the worker. */
  readonly called: Map<string, string>
  /** Names of the calls of its last answer, by their ids. */
  calls: ReadonlyMap<string, string>
  /** Ids of the calls among them that have a result. */
  readonly answered: Set<string>
  /** Names of the calls whose results are recorded as they were told (`result.told`), by their ids. */
  readonly told: Map<string, string>
  /** What an approver has changed of a call, or said of it, by the id of the call. */
  readonly notes: Map<string, string>
  /** Digests of the ends of the workers that it gave control to. */
  readonly ends: Set<string>
  forwards: boolean
  last: string | undefined
  /** Results of the calls of its last answer. */
  results: readonly Json[]
  /** What middlewares may still change of the turn under way, and what the addresses of that turn begin with. */
  changeable: readonly Changeable[]
  turn: string
  /** Messages that are said after the middlewares have run. */
  held: SpokenContent[]
}

/** The state of the fold. Opaque: make one with `newTranscriptFold`, feed it with `transcribe`. */
export interface TranscriptFold {
  readonly index: RunIndex
  readonly speakers: Map<ActivationId, SpeakerState>
  /** Calls that have a result of their own and hand control on as well. */
  readonly handing: Set<string>
}

/** The fold of no events, over an index of the same events. */
export const newTranscriptFold = (index = new RunIndex()): TranscriptFold => ({
  index,
  speakers: new Map(),
  handing: new Set(),
})

/** What was said in a run, from its events in the order of their positions, beginning with the first. */
export function spokenOf(events: Iterable<Recorded>): readonly Spoken[] {
  const fold = newTranscriptFold()
  const all: Spoken[] = []
  for (const recorded of events) all.push(...transcribe(fold, recorded))
  return all
}

const silence: readonly Spoken[] = []

/**
 * Takes in the next event and returns what it says. An event that was taken in before changes nothing and says nothing.
 */
export function transcribe(fold: TranscriptFold, recorded: Recorded): readonly Spoken[] {
  const change = fold.index.take(recorded)
  return change === undefined ? silence : transcribeChange(fold, recorded, change)
}

/** What an event says that the index has taken in. */
export function transcribeChange(
  fold: TranscriptFold,
  recorded: Recorded,
  { here: indexed, closed }: IndexChange,
): readonly Spoken[] {
  const { event } = recorded
  if (indexed === undefined) return silence
  if (event.type === 'activation.started') {
    fold.speakers.set(indexed.id, speakerOf(fold, indexed))
    return silence
  }
  const speaker = fold.speakers.get(indexed.id)
  if (speaker?.work === undefined) return silence
  const { work } = speaker
  if (event.type === 'agent.transferred') {
    if (isOwn(speaker.indexed, event)) rememberHanding(fold, speaker.indexed, work, event.callId)
    return [
      ...released(work, event).map((each) => by(placeOf(speaker), recorded, each)),
      ...handedOver(fold, recorded, speaker, event),
    ]
  }
  const before = released(work, event)
  const words =
    event.type === 'step.settled' || event.type === 'worker.settled'
      ? endOf(fold, speaker.indexed, work, event, closed[0]?.event)
      : contentOf(speaker.indexed.agent, work, event)
  if (event.type === 'activation.settled') {
    const { action } = handoffOf(event.outcome)
    if (action?.type === 'transfer') rememberHanding(fold, speaker.indexed, work, action.callId)
    speaker.work = undefined
  }
  if (before.length === 0 && words === undefined) return silence
  return [...before, ...(words === undefined ? [] : [words])].map((each) => by(placeOf(speaker), recorded, each))
}

/** Held messages that are said now: no middleware can change them any more. */
function released(work: SpeakerWork, event: JournalEvent): readonly SpokenContent[] {
  if (work.held.length === 0) return work.held
  const outcome = event.type === 'activation.settled' ? event.outcome : undefined
  const stays = outcome === undefined ? heldBy(work, event) : isReplaced(work, outcome)
  const out = work.held.filter((words) => !stays(words))
  work.held = outcome === undefined ? work.held.filter(stays) : []
  for (const words of out) if (words.type === 'tool') work.results = [...work.results, words.content]
  return out
}

/**
 * What stays held at this event: everything while a middleware may change the answer, results while the calls go on,
 * and what may be the agent's last answer until there is another turn.
 */
function heldBy({ changeable, turn }: SpeakerWork, event: JournalEvent): (words: SpokenContent) => boolean {
  const address = 'address' in event ? event.address : undefined
  if (address === undefined || isInAnswerHook(address, turn)) return () => true
  const isCalling = isInCall(address, turn)
  const asksAgain = event.type === 'output.rejected' && event.told !== undefined
  const isNext = (asksAgain || event.type === 'model.requested') && event.purpose === undefined
  return (words) =>
    words.type === 'tool'
      ? isCalling && changeable.includes('results')
      : changeable.includes('end') && isLast(words) && !isNext
}

/** An answer that calls for nothing. */
const isLast = (words: SpokenContent): boolean => words.type === 'assistant' && words.calls === undefined

/** Of what is held when its agent ends: an answer in whose place a middleware has left another one. */
const isReplaced =
  ({ changeable }: SpeakerWork, outcome: Outcome) =>
  (words: SpokenContent): boolean =>
    words.type === 'assistant' &&
    isLast(words) &&
    changeable.includes('end') &&
    outcome.status === 'completed' &&
    !saysValue(words.text, outcome.output)

/** Replaces held messages by what a middleware has made of them. */
function changed(work: SpeakerWork, data: Json): void {
  const { held } = work
  if (!isObject(data)) return
  const { hook, text, callId, content } = data
  const at = held.findIndex((each) =>
    hook === 'afterModel' ? each.type === 'assistant' : each.type === 'tool' && each.callId === callId,
  )
  const old = held[at]
  if (old?.type === 'assistant' && hook === 'afterModel') {
    // one that is to be given again says nothing but what it called for
    if (typeof text === 'string') held[at] = { ...old, ...textContent(work, text) }
    else if (old.calls === undefined) held.splice(at, 1)
    else held[at] = { ...old, text: '' }
  } else if (old?.type === 'tool' && hook === 'wrapTool' && content !== undefined) {
    const { isError: _isError, files: _files, ...result } = old
    const files = listOf<FilePart>(data['files'])
    const note = result.callId === undefined ? undefined : work.notes.get(result.callId)
    held[at] = {
      ...result,
      content: withNote(note, content),
      ...(data['isError'] === true ? { isError: true } : undefined),
      ...(files.length === 0 ? undefined : { files }),
    }
  }
}

function speakerOf({ speakers }: TranscriptFold, indexed: IndexedActivation): SpeakerState {
  const { parent, begunBy, isHandedControl } = indexed
  const leader = parent === undefined ? undefined : speakers.get(parent)
  const holds = parent === undefined || isHandedControl
  return {
    indexed,
    inner: !holds || begunBy?.purpose !== undefined || leader?.inner === true,
    work: {
      called: new Map(),
      calls: new Map(),
      answered: new Set(),
      told: new Map(),
      notes: new Map(),
      ends: new Set(),
      forwards: false,
      last: undefined,
      results: [],
      changeable: [],
      turn: '',
      held: [],
    },
  }
}

/** Who speaks, and where in the run. */
type SpeakerPlace = Pick<SpokenAt, 'agent' | 'path'> & { readonly inner: boolean }

const placeOf = ({ indexed: { agent, path }, inner }: SpeakerState): SpeakerPlace => ({ agent, path, inner })

function by(
  { agent, path, inner }: SpeakerPlace,
  { position, at, activation }: Recorded,
  words: SpokenContent,
): Spoken {
  return { position, at, activation, agent, path, ...(inner ? { inner } : {}), ...words }
}

function contentOf(agent: string, work: SpeakerWork, event: JournalEvent): SpokenContent | undefined {
  switch (event.type) {
    case 'model.requested':
      if (event.purpose !== undefined) return undefined
      work.changeable = event.changeable ?? []
      work.turn = event.address.slice(0, event.address.lastIndexOf('/') + 1)
      return undefined
    case 'worker.started':
      if (event.callId === undefined) return undefined
      // a later answer may have other calls when this worker ends
      work.called.set(event.address, work.calls.get(event.callId) ?? event.agent)
      if (event.toldBy === 'leader') work.told.set(event.callId, work.calls.get(event.callId) ?? event.agent)
      return undefined
    case 'output.forwarded':
      work.forwards = true
      return undefined
    case 'tool.refused': {
      // a tool that has done its work has its result; that nothing follows from it is no other one
      if (event.callId !== undefined && work.answered.has(event.callId)) return undefined
      const content = event.content ?? formatRefusedCall(event.failure)
      return toldOf(work, event.tool, event, { content, isError: true })
    }
    case 'delegation.refused': {
      if (event.callId === undefined) return undefined
      const tool = work.calls.get(event.callId) ?? event.worker
      if (event.toldBy === undefined) return toldOf(work, tool, event, formatRefusedDelegation(event.failure))
      work.told.set(event.callId, tool)
      return undefined
    }
    case 'result.told': {
      const tool = work.told.get(event.callId)
      work.told.delete(event.callId)
      return tool === undefined ? undefined : toldOf(work, tool, event, event)
    }
    case 'text.said':
      return textContent(work, event.text)
    case 'fact.noted':
      if (event.name === 'middleware.changed') changed(work, event.data)
      if (event.name === 'tool.deferred') deferred(work, event.data)
      if (event.name === 'call.repeated') repeated(work, event.data)
      if (event.name === 'call.reviewed') reviewed(work, event.data)
      return undefined
    case 'activation.settled':
      return isToolAgent(agent) ? undefined : finalContent(work, event.outcome)
    default:
      return questionContent(event)
  }
}

/** Actions, and questions to humans. */
function questionContent(event: JournalEvent): SpokenContent | undefined {
  switch (event.type) {
    case 'exit.requested':
      return { type: 'action', action: { type: 'exit', scope: event.scope }, ...idOf(event) }
    case 'break.requested':
      return { type: 'action', action: { type: 'break' }, ...idOf(event) }
    case 'loop.broken':
      return { type: 'action', action: { type: 'loop-broken', from: event.from, iteration: event.iteration } }
    case 'interrupt.raised':
      return { type: 'interrupt', id: event.id, question: event.question }
    case 'approval.requested':
      return {
        type: 'approval',
        id: event.id,
        tool: event.tool,
        ...idOf(event),
        input: event.input,
        reason: event.reason,
      }
    default:
      return undefined
  }
}

const idOf = ({ callId }: { readonly callId?: string }): { readonly callId?: string } =>
  callId === undefined ? {} : { callId }

/** What the end of an operation says: an answer, or the result of a call. */
function endOf(
  { index }: TranscriptFold,
  { id }: IndexedActivation,
  work: SpeakerWork,
  { address, outcome }: StepSettled | WorkerSettled,
  opened: IndexedOperation['event'] | undefined,
): SpokenContent | undefined {
  switch (opened?.type) {
    case 'model.requested':
      return opened.purpose === undefined && outcome.status === 'completed'
        ? answerOf(work, outcome.output, opened.continues === true)
        : undefined
    case 'tool.called':
      return toldOf(work, opened.tool, opened, formatToolResult(opened.tool, outcome))
    case 'worker.started': {
      const tool = work.called.get(address)
      work.called.delete(address)
      // one that measures or summarizes says nothing
      if (opened.purpose !== undefined) return undefined
      const worker = index.activations.get(childActivation(id, address, opened.apart))
      if (tool !== undefined) return toldOf(work, tool, opened, formattedEnd(tool, opened, worker, outcome))
      if (worker === undefined || worker.isOutline || worker.isHandedControl) work.ends.add(digestOf(outcome))
      return undefined
    }
    default:
      return undefined
  }
}

/** The result of a call, unless it is still to be told: by the leader, or by middlewares around a call in the background. */
function toldOf(
  work: SpeakerWork,
  tool: string,
  call: { readonly callId?: string },
  result: FormattedResult,
): SpokenContent | undefined {
  return call.callId !== undefined && work.told.has(call.callId) ? undefined : resultOf(work, tool, call, result)
}

/** The end of a worker that answers a call, in the words that its leader's model was told. */
function formattedEnd(
  tool: string,
  { agent, apart }: WorkerStarted,
  worker: IndexedActivation | undefined,
  outcome: Outcome,
): FormattedResult {
  if (isToolAgent(agent)) return formatToolResult(tool, outcome)
  const isDelegated = apart === true || worker?.delegation !== undefined
  return isDelegated ? formatWorkerResult(agent, outcome) : formatAgentToolResult(tool, agent, outcome)
}

/** A call goes on in the background. Middlewares around it decide its result then, which is recorded as it was told. */
function deferred(work: SpeakerWork, data: Json): void {
  const { callId, tool } = isObject(data) ? data : {}
  if (typeof callId === 'string' && typeof tool === 'string' && work.changeable.includes('results'))
    work.told.set(callId, tool)
}

/** An equal call is made for this one: what it is told is recorded beside it. */
function repeated(work: SpeakerWork, data: Json): void {
  const { callId, tool } = isObject(data) ? data : {}
  if (typeof callId === 'string' && typeof tool === 'string') work.told.set(callId, tool)
}

function reviewed(work: SpeakerWork, data: Json): void {
  const { callId, note } = isObject(data) ? data : {}
  if (typeof callId !== 'string') return
  if (typeof note === 'string') work.notes.set(callId, note)
  else work.notes.delete(callId)
}

/** A model's answer as its step has recorded it. `continues`: one that was paused or cut off goes on with it. */
function answerOf(work: SpeakerWork, answer: Json, continues: boolean): SpokenContent | undefined {
  if (!isObject(answer) || typeof answer['text'] !== 'string') return undefined
  const calls = listOf<ToolCall>(answer['calls'])
  const files = listOf<FilePart>(answer['files'])
  const ran = listOf<RanTool>(answer['ran'])
  const sources = listOf<Source>(answer['sources'])
  work.calls = new Map(calls.map(({ id, name }) => [id, name]))
  work.answered.clear()
  work.results = []
  const { finish, usage } = answer
  const before = continues ? (work.last ?? '') : ''
  const words = {
    ...textContent(work, answer['text']),
    ...(calls.length === 0 ? {} : { calls }),
    ...(files.length === 0 ? {} : { files }),
    ...(ran.length === 0 ? {} : { ran }),
    ...(sources.length === 0 ? {} : { sources }),
    ...(typeof finish === 'string' ? { finish } : {}),
    ...(isObject(usage) ? { usage: usage as CallUsage } : {}),
  }
  work.last = before + answer['text']
  const isHeld = work.changeable.includes('answer') || (calls.length === 0 && work.changeable.includes('end'))
  return isHeld ? holdBack(work, words) : words
}

function holdBack(work: SpeakerWork, words: SpokenContent): undefined {
  work.held = [...work.held, words]
  return undefined
}

const listOf = <T>(value: Json | undefined): readonly T[] => (Array.isArray(value) ? (value as readonly T[]) : [])

function textContent(work: SpeakerWork, text: string): Extract<SpokenContent, { type: 'assistant' }> {
  work.last = text
  return { type: 'assistant', text }
}

function resultOf(
  work: SpeakerWork,
  tool: string,
  call: { readonly callId?: string },
  { content, isError, files = [] }: FormattedResult,
): SpokenContent | undefined {
  if (call.callId !== undefined) work.answered.add(call.callId)
  const note = call.callId === undefined ? undefined : work.notes.get(call.callId)
  const words = {
    type: 'tool',
    tool,
    ...idOf(call),
    content: withNote(note, content),
    ...(isError === true ? { isError } : {}),
    ...(files.length === 0 ? {} : { files }),
  } as const
  // results follow their answer
  if (work.changeable.includes('results') || work.held.length > 0) return holdBack(work, words)
  work.results = [...work.results, content]
  return words
}

function finalContent(work: SpeakerWork, outcome: Outcome): SpokenContent | undefined {
  if (isPassedOn(work, outcome)) return undefined
  if (outcome.status === 'failed') return { type: 'error', failure: outcome.failure }
  if (outcome.status !== 'completed') return { type: 'ended', outcome: withoutHandoff(outcome) as typeof outcome }
  const { output } = outcome
  const text = asText(output)
  if (output === null || text === '' || isHeard(work, output, handoffOf(outcome))) return undefined
  return textContent(work, text)
}

/**
 * Whether this output was said already: as the last text of its agent, in its own words or in those it leaves to later
 * agents, or as the result of a call.
 */
function isHeard({ last, results, forwards }: SpeakerWork, output: Json, { said }: HandoffRecord): boolean {
  if (last !== undefined && saysValue(last, output)) return true
  if (forwards) return false
  const answer = said.findLast((entry) => entry.answer === true)?.message
  if (answer?.role === 'assistant' && answer.content === last) return true
  return results.some((content) =>
    typeof content === 'string' ? saysValue(content, output) : canonical(content) === canonical(output),
  )
}

/**
 * Whether this is the end of one of its workers, or made of their outputs and nothing else. Without workers: an empty
 * list.
 */
function isPassedOn({ ends }: SpeakerWork, outcome: Outcome): boolean {
  if (ends.size === 0)
    return outcome.status === 'completed' && Array.isArray(outcome.output) && outcome.output.length === 0
  if (ends.has(digestOf(outcome))) return true
  if (outcome.status !== 'completed' || typeof outcome.output !== 'object' || outcome.output === null) return false
  const members = Object.values(outcome.output) as readonly Json[]
  return members.length > 0 && members.every((member) => member === null || ends.has(digestOf(completed(member))))
}

/**
 * A failure that is passed on may have more details than before, such as its place. Two outputs are the same whichever
 * agent gave them, and whatever the results of a plan behind them.
 */
function digestOf(outcome: Outcome): string {
  if (outcome.status === 'completed') return digestJson({ status: outcome.status, output: outcome.output })
  if (outcome.status !== 'failed') return digestJson(withWorkDone(withoutHandoff(outcome), {}) as unknown as Json)
  const { code, message } = outcome.failure
  return digestJson({ status: outcome.status, code, message })
}

/**
 * A model that called for a transfer has said so itself: only the result is missing, or only the action if the call has
 * a result of its own. For code and rules the call and its result are made here.
 */
function handedOver(
  fold: TranscriptFold,
  recorded: Recorded,
  { inner }: SpeakerState,
  event: AgentTransferred,
): readonly Spoken[] {
  const { from, path, to, by: whose, callId, task } = event
  const who = { agent: from, path, inner }
  const action = { type: 'transfer', to, ...(task === undefined ? {} : { task }) } as const
  if (fold.handing.delete(handingKey(callId, path))) return [by(who, recorded, { type: 'action', action, callId })]
  const content = transferred(to)
  const result = by(who, recorded, { type: 'tool', tool: transferTool, callId, content, action })
  if (whose === 'model') return [result]
  const calls = [{ id: callId, name: transferTool, input: { agent_name: to } }]
  return [by(who, recorded, { type: 'assistant', text: '', calls }), result]
}

function rememberHanding(
  { handing }: TranscriptFold,
  { path }: IndexedActivation,
  { answered }: SpeakerWork,
  callId: string | undefined,
): void {
  if (callId !== undefined && answered.has(callId)) handing.add(handingKey(callId, path))
}

/** The first turn of a router's lead runs in the router's activation, which records its own transfer. */
const isOwn = ({ path }: IndexedActivation, event: AgentTransferred): boolean =>
  path.length === event.path.length && path.every((name, i) => name === event.path[i])

const handingKey = (callId: string, path: readonly string[]): string => JSON.stringify([callId, path])
