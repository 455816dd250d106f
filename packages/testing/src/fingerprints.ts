/**
 * Fingerprints: versions and digests to review before new code meets running runs.
 *
 * Owns: the digest of code agents beside their versions. Does not own: versions (../agent).
 */
import { reachableAgents, type Agent } from '@reeve/agent'
import { digest } from '@reeve/core'

/** An agent as it is now. */
export interface Fingerprint {
  readonly version: string
  /** For a code agent: the SHA-256 of the text of its `run`, without the functions that it calls. */
  readonly code?: string
}

/**
 * The versions of these agents and of all agents that they reach, by name, with a digest of the code of code agents.
 * Code is not part of a version: as a snapshot in a test, this shows a `run` that changed under the same version before
 * a running run uses it. Pure; never throws.
 */
export function fingerprints(agents: readonly Agent[]): Readonly<Record<string, Fingerprint>> {
  const all = reachableAgents(agents).map((each): [string, Fingerprint] => {
    const source = each.source?.()
    return [each.name, { version: each.version, ...(source === undefined ? undefined : { code: digest(source) }) }]
  })
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}
