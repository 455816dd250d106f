/**
 * Governor: how many calls of one model may be under way in this process, once its provider has said that there are too
 * many (spec team R-10).
 *
 * Owns: the limit of each model and how it moves, whose turn it is, the gate that `Retry-After` closes. Does not own:
 * the calls themselves, their attempts and their waits between attempts (replay/effects.ts). All engines of a process
 * share one, so that runs that know nothing of each other do not push each other over.
 *
 * A model that has never refused a call is not limited. Its first refusal sets the limit to half of what is under way,
 * and each further one to half of what is under way then: while a storm is being refused, what is left under way comes
 * to be what the provider takes. As many calls answered as the limit says, and it is one higher; up to where it was
 * refused before, each time more patiently. Back at what was under way when it began, it is forgotten. Lives in memory:
 * a new process finds out anew.
 * Holds: K3 (orchestration sees nothing of it), K6, K8 (a call that waits has not left: it can be stopped or called
 * back at once, and a crash loses nothing).
 */
import { systemClock, type Clock, ChurnMap, ChurnSet } from '@reeve/core'

/** How a call has ended: answered; refused as one too many; in any other way, also without having been made. */
type CallEnd = 'answered' | 'refused' | 'other'

/** A call's leave to go. */
export interface Pass {
  /** Its turn has not come. */
  readonly waiting: boolean
  /**
   * It has ended, or is not wanted any more. What is said after the first time is passed over. `retryAfterMs`: with
   * `refused`, the earliest moment for any other call.
   */
  end(how: CallEnd, retryAfterMs?: number): void
}

/** How it stands with the calls of one model. */
export interface GovernedModel {
  readonly model: string
  readonly underWay: number
  readonly waiting: number
  /** How many may be under way. Absent: any number. */
  readonly limit?: number
  /** Where the limit is forgotten. */
  readonly peak?: number
  /** No call leaves before this moment. Milliseconds since 1970. */
  readonly closedUntil?: number
}

/** What is known of a model that has refused. */
interface Throttle {
  limit: number
  /** What was under way when it first refused. */
  readonly peak: number
  /** Calls answered since the limit has moved. */
  answered: number
  /** What was under way when it last refused. */
  refusedAt: number
  /** How many rounds must go well before the limit goes up to `refusedAt`. */
  patience: number
  /** The limit has gone up since the last refusal. */
  rose: boolean
  closedUntil: number
}

/** The calls of one model. */
interface Lane {
  readonly model: string
  underWay: number
  throttle: Throttle | undefined
  /** In the order in which they came. */
  readonly queue: ChurnSet<QueuedCall>
  callOff: (() => void) | undefined
  /** Calls are let go just now. */
  letsGo: boolean
  /** When its last call ended. */
  restsSince: number
}

/** How long a call waits for a gate that is closed. */
export interface GateWait {
  /** Milliseconds. A gate that is closed for longer is not waited for. */
  readonly longestMs: number
  /** It waited for its turn, and the gate was closed for this long: it has ended. It must not throw. */
  giveUp(closedMs: number): void
}

/** What ends a call. */
type Ender = (lane: Lane, call: QueuedCall, how: CallEnd, retryAfterMs: number) => void

class QueuedCall implements Pass {
  waiting = true
  hasEnded = false
  readonly go: () => void
  readonly patience: GateWait | undefined
  readonly #lane: Lane
  readonly #ended: Ender

  constructor(lane: Lane, go: () => void, ended: Ender, patience: GateWait | undefined) {
    this.go = go
    this.patience = patience
    this.#lane = lane
    this.#ended = ended
  }

  end(how: CallEnd, retryAfterMs = 0): void {
    if (!this.hasEnded) this.#ended(this.#lane, this, how, retryAfterMs)
  }
}

/** A refusal this long ago is forgotten if the model was not called since. Milliseconds. */
const forgetAfterMs = 600_000
const mostPatience = 64

/**
 * Sees to it that a model that refuses calls as too many is not asked more than it takes. Engines ask it for leave;
 * metrics read `state` or listen with `watch`.
 */
export class Governor {
  readonly #clock: Clock
  readonly #lanes = new ChurnMap<string, Lane>()
  readonly #listeners = new Set<(model: GovernedModel) => void>()

