/**
 * Hook call: calls a hook of the user once, validates its reply, and records a failure.
 *
 * Owns: the call, the check of the reply, the fact `hook.failed`. Does not own: when a hook is called and what its
 * reply does.
 * Holds: K3, K10: each call is a step with one attempt, so a hook runs once, also across resume and replay. Its reply
 * is JSON and recorded. It may be asynchronous.
 */
import { failureText } from '@reeve/edge'
import type { Context, StepIO, StepOptions } from '@reeve/engine'
import {
  described,
  failure,
  FailureError,
  firstProblem,
  isObject,
  jsonProblem,
  messageOf,
  type Checks,
  type Failure,
  type Json,
} from '@reeve/core'
import type { HookFailed } from '@reeve/journal'

/** The return type of a hook: a reply, nothing, or a promise of either. */
export type HookReply<W> = W | undefined | void | Promise<W | undefined | void>

/** The result of a hook call: its reply, nothing, or a failure. */
export type HookResult<W> =
  | { readonly reply: W | undefined; readonly failure?: never; readonly why?: never }
  | {
      readonly reply?: never
      /** The failure as models may see it: of an exception only the fact, not its message. */
      readonly failure: Failure
      readonly why: string
    }

/**
 * The options of a step that runs a hook: recorded once, one attempt, with a signal (`io`) and a deadline
 * (`deadlines.functionMs`). The reply has Reeve's own form and holds JSON of the user.
 */
export const hookStepOptions = {
  effect: 'read',
  retry: { attempts: 1 },
  isFunction: true,
  holds: { type: 'kept', input: 'payload', output: 'payload', metadata: 'payload', result: 'payload' },
} as const satisfies StepOptions

/** What the hook belongs to, for the journal. */
export type HookSubject = Pick<HookFailed, 'worker' | 'callId' | 'delegation'>

/** Calls a hook once. `read` returns the problem of its reply. A failure is recorded in the same scope. */
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
    return { reply: outcome.output === null ? undefined : (outcome.output as unknown as W) }
  // its answer is no longer needed, which is no failure of the hook
  if (outcome.status === 'cancelled')
    return { failure: failure('hook.failed', `${hook} was stopped: ${outcome.reason}`, 'policy'), why: outcome.reason }
  const why = problem ?? (outcome.status === 'failed' ? outcome.failure.message : outcome.status)
  hookFailed(ctx, hook, why, about)
  // the journal has the message of an exception, a model never sees it
  const shown = problem ?? (outcome.status === 'failed' ? failureText(outcome.failure) : outcome.status)
  return { failure: failureOf(hook, shown), why }
}

/** Records the failure of a hook. */
export function hookFailed(ctx: Context, hook: string, why: string, about?: HookSubject): Failure {
  const what = failureOf(hook, why)
  ctx.emit({ type: 'hook.failed', hook, ...about, failure: what })
  return what
}

const failureOf = (hook: string, why: string): Failure =>
  failure('hook.failed', `${hook} failed: ${why}`, 'internal', { details: { hook } })

/** The reply as recordable JSON. Throws for values that JSON would change. */
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

/** The problem of a reply: it must be an object with known names, each as its check says. `null` means absent. */
export const hookReplyProblem = <W>(word: Json, checks: Checks<W>): string | undefined =>
  isObject(word)
    ? firstProblem(checks, Object.fromEntries(Object.entries(word).filter(([, value]) => value !== null)), 'its word')
    : `it returned ${described(word)}; expected nothing or { ${Object.keys(checks).join(', ')} }`
