/**
 * Watch: the one wait of a leader for all of its workers. It receives ends, deadlines, human waits, questions and
 * requests to stop.
 *
 * Owns: finding the worker of an arrival, whether a worker waits for a human. Does not own: what follows from it
 * (worker-task.ts), slots (slots.ts), counting working time (work-clock.ts).
 * Holds: K3: one arrival resumes one branch, in recorded order, however many workers there are; K8: a cancel of the
 * leader ends every wait here. Without pending work it waits for nothing.
 */
import { lateReason, type ActivationId, type OpId, ChurnMap } from '@reeve/core'
import { questionListener, type QuestionAnswerer } from '@reeve/agent'
import type { Arrival, Context } from '@reeve/engine'
import { passOnWaiting, stopAsked, waitsNow, type ArrivalListener } from '@reeve/oversight'
import { WorkClock } from './work-clock.ts'

/** The end of a worker. */
export type WorkerEnd = Extract<Arrival, { readonly type: 'worker.settled' }>

/** How to wait for a worker. */
export interface WorkerWatch {
  /**
   * The limit of working time in milliseconds. The clock stops while the worker, or one below it, waits for a human,
   * and while the run is paused or taken over. At the limit the worker is stopped and `late` is called.
   */
  readonly timeoutMs?: number
  readonly late?: () => void
  /** Called when the worker, or one below it, begins (true) or ceases (false) to wait for a human. */
  readonly onWait?: (waiting: boolean) => void
  /**
   * Answers questions of the worker and of those below it, one after the other, without delaying other workers.
   * Default: no questions.
   */
  readonly answer?: QuestionAnswerer
}

/** A worker to wait for. */
interface WatchedWorker {
  readonly ctx: Context
  readonly worker: ActivationId
  readonly options: WorkerWatch
  readonly resolve: (end: WorkerEnd) => void
  readonly reject: (thrown: unknown) => void
  /** How many workers below it wait for a human. */
  waiting: number
  /** The clock of its working time, if that is limited. */
  readonly clock: WorkClock | undefined
  /** The listener for its questions, if they are answered. */
  readonly questions: ArrivalListener | undefined
  /** The answers to them so far. Undefined: there was no question. */
  answering: Promise<void> | undefined
}

/** A pending timer. */
interface PendingAlarm {
  readonly ring: () => void
  readonly reject: (thrown: unknown) => void
}

export class Watch {
  readonly #workers = new ChurnMap<ActivationId, WatchedWorker>()
  readonly #alarms = new ChurnMap<string, PendingAlarm>()
  readonly #stopper: (delegation: string) => ((reason: string) => void) | undefined
  #isLooping = false

  /** `stopper`: how to stop the delegation of this name; undefined if it is unknown here or has ended. */
  constructor(stopper: (delegation: string) => ((reason: string) => void) | undefined) {
    this.#stopper = stopper
  }

  /** Waits for the end of a worker. Rejects only with `Cancelled`. */
  end(ctx: Context, worker: ActivationId, options: WorkerWatch = {}): Promise<WorkerEnd> {
    const end = new Promise<WorkerEnd>((resolve, reject) => {
      const watched: WatchedWorker = {
        ctx,
        worker,
        options,
        resolve,
        reject,
        waiting: 0,
        clock: this.#clockOf(ctx, worker, options, reject),
        questions: options.answer && questionListener(ctx, worker, options.answer),
        answering: undefined,
      }
      this.#workers.set(worker, watched)
      watched.clock?.run()
    })
    if (!this.#isLooping) this.#listen(ctx)
    return end
  }

  #clockOf(
    ctx: Context,
    worker: ActivationId,
    { timeoutMs, late }: WorkerWatch,
    reject: (thrown: unknown) => void,
  ): WorkClock | undefined {
    if (timeoutMs === undefined) return undefined
    const ring = (): void => {
      late?.()
      ctx.stop(worker, lateReason(timeoutMs), { timedOutMs: timeoutMs })
    }
    return new WorkClock(ctx, this.alarm.bind(this), { name: 'timeout', ms: timeoutMs }, { ring, reject })
  }

