/**
 * System: how an installation is: its engine and store, the processes that drive runs, what waits for one, and how many
 * runs there are.
 *
 * Owns: the view, and what of it is told to one tenant. Does not own: what a store knows (engine/store.ts), the process
 * of a server (server/routes/system.ts). Holds: counting is bounded, and a count that stopped says so; what is not
 * known is absent.
 */
import { optionProblems, present, refuseProblems, string, type Checks } from '@reeve/core'
import { runStatuses, type Engine, type EngineStatus, type RunStatus, type StalledRun } from '@reeve/engine'

/** How many there are. `isMore`: at least so many; counting on would not be cheap. */
export interface BoundedCount {
  readonly count: number
  readonly isMore?: true
}

/** A process that drives runs, or could. */
export type WorkerView = Omit<EngineStatus['processes'][number], 'report'> & {
  /** It is the process that was asked. */
  readonly isThis: boolean
  /**
   * How late is done what is due on its event loop: the ninety-ninth percentile of ten to twenty seconds, in
   * milliseconds. Absent, as the two below: it has not said it, because it has held no run yet.
   */
  readonly delayMs?: number
  /** Runs that it has taken over from processes that died or stopped answering, since it began. */
  readonly takenOver?: number
  /** When its event loop moved, as it last said: every two seconds while it holds runs. Milliseconds since 1970. */
  readonly movedAt?: number
}

/** Whose runs are counted. */
export interface SystemOptions {
  /** Runs of this tenant alone, and nothing of what tenants share. */
  readonly tenant?: string
}

/** How an installation is. */
export interface SystemView {
  /**
   * Runs that were started from outside, by status; those of a status without runs are absent. A run that waits for its
   * turn in a session counts as `running`.
   */
  readonly runs: Readonly<Partial<Record<RunStatus, BoundedCount>>>
  /** Absent for a tenant: all tenants share it. */
  readonly installation?: {
    readonly engine: string
    readonly store: EngineStatus['store']
    /** Processes with a lease in the store, the one that was asked first. */
    readonly workers: readonly WorkerView[]
    readonly backlog: {
      /** Runs that are ready and that no process has taken up. */
      readonly ready: BoundedCount
      /** The one of them that began first, and since when nothing was recorded of it. */
      readonly first?: { readonly run: string; readonly since: number }
      /** Runs with an answer, a message or a command that no process has read. */
      readonly unheard: BoundedCount
      /** Open runs that were lost with their process twice or more in a row. Absent: none. */
      readonly flapping?: BoundedCount
    }
    /**
     * Runs that should move and do not, for longer than the delay of their process explains: what each waits for, since
     * when, and the id of the worker that holds it. A run whose model or tool takes its time is none of them. Absent:
     * there are none.
     */
    readonly stalled?: readonly StalledRun[]
  }
}

/** So many are counted of each kind. */
const mostCounted = 1_000

const checks: Checks<SystemOptions> = { tenant: string }

/** Throws `input.invalid` for options that cannot be. `where`: the function that was given them. */
export const mustBeSystemOptions = (options: SystemOptions, where: string): void =>
  refuseProblems('input.invalid', optionProblems(checks, options, where))

/** Reads how an installation is. Throws `input.invalid`, `store.*`. */
export async function systemView(engine: Engine, options: SystemOptions = {}): Promise<SystemView> {
  mustBeSystemOptions(options, 'system()')
  const { tenant } = options
  const counted = async (status: RunStatus): Promise<readonly [RunStatus, number]> => [
    status,
    // one more, to know whether there are more
    await engine.countRuns({ status: [status], ...(tenant === undefined ? {} : { tenant }) }, mostCounted + 1),
  ]
  // for an engine a queued run is a running one
  const counts = await Promise.all(runStatuses.filter((status) => status !== 'queued').map(counted))
  const runs = Object.fromEntries(counts.flatMap(([status, n]) => (n === 0 ? [] : [[status, boundedCount(n)]])))
  if (tenant !== undefined) return { runs }
  const { kind, store, process, processes, backlog, stalled } = await engine.status(mostCounted + 1)
  const { ready, unheard, flapping, ...rest } = backlog
  const workers = processes.map(({ report, ...each }) => ({
    ...each,
    isThis: each.id === process,
    ...present({ delayMs: report?.delayMs, takenOver: report?.takenOver, movedAt: report?.at }),
  }))
  return {
    runs,
    installation: {
      engine: kind,
      store,
      workers: workers.toSorted((a, b) => Number(b.isThis) - Number(a.isThis)),
      backlog: {
        ...rest,
        ready: boundedCount(ready),
        unheard: boundedCount(unheard),
        ...present({ flapping: flapping === undefined ? undefined : boundedCount(flapping) }),
      },
      ...present({ stalled }),
    },
  }
}

const boundedCount = (n: number): BoundedCount =>
  n > mostCounted ? { count: mostCounted, isMore: true } : { count: n }
