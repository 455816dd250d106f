/**
 * Code for an activation: which registered version goes on with it, and in which version a worker begins.
 *
 * Owns: the rule of `onMissingVersion`, the version of a new worker. Does not own: what is recorded of a move, and what becomes of a run whose code
 * is missing (the engines).
 */
import type { Orchestration, Registry } from './context.ts'

/** How the reason of a run ends that is stuck because code is missing: another process may have it. */
export const missingCodeEnding = 'is not registered'

/** What is said to code that awaits what no engine can bring back (K3). */
export const awaitsForeign = (agent: string): string =>
  `${agent} awaits something that is not of its context: after a crash nothing would bring it back. Put it into an effect: step(ctx, name, () => …).`

/** The exact version if it is there, else the newest if the rule is to move, else what is missing. */
export function codeFor(
  registry: Registry | undefined,
  agent: string,
  version: string,
): { readonly code: Orchestration; readonly moved: boolean } | { readonly missing: string } {
  const exact = registry?.find(agent, version)
  if (exact !== undefined) return { code: exact, moved: false }
  const newest = registry?.find(agent)
  if (newest !== undefined && registry?.onMissingVersion === 'move') return { code: newest, moved: true }
  return {
    missing:
      newest === undefined
        ? `the agent "${agent}" ${missingCodeEnding}`
        : `version ${version} of "${agent}" ${missingCodeEnding}`,
  }
}

/**
 * The version in which a worker begins: the given one; else the one that belongs to its leader at the leader's version,
 * or to the nearest leader above that has this worker; else the newest. `leaders`: from the nearest to the root. A
 * version that is gone is returned too: `codeFor` decides what becomes of it. Undefined if no version is registered.
 */
export function versionToBegin(
  registry: Registry | undefined,
  leaders: Iterable<{ readonly agent: string; readonly version: string }>,
  worker: string,
  given: string | undefined,
): string | undefined {
  const newest = registry?.find(worker)?.version
  if (newest === undefined || given !== undefined) return newest && given
  for (const { agent, version } of registry?.workerVersion === undefined ? [] : leaders) {
    const own = registry?.workerVersion?.(agent, version, worker)
    if (own !== undefined) return own
  }
  return newest
}
