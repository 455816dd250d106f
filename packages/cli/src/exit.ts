/**
 * Exit codes, and the error for wrong usage.
 *
 * Owns: the codes, as documented in `reeve --help`. Does not own: what is printed.
 */
import { ReeveError, type OutcomeStatus } from '@reeve/core'

/** The exit codes of every command. */
export const exits = { done: 0, failed: 1, usage: 2, waiting: 3, cancelled: 4, interrupted: 130 } as const

/** One of the exit codes. */
export type Exit = (typeof exits)[keyof typeof exits]

/** The exit code for the end of a run. */
export function exitOf(status: OutcomeStatus): Exit {
  return status === 'completed' || status === 'bailed'
    ? exits.done
    : status === 'cancelled'
      ? exits.cancelled
      : exits.failed
}

/** The error for a command that cannot run as given. Nothing was changed. */
export const usage = (message: string, hint?: string): ReeveError =>
  new ReeveError('cli.usage', message, hint === undefined ? {} : { hint })

/** Codes of refusals: nothing was changed, the command must be corrected. */
const usageCodes: ReadonlySet<string> = new Set([
  'cli.usage',
  'config.invalid',
  'agent.invalid',
  'agent.not-registered',
  'engine.wrong-address',
  'run.unknown',
  'run.invalid-id',
  'run.conflict',
  'approval.unknown',
  'approval.invalid',
  'approval.forbidden',
  'approval.already-decided',
  'approval.expired',
  'interrupt.unknown',
  'interrupt.invalid',
  'interrupt.already-answered',
  'interrupt.expired',
  'delegation.ended',
  'delegation.unknown',
  'fork.invalid',
  'input.invalid',
  'plan.invalid',
  'run.ended',
  'run.not-paused',
  'run.not-taken-over',
  'run.taken-over',
  'store.foreign',
  'store.newer',
  'store.older',
  'team.invalid',
  'trust.invalid',
  'model.invalid-id',
  'model.not-installed',
  'model.unknown',
])

/** The exit code for an error: 2 if the command was wrong, 1 for any other failure. */
export const exitOfError = (error: unknown): Exit =>
  ReeveError.is(error) && usageCodes.has(error.code) ? exits.usage : exits.failed
