/**
 * The heartbeat of a process, in a thread of its own: users' code may block the event loop for as long as it likes, and
 * the process still says that it lives.
 *
 * Owns: what the two threads share, and starting and ending the second one. Does not own: what a missed heartbeat means
 * (lease.ts).
 */
import { Worker } from 'node:worker_threads'
import { leaseFor, stopThread } from '@reeve/engine/host'

/**
 * An event loop that has not moved for this long is taken for hung: from then on its process does not say any more that
 * it lives. Milliseconds.
 */
export const hungMs = 600_000

/** Where the values that both threads see stand in their common memory. */
export const shared = { until: 0, stoodStill: 1, moved: 2, leaseMs: 3, delayMs: 4 } as const

/** How long the lease is that is asked for: `leaseMs`, or longer where the thread is late. */
export const leaseIn = (read: (what: keyof typeof shared) => number): number =>
  leaseFor(read('leaseMs'), read('delayMs'))

/** What the thread is given. */
export interface HeartbeatData {
  readonly file: string
  readonly process: string
  readonly memory: BigInt64Array<SharedArrayBuffer>
}

export class Heartbeat {
  readonly #memory = new BigInt64Array(new SharedArrayBuffer(8 * Object.keys(shared).length))
  #thread: Worker | undefined

  get(what: keyof typeof shared): number {
    return Number(Atomics.load(this.#memory, shared[what]))
  }
  /** How long the lease is that is asked for now. */
  get leaseMs(): number {
    return leaseIn((what) => this.get(what))
  }
  set(what: keyof typeof shared, value: number): void {
    Atomics.store(this.#memory, shared[what], BigInt(Math.floor(value)))
  }

  /**
   * Starts the thread, once. Where it cannot run, the event loop's own heartbeats are all
   * there are, and `failed` is told.
   */
  start(file: string, process: string, failed: (message: string) => void): void {
    if (this.#thread !== undefined) return
    const workerData: HeartbeatData = { file, process, memory: this.#memory }
    this.#thread = new Worker(new URL('./heartbeat-thread.ts', import.meta.url), { workerData })
    this.#thread.unref()
    this.#thread.on('error', (error) => failed(error instanceof Error ? error.message : String(error)))
  }

  async stop(): Promise<void> {
    await stopThread(this.#thread)
  }
}
