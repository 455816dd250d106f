/**
 * Hooks of a delegation: what a leader's own code may say before, between and after.
 *
 * Owns: what hooks are told and may answer, the check of their words, the fact that records one that failed.
 * Does not own: when they are asked and what becomes of their word (delegations.ts).
 * Holds: K3, K10: each hook is a step, so it runs once per delegation, also across resume and replay; what it returns
 * is JSON and recorded. It may do as it likes: it may wait, and be asynchronous.
 */
import {
  copy,
  isObject,
  present,
  type ActivationId,
  type HistoryEntry,
  type Json,
  type JsonObject,
  type NamesOf,
  type Outcome,
  type RunId,
  type Usage,
} from '../../core/index.ts'
import { callHook, hookNamed, hookReplyProblem, type HookReply } from '../../agent/index.ts'
import type { Brief, Edge, EdgeMessage, Schema } from '../../edge/index.ts'
import type { Context, StepIO } from '../../engine/index.ts'
import type { Caller } from '../../journal/index.ts'

/** What every hook is told. */
export interface DelegationMoment {
  readonly worker: string
  /** The leader's name for it: `d1` for its first call to delegate, `d2` for the second. The same over resume. */
  readonly delegation: string
  /** The model's id of the call. */
  readonly callId: string
  /** The leader's turn, from 1. */
  readonly turn: number
  readonly leader: string
  /** Agents' names from the root to the leader. */
  readonly path: readonly string[]
  readonly run: RunId
  readonly caller: Caller
  /** What the worker is asked to do: its instructions, or its typed input as JSON text. With references expanded. */
  readonly prompt: string
  /** The typed input, for a worker that takes one. */
  readonly input?: Json
}

/** What `onStart` is told. */
export interface DelegationStart extends DelegationMoment {
  /** What was said in the leader's conversation: no system text, no calls, no results of tools. */
  readonly messages: readonly EdgeMessage[]
}

/** What `onStart` may answer. Nothing: go on as it is. */
export type DelegationStartWord =
  | { readonly proceed: false; readonly reason?: string }
  | {
      readonly proceed?: true
      /** In place of the instructions; a mistake for a worker that takes a typed input. */
      readonly prompt?: string
      /** In place of the typed input; checked like the first one. A mistake for a worker that takes instructions. */
      readonly input?: Json
      /** Added to the worker's own instructions, after an empty line. */
      readonly instructions?: string
      /** The worker's turns, also above those of its definition. What is left to the leader still holds. */
      readonly turns?: number
      /** Added to the caller's metadata, for this worker and everybody below it. */
      readonly metadata?: JsonObject
    }

/** What `filterMessages` is told. */
export interface DelegationMessages extends DelegationMoment {
  /** What would cross: what the context policy lets through, by default the whole conversation. */
  readonly messages: readonly EdgeMessage[]
}

/** What `onComplete` is told. */
export interface DelegationEnd extends DelegationMoment {
  /** The worker's activation. Its journal has everything that it did. */
  readonly id: ActivationId
  /** From 1; more only where the delegation is tried again. */
  readonly attempt: number
  readonly status: Outcome['status']
  readonly outcome: Outcome
  /** What the leader's model is about to be told. */
  readonly text: string
  /**
   * Of the worker and everybody below it. Absent where it is not known yet: a worker that was stopped with its leader.
   */
  readonly usage?: Usage
  readonly durationMs: number
  /** What the worker said and did, with `results: 'report'` or `'full'`; as far as it got. */
  readonly said?: readonly HistoryEntry[]
  /**
   * Ends the leader's work with this answer, or with what its model would have been told. The other delegations are
   * stopped. The same as returning `bail`.
   */
  readonly bail: (answer?: string) => void
}

/** What `onComplete` may answer. Nothing: the result is told as it is. */
export interface DelegationEndWord {
  /** Told to the leader's model instead; what the worker answered stays in the journal, and a failure stays one. */
  readonly result?: string
  /** Told to the leader's model before it is asked again, as a user's note. */
  readonly feedback?: string
  /** Ends the leader's work: with this answer, or with what it would have been told. */
  readonly bail?: boolean | { readonly answer: string }
}

/**
 * A leader's code around each of its delegations. Each hook has a deadline (`deadlines.functionMs`), and `io.signal`
 * says when its answer is not waited for any more: its time is over, or its delegation is stopped.
 */
export interface DelegationHooks {
  /**
   * Before a worker is started: go on, refuse, or change what it is asked. Not asked for calls that are refused anyway.
   */
  readonly onStart?: (start: DelegationStart, io: StepIO) => HookReply<DelegationStartWord>
  /**
   * What of the leader's conversation crosses. Asked after `onStart`, never for a delegation that it refused. If it
   * fails, nothing crosses; to return nothing is a failure too.
   */
  readonly filterMessages?: (
    given: DelegationMessages,
    io: StepIO,
  ) => readonly EdgeMessage[] | Promise<readonly EdgeMessage[]>
  /** When a worker has ended in whatever way; not for a delegation that never began. */
  readonly onComplete?: (end: DelegationEnd, io: StepIO) => HookReply<DelegationEndWord>
  /**
   * What becomes of a delegation whose hook throws, or answers what it may not. `strict` (default): a failed `onStart`
   * or `filterMessages` refuses it, a failed `onComplete` makes a failed result of a good one. `lenient`: it goes on as
   * if the hook had said nothing, but a failed `filterMessages` lets nothing through. The journal has `hook.failed`
   * either way.
   */
  readonly hookErrors?: 'strict' | 'lenient'
}

