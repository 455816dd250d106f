/**
 * Calls: how an invocation is told that there is something for it.
 *
 * Owns: the word under which an invocation can be told once, `<invocation>#<n>`. Restate resumes an invocation as long as any signal of a name that it waits
 * for has ever come, so a name is used for one call only, and whoever looks says under which it can be told next.
 */
import type { Context, InvocationId } from '@restatedev/restate-sdk'
import { holderOf } from '../eventstore/index.ts'

/** The word for the n-th call to an invocation. Words of one invocation are ordered as texts: the store keeps the latest (eventstore/word.ts). */
export const callWord = (invocation: string, n: number): string => `${invocation}#${String(n).padStart(6, '0')}`

/** The name of the n-th call's signal. */
export const signalName = (n: number): string => `call ${n}`

/** Tells them. Telling one twice is no error. */
export function tell(ctx: Pick<Context, 'invocation'>, words: readonly string[]): void {
  for (const word of words) {
    const n = Number(word.slice(word.lastIndexOf('#') + 1))
    ctx
      .invocation(holderOf(word) as InvocationId)
      .signal(signalName(n))
      .resolve()
  }
}
