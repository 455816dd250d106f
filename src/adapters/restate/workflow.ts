/**
 * What Restate runs: one workflow per activation, and a bell that tells invocations to look again.
 *
 * Owns: the order of entries in Restate's journal. It is made of recorded releases and of nothing else, so it does not depend on anybody's code: a
 * deployment may change every agent under a run in flight. Does not own: what an activation does (seat.ts), what is true (eventstore).
 * Holds: K4 in Restate's terms (equal releases make equal entries), K5 (nothing is begun or told before the commit that says so has been acknowledged).
 */
import {
  CancelledError,
  RestatePromise,
  serde,
  type Serde,
  service,
  workflow,
  type Context,
  type WorkflowContext,
} from '@restatedev/restate-sdk'
import { systemClock } from '../../core/index.ts'
import type { Birth } from '../eventstore/index.ts'
import { signalName, tell } from './call.ts'
import type { Attempt } from './desk.ts'
import { keyOf, lineHeader, type Lines, type Patience, type ServiceNames, type Summons } from './names.ts'
import type { Place } from './place.ts'
import { entryMs, nothing, type Release } from './release.ts'

/** Entries of one invocation's journal after which the next generation goes on, so that no journal grows without bound. */
const entriesPerGeneration = 2_000
/** The name of the first entry. No effect's address has a `!`. */
const beginning = '!begin'
const summonsSerde = serde.json as Serde<Summons>

type Heard = { readonly type: 'wake' | 'time' } | { readonly type: 'effect'; readonly address: string; readonly release: Release }

/** The services of one process. */
export function reeveServices(
  place: Place,
  names: ServiceNames,
  lines: Lines,
  patience: Patience,
): (ReturnType<typeof workflow> | ReturnType<typeof service>)[] {
  const run = (ctx: WorkflowContext, summons: Summons): Promise<void> => new Conduct(ctx, summons, place, names, lines, patience).run()
  const retryPolicy = { initialInterval: 50, exponentiationFactor: 2, maxInterval: 2_000, maxAttempts: Number.MAX_SAFE_INTEGER }
  const activation = workflow({
    name: names.activation,
    handlers: { run },
    options: {
      // Restate's own way of parking would leave a long effect deaf to all that comes in: an attempt that rests hangs up by itself instead.
      inactivityTimeout: patience.effectsWithinMs + entryMs,
      abortTimeout: patience.effectsWithinMs + entryMs,
      workflowRetention: patience.keepEndedMs,
      journalRetention: 0,
      retryPolicy,
    },
  })
  const bell = service({
    name: names.bell,
    handlers: {
      ring: async (ctx: Context, { calls }: { readonly calls: readonly string[] }): Promise<void> => tell(ctx, calls),
      /** For whoever does not know which build is the newest: the bell is that build's. */
      begin: async (ctx: Context, summons: Summons): Promise<void> => summon(ctx, names, summons),
    },
    options: { journalRetention: 0, idempotencyRetention: 0 },
  })
  return [activation, bell]
}

/** Begins an activation's workflow. The same generation again is the same workflow. */
function summon(ctx: Pick<Context, 'genericSend'>, names: ServiceNames, parameter: Summons): void {
  ctx.genericSend({ service: names.activation, method: 'run', key: keyOf(parameter), parameter, inputSerde: summonsSerde })
}

/** One attempt of one activation's workflow. */
class Conduct {
  readonly #ctx: WorkflowContext
  readonly #summons: Summons
  readonly #place: Place
  readonly #names: ServiceNames
  readonly #attempt: Attempt
  readonly #park: () => () => void
  readonly #flights = new Map<string, RestatePromise<Heard>>()
  /** Listed again while they fly: if they come back without an end, they fly again. */
  readonly #relisted = new Set<string>()
  #call: RestatePromise<Heard>
  #timer: { readonly at: number; readonly promise: RestatePromise<Heard> } | undefined
  #entries = 0
  #cancelled = false

  constructor(ctx: WorkflowContext, summons: Summons, place: Place, names: ServiceNames, lines: Lines, { parkAfterMs }: Patience) {
    this.#ctx = ctx
    this.#summons = summons
    this.#place = place
    this.#names = names
    const { id, attemptCompletedSignal, attemptHeaders } = ctx.request()
    const line = attemptHeaders.get(lineHeader)
    this.#park = () => systemClock.timer(systemClock.now() + parkAfterMs, () => lines.hangUp(String(line)))
    this.#attempt = { generation: summons.generation, invocation: id, calls: 0, signal: attemptCompletedSignal }
    this.#call = this.#listen()
  }

