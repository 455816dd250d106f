/**
 * Iteration: what users' code may say after each turn of a model agent.
 *
 * Owns: what the hook is told and may answer, the table that says what follows from its word. Does not own: the turns
 * (../loop/turn-loop.ts), the scorers that are asked before it (completion.ts).
 * Holds: DESIGN §6: turns are those of this activation, from 1; feedback reaches the model in this run, as a user's
 * note, never as its own last words.
 */
import { asText, type Json, type NamesOf, type Outcome, type RunId } from '../../core/index.ts'
import type { Context, StepIO } from '../../engine/index.ts'
import type { Caller } from '../../journal/index.ts'
import type { Message } from '../../model/index.ts'
import type { Scored } from './completion.ts'
import type { ConversationState } from '../loop/conversation-state.ts'
import type { Extension, IterationWord, TurnView } from './extension.ts'
import { callHook, hookReplyProblem, type HookReply } from './hook-call.ts'

export type { IterationWord } from './extension.ts'

/** A turn that is over, as `onIterationComplete` is told of it. */
export interface Iteration {
  /** The turn of this activation, from 1. The same over resume. */
  readonly turn: number
  /** The most turns that it may take. */
  readonly maxTurns: number
  /** What the model wrote in this turn. May be empty. */
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Json }[]
  /** What came of the calls, in their order, as the model is told. */
  readonly results: readonly {
    readonly callId: string
    readonly name: string
    readonly content: Json
    readonly isError?: boolean
  }[]
  /** Without a word of the hook, the work ends with this turn. */
  readonly isFinal: boolean
  /**
   * `answer`: the model called nothing. `calls`: it did, and would be asked again. `finished`: a call ends the work: a
   * forward, an exit, a transfer, the action of a tool.
   */
  readonly finish: 'answer' | 'calls' | 'finished'
  /** What the scorers of `isComplete` said of the answer, if they were asked. */
  readonly scored?: Scored
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  readonly run: RunId
  readonly caller: Caller
  /** The conversation so far without instructions, oldest first. Nobody can change it. */
  readonly messages: readonly Message[]
}

/**
 * The hook after each turn. It has a deadline (`deadlines.functionMs`); `io.signal` says when its answer is not waited
 * for any more.
 */
export type OnIterationComplete = (iteration: Iteration, io: StepIO) => HookReply<IterationWord>

const names: NamesOf<IterationWord> = { continue: true, feedback: true }

/** How a turn has gone. */
export type EndedTurn = Pick<TurnView, 'answer' | 'end' | 'isAnswer' | 'scored'>

/** What follows from a turn. */
export interface NextStep {
  /** The end of the work; undefined: another turn. */
  readonly end?: Outcome
  /** What the model is told before. */
  readonly note?: string
  /** That turn is the last, and without tools. */
  readonly last?: true
}

/** What a model is told that is to go on, though it had answered. */
export const goOn = 'Your work is not done yet. Go on.'

const defaultNextStep = ({ end }: EndedTurn): NextStep => (end === undefined ? {} : { end })

/**
 * A hook that is asked after each turn. What it says is added to what another one has said before it. `name`: what its
 * question is called in the journal.
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
    const { word } = await callHook<IterationWord>(turn.ctx, name, ask, problemOf)
    turn.word = mergeWords(turn.word, word)
  },
})

/**
 * What follows from the hook's word (the whole table stands at the option `onIterationComplete`). `left`: there may be
 * another turn. Pure. What a call has ended that is no answer, or has failed, has ended whatever the hook says.
 */
export function nextStep(
  word: IterationWord | undefined,
  turned: EndedTurn,
  left: boolean,
  state: ConversationState,
): NextStep {
  const { end, isAnswer } = turned
  if (word === undefined || (end !== undefined && !isAnswer)) return defaultNextStep(turned)
  const note = nonBlank(word.feedback)
  // nobody is asked again for the sake of a note
  if (word.continue === false && end !== undefined) return { end }
  if (note !== undefined && left) return word.continue === false ? { note, last: true } : { note }
  if (word.continue === false) return { end: end ?? bailedOutcome(state, turned) }
  return word.continue === true && end !== undefined && left ? { note: goOn } : defaultNextStep(turned)
}

/** What follows from the last turn that a hook has granted: whatever it brought is the end. */
export const nextStepAfterLast = (turned: EndedTurn, state: ConversationState): NextStep => ({
  end: turned.end ?? bailedOutcome(state, turned),
})

/** The end by a hook, with what there is: the last text, else what the last calls have brought. Never empty. */
function bailedOutcome(state: ConversationState, { answer: { calls }, scored }: EndedTurn): Outcome {
  const results = resultsOf(state.messages, calls.length).map(({ content }) => asText(content))
  const why = scored === undefined || scored.passed ? '' : `; isComplete was not satisfied: ${scored.reason}`
  const text = [state.text, results.join('\n')].find((each) => each.trim() !== '') ?? '[no text]'
  return { status: 'bailed', message: `onIterationComplete ended the work after turn ${state.turn}${why}`, text }
}

/** What two hooks have said after one turn: of the second, what it says goes before; feedback of both is told. Pure. */
function mergeWords(first: IterationWord | undefined, second: IterationWord | undefined): IterationWord | undefined {
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

function problemOf(word: Json): string | undefined {
  const { continue: goes, feedback } = (typeof word === 'object' ? word : {}) as { readonly [name: string]: Json }
  return (
    hookReplyProblem(word, names) ??
    (goes === undefined || goes === null || typeof goes === 'boolean'
      ? undefined
      : 'continue is neither true nor false') ??
    (feedback === undefined || feedback === null || typeof feedback === 'string' ? undefined : 'feedback is no text')
  )
}

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
    ...(scored === undefined ? undefined : { scored }),
    agent: state.agent,
    path,
    run,
    caller,
    messages: state.conversation(),
  }
}

/** The results of the last calls: they stand at the end, in the order of the calls. */
const resultsOf = (messages: readonly Message[], count: number): Iteration['results'] =>
  messages.slice(messages.length - count).flatMap((message) => {
    if (message.role !== 'tool') return []
    const { callId, name, content, isError } = message
    return [{ callId, name, content, ...(isError === undefined ? undefined : { isError }) }]
  })
