/**
 * Word: what a hook says when it is asked, and what is recorded when it cannot be taken.
 *
 * Owns: asking users' code once, the check of what it gives back, the fact `hook.failed`. Does not own: when a hook is
 * asked and what becomes of its word.
 * Holds: K3, K10: each question is a step of one attempt, so a hook runs once, also across resume and replay; its word
 * is JSON and recorded. It may wait, and be asynchronous.
 */
import {
  described,
  failure,
  FailureError,
  isObject,
  jsonProblem,
  messageOf,
  unknownNames,
  type Failure,
  type Json,
} from '../../core/index.ts'
import { failureTold } from '../../edge/index.ts'
import type { Context, StepIO, StepOptions } from '../../engine/index.ts'
import type { HookFailed } from '../../journal/index.ts'

/** What users' code may give back: a word, nothing, or a promise of either. */
export type HookReply<W> = W | undefined | void | Promise<W | undefined | void>

/** What a hook has said: its word, nothing, or why it has failed. */
export type HookResult<W> =
  | { readonly word: W | undefined; readonly failure?: never; readonly why?: never }
  | {
      readonly word?: never
      /** As others may be told it who are models: of an exception only that it was one. */
      readonly failure: Failure
      readonly why: string
    }

/**
 * How users' code is run that only looks: recorded once, tried once, with a signal (`io`) and a deadline
 * (`deadlines.functionMs`). What it says is a word of ours, in which users' JSON stands.
 */
export const hookStepOptions = {
  effect: 'read',
  retry: { attempts: 1 },
  isFunction: true,
  holds: { type: 'kept', input: 'payload', output: 'payload', metadata: 'payload', result: 'payload' },
} as const satisfies StepOptions

/** Whose hook it is, for the journal. */
export type HookSubject = Pick<HookFailed, 'worker' | 'callId' | 'delegation'>

/** Asks a hook, once. `read` says what is wrong with its word. The fact of a failure is recorded in the same scope. */
export async function callHook<W>(
  ctx: Context,
  hook: string,
  ask: (io: StepIO) => unknown,
  read: (word: Json) => string | undefined,
  about?: HookSubject,
): Promise<HookResult<W>> {
  const { outcome } = await ctx.next(ctx.begin(hook, async (io) => recordableReply(await ask(io)), hookStepOptions))
  const problem = outcome.status === 'completed' ? problemOf(outcome.output, read) : undefined
  if (outcome.status === 'completed' && problem === undefined)
    return { word: outcome.output === null ? undefined : (outcome.output as unknown as W) }
  // nobody waits for its answer any more: that is no failure of the hook
  if (outcome.status === 'cancelled')
    return { failure: failure('hook.failed', `${hook} was stopped: ${outcome.reason}`, 'policy'), why: outcome.reason }
  const why = problem ?? (outcome.status === 'failed' ? outcome.failure.message : outcome.status)
  hookFailed(ctx, hook, why, about)
  // the journal has the words of an exception, a model never does
  const told = problem ?? (outcome.status === 'failed' ? failureTold(outcome.failure) : outcome.status)
  return { failure: failureOf(hook, told), why }
}

/** Records that a hook has failed. */
export function hookFailed(ctx: Context, hook: string, why: string, about?: HookSubject): Failure {
  const what = failureOf(hook, why)
  ctx.emit({ type: 'hook.failed', hook, ...about, failure: what })
  return what
}

const failureOf = (hook: string, why: string): Failure =>
  failure('hook.failed', `${hook} failed: ${why}`, 'internal', { details: { hook } })

/** What came back, as it can be recorded. Throws for what JSON would make something else of. */
export function recordableReply(word: unknown): Json {
  const problem = jsonProblem(word ?? null, 'what it returned')
  if (problem !== undefined) throw new FailureError(failure('input.not-json', problem, 'validation'))
  return (word ?? null) as Json
}

function problemOf(word: Json, read: (word: Json) => string | undefined): string | undefined {
  try {
    return word === null ? undefined : read(word)
  } catch (thrown) {
    return messageOf(thrown)
  }
}

/** What is wrong with a word as such: it is an object, and has no names that nobody knows. */
export const hookReplyProblem = (word: Json, known: Readonly<Record<string, unknown>>): string | undefined =>
  isObject(word)
    ? unknownNames(word, known, 'its word')[0]
    : `it returned ${described(word)}; expected nothing or { ${Object.keys(known).join(', ')} }`