  async run(): Promise<void> {
    this.#takeOff(beginning, () => this.#seat.begin())
    for (;;) {
      const release = await this.#hear()
      const listed = this.#apply(release)
      if (release.over === true) return await this.#land()
      if (release.again === true) this.#takeOff('!again', () => this.#seat.pass())
      if (this.#entries > entriesPerGeneration && this.#flights.size === 0 && (await this.#handOver())) return
      for (const address of listed) this.#fly(address)
    }
  }

  /** What was on its way when the last word was recorded has nothing more to say, but may have somebody to tell. */
  async #land(): Promise<void> {
    while (this.#flights.size > 0) {
      const heard = await RestatePromise.race([...this.#flights.values()])
      if (heard.type === 'effect') this.#apply(this.#landed(heard))
    }
  }

  get #seat(): ReturnType<Place['sit']> {
    return this.#place.sit(this.#summons.activation, this.#attempt)
  }

  #do<T>(name: string, work: () => Promise<T>): RestatePromise<T> {
    this.#entries++
    return this.#ctx.run(name, work)
  }

  /**
   * Waits for whatever comes first, and moves the activation on. Nothing else is waited for: a cancel, which may come at any wait, must not lose what a commit
   * has set free. After one, Restate would call a parked attempt back at once, so it stays.
   */
  async #hear(): Promise<Release> {
    const callOff = this.#flights.size === 0 && !this.#cancelled ? this.#park() : undefined
    try {
      const timers = this.#timer === undefined ? [] : [this.#timer.promise]
      const heard = await RestatePromise.race([this.#call, ...timers, ...this.#flights.values()])
      if (heard.type === 'effect') return this.#landed(heard)
      if (heard.type === 'wake') {
        this.#attempt.calls++
        this.#call = this.#listen()
      } else this.#timer = undefined
      this.#takeOff(`!${heard.type} ${this.#entries}`, () => this.#seat.pass())
    } catch (thrown) {
      if (!(thrown instanceof CancelledError)) throw thrown
      if (!this.#cancelled) this.#takeOff('!cancel', () => this.#seat.cancelled())
      this.#cancelled = true
    } finally {
      callOff?.()
    }
    return nothing(0)
  }

  #landed({ address, release }: Extract<Heard, { type: 'effect' }>): Release {
    this.#flights.delete(address)
    if (!this.#relisted.delete(address)) return release
    return { ...release, effects: [...new Set([...(release.effects ?? []), address])] }
  }

  #listen(): RestatePromise<Heard> {
    return this.#ctx.signal<undefined>(signalName(this.#attempt.calls)).map(() => ({ type: 'wake' }))
  }

  #fly(address: string): void {
    if (this.#flights.has(address)) this.#relisted.add(address)
    else this.#takeOff(address, () => this.#seat.fly(address))
  }

  /** Done beside whatever is heard meanwhile. */
  #takeOff(address: string, work: () => Promise<Release>): void {
    const landed = this.#do(address, work).map((release, failure): Heard => {
      if (failure !== undefined) throw failure
      return { type: 'effect', address, release: release! }
    })
    this.#flights.set(address, landed)
  }

  /** Begins, tells and sets the clock as the release says. Returns the effects that may leave. */
  #apply({ now, births = [], wakes = [], due, effects = [] }: Release): readonly string[] {
    for (const birth of births) this.#summon(birth)
    tell(this.#ctx, wakes)
    if (due !== undefined && (this.#timer === undefined || due < this.#timer.at)) {
      this.#timer = { at: due, promise: this.#ctx.sleep(Math.max(0, due - now)).map(() => ({ type: 'time' })) }
    }
    this.#entries += births.length + wakes.length
    return effects
  }

  #summon({ id, generation }: Birth): void {
    summon(this.#ctx, this.#names, { activation: id, generation })
  }

  /** Another invocation with an empty journal goes on. False: it cannot yet. */
  async #handOver(): Promise<boolean> {
    const { release, generation } = await this.#do('!hand over', () => this.#seat.handOver())
    this.#apply(release)
    if (generation !== undefined) this.#summon({ id: this.#summons.activation, generation })
    else if (release.over !== true) this.#takeOff('!again', () => this.#seat.pass())
    return generation !== undefined || release.over === true
  }
}
