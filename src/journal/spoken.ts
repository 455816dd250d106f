/**
 * What the agents said: a run's events as messages, in the order of the feed (spec collaboration 1.2).
 *
 * Owns: which events are somebody's words, whose they are, what a message holds. Does not own: what a model was shown of them (../edge), following a run
 * (../runtime), what is said while it is being said: only what is recorded is here, so an attempt that failed never is.
 * K1: the same events give the same messages, and each event gives its own at once, so whoever takes them one by one has what whoever waits for the end has.
 *
 * How an agent ends is its last word only if it has not been heard yet:
 *  - one that thinks with a model has said its answer, or a tool has. Only an output that it forwards is said once more, as its own;
 *  - code says its output, unless that is null, empty or what it said last. A workflow, which only passes on what its workers ended with (the end of one; or a
 *    list or record of their outputs), says nothing: they have said it;
 *  - whoever fails, or ends otherwise, exactly as a worker did that answers to no call, has nothing to add to it;
 *  - a tool that is an activation of its own says nothing at its end: the result of the call is what it said.
 */
import {
  asText,
  completed,
  describeOutcome,
  digestJson,
  isObject,
  parentOf,
  trailOf,
  transferred,
  transferTool,
  withoutTrail,
  type ActivationId,
  type Failure,
  type FilePart,
  type Json,
  type Outcome,
  type ToolCall,
} from '../core/index.ts'
import {
  pathOf,
  type ActivationStarted,
  type JournalEvent,
  type Recorded,
  type StepSettled,
  type WorkerSettled,
  type WorkerStarted,
} from './events.ts'
import type { AgentTransferred } from './facts.ts'

/** What becomes of control. */
export type SpokenAction =
  | { readonly type: 'transfer'; readonly to: string; readonly task?: string }
  | { readonly type: 'exit'; readonly scope: 'run' | 'supervisor' }
  /** The nearest loop is asked to end. */
  | { readonly type: 'break' }
  /** The loop ends because `from` asked for it. `iteration` counts from 0. */
  | { readonly type: 'loop-broken'; readonly from: string; readonly iteration: number }

/** Who said it, and where in the feed. */
interface Speaking {
  /** Of the event that it was made of. A transfer that no model asked for is two messages of one position. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** Of a transfer: who recorded it, which is whoever leads those between whom control moves; the fact does not say in which activation control was. */
  readonly activation: ActivationId
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /** It was said below a call: by a worker under delegation, by an agent that is called as a tool, or by somebody below one. */
  readonly inner?: true
}

type Words =
  /** An answer of a model, or what code says. */
  | { readonly type: 'assistant'; readonly text: string; readonly calls?: readonly ToolCall[]; readonly files?: readonly FilePart[] }
  /** The result of a call: of a tool, of a delegation, of an agent as a tool. If `isError`, the content says why. */
  | {
      readonly type: 'tool'
      readonly tool: string
      readonly callId?: string
      readonly content: Json
      readonly isError?: true
      readonly action?: Extract<SpokenAction, { type: 'transfer' }>
    }
  | { readonly type: 'action'; readonly action: SpokenAction; readonly callId?: string }
  /** A question to the outside; `id` is what an answer names. */
  | { readonly type: 'interrupt'; readonly id: string; readonly question: Json }
  /** A yes/no question to the outside about one call; `id` is what a decision names. */
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

/** One thing that an agent said or did, as others are told of it. */
export type Spoken = Speaking & Words

interface Speaker {
  readonly agent: string
  readonly path: readonly string[]
  readonly inner: boolean
  /** Undefined once it has ended. */
  work: Work | undefined
}

type OpenOperation =
  | { readonly type: 'model' | 'worker' }
  | { readonly type: 'call'; readonly tool: string; readonly callId?: string }
  /** Somebody who measures or summarizes. */
  | { readonly type: 'aside' }

/** What must be known of an agent at work until it ends. */
interface Work {
  /** By address. */
  readonly open: Map<string, OpenOperation>
  /** Names of the calls of its last answer, by their ids. */
  calls: ReadonlyMap<string, string>
  /** Ids of the calls among them that have a result. */
  readonly answered: Set<string>
  /** Digests of the ends of those of its workers that do not answer to a call. */
  readonly ends: Set<string>
  thinks: boolean
  forwards: boolean
  last: string | undefined
}

