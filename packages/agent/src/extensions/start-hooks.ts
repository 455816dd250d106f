/**
 * Start hooks: the hooks of a start, found by name in the activation that calls them.
 *
 * Owns: finding the functions by their names. Does not own: the names (../../edge/hooks.ts), the functions
 * (../../runtime), the hooks around delegations (../../supervisor).
 * Holds: a name that this process does not know is a hook that fails, so no check is skipped.
 */
import { ReeveError } from '@reeve/core'
import type { StartCompletion } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { isAgent } from '../definition.ts'
import type { Completion, Scorer, ScorerFunction } from './completion.ts'

/** The function registered under this name, or one that throws if there is none. */
export function hookNamed<F>(ctx: Context, name: string): F {
  const hook = ctx.hook?.(name)
  return (typeof hook === 'function' ? hook : () => Promise.reject(unknownHook(name))) as F
}

const unknownHook = (name: string): ReeveError =>
  new ReeveError('config.invalid', `the hook "${name}" is not registered in this process`, {
    hint: 'Give it to createRuntime({ hooks: { … } }) in every process that drives the run.',
  })

/** The completion check of the start. */
export function completionOfStart(ctx: Context, { scorers, onScored, ...rest }: StartCompletion): Completion {
  const named = (name: string): Scorer => {
    const hook = ctx.hook?.(name)
    return isAgent(hook) ? hook : { name, score: hookNamed<ScorerFunction>(ctx, name) }
  }
  return {
    ...rest,
    scorers: scorers.map(named),
    ...(onScored === undefined
      ? undefined
      : { onScored: hookNamed<NonNullable<Completion['onScored']>>(ctx, onScored) }),
  }
}
