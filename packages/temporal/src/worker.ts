/**
 * The worker of a Temporal server: takes workflows and moves from the task queue. Loaded by a process that runs agents.
 *
 * Owns: the SDK's worker with its connection, and the workflow's code as the SDK wants it. Does not own: what a move is
 * (moves.ts), when there is a worker (mover.ts).
 */
import { fileURLToPath } from 'node:url'
import type * as WorkerSdk from '@temporalio/worker'
import { delay } from '@reeve/core'
import type { RunActivities } from './names.ts'
import type { Server } from './options.ts'

/** So many runs may be in the memory of one process. */
const atOnce = 1_000
/**
 * A heartbeat goes to the server at most so often; the server waits five seconds for one (workflow.ts). Milliseconds.
 */
const beatEveryMs = 2_000
/** More than a process is given to end. Milliseconds: the SDK takes no more than fits into a timer. */
const longestGraceMs = 24 * 3_600_000
/** How long closing waits for what is under way. Milliseconds. */
const closeMs = 5_000

/** A worker that takes tasks. */
export interface OpenWorker {
  /** Resolves when it takes no more, whatever ended it; with the error, if one was the reason. */
  readonly ended: Promise<Error | undefined>
  /** Takes no tasks any more; moves that are under way go on. Idempotent. */
  retire(): void
  /** The same, and waits for what is under way. Bounded; never rejects. */
  close(): Promise<void>
}

/**
 * Connects, and takes tasks from then on. Rejects with what the SDK says: an optional peer, which the caller has loaded.
 */
export async function openWorker(
  sdk: typeof WorkerSdk,
  { address, namespace, taskQueue, tls, apiKey }: Server,
  activities: RunActivities,
): Promise<OpenWorker> {
  beQuiet(sdk)
  const [workflowBundle, connection] = await Promise.all([
    bundled(sdk),
    sdk.NativeConnection.connect({ address, ...(tls && { tls }), ...(apiKey !== undefined && { apiKey }) }),
  ])
  try {
    const worker = await sdk.Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle,
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: atOnce,
      maxHeartbeatThrottleInterval: beatEveryMs,
      // the moves end when their runs leave memory, which takes as long as the engine gives what is under way
      shutdownGraceTime: longestGraceMs,
    })
    const ended = ending(worker.run(), connection)
    const retire = (): void => {
      if (worker.getState() === 'RUNNING') worker.shutdown()
    }
    return {
      ended,
      retire,
      async close() {
        retire()
        await Promise.race([ended, delay(closeMs)])
      },
    }
  } catch (thrown) {
    await connection.close().catch(() => undefined)
    throw thrown
  }
}

async function ending(running: Promise<void>, connection: WorkerSdk.NativeConnection): Promise<Error | undefined> {
  try {
    await running
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown))
  } finally {
    await connection.close().catch(() => undefined)
  }
}

let bundle: Promise<WorkerSdk.WorkflowBundle> | undefined

/**
 * Once for a process, for it takes a second. The code of the SDK that is installed is in it, so it is not made
 * beforehand.
 */
function bundled({ bundleWorkflowCode, DefaultLogger }: typeof WorkerSdk): Promise<WorkerSdk.WorkflowBundle> {
  const workflowsPath = fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? './workflow.ts' : './workflow.js', import.meta.url),
  )
  return (bundle ??= bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }))
}

/**
 * The SDK has one runtime for a process. One that the user has set up stays; ours writes no more than errors, and
 * leaves signals of the process to the user.
 */
function beQuiet({ DefaultLogger, IllegalStateError, Runtime }: typeof WorkerSdk): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
      shutdownSignals: [],
    })
  } catch (thrown) {
    if (!(thrown instanceof IllegalStateError)) throw thrown
  }
}
