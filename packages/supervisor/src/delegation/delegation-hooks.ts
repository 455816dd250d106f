/**
 * Delegation hooks: the leader's own code before, during and after a delegation.
 *
 * Owns: what hooks receive and may answer, the check of their replies, the fact about a failed hook. Does not own: when
 * they are called and what their replies do (delegations.ts).
 * Holds: K3, K10: each hook is a step, so it runs once per delegation, also across resume and replay. Its reply is JSON
 * and recorded. It may be asynchronous.
 */
import type { Context, StepIO } from '@reeve/engine'
import {
  choice,
  copy,
  expects,
  flag,
  functionCheck,
  isObject,
  present,
  string,
  unchecked,
  wholeNumber,
  type ActivationId,
  type Checks,
  type FilePart,
  type HistoryEntry,
  type Json,
  type JsonObject,
  type Outcome,
  type RunId,
  type Usage,
} from '@reeve/core'
import { callHook, hookNamed, hookReplyProblem, type HookReply } from '@reeve/agent'
import type { Brief, Edge, EdgeMessage, Schema, StartDelegation } from '@reeve/edge'
import type { Caller } from '@reeve/journal'

/** What every hook receives. */
export interface DelegationMoment {
  readonly worker: string
  /**
   * The label of the delegation: `d1` for the leader's first call to delegate, `d2` for the second. Stable across
   * resume.
   */
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
  /** The worker's task: its instructions, or its typed input as JSON text. References are expanded. */
  readonly prompt: string
  /** The typed input, for workers that take one. */
  readonly input?: Json
  /** Files that the leader gives with the task. */
  readonly files?: readonly FilePart[]
}

/** What `onStart` receives. */
export interface DelegationStart extends DelegationMoment {
  /** The leader's conversation without system text, calls and results. */
  readonly messages: readonly EdgeMessage[]
}

/** The reply of `onStart`. Nothing: no change. */
export type DelegationStartReply =
  | { readonly proceed: false; readonly reason?: string }
  | {
      readonly proceed?: true
      /** Replaces the instructions. Invalid for workers with a typed input. */
      readonly prompt?: string
      /** Replaces the typed input and is validated like it. Invalid for workers that take instructions. */
      readonly input?: Json
      /** Appended to the worker's own instructions, after an empty line. */
      readonly instructions?: string
      /**
       * The worker's limit of turns, which may exceed that of its definition. The leader's remaining budget still
       * holds.
       */
      readonly turns?: number
      /** Added to the caller's metadata, for this worker and all workers below it. */
      readonly metadata?: JsonObject
    }

/** What `filterMessages` receives. */
export interface DelegationMessages extends DelegationMoment {
  /** The messages that would cross: what the context policy allows, by default the whole conversation. */
  readonly messages: readonly EdgeMessage[]
}

/** What `onComplete` receives. */
export interface DelegationEnd extends DelegationMoment {
  /** The worker's activation. Its journal records everything it did. */
  readonly id: ActivationId
  /** From 1; above 1 only after a retry. */
  readonly attempt: number
  readonly status: Outcome['status']
  readonly outcome: Outcome
  /** The result that the leader's model would see. */
  readonly text: string
  /** The usage of the worker and all workers below it. Absent if unknown: the worker was stopped with its leader. */
  readonly usage?: Usage
  readonly durationMs: number
  /** What the worker said and did, with `results: 'report'` or `'full'`, as far as it got. */
  readonly said?: readonly HistoryEntry[]
  /**
   * Ends the leader's work with this answer, or with the result that its model would have seen. Other delegations are
   * stopped. The same as returning `bail`.
   */
  readonly bail: (answer?: string) => void
}

/** The reply of `onComplete`. Nothing: the result stays as it is. */
export interface DelegationEndReply {
  /**
   * Replaces the result for the leader's model. The journal keeps the worker's answer, and a failure stays a failure.
   */
  readonly result?: string
  /** A user's note to the leader's model before its next call. */
  readonly feedback?: string
  /** Ends the leader's work with this answer, or with the result that its model would have seen. */
  readonly bail?: boolean | { readonly answer: string }
}

/**
 * The leader's hooks around each of its delegations. Each hook has a deadline (`deadlines.functionMs`). `io.signal`
 * aborts when its reply is no longer needed: its time is over, or its delegation is stopped.
 */
export interface DelegationHooks {
  /** Before a worker starts: continues, refuses, or changes its task. Not called for calls that are refused anyway. */
  readonly onStart?: (start: DelegationStart, io: StepIO) => HookReply<DelegationStartReply>
  /**
   * The messages of the leader's conversation that cross. Called after `onStart`, unless that refused. If it fails or
   * returns nothing, nothing crosses.
   */
  readonly filterMessages?: (
    given: DelegationMessages,
    io: StepIO,
  ) => readonly EdgeMessage[] | Promise<readonly EdgeMessage[]>
  /** After a worker has ended in any way. Not called for a delegation that never began. */
  readonly onComplete?: (end: DelegationEnd, io: StepIO) => HookReply<DelegationEndReply>
  /**
   * What happens if a hook throws or returns an invalid reply. `strict` (default): a failed `onStart` or
   * `filterMessages` refuses the delegation, and a failed `onComplete` turns a good result into a failed one.
   * `lenient`: the hook is ignored, but after a failed `filterMessages` nothing crosses. Either way the journal has
   * `hook.failed`.
   */
  readonly hookErrors?: 'strict' | 'lenient'
}

