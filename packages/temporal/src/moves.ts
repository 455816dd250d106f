/**
 * What Temporal asks of a worker process: to move a run, and to cancel one.
 *
 * Owns: the two activities, their heartbeats, and what Temporal is told of a run that cannot be moved here: it tries
 * again, later each time. Does not own: how runs are moved (the host). What comes in was sent by any client that may
 * write to the Temporal namespace: it names a run and is checked; nothing else of it is used.
 */
import type * as ActivitySdk from '@temporalio/activity'
import { isObject, runId, type RunId } from '@reeve/core'
import type { WorkerProcess } from '@reeve/engine/mover'
import type { RunActivities } from './names.ts'

/** How often Temporal hears that a move goes on. Milliseconds. */
const heartbeatMs = 1_000
/**
 * After so long Temporal asks again for a run that could not be moved here, after twice as long each time, and after
 * `last` at most. Milliseconds.
 */
const askAgainMs = { first: 250, last: 30_000 }

/** What the activities need of the engine. */
export interface Moving {
  readonly workerProcess: WorkerProcess
  /** The id of this process's store. */
  readonly store: string
  readonly cancel: (run: RunId) => Promise<void>
  /** Runs of another store come to this process. */
  readonly onStranger: () => void
}

/** The activities of a worker. `stop` ends their heartbeats. The SDK is an optional peer, which the caller has loaded. */
export function movesOf(
  sdk: typeof ActivitySdk,
  { workerProcess, store, cancel, onStranger }: Moving,
): {
  readonly activities: RunActivities
  stop(): void
} {
  const { ApplicationFailure, Context } = sdk
  const underWay = new Set<ActivitySdk.Context>()
  const heart = setInterval(() => {
    for (const context of underWay) context.heartbeat()
  }, heartbeatMs)
  heart.unref()

  const mine = (given: unknown): RunId => {
    const place = placeIn(given, ApplicationFailure)
    if (place.store === store) return place.run
    onStranger()
    throw later(`this worker has another store than ${place.store}`)
  }
  /** Is nothing that went wrong: the SDK does not log it. */
  const later = (message: string): ActivitySdk.ApplicationFailure => {
    const delay = Math.min(askAgainMs.first * 2 ** (Context.current().info.attempt - 1), askAgainMs.last)
    return ApplicationFailure.create({ message, type: 'elsewhere', nextRetryDelay: delay, category: 'BENIGN' })
  }
  return {
    activities: {
      async move(given) {
        const run = mine(given)
        const context = Context.current()
        underWay.add(context)
        try {
          const moved = await workerProcess.move(run, context.cancellationSignal)
          if (moved === 'ended' || moved === 'parked') return moved
          throw later(
            moved === 'elsewhere'
              ? `${run} is held by another process, or its agent is not known here`
              : `${run} goes on here`,
          )
        } finally {
          underWay.delete(context)
        }
      },
      cancel: async (given) => cancel(mine(given)),
    },
    stop: () => clearInterval(heart),
  }
}

/** Throws what is not tried again: it would be the same the next time. */
function placeIn(
  given: unknown,
  ApplicationFailure: typeof ActivitySdk.ApplicationFailure,
): { readonly store: string; readonly run: RunId } {
  const { store, run } = isObject(given) ? own(given) : {}
  try {
    if (typeof store === 'string' && typeof run === 'string') return { store, run: runId(run) }
  } catch {
    // said below
  }
  throw ApplicationFailure.nonRetryable('this is not the place of a run: expected { store, run }', 'invalid-input')
}

const own = (given: object): { readonly store?: unknown; readonly run?: unknown } => {
  const value = (name: string): unknown =>
    Object.hasOwn(given, name) ? (given as Record<string, unknown>)[name] : undefined
  return { store: value('store'), run: value('run') }
}
