/**
 * The one call between processes: what the service is called, and what is said in it.
 *
 * Owns: its form, on both sides. What comes in is another's word: only a list of run ids for the right store passes.
 * Needs no SDK, because processes that only start, read and decide call as well.
 */
import { hasNames, ReeveError, runId, type RunId } from '@reeve/core'

/** The service of a namespace. */
export const serviceOf = (namespace: string): string => `${namespace}.Runs`
export const handler = 'move'

/** The name under which a service says which store its workers have. */
export const storeLabel = 'reeve.store'

/** So many runs share a call. */
export const runsPerCall = 16
/** Far more than they need. */
const longest = 16_384

export interface MoveCall {
  readonly store: string
  readonly runs: readonly RunId[]
}

/** Throws `input.invalid`. */
export function readCall(bytes: Uint8Array): MoveCall {
  if (bytes.length > longest) throw refused(`it has ${bytes.length} bytes, expected at most ${longest}`)
  const given = parsed(bytes)
  const { store, runs } = hasNames(given) ? (given as { readonly store?: unknown; readonly runs?: unknown }) : {}
  if (typeof store !== 'string' || !Array.isArray(runs)) throw refused('expected { "store": …, "runs": […] }')
  if (runs.length === 0 || runs.length > runsPerCall)
    throw refused(`it has ${runs.length} runs, expected 1 to ${runsPerCall}`)
  return { store, runs: [...new Set(runs.map(idOf))] }
}

function idOf(given: unknown): RunId {
  try {
    if (typeof given === 'string') return runId(given)
  } catch {
    // said below
  }
  throw refused('a run of it has no valid id')
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    throw refused('it is not JSON')
  }
}

const refused = (why: string): ReeveError =>
  new ReeveError('input.invalid', `a call to move runs was refused: ${why}`, {
    hint: 'Only workers and clients of Reeve call this service.',
  })
