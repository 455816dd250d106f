/**
 * What the tests of the mover on Temporal share: a mover whose moves are told by the test, and a look at what the
 * server keeps.
 */
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { TemporalMover, type EngineSide } from '../../src/mover.ts'
import { workflowIdOf } from '../../src/names.ts'
import type { Server } from '../../src/options.ts'
import { runId, type RunId } from '@reeve/core'
import type { Moved, WorkerProcess } from '@reeve/engine/mover'
import type { TemporalTestServer } from '../../../../test/servers/temporal.ts'

export const store = 'sto_hand'

export const run = (id: string): RunId => runId(id)

export const serverAt = ({ address }: Pick<TemporalTestServer, 'address'>, more: Partial<Server> = {}): Server => ({
  address,
  namespace: 'default',
  taskQueue: 'reeve',
  tls: false,
  apiKey: undefined,
  ...more,
})

/** A move that waits for the test to say what became of it. */
export interface OpenMove {
  readonly run: RunId
  readonly signal: AbortSignal | undefined
  end(moved: Moved): void
}

/** A worker process on which nothing happens but what the test says; `always`: at once. */
export class HandProcess implements WorkerProcess {
  readonly #always: Moved | undefined
  /** All that were ever asked for. */
  readonly moves: OpenMove[] = []
  #answered = 0
  readonly #waiting: (() => void)[] = []

  constructor(always?: Moved) {
    this.#always = always
  }

  move(run: RunId, signal?: AbortSignal): Promise<Moved> {
    return new Promise((resolve) => {
      this.moves.push({ run, signal, end: resolve })
      signal?.addEventListener('abort', () => resolve('moving'), { once: true })
      for (const look of this.#waiting.splice(0)) look()
      if (this.#always !== undefined) resolve(this.#always)
    })
  }

  /** The next move that nobody has taken here yet. */
  async next(): Promise<OpenMove> {
    while (this.moves.length <= this.#answered) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.moves[this.#answered++]!
  }
}

export const engineSide = (more: Partial<EngineSide> = {}): EngineSide => ({
  store: () => store,
  cancel: () => Promise.resolve(),
  warn: () => {},
  ...more,
})

/** A mover with a worker process of the test, closed by whoever disposes of it. */
export async function openMover(
  server: Server,
  side: Partial<EngineSide> = {},
  always?: Moved,
): Promise<{ readonly mover: TemporalMover; readonly workerProcess: HandProcess } & AsyncDisposable> {
  const mover = new TemporalMover(server, engineSide(side))
  const workerProcess = new HandProcess(always)
  await mover.open(workerProcess)
  return { mover, workerProcess, [Symbol.asyncDispose]: () => mover.close([]) }
}

/** What the server keeps of runs. */
export class Looking implements AsyncDisposable {
  readonly client: Client
  readonly store: string

  constructor({ address }: Pick<TemporalTestServer, 'address'>, namespace = 'default', of = store) {
    this.client = new Client({ connection: Connection.lazy({ address, interceptors: [] }), namespace })
    this.store = of
  }

  handle(id: string, execution?: string): WorkflowHandle {
    return this.client.workflow.getHandle(workflowIdOf({ store: this.store, run: id }), execution)
  }

  /** `RUNNING`, `COMPLETED`, …; undefined: the server knows nothing of this run. */
  async status(id: string): Promise<string | undefined> {
    try {
      return (await this.handle(id).describe()).status.name
    } catch (thrown) {
      if (thrown instanceof Error && thrown.name === 'WorkflowNotFoundError') return undefined
      throw thrown
    }
  }

  /** The events of a run's workflow, in short: `ActivityTaskScheduled`, … */
  async events(id: string, execution?: string): Promise<readonly string[]> {
    const { events } = await this.handle(id, execution).fetchHistory()
    return (events ?? []).map(({ eventType }) => eventNames[Number(eventType)] ?? String(eventType))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.connection.close()
  }
}

/** Those that occur, by their numbers in Temporal's API. */
const eventNames: Readonly<Record<number, string>> = {
  1: 'WorkflowExecutionStarted',
  2: 'WorkflowExecutionCompleted',
  3: 'WorkflowExecutionFailed',
  5: 'WorkflowTaskScheduled',
  6: 'WorkflowTaskStarted',
  7: 'WorkflowTaskCompleted',
  8: 'WorkflowTaskTimedOut',
  9: 'WorkflowTaskFailed',
  10: 'ActivityTaskScheduled',
  11: 'ActivityTaskStarted',
  12: 'ActivityTaskCompleted',
  13: 'ActivityTaskFailed',
  17: 'TimerStarted',
  18: 'TimerFired',
  19: 'TimerCanceled',
  20: 'WorkflowExecutionCancelRequested',
  21: 'WorkflowExecutionCanceled',
  26: 'WorkflowExecutionSignaled',
  27: 'WorkflowExecutionTerminated',
  28: 'WorkflowExecutionContinuedAsNew',
}
