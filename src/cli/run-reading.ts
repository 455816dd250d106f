/**
 * Run reading: the state of a run, its delegations and its events, out of one reading of its journal and of those of
 * its child runs.
 *
 * Owns: reading each journal once. Does not own: what follows from the events (journal views).
 */
import { ReeveError, type RunId } from '../core/index.ts'
import {
  delegationsOf,
  runView,
  wholeFeed,
  type Recorded,
  type RunSummary,
  type Runtime,
  type RunView,
} from '../runtime/index.ts'

/** A run as it was read. */
export interface RunReading {
  readonly summary: RunSummary
  /** With the status of the summary while the run is open: a queue, and why it is stuck, are not in its journal. */
  readonly view: RunView
  readonly delegations: ReturnType<typeof delegationsOf>
  /** With those of its child runs. */
  readonly events: readonly Recorded[]
}

/** Reads a run. Throws `run.unknown`. */
export async function readRun(runtime: Runtime, id: string): Promise<RunReading> {
  const root = runtime.handle(id)
  const summary = await root.summary()
  // the start of a child run may be recorded before the child run is
  const childJournal = (run: RunId): Promise<readonly Recorded[]> =>
    runtime
      .handle(run)
      .journal()
      .catch((thrown: unknown) => {
        if (ReeveError.is(thrown, 'run.unknown')) return []
        throw thrown
      })
  const events = await wholeFeed({ read: (run) => (run === root.id ? root.journal() : childJournal(run)) }, root.id)
  const view = runView(events)
  const { status, queued } = summary
  return {
    summary,
    view: view.outcome === undefined ? { ...view, status, ...(queued === undefined ? {} : { queued }) } : view,
    delegations: delegationsOf(events),
    events,
  }
}