  /** `clock`: measures the time for which gates are closed. */
  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /**
   * Asks for leave. Where it does not wait, the call is under way from now on; otherwise `go` says when, once, unless
   * its pass was ended before. `go` may end passes and ask for others; it must not throw. `patience`: it looks at
   * `closedFor` first. Default: it waits for as long as it takes.
   */
  pass(model: string, go: () => void, patience?: GateWait): Pass {
    const lane = this.#lane(model)
    const turn = new QueuedCall(lane, go, this.#ended, patience)
    if (lane.queue.size > 0) this.#next(lane) // the gate may have opened just now, and who came first goes first
    if (lane.queue.size === 0 && this.#isFree(lane)) this.#leaves(lane, turn)
    else {
      lane.queue.add(turn)
      this.#arm(lane)
    }
    return turn
  }

  /** For how long no call of this model leaves. Milliseconds; 0: the gate is open. */
  closedFor(model: string): number {
    const closedUntil = this.#lanes.get(model)?.throttle?.closedUntil ?? 0
    return Math.max(0, closedUntil - this.#clock.now())
  }

  /** How it stands with each model that has calls under way or waiting, or a limit. */
  state(): readonly GovernedModel[] {
    return [...this.#lanes.values()].map(stateOf)
  }

  /**
   * Hears whenever the limit or the gate of a model has changed: for metrics. A listener must not throw. Returns how to
   * stop.
   */
  watch(listener: (model: GovernedModel) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #lane(model: string): Lane {
    const lane = this.#lanes.get(model)
    if (lane === undefined) {
      const made: Lane = {
        model,
        underWay: 0,
        throttle: undefined,
        queue: new ChurnSet(),
        callOff: undefined,
        letsGo: false,
        restsSince: 0,
      }
      this.#lanes.set(model, made)
      return made
    }
    const rests = lane.underWay === 0 && lane.queue.size === 0
    if (lane.throttle !== undefined && rests && this.#clock.now() - lane.restsSince > forgetAfterMs) {
      lane.throttle = undefined
      this.#tell(lane)
    }
    return lane
  }

  #isFree({ throttle, underWay }: Lane): boolean {
    return throttle === undefined || (underWay < throttle.limit && this.#clock.now() >= throttle.closedUntil)
  }

  #leaves(lane: Lane, turn: QueuedCall): void {
    turn.waiting = false
    lane.underWay++
  }

  readonly #ended: Ender = (lane, turn, how, retryAfterMs) => {
    turn.hasEnded = true
    if (turn.waiting) {
      turn.waiting = false
      lane.queue.delete(turn)
    } else {
      const { throttle } = lane
      const changed =
        how === 'refused'
          ? this.#refused(lane, retryAfterMs)
          : how === 'answered' && throttle !== undefined && answered(lane, throttle)
      lane.underWay--
      if (changed) this.#tell(lane)
      if (how === 'refused') this.#giveUp(lane)
    }
    this.#next(lane)
  }

  #refused(lane: Lane, retryAfterMs: number): true {
    const { underWay } = lane
    const half = Math.max(1, Math.floor(underWay / 2))
    const begins = {
      limit: half,
      peak: underWay,
      answered: 0,
      refusedAt: underWay,
      patience: 1,
      rose: false,
      closedUntil: 0,
    }
    const throttle = (lane.throttle ??= begins)
    throttle.limit = Math.min(throttle.limit, half)
    throttle.answered = 0
    throttle.refusedAt = underWay
    if (throttle.rose) throttle.patience = Math.min(mostPatience, throttle.patience * 2)
    throttle.rose = false
    if (retryAfterMs > 0) throttle.closedUntil = Math.max(throttle.closedUntil, this.#clock.now() + retryAfterMs)
    return true
  }

  /** The gate has closed: calls end that do not wait for it. */
  #giveUp({ queue, throttle }: Lane): void {
    const closedMs = (throttle?.closedUntil ?? 0) - this.#clock.now()
    const impatient = [...(queue as Iterable<QueuedCall>)].filter(
      ({ patience }) => patience !== undefined && patience.longestMs < closedMs,
    )
    for (const call of impatient) {
      queue.delete(call)
      call.waiting = false
      call.hasEnded = true
    }
    for (const { patience } of impatient) patience!.giveUp(closedMs)
  }

  /** Lets the calls go whose turn it is. Those that end at once, or ask for more, are seen to by the loop that let them go. */
  #next(lane: Lane): void {
    if (lane.letsGo) return
    lane.letsGo = true
    try {
      while (lane.queue.size > 0 && this.#isFree(lane)) {
        const [turn] = lane.queue as Iterable<QueuedCall>
        lane.queue.delete(turn!)
        this.#leaves(lane, turn!)
        turn!.go()
      }
    } finally {
      lane.letsGo = false
    }
    if (lane.underWay === 0 && lane.queue.size === 0) {
      if (lane.throttle === undefined) this.#lanes.delete(lane.model)
      else lane.restsSince = this.#clock.now()
    }
    this.#arm(lane)
  }

  /**
   * Only the gate can open by itself: where it alone keeps a call waiting, the clock says when. Whether it is open
   * already is not looked at: it may open between two looks.
   */
  #arm(lane: Lane): void {
    const { throttle, queue, underWay } = lane
    if (throttle === undefined || queue.size === 0 || underWay >= throttle.limit) {
      lane.callOff?.()
      lane.callOff = undefined
      return
    }
    lane.callOff ??= this.#clock.timer(throttle.closedUntil, () => {
      lane.callOff = undefined
      this.#next(lane)
    })
  }

  #tell(lane: Lane): void {
    if (this.#listeners.size === 0) return
    const state = stateOf(lane)
    for (const listener of this.#listeners) listener(state)
  }
}

/** One more was answered. True: the limit has gone up by it, or is gone. */
function answered(lane: Lane, throttle: Throttle): boolean {
  const { limit, refusedAt } = throttle
  if (++throttle.answered < limit * (limit + 1 === refusedAt ? throttle.patience : 1)) return false
  throttle.answered = 0
  throttle.limit++
  throttle.rose = true
  if (limit >= refusedAt) throttle.patience = 1
  if (throttle.limit >= throttle.peak) lane.throttle = undefined
  return true
}

function stateOf({ model, underWay, queue, throttle }: Lane): GovernedModel {
  const known = { model, underWay, waiting: queue.size }
  if (throttle === undefined) return known
  const { limit, peak, closedUntil } = throttle
  return { ...known, limit, peak, ...(closedUntil === 0 ? undefined : { closedUntil }) }
}

const governors = new WeakMap<Clock, Governor>()

/** The governor of all engines of this process that share a clock. */
export function governorOf(clock: Clock = systemClock): Governor {
  const known = governors.get(clock) ?? new Governor(clock)
  governors.set(clock, known)
  return known
}