/** The state of the fold. Opaque: make one with `newSpoken`, feed it with `speak`. */
export interface SpokenFold {
  position: number
  readonly speakers: Map<ActivationId, Speaker>
  /** Calls that have a result of their own and hand control on as well. */
  readonly handing: Set<string>
}

/** The fold of nothing. */
export const newSpoken = (): SpokenFold => ({ position: 0, speakers: new Map(), handing: new Set() })

/** What was said in a run, from its events in the order of their positions, beginning with the first. */
export function spokenOf(events: Iterable<Recorded>): readonly Spoken[] {
  const fold = newSpoken()
  const all: Spoken[] = []
  for (const recorded of events) all.push(...speak(fold, recorded))
  return all
}

const silence: readonly Spoken[] = []

/** Takes one more event in and returns what it says. Events already taken in (by position) change nothing and say nothing. */
export function speak(fold: SpokenFold, recorded: Recorded): readonly Spoken[] {
  if (recorded.position <= fold.position) return silence
  fold.position = recorded.position
  const { activation, event } = recorded
  if (event.type === 'activation.started') {
    fold.speakers.set(activation, speakerOf(fold, activation, event))
    return silence
  }
  const speaker = fold.speakers.get(activation)
  if (speaker?.work === undefined) return silence
  const { work } = speaker
  if (event.type === 'agent.transferred') {
    if (isOwn(speaker, event)) rememberHanding(fold, speaker, work, event.callId)
    return handedOver(fold, recorded, speaker, event)
  }
  const words = wordsOf(speaker.agent, work, event)
  if (event.type === 'activation.settled') {
    const { action } = trailOf(event.outcome)
    if (action?.type === 'transfer') rememberHanding(fold, speaker, work, action.callId)
    speaker.work = undefined
  }
  return words === undefined ? silence : [by(speaker, recorded, words)]
}

function speakerOf({ speakers }: SpokenFold, activation: ActivationId, started: ActivationStarted): Speaker {
  const born = parentOf(activation)
  const leader = born === undefined ? undefined : speakers.get(born.parent)
  const below = born === undefined ? undefined : leader?.work?.open.get(born.address)?.type
  return {
    agent: started.agent,
    path: pathOf(started, leader?.path),
    inner: below === 'call' || below === 'aside' || leader?.inner === true,
    work: {
      open: new Map(),
      calls: new Map(),
      answered: new Set(),
      ends: new Set(),
      thinks: false,
      forwards: false,
      last: undefined,
    },
  }
}

function by({ agent, path, inner }: Omit<Speaker, 'work'>, { position, at, activation }: Recorded, words: Words): Spoken {
  return { position, at, activation, agent, path, ...(inner ? { inner } : {}), ...words }
}

function wordsOf(agent: string, work: Work, event: JournalEvent): Words | undefined {
  switch (event.type) {
    case 'model.requested':
      if (event.purpose !== undefined) return undefined
      work.thinks = true
      work.open.set(event.address, { type: 'model' })
      return undefined
    case 'tool.called':
      work.open.set(event.address, { type: 'call', tool: event.tool, ...idOf(event) })
      return undefined
    case 'worker.started':
      work.open.set(event.address, workerOf(work, event))
      return undefined
    case 'output.forwarded':
      work.forwards = true
      return undefined
    case 'step.settled':
    case 'worker.settled':
      return endOf(work, event)
    case 'tool.refused':
      return resultOf(work, event.tool, event, event.failure.message, true)
    case 'delegation.refused':
      if (event.callId === undefined) return undefined
      return resultOf(work, work.calls.get(event.callId) ?? event.worker, event, event.failure.message, true)
    case 'text.said':
      return said(work, event.text)
    case 'activation.settled':
      return isTool(agent) ? undefined : lastWords(work, withoutTrail(event.outcome))
    default:
      return asked(event)
  }
}

/** What is meant for those around it: actions, and questions to the outside. */
function asked(event: JournalEvent): Words | undefined {
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
      return { type: 'approval', id: event.id, tool: event.tool, ...idOf(event), input: event.input, reason: event.reason }
    default:
      return undefined
  }
}

/** Names of agents have no dot; those of tools that are activations, `<agent>.<tool>`, have one. */
const isTool = (agent: string): boolean => agent.includes('.')

const idOf = ({ callId }: { readonly callId?: string }): { readonly callId?: string } => (callId === undefined ? {} : { callId })

