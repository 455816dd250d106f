/**
 * Run reading: the state of a run, its delegations and its events, out of one reading of its journal and of those of
 * its child runs.
 *
 * Owns: reading each journal once. Does not own: what follows from the events (journal views).
 */
import { present, ReeveError } from '@reeve/core'
import {
  delegationsOf,
  runView,
  wholeFeed,
  type Recorded,
  type RunSummary,
  type Runtime,
  type RunView,
} from '@reeve/runtime'

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
  const read: Parameters<typeof wholeFeed>[0]['read'] = (run, from, limit, length) =>
    runtime
      .handle(run)
      .journal(present({ from, limit, length }))
      .catch((thrown: unknown) => {
        if (run !== root.id && ReeveError.is(thrown, 'run.unknown')) return []
        throw thrown
      })
  const events = await wholeFeed({ read }, root.id)
  const view = runView(events)
  const { status, queued } = summary
  return {
    summary,
    view: view.outcome === undefined ? { ...view, status, ...(queued === undefined ? {} : { queued }) } : view,
    delegations: delegationsOf(events),
    events,
  }
}
