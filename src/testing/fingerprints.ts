/**
 * Fingerprints: what an author has to look at before code goes out to runs that are under way.
 *
 * Owns: the digest of code agents beside their versions. Does not own: versions (../agent).
 */
import { reachableAgents, type Agent } from '../agent/index.ts'
import { digest } from '../core/index.ts'

/** An agent as it is now. */
export interface Fingerprint {
  readonly version: string
  /** Of an agent that is code: the SHA-256 of the text of its `run`. What that function calls is not in it. */
  readonly code?: string
}

/**
 * The versions of these agents and of everybody they can reach, by name, and of code agents a digest of their code.
 * Code is no part of a version: keep this as a snapshot in a test, and a changed `run` under the same version shows
 * before a run that waits goes on with it. Pure; never throws.
 */
export function fingerprints(agents: readonly Agent[]): Readonly<Record<string, Fingerprint>> {
  const all = reachableAgents(agents).map((each): [string, Fingerprint] => {
    const source = each.source?.()
    return [each.name, { version: each.version, ...(source === undefined ? undefined : { code: digest(source) }) }]
  })
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}
