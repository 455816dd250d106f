/**
 * Watch: the one wait of a leader for all of its workers. What comes in for them is heard here: ends, deadlines, who
 * waits for a human, who is to be stopped.
 *
 * Owns: telling whom an arrival is for, when a worker waits for a human. Does not own: what follows from it
 * (worker-task.ts), slots (slots.ts), counting working time (work-clock.ts).
 * Holds: K3: one arrival resumes one branch, in recorded order, however many workers there are; K8: a cancel of the
 * leader ends every wait here. While nobody works, nothing is waited for.
 */
import { lateReason, type ActivationId, type OpId } from '../../core/index.ts'
import { questionListener, type QuestionAnswerer } from '../../agent/index.ts'
import type { Arrival, Context } from '../../engine/index.ts'
import { passOnWaiting, stopAsked, waitsNow, type Listener } from '../../oversight/index.ts'
import { WorkClock } from './work-clock.ts'

/** The end of a worker. */
export type WorkerEnd = Extract<Arrival, { readonly type: 'worker.settled' }>

/** How a worker is waited for. */
export interface WorkerWatch {
  /**
   * Milliseconds that it may work; the clock stands while it, or somebody below it, waits for a human, and while the
   * run is paused or taken over. Then it is stopped, and `late` is heard.
   */
  readonly timeoutMs?: number
  readonly late?: () => void
  /** Hears that it, or somebody below it, begins (true) or ceases (false) to wait for a human. */
  readonly onWait?: (waiting: boolean) => void
  /**
   * Answers what it, or somebody below it, asks; one after the other, and nobody else waits for it. Default: nothing is
   * heard.
   */
  readonly answer?: QuestionAnswerer
}

/** A worker that is waited for. */
interface WatchedWorker {
  readonly ctx: Context
  readonly worker: ActivationId
  readonly options: WorkerWatch
  readonly resolve: (end: WorkerEnd) => void
  readonly reject: (thrown: unknown) => void
  /** How many below it wait for a human. */
  waiting: number
  /** Of its working time, if that is limited. */
  readonly clock: WorkClock | undefined
  /** Its questions, if they are answered. */
  readonly questions: Listener | undefined
  /** The answers to them so far. */
  answering: Promise<void>
}

/** A timer that is waited for. */
interface PendingAlarm {
  readonly ring: () => void
  readonly reject: (thrown: unknown) => void
}

export class Watch {
  readonly #workers = new Map<ActivationId, WatchedWorker>()
  readonly #alarms = new Map<string, PendingAlarm>()
  readonly #stopper: (delegation: string) => ((reason: string) => void) | undefined
  #looking = false

  /**
   * `stopper`: how to stop what somebody outside calls by this name; undefined if it is nothing of ours, or has ended.
   */
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
        answering: Promise.resolve(),
      }
      this.#workers.set(worker, watched)
      watched.clock?.run()
    })
    this.#look(ctx)
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
   * Rings once, so many milliseconds from now. Returns how to call it off. `reject` hears that the leader was
   * cancelled.
   */
  alarm(ctx: Context, name: string, ms: number, { ring, reject }: PendingAlarm): () => void {
    const timer: OpId = ctx.ask(name, { until: new Date(ctx.now().getTime() + Math.max(0, ms)) })
    this.#alarms.set(timer, { ring, reject })
    this.#look(ctx)
    return () => {
      if (this.#alarms.delete(timer)) ctx.stop(timer, 'no longer needed')
    }
  }

  /** A worker begins (true) or ceases to wait for a human whom its leader asks for it. As if it had said so itself. */
  human(worker: ActivationId, waits: boolean): void {
    const watched = this.#workers.get(worker)
    if (watched !== undefined) this.#asked(watched, waits)
  }

  #look(ctx: Context): void {
    if (this.#looking) return
    this.#looking = true
    this.#lookOn(ctx).catch((thrown: unknown) => this.#leave(thrown))
  }

  async #lookOn(ctx: Context): Promise<void> {
    while (this.#workers.size > 0 || this.#alarms.size > 0) this.#hear(await ctx.next((each) => this.#isOurs(each)))
    this.#looking = false
  }

  /** The leader is cancelled, or begins anew. */
  #leave(thrown: unknown): void {
    const all = [...this.#workers.values(), ...this.#alarms.values()]
    this.#workers.clear()
    this.#alarms.clear()
    for (const { reject } of all) reject(thrown)
  }

  #isOurs(arrival: Arrival): boolean {
    if (arrival.type === 'worker.settled') return this.#workers.has(arrival.id)
    if (arrival.type === 'ask.settled') return this.#alarms.has(arrival.id)
    if (arrival.type !== 'message') return false
    const stop = stopAsked(arrival)
    if (stop !== undefined) return this.#stopper(stop.delegation) !== undefined
    return this.#asking(arrival) !== undefined || this.#questioning(arrival) !== undefined
  }

  #hear(arrival: Arrival): void {
    if (arrival.type === 'worker.settled') return this.#ended(arrival)
    if (arrival.type === 'ask.settled') {
      const alarm = this.#alarms.get(arrival.id)
      this.#alarms.delete(arrival.id)
      return alarm?.ring()
    }
    const stop = stopAsked(arrival)
    if (stop !== undefined) return this.#stopper(stop.delegation)?.(stop.reason)
    this.#questioning(arrival)?.()
    const watched = this.#asking(arrival)
    if (watched !== undefined) this.#asked(watched, waitsNow(arrival, watched.worker) === true)
  }

  #ended(end: WorkerEnd): void {
    const watched = this.#workers.get(end.id)
    if (watched === undefined) return
    this.#workers.delete(end.id)
    watched.clock?.end()
    if (watched.waiting > 0) watched.options.onWait?.(false)
    for (; watched.waiting > 0; watched.waiting--) passOnWaiting(watched.ctx, false)
    watched.resolve(end)
  }

  /** Whose word this is, if it says that a human is waited for. */
  #asking(arrival: Arrival): WatchedWorker | undefined {
    if (arrival.type !== 'message' || arrival.from === undefined) return undefined
    for (const watched of this.#workers.values()) if (waitsNow(arrival, watched.worker) !== undefined) return watched
    return undefined
  }

  /** How to see to a question, if this is one. */
  #questioning(arrival: Arrival): (() => void) | undefined {
    for (const watched of this.#workers.values()) {
      const answered = watched.questions?.hears(arrival)
      if (answered !== undefined)
        return () => {
          watched.answering = watched.answering.then(answered).catch(watched.reject)
        }
    }
    return undefined
  }

  #asked(watched: WatchedWorker, waits: boolean): void {
    if (!waits && watched.waiting === 0) return // nobody was waiting: it gives and takes nothing
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
