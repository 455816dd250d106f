/**
 * Streams: which log beside the runs' own a value belongs to (K1).
 */
import { ReeveError, type RunId } from '@reeve/core'
import type { Caller } from '@reeve/journal'

/** The stream of the values of a run that belongs to no session. No session id has a `/`, so the two never meet. */
export const runStream = (run: RunId): string => `ses_/${run}`

/**
 * The session's stream, or one of the run's own if it belongs to no session. Sessions of the same name are different
 * ones in each tenant. Neither id has a `/`.
 */
export const streamOf = ({ session, tenant }: Caller, run: RunId): string =>
  session === undefined ? runStream(run) : tenant === undefined ? `ses_${session}` : `ses_${tenant}/${session}`

const lasting = /^(?:reg|mem|trust)_[A-Za-z0-9._:@-]{1,128}$/

const session = /^ses_(?:\/|[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}\/)?[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

/** As for code, and those of sessions and runs: their operator may read and change them. */
export const streamFromOutside = (name: string): string => (session.test(name) ? name : lastingStream(name))

/**
 * The name of a stream that belongs to no run and no session, checked. Throws `input.invalid`: sessions and runs are
 * not reached by name.
 */
export function lastingStream(name: string): string {
  if (lasting.test(name)) return name
  throw new ReeveError('input.invalid', `${JSON.stringify(name)} is not the name of a stream that outlives runs`, {
    hint: 'Begin with reg_, mem_ or trust_, then 1 to 128 letters, digits, ".", "_", ":", "@" or "-".',
  })
}
