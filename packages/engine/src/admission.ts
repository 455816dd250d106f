/**
 * Admission: which runs a process may claim, in a store that answers at once.
 *
 * Owns: the order in which they are asked for, and that each is asked for once. Does not own: making them its own (the
 * stores), who is admitted (host/).
 */
import type { RunId } from '@reeve/core'
import type { AgentVersion, ClaimCandidate, ClaimFilter, StoredRun } from './store.ts'

/** What is asked of such a store. */
interface Candidates {
  run(run: RunId): StoredRun | undefined
  commandFor(run: RunId): ClaimCandidate['command']
  /** Runs that may kill the process that takes them up, the least suspected first. */
  suspects(from: number, limit: number): Iterable<RunId>
  /** Of runs that no process holds and that are ready, the kinds; of a kind the oldest. */
  orphanKinds(): Iterable<AgentVersion>
  orphans(kind: AgentVersion, below: number, limit: number): Iterable<RunId>
}

/** `holder`: whose claim it is: what it holds already it may claim again. */
export function admittedRuns(
  store: Candidates,
  holder: string,
  wanted: ClaimFilter,
  admits: (candidate: ClaimCandidate) => boolean,
): ReadonlyMap<RunId, ClaimCandidate> {
  const limit = 'limit' in wanted ? wanted.limit : Infinity
  const admitted = new Map<RunId, ClaimCandidate>()
  for (const id of wantedRuns(store, wanted)) {
    if (admitted.size >= limit) break
    const run = admitted.has(id) ? undefined : store.run(id)
    if (run === undefined || run.ended !== null || (run.owner !== null && run.owner !== holder)) continue
    const candidate = { ...run, command: run.stuck === null ? undefined : store.commandFor(id) }
    if (admits(candidate)) admitted.set(id, candidate)
  }
  return admitted
}

function* wantedRuns(store: Candidates, wanted: ClaimFilter): Generator<RunId> {
  if ('lossesFrom' in wanted) yield* store.suspects(wanted.lossesFrom, wanted.limit)
  else if (!('drives' in wanted)) yield* wanted
  else
    for (const kind of store.orphanKinds())
      if (wanted.drives(kind)) yield* store.orphans(kind, wanted.lossesBelow, wanted.limit)
}