  /**
   * Sets a timer of `ms` milliseconds. Returns how to call it off. `reject` is called if the leader is cancelled.
   * `retryOf`: it is the pause after this attempt, before the next one.
   */
  alarm(ctx: Context, name: string, ms: number, { ring, reject }: PendingAlarm, retryOf?: ActivationId): () => void {
    const timer: OpId = ctx.ask(name, {
      until: new Date(ctx.now().getTime() + Math.max(0, ms)),
      ...(retryOf === undefined ? undefined : { as: { type: 'timer.set', retryOf } }),
    })
    this.#alarms.set(timer, { ring, reject })
    if (!this.#isLooping) this.#listen(ctx)
    return () => {
      if (this.#alarms.delete(timer)) ctx.stop(timer, 'no longer needed')
    }
  }

  /** The leader itself asks a human for this worker: as if the worker had begun (true) or ceased to wait. */
  human(worker: ActivationId, waits: boolean): void {
    const watched = this.#workers.get(worker)
    if (watched !== undefined) this.#noteWait(watched, waits)
  }

  #listen(ctx: Context): void {
    this.#isLooping = true
    ctx.next(this.#isOurs).then((arrival) => this.#hear(ctx, arrival), this.#rejectAll)
  }

  #hear(ctx: Context, arrival: Arrival): void {
    try {
      this.#handle(arrival)
      if (this.#workers.size > 0 || this.#alarms.size > 0) this.#listen(ctx)
      else this.#isLooping = false
    } catch (thrown) {
      this.#rejectAll(thrown)
    }
  }

  /** The leader is cancelled, or starts again. */
  readonly #rejectAll = (thrown: unknown): void => {
    const all = [...this.#workers.values(), ...this.#alarms.values()]
    this.#workers.clear()
    this.#alarms.clear()
    for (const { reject } of all) reject(thrown)
  }

  readonly #isOurs = (arrival: Arrival): boolean => {
    if (arrival.type === 'worker.settled') return this.#workers.has(arrival.id)
    if (arrival.type === 'ask.settled') return this.#alarms.has(arrival.id)
    if (arrival.type !== 'message') return false
    const stop = stopAsked(arrival)
    if (stop !== undefined) return this.#stopper(stop.delegation) !== undefined
    return this.#waitReporter(arrival) !== undefined || this.#questionHandler(arrival) !== undefined
  }

  #handle(arrival: Arrival): void {
    if (arrival.type === 'worker.settled') return this.#settle(arrival)
    if (arrival.type === 'ask.settled') {
      const alarm = this.#alarms.get(arrival.id)
      this.#alarms.delete(arrival.id)
      return alarm?.ring()
    }
    const stop = stopAsked(arrival)
    if (stop !== undefined) return this.#stopper(stop.delegation)?.(stop.reason)
    this.#questionHandler(arrival)?.()
    const watched = this.#waitReporter(arrival)
    if (watched !== undefined) this.#noteWait(watched, waitsNow(arrival, watched.worker) === true)
  }

  #settle(end: WorkerEnd): void {
    const watched = this.#workers.get(end.id)
    if (watched === undefined) return
    this.#workers.delete(end.id)
    watched.clock?.end()
    if (watched.waiting > 0) watched.options.onWait?.(false)
    for (; watched.waiting > 0; watched.waiting--) passOnWaiting(watched.ctx, false)
    watched.resolve(end)
  }

  /** The worker of an arrival about a human wait. */
  #waitReporter(arrival: Arrival): WatchedWorker | undefined {
    if (arrival.type !== 'message' || arrival.from === undefined) return undefined
    for (const watched of this.#workers.values()) if (waitsNow(arrival, watched.worker) !== undefined) return watched
    return undefined
  }

  /** How to handle an arrival that is a question. */
  #questionHandler(arrival: Arrival): (() => void) | undefined {
    for (const watched of this.#workers.values()) {
      const answered = watched.questions?.hears(arrival)
      if (answered !== undefined)
        return () => {
          watched.answering = (watched.answering ?? Promise.resolve()).then(answered).catch(watched.reject)
        }
    }
    return undefined
  }

  #noteWait(watched: WatchedWorker, waits: boolean): void {
    if (!waits && watched.waiting === 0) return // it did not wait, so there is nothing to undo
    passOnWaiting(watched.ctx, waits)
    watched.waiting += waits ? 1 : -1
    if (waits && watched.waiting === 1) {
      watched.clock?.stand()
      watched.options.onWait?.(true)
    } else if (watched.waiting === 0) {
      watched.options.onWait?.(false)
      watched.clock?.run()
    }
  }
}