/** Where a hook is asked: whose it is, for the journal. */
export interface DelegationHookCall {
  readonly hook: string
  readonly worker?: string
  readonly callId?: string
  readonly delegation?: string
}

/**
 * What a hook is given is its own: what it changes in it changes nothing, so that a replay, which does not ask it,
 * agrees.
 */
export const ownCopy = <T>(moment: T): T => copy(moment as Json) as T

/** Asks a hook, once. `read` says what is wrong with its word. */
export const askHook = <W>(
  ctx: Context,
  { hook, ...about }: DelegationHookCall,
  ask: (io: StepIO) => unknown,
  read: (word: Json) => string | undefined,
): ReturnType<typeof callHook<W>> => callHook<W>(ctx, hook, ask, read, about)

/** The hooks that the start of this run has put around the leader's delegations. */
export function delegationHooksOfStart(ctx: Context, { run: { hooks } }: Edge): DelegationHooks | undefined {
  const given = hooks?.delegation
  if (given === undefined) return undefined
  const { onStart, filterMessages, onComplete, hookErrors } = given
  return present({
    onStart: hookNamed<NonNullable<DelegationHooks['onStart']>>(ctx, onStart),
    filterMessages: hookNamed<NonNullable<DelegationHooks['filterMessages']>>(ctx, filterMessages),
    onComplete: hookNamed<NonNullable<DelegationHooks['onComplete']>>(ctx, onComplete),
    hookErrors,
  })
}

/**
 * What two hooks have said of one end: the later result is told, feedback of both is, and either may end the leader's
 * work. Pure.
 */
export function mergeEndWords(
  first: DelegationEndWord | undefined,
  second: DelegationEndWord | undefined,
): DelegationEndWord | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const feedback = [first.feedback, second.feedback]
    .filter((text) => typeof text === 'string' && text.trim() !== '')
    .join('\n\n')
  const bails = [second.bail, first.bail].flatMap((bail) => (isObject(bail) || bail === true ? [bail] : []))
  return present({
    result: second.result ?? first.result ?? undefined,
    feedback: feedback === '' ? undefined : feedback,
    bail: bails.find((bail) => bail !== true) ?? bails[0],
  })
}

type Rejecting = Extract<DelegationStartWord, { readonly proceed: false }>
const startNames: NamesOf<Rejecting> & NamesOf<Exclude<DelegationStartWord, Rejecting>> = {
  proceed: true,
  reason: true,
  prompt: true,
  input: true,
  instructions: true,
  turns: true,
  metadata: true,
}
const endNames: NamesOf<DelegationEndWord> = { result: true, feedback: true, bail: true }

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const optional = (value: unknown, type: string, name: string): string | undefined =>
  !isGiven(value) || typeof value === type ? undefined : `${name} is no ${type}`

/** What is wrong with the word of `onStart` on a delegation of this brief. `schema`: what the worker takes. */
export function startProblem(word: Json, brief: Brief, schema: Schema | undefined): string | undefined {
  const wrong = hookReplyProblem(word, startNames)
  if (wrong !== undefined || !isObject(word)) return wrong
  const { proceed, reason, prompt, input, instructions, turns, metadata } = word
  const typed = 'input' in brief
  const checked = typed && input !== undefined ? schema?.check(input) : undefined
  return (
    optional(proceed, 'boolean', 'proceed') ??
    optional(reason, 'string', 'reason') ??
    optional(prompt, 'string', 'prompt') ??
    optional(instructions, 'string', 'instructions') ??
    (!isGiven(turns) || (Number.isInteger(turns) && (turns as number) > 0)
      ? undefined
      : `turns is ${JSON.stringify(turns)}, expected a whole number of at least 1`) ??
    (!isGiven(metadata) || isObject(metadata) ? undefined : 'metadata is no plain object') ??
    (typed && isGiven(prompt) ? 'it gave a prompt to a worker that takes a typed input: give input' : undefined) ??
    (!typed && isGiven(input) ? 'it gave an input to a worker that takes instructions: give prompt' : undefined) ??
    (checked?.ok === false ? `it gave an input that does not fit: ${checked.problem}` : undefined)
  )
}

/** What is wrong with the word of `onComplete`. */
export function endProblem(word: Json): string | undefined {
  const wrong = hookReplyProblem(word, endNames)
  if (wrong !== undefined || !isObject(word)) return wrong
  const { result, feedback, bail } = word
  return (
    optional(result, 'string', 'result') ??
    optional(feedback, 'string', 'feedback') ??
    (!isGiven(bail) || typeof bail === 'boolean' || (isObject(bail) && typeof bail['answer'] === 'string')
      ? undefined
      : 'bail is neither true nor { answer }')
  )
}
