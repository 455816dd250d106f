/**
 * Dependency timeouts: how long a task waits while nothing moves among those it depends on; then it has failed (spec
 * team R-5).
 *
 * Owns: since when nothing has moved, one timer for all who wait. Does not own: what moves (scheduler.ts), what else a
 * wait may come to (readiness.ts).
 * Holds: K3: one durable timer; what it finds follows from recorded arrivals. Working time: the clock of a task stands
 * while one of those it waits for waits for a human, and while none of them has begun: those have clocks of their own,
 * or wait for a slot.
 */
import type { Context, Pause } from '@reeve/engine'
import type { Watch } from '@reeve/supervisor'
import type { TaskGraph, Entry } from '../state/task-graph.ts'

/** What a dependency timeout depends on. */
export interface DependencyTimeoutParts {
  readonly graph: TaskGraph
  readonly watch: Watch
  /** The tasks that wait, and for whom each does now. */
  readonly waiting: () => Iterable<Entry>
  readonly awaited: (entry: Entry) => readonly Entry[]
  /** It has waited for long enough: it is to end. */
  readonly lost: (entry: Entry) => void
  /** The team is cancelled. */
  readonly leave: (thrown: unknown) => void
}

/** When a member waited for a human. `to`: undefined while it does. */
interface HumanWait {
  readonly from: number
  to: number | undefined
}

/** Timers are dates: what is later than this never comes. */
const latestDate = 8.64e15

export class DependencyTimeouts {
  readonly #ctx: Context
  readonly #timeoutMs: number
  readonly #parts: DependencyTimeoutParts
  readonly #movedAt = new Map<Entry, number>()
  readonly #publishedAt = new Map<string, number>()
  readonly #humanWaits = new Map<Entry, HumanWait[]>()
  #alarm: { readonly at: number; readonly callOff: () => void } | undefined
  /** A timeout has passed; ends of the same moment are heard first. */
  #lastCall = false
  /** As far as they are known: they are asked for when an alarm rings. */
  #pauses: readonly Pause[] = []
  #isAsking = false

  /** `timeoutMs`: of working time; 0: no limit. */
  constructor(ctx: Context, timeoutMs: number, parts: DependencyTimeoutParts) {
    this.#ctx = ctx
    this.#timeoutMs = timeoutMs
    this.#parts = parts
  }

  get #now(): number {
    return this.#ctx.now().getTime()
  }

  /** A member has begun an attempt at it, or it has ended. */
  moved(entry: Entry): void {
    this.#movedAt.set(entry, this.#now)
  }

  /** A topic has a new entry. */
  published(topic: string): void {
    this.#publishedAt.set(topic, this.#now)
  }

  /** Its member begins (true) or ceases to wait for a human. */
  humanWait(entry: Entry, waits: boolean): void {
    const list = this.#humanWaits.get(entry) ?? []
    const last = list.at(-1)
    if (waits) list.push({ from: this.#now, to: undefined })
    else if (last !== undefined) last.to ??= this.#now
    this.#humanWaits.set(entry, list)
    if (!waits) this.#arm(this.#earliest())
  }

  /**
   * Something has changed. No timeout can pass sooner than a whole timeout after the first moment in which a task
   * waits.
   */
  look(): void {
    if (this.#alarm !== undefined || this.#isAsking || this.#timeoutMs === 0) return
    for (const _ of this.#parts.waiting()) return this.#arm(this.#now + this.#timeoutMs)
  }

  /** No task waits any more, or ever will. */
  close(): void {
    this.#alarm?.callOff()
    this.#alarm = undefined
  }

  #arm(at: number | undefined): void {
    if (at === undefined || at > latestDate || this.#timeoutMs === 0) return
    if (this.#alarm !== undefined && this.#alarm.at <= at) return
    this.#alarm?.callOff()
    const { watch, leave } = this.#parts
    const callOff = watch.alarm(this.#ctx, 'idle', at - this.#now, {
      ring: () => void this.#ring().catch(leave),
      reject: leave,
    })
    this.#alarm = { at, callOff }
  }

  async #ring(): Promise<void> {
    this.#alarm = undefined
    if (!this.#lastCall && [...this.#parts.waiting()].some((entry) => this.#isLate(entry))) {
      // time in which the run stood still does not count
      this.#isAsking = true
      this.#pauses = await this.#ctx.scope('pauses').pauses()
      this.#isAsking = false
    }
    const late = [...this.#parts.waiting()].filter((entry) => this.#isLate(entry))
    // An end in the last moment is in time, and may come in after this timer.
    if (late.length > 0 && !this.#lastCall) {
      this.#lastCall = true
      return this.#arm(this.#now)
    }
    this.#lastCall = false
    for (const entry of late) if (this.#isLate(entry)) this.#parts.lost(entry)
    this.#arm(this.#earliest())
  }

  #isLate(entry: Entry): boolean {
    const deadline = this.#deadline(entry)
    return deadline !== undefined && deadline <= this.#now
  }

  #earliest(): number | undefined {
    let earliest: number | undefined
    for (const entry of this.#parts.waiting()) {
      const deadline = this.#deadline(entry)
      if (deadline !== undefined && (earliest === undefined || deadline < earliest)) earliest = deadline
    }
    return earliest
  }

  #asksNow(entry: Entry): boolean {
    const last = this.#humanWaits.get(entry)?.at(-1)
    return last !== undefined && last.to === undefined
  }

  /** When its time is up, if nothing moves; undefined while its clock stands. */
  #deadline(entry: Entry): number | undefined {
    const { graph, awaited } = this.#parts
    const on = awaited(entry)
    if (!on.some(({ begun }) => begun > 0) || on.some((each) => this.#asksNow(each))) return undefined
    const topics = entry.task.consumes ?? []
    const near = [...graph.before(entry), ...topics.flatMap((topic) => graph.producers(topic, entry))]
    const moments = [
      ...near.map((each) => this.#movedAt.get(each)),
      ...topics.map((topic) => this.#publishedAt.get(topic)),
    ]
    const since = moments.reduce<number>((latest, at) => Math.max(latest, at ?? 0), 0)
    return since + this.#timeoutMs + this.#stood(on, since)
  }

  /** How long one of these, at least, has waited for a human since then, or the run has stood still. */
  #stood(on: readonly Entry[], since: number): number {
    const humans = on.flatMap((each) => this.#humanWaits.get(each) ?? [])
    const waits = [...humans, ...this.#pauses].sort((one, other) => one.from - other.from)
    let [stood, reached] = [0, since]
    for (const { from, to = this.#now } of waits) {
      stood += Math.max(0, to - Math.max(from, reached))
      reached = Math.max(reached, to)
    }
    return stood
  }
}
