/**
 * The client of a Temporal server: wakes runs. Loaded when it is needed; a process that runs nothing needs no other
 * package of Temporal's.
 *
 * Owns: the connection. Does not own: which runs are woken when (wake-ups.ts), what the server's refusals mean
 * (errors.ts).
 */
import type * as ClientSdk from '@temporalio/client'
import { systemClock } from '@reeve/core'
import { wakeSignal, workflowIdOf, workflowType, type RunPlace } from './names.ts'
import type { Server } from './options.ts'

/** For how long a call may take, tries and all. Milliseconds. */
const callMs = 5_000

export class TemporalClient {
  readonly #server: Server
  readonly #client: ClientSdk.Client

  /** Connects with the first call. The SDK is an optional peer, which the caller has loaded. */
  constructor({ Client, Connection }: typeof ClientSdk, server: Server) {
    this.#server = server
    const { address, namespace, tls, apiKey } = server
    // No retry here: the host wakes again the runs that no process has taken up.
    const connection = Connection.lazy({
      address,
      connectTimeout: callMs,
      interceptors: [],
      ...(tls && { tls }),
      ...(apiKey !== undefined && { apiKey }),
    })
    this.#client = new Client({ connection, namespace })
  }

  /** Begins the run's workflow, or tells the one that is open. */
  async wake(place: RunPlace): Promise<void> {
    const { workflow } = this.#client
    const { taskQueue } = this.#server
    const start = { workflowId: workflowIdOf(place), taskQueue, args: [place], signal: wakeSignal, signalArgs: [] }
    await this.#within(() => workflow.signalWithStart(workflowType, start))
  }

  /** Rejects where the server is away, the namespace is not there, or the server refuses this process. */
  async check(): Promise<void> {
    const { namespace } = this.#server
    await this.#within(() => this.#client.workflowService.describeNamespace({ namespace }))
  }

  close(): Promise<void> {
    return this.#client.connection.close()
  }

  #within<T>(call: () => Promise<T>): Promise<T> {
    return this.#client.withDeadline(systemClock.now() + callMs, call)
  }
}
