/**
 * Iteration: the hook after each turn of a model agent.
 *
 * Owns: what the hook receives and may answer, and what follows from its reply. Does not own: the turns
 * (../loop/turn-loop.ts), the scorers that run before it (completion.ts).
 * Holds: spec delegation M10: turns are counted per activation, from 1. Feedback reaches the model in this run as a
 * user's note, never as its own words.
 */
import type { Context, StepIO } from '@reeve/engine'
import { asText, flag, present, string, type Checks, type Json, type Outcome, type RunId } from '@reeve/core'
import type { Caller } from '@reeve/journal'
import type { Message } from '@reeve/model'
import type { Scored } from './completion.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Extension, IterationReply, TurnView } from './extension.ts'
import { callHook, hookReplyProblem, type HookReply } from '../hook-call.ts'

export type { IterationReply } from './extension.ts'

/** A finished turn, as `onIterationComplete` receives it. */
export interface Iteration {
  /** The turn of this activation, from 1. Stable across resume. */
  readonly turn: number
  /** The limit of turns. */
  readonly maxTurns: number
  /** The text of the model in this turn. May be empty. */
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Json }[]
  /** The results of the calls, in order, as the model sees them. */
  readonly results: readonly {
    readonly callId: string
    readonly name: string
    readonly content: Json
    readonly isError?: boolean
  }[]
  /** Unless the hook decides otherwise, the work ends with this turn. */
  readonly isFinal: boolean
  /**
   * `answer`: the model made no call. `calls`: it made calls, and would be called again. `finished`: a call ends the
   * work: a forward, an exit, a transfer or the action of a tool.
   */
  readonly finish: 'answer' | 'calls' | 'finished'
  /** The scores of `isComplete`, if its scorers ran. */
  readonly scored?: Scored
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  readonly run: RunId
  readonly caller: Caller
  /** The conversation so far without instructions, oldest first. Frozen. */
  readonly messages: readonly Message[]
}

/**
 * The hook after each turn. It has a deadline (`deadlines.functionMs`); `io.signal` aborts when its reply is no longer
 * needed.
 */
export type OnIterationComplete = (iteration: Iteration, io: StepIO) => HookReply<IterationReply>

const checks: Checks<IterationReply> = { continue: flag, feedback: string }

/** The result of a turn. */
export type EndedTurn = Pick<TurnView, 'answer' | 'end' | 'isAnswer' | 'scored'>

/** What follows a turn. */
export interface NextStep {
  /** The end of the work; undefined: another turn. */
  readonly end?: Outcome
  /** A note to the model before its next turn. */
  readonly note?: string
  /** The next turn is the last, without tools. */
  readonly last?: true
}

/** The message to a model that must go on although it has answered. */
export const goOn = 'Your work is not done yet. Go on.'

/**
 * A hook called after each turn. Its reply is merged with that of the hook before it. `name`: the name of the call in
 * the journal.
 */
export const iteration = (
  hook: OnIterationComplete,
  state: ConversationState,
  maxTurns: number,
  name = 'onIterationComplete',
): Extension => ({
  async afterTurn(turn) {
    const nth = state.turn
    const ask = (io: StepIO): unknown => hook(iterationOf(state, turn.ctx, turn, nth, maxTurns), io)
    const { reply } = await callHook<IterationReply>(turn.ctx, name, ask, (said) => hookReplyProblem(said, checks))
    turn.reply = mergeReplies(turn.reply, reply)
  },
})

/**
 * What follows the reply of the hook (the full table is at the option `onIterationComplete`). `left`: another turn is
 * possible. Pure. An end by a call that is no answer, or by a failure, stands whatever the hook says.
 */
export function nextStep(
  reply: IterationReply | undefined,
  turned: EndedTurn,
  left: boolean,
  state: ConversationState,
): NextStep {
  const { end, isAnswer } = turned
  const usual: NextStep = end === undefined ? {} : { end }
  if (reply === undefined || (end !== undefined && !isAnswer)) return usual
  const note = nonBlank(reply.feedback)
  // a note alone does not justify another turn
  if (reply.continue === false && end !== undefined) return { end }
  if (note !== undefined && left) return reply.continue === false ? { note, last: true } : { note }
  if (reply.continue === false) return { end: end ?? bailedOutcome(state, turned) }
  return reply.continue === true && end !== undefined && left ? { note: goOn } : usual
}

/** What follows the last turn that a hook granted: its result is the end. */
export const nextStepAfterLast = (turned: EndedTurn, state: ConversationState): NextStep => ({
  end: turned.end ?? bailedOutcome(state, turned),
})

/** The end by a hook, with the last text, else the results of the last calls. Never empty. */
function bailedOutcome(state: ConversationState, { answer: { calls }, scored }: EndedTurn): Outcome {
  const results = resultsOf(state.messages, calls.length).map(({ content }) => asText(content))
  const why = scored === undefined || scored.passed ? '' : `; isComplete was not satisfied: ${scored.reason}`
  const text = [state.text, results.join('\n')].find((each) => each.trim() !== '') ?? '[no text]'
  return { status: 'bailed', message: `onIterationComplete ended the work after turn ${state.turn}${why}`, text }
}

/** Merges the replies of two hooks: the second takes precedence, the feedback of both is kept. Pure. */
function mergeReplies(
  first: IterationReply | undefined,
  second: IterationReply | undefined,
): IterationReply | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const goes = second.continue ?? first.continue
  const feedback = [first.feedback, second.feedback]
    .filter((text) => typeof text === 'string' && text.trim() !== '')
    .join('\n\n')
  return {
    ...(typeof goes === 'boolean' ? { continue: goes } : undefined),
    ...(feedback === '' ? undefined : { feedback }),
  }
}

const nonBlank = (feedback: string | undefined): string | undefined =>
  typeof feedback === 'string' && feedback.trim() !== '' ? feedback : undefined

function iterationOf(
  state: ConversationState,
  { place }: Context,
  { answer, end, scored }: EndedTurn,
  turn: number,
  maxTurns: number,
): Iteration {
  const { text, calls } = answer
  const { path, run, caller } = place
  return {
    turn,
    maxTurns,
    text,
    calls: calls.map(({ id, name, input }) => ({ id, name, input })),
    results: resultsOf(state.messages, calls.length),
    isFinal: end !== undefined,
    finish: calls.length === 0 ? 'answer' : end === undefined ? 'calls' : 'finished',
    ...present({ scored }),
    agent: state.agent,
    path,
    run,
    caller,
    messages: state.conversation(),
  }
}

/** The results of the last calls, in the order of the calls. */
const resultsOf = (messages: readonly Message[], count: number): Iteration['results'] =>
  messages.slice(messages.length - count).flatMap((message) => {
    if (message.role !== 'tool') return []
    const { callId, name, content, isError } = message
    return [{ callId, name, content, ...present({ isError }) }]
  })
