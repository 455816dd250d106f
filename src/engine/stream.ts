/**
 * Streams: which log beside the runs' own a session value belongs to (K1).
 */
import type { RunId } from '../core/index.ts'
import type { Caller } from '../journal/index.ts'

/** The stream of the values of a run that belongs to no session. No session id has a `/`, so the two never meet. */
export const runStream = (run: RunId): string => `ses_/${run}`

/** The session's stream, or one of the run's own if it belongs to no session. */
export const streamOf = (caller: Caller, run: RunId): string => (caller.session === undefined ? runStream(run) : `ses_${caller.session}`)
