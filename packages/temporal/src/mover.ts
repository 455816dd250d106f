/**
 * The mover on Temporal: each run has a workflow, and whichever worker Temporal gives its moves to takes the run up.
 *
 * Owns: when there is a client and a worker, and that the server may be away at any time. Does not own: the workflow
 * (workflow.ts), moves (moves.ts), wake-ups on their way (wake-ups.ts).
 * Holds: the mover contract. Nothing that happens here loses a run: what the server loses, or never hears, the
 * processes of the store take up themselves.
 */
import type * as ActivitySdk from '@temporalio/activity'
import type * as ClientSdk from '@temporalio/client'
import type * as WorkerSdk from '@temporalio/worker'
import { delay, detached, ReeveError, stopwatch, type Now, type RunId } from '@reeve/core'
import type { Mover, WorkerProcess } from '@reeve/engine/mover'
import { TemporalClient } from './client.ts'
import { meaningOf, sdk, serverError } from './errors.ts'
import { movesOf, type Moving } from './moves.ts'
import type { Server } from './options.ts'
import { TemporalWakeUps } from './wake-ups.ts'
import { openWorker, type OpenWorker } from './worker.ts'

/** After this time a worker that has ended, or could not be opened, is opened again. Milliseconds. */
const reopenMs = 2_000
/** The shortest time between two warnings that the server is away. Milliseconds. */
const tellAgainMs = 30_000
/** How long closing waits for wake-ups that are on their way. Milliseconds. */
const closeMs = 2_000

/** What the mover needs of the engine. */
export interface EngineSide {
  /** The id of the store. */
  readonly store: () => Now<string>
  /** Cancels a run, as an operator does. */
  readonly cancel: (run: RunId) => Promise<void>
  readonly warn: (code: string, message: string) => void
}

export class TemporalMover implements Mover {
  readonly name = 'temporal'
  /** The server keeps a signal, however long a worker is awaited; each is an event of the run's history. */
  readonly keepsWakeUps = true
  readonly #server: Server
  readonly #engine: EngineSide
  readonly #wakeUps: TemporalWakeUps
  /** Warnings that are given once. */
  readonly #told = new Set<string>()
  /** When it was last told that the server is away, and whether it has answered since. */
  #awaySince: number | undefined
  #isBack = true
  #client: Promise<TemporalClient> | undefined
  #worker: OpenWorker | undefined
  #stopMoves: (() => void) | undefined
  /** Resolves when this closes. */
  readonly #closing = Promise.withResolvers<void>()
  #closed: Promise<void> | undefined
  #isClosing = false
  #isClosed = false

  constructor(server: Server, engine: EngineSide) {
    this.#server = server
    this.#engine = engine
    this.#wakeUps = new TemporalWakeUps({
      send: async (run) => {
        const [client, store] = await Promise.all([this.#connected(), engine.store()])
        await client.wake({ store, run })
      },
      meaning: meaningOf,
      tell: (thrown) => this.#tell(thrown),
    })
  }

  async open(workerProcess: WorkerProcess): Promise<void> {
    const moving: Moving = {
      workerProcess,
      store: await this.#engine.store(),
      cancel: this.#engine.cancel,
      onStranger: () =>
        this.#once(
          'engine.worker-refused',
          `${this.#name} has runs of another store: give each store a task queue of its own`,
        ),
    }
    const moves = movesOf(await sdk<typeof ActivitySdk>('@temporalio/activity'), moving)
    const worker = await sdk<typeof WorkerSdk>('@temporalio/worker')
    this.#stopMoves = moves.stop.bind(moves)
    const opened = async (): Promise<OpenWorker> => {
      // the worker's own errors do not say what is wrong
      await (await this.#connected()).check()
      return openWorker(worker, this.#server, moves.activities)
    }
    try {
      this.#worker = await opened()
    } catch (thrown) {
      if (meaningOf(thrown) === 'refused') throw this.#errorOf(thrown)
      this.#tell(thrown)
    }
    detached(
      () => this.#stayOpen(opened),
      (thrown) => this.#tell(thrown),
    )
  }

  wake(runs: readonly RunId[]): void {
    this.#wakeUps.wake(runs)
  }

  /** Other workers take what comes from now on. */
  retire(): void {
    this.#closing.resolve()
    this.#isClosing = true
    this.#worker?.retire()
  }

  close(left: readonly RunId[]): Promise<void> {
    return (this.#closed ??= this.#close(left))
  }

  async #close(left: readonly RunId[]): Promise<void> {
    this.wake(left)
    this.retire()
    await Promise.all([this.#worker?.close(), Promise.race([this.#wakeUps.close(), delay(closeMs)])])
    this.#isClosed = true
    this.#stopMoves?.()
    const client = await this.#client?.catch(() => undefined)
    await client?.close().catch(() => undefined)
  }

  /** A worker that ends by itself is opened again, as is one that could not be opened while the server was away. */
  async #stayOpen(opened: () => Promise<OpenWorker>): Promise<void> {
    for (;;) {
      const ended = await Promise.race([this.#worker?.ended, this.#closing.promise])
      if (this.#isClosing) return
      if (ended instanceof Error) this.#tell(ended)
      this.#worker = undefined
      await Promise.race([delay(reopenMs), this.#closing.promise])
      if (this.#isClosing) return
      const worker = await opened().catch((thrown: unknown) => this.#tell(thrown))
      if (this.#isClosing) return void worker?.close()
      if (worker !== undefined) this.#tell(undefined)
      this.#worker = worker ?? undefined
    }
  }

  #connected(): Promise<TemporalClient> {
    return (this.#client ??= this.#connect().catch((thrown: unknown) => {
      this.#client = undefined
      throw thrown
    }))
  }

  async #connect(): Promise<TemporalClient> {
    return new TemporalClient(await sdk<typeof ClientSdk>('@temporalio/client'), this.#server)
  }

  /** What is refused is said once; that the server is away, once until it is back. `undefined`: it has answered. */
  #tell(thrown: unknown): void {
    if (this.#isClosed) return
    if (thrown === undefined) {
      if (this.#awaySince !== undefined && !this.#isBack)
        this.#engine.warn('engine.reachable-again', `${this.#name} takes wake-ups again`)
      this.#isBack = true
      return
    }
    const { code, message } = this.#errorOf(thrown)
    if (meaningOf(thrown) === 'refused') return this.#once(code, message)
    // one that answers now and then is told of now and then
    if (!this.#isBack || stopwatch() - (this.#awaySince ?? -Infinity) < tellAgainMs) return
    this.#awaySince = stopwatch()
    this.#isBack = false
    this.#engine.warn(code, message)
  }

  #once(code: string, message: string): void {
    if (this.#told.has(message) || this.#told.size > 100) return
    this.#told.add(message)
    this.#engine.warn(code, message)
  }

  #errorOf(thrown: unknown): ReeveError {
    return thrown instanceof ReeveError ? thrown : serverError(thrown, this.#server)
  }

  get #name(): string {
    const { address, namespace, taskQueue } = this.#server
    return `the task queue "${taskQueue}" of Temporal at ${address} (namespace "${namespace}")`
  }
}