/** The name of the call stands in the answer that made it. */
function workerOf({ calls }: Work, { agent, callId, purpose }: WorkerStarted): OpenOperation {
  if (purpose !== undefined) return { type: 'aside' }
  return callId === undefined ? { type: 'worker' } : { type: 'call', tool: calls.get(callId) ?? agent, callId }
}

function endOf(work: Work, { address, outcome }: StepSettled | WorkerSettled): Words | undefined {
  const operation = work.open.get(address)
  work.open.delete(address)
  switch (operation?.type) {
    case 'model':
      return outcome.status === 'completed' ? answerOf(work, outcome.output) : undefined
    case 'call':
      return outcome.status === 'completed'
        ? resultOf(work, operation.tool, operation, outcome.output)
        : outcome.status === 'bailed'
          ? resultOf(work, operation.tool, operation, `${describeOutcome(outcome)}\n${outcome.text}`.trimEnd())
          : resultOf(work, operation.tool, operation, describeOutcome(outcome), true)
    case 'worker':
      work.ends.add(digestOf(withoutTrail(outcome)))
      return undefined
    case 'aside':
    case undefined:
      return undefined
  }
}

/** A model's answer as its step has recorded it. */
function answerOf(work: Work, answer: Json): Words | undefined {
  if (!isObject(answer) || typeof answer['text'] !== 'string') return undefined
  const calls = listOf<ToolCall>(answer['calls'])
  const files = listOf<FilePart>(answer['files'])
  work.calls = new Map(calls.map(({ id, name }) => [id, name]))
  work.answered.clear()
  return { ...said(work, answer['text']), ...(calls.length === 0 ? {} : { calls }), ...(files.length === 0 ? {} : { files }) }
}

const listOf = <T>(value: Json | undefined): readonly T[] => (Array.isArray(value) ? (value as readonly T[]) : [])

function said(work: Work, text: string): Extract<Words, { type: 'assistant' }> {
  work.last = text
  return { type: 'assistant', text }
}

function resultOf(work: Work, tool: string, call: { readonly callId?: string }, content: Json, isError?: true): Words {
  if (call.callId !== undefined) work.answered.add(call.callId)
  return { type: 'tool', tool, ...idOf(call), content, ...(isError === undefined ? {} : { isError }) }
}

function lastWords(work: Work, outcome: Outcome): Words | undefined {
  if (isPassedOn(work, outcome)) return undefined
  if (outcome.status === 'failed') return { type: 'error', failure: outcome.failure }
  if (outcome.status !== 'completed') return { type: 'ended', outcome }
  const { output } = outcome
  const text = asText(output)
  const isHeard = (work.thinks && !work.forwards) || output === null || text === '' || text === work.last
  return isHeard ? undefined : said(work, text)
}

/** Whether this is the end of one of its workers, or made of their outputs and nothing else; of nobody's, if it is an empty list. */
function isPassedOn({ ends }: Work, outcome: Outcome): boolean {
  if (ends.size === 0) return outcome.status === 'completed' && Array.isArray(outcome.output) && outcome.output.length === 0
  if (ends.has(digestOf(outcome))) return true
  if (outcome.status !== 'completed' || typeof outcome.output !== 'object' || outcome.output === null) return false
  const members = Object.values(outcome.output) as readonly Json[]
  return members.length > 0 && members.every((member) => member === null || ends.has(digestOf(completed(member))))
}

/** A failure that is passed on may say more of itself than before, such as where it was. */
function digestOf(outcome: Outcome): string {
  if (outcome.status !== 'failed') return digestJson(outcome as unknown as Json)
  const { code, message } = outcome.failure
  return digestJson({ status: outcome.status, code, message })
}

/**
 * A model that called for a transfer has said so itself, and only the result is missing; if the call has a result of its own, only the action is.
 * For code and rules the pair of messages is made here.
 */
function handedOver(fold: SpokenFold, recorded: Recorded, { inner }: Speaker, event: AgentTransferred): readonly Spoken[] {
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

function rememberHanding({ handing }: SpokenFold, { path }: Speaker, { answered }: Work, callId: string | undefined): void {
  if (callId !== undefined && answered.has(callId)) handing.add(handingKey(callId, path))
}

/** The first turn of a router's lead is the router's own activation: it records its own transfer. */
const isOwn = ({ path }: Speaker, event: AgentTransferred): boolean =>
  path.length === event.path.length && path.every((name, i) => name === event.path[i])

const handingKey = (callId: string, path: readonly string[]): string => JSON.stringify([callId, path])