/** Their checks. */
export const hookChecks: Checks<DelegationHooks> = {
  onStart: functionCheck,
  filterMessages: functionCheck,
  onComplete: functionCheck,
  hookErrors: choice('strict', 'lenient'),
}

/** A hook call and its delegation, for the journal. */
export interface DelegationHookCall {
  readonly hook: string
  readonly worker?: string
  readonly callId?: string
  readonly delegation?: string
}

/** Copies what a hook receives. Its changes have no effect, so that a replay, which does not call it, agrees. */
export const ownCopy = <T>(moment: T): T => copy(moment as Json) as T

/** Calls a hook once. `read` returns the problem of its reply. */
export const askHook = <W>(
  ctx: Context,
  { hook, ...about }: DelegationHookCall,
  ask: (io: StepIO) => unknown,
  read: (reply: Json) => string | undefined,
): ReturnType<typeof callHook<W>> => callHook<W>(ctx, hook, ask, read, about)

/** The hooks of one owner. `of`: the prefix of their names in the journal. */
export type HookLayer = DelegationHooks & { readonly of: string }
/** The owners of each hook: the leader itself, then the start of the run. */
export type HookLayers = {
  readonly [Hook in 'onStart' | 'filterMessages' | 'onComplete']: readonly HookLayer[]
}
const noHooks: HookLayers = { onStart: [], filterMessages: [], onComplete: [] }

/** The hooks around the delegations of a leader. `own`: those of its definition. */
export function hookLayersOf(defined: DelegationHooks, ctx: Context, { run: { hooks } }: Edge): HookLayers {
  const { onStart, filterMessages, onComplete } = defined
  if (hooks?.delegation === undefined && (onStart ?? filterMessages ?? onComplete) === undefined) return noHooks
  const all: readonly HookLayer[] = [
    { ...defined, of: '' },
    { ...hooksOfStart(ctx, hooks?.delegation), of: 'start.' },
  ]
  return {
    onStart: all.filter((layer) => layer.onStart !== undefined),
    filterMessages: all.filter((layer) => layer.filterMessages !== undefined),
    onComplete: all.filter((layer) => layer.onComplete !== undefined),
  }
}

type Hook<Name extends keyof HookLayers> = NonNullable<DelegationHooks[Name]>

/** The hooks that the start of a run names, found by their names. */
function hooksOfStart(ctx: Context, given: StartDelegation = {}): DelegationHooks {
  const { onStart, filterMessages, onComplete, hookErrors } = given
  return present({
    onStart: onStart === undefined ? undefined : hookNamed<Hook<'onStart'>>(ctx, onStart),
    filterMessages: filterMessages === undefined ? undefined : hookNamed<Hook<'filterMessages'>>(ctx, filterMessages),
    onComplete: onComplete === undefined ? undefined : hookNamed<Hook<'onComplete'>>(ctx, onComplete),
    hookErrors,
  })
}

/**
 * Merges the replies of two hooks: the later result counts, the feedback of both is kept, and either may end the
 * leader's work. Pure.
 */
export function mergeEndReplies(
  first: DelegationEndReply | undefined,
  second: DelegationEndReply | undefined,
): DelegationEndReply | undefined {
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

type Rejecting = Extract<DelegationStartReply, { readonly proceed: false }>
const startChecks: Checks<Omit<Rejecting, 'proceed'> & Exclude<DelegationStartReply, Rejecting>> = {
  proceed: flag,
  reason: string,
  prompt: string,
  input: unchecked,
  instructions: string,
  turns: wholeNumber(1),
  metadata: expects(isObject, 'a plain object'),
}
const endChecks: Checks<DelegationEndReply> = {
  result: string,
  feedback: string,
  bail: expects(
    (given) => typeof given === 'boolean' || (isObject(given) && typeof given['answer'] === 'string'),
    'true or { answer }',
  ),
}

/** The problem of a reply of `onStart`. `schema`: that of the worker's input. */
export function startProblem(reply: Json, brief: Brief, schema: Schema | undefined): string | undefined {
  const wrong = hookReplyProblem(reply, startChecks)
  if (wrong !== undefined || !isObject(reply)) return wrong
  const { prompt, input } = reply
  if (!('input' in brief))
    return (input ?? undefined) === undefined
      ? undefined
      : 'it gave an input to a worker that takes instructions: give prompt'
  if ((prompt ?? undefined) !== undefined) return 'it gave a prompt to a worker that takes a typed input: give input'
  const checked = input === undefined ? undefined : schema?.check(input)
  return checked?.ok === false ? `it gave an input that does not fit: ${checked.problem}` : undefined
}

/** The problem of a reply of `onComplete`. */
export const endProblem = (reply: Json): string | undefined => hookReplyProblem(reply, endChecks)
