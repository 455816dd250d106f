/**
 * An activation in memory: an async function fed by one ordered queue. Recorded arrivals come first, live ones after (recorded as they are
 * delivered). There is one loop, and it does not know whether it is replaying: run and resume are the same code.
 *
 * Owns: replay, claiming of recorded commands by address, delivery, waiting, cancel and compensation, the end.
 * Does not own: storage, timing of commits, effects (host.ts); names and addresses of verbs (scope.ts).
 * Holds: K3 (nothing but the queue resumes the code), K4 (claiming), K7 (one end), K8 (cancel is an arrival), K10 (live code sees what was recorded).
 */
import { addUsage, cancelled, childActivation, failed, failure, failureFrom, ReeveError, type ActivationId, type Json, type OpId, type Outcome, type Usage } from '../core/index.ts'
import { isArrival, isCommand, type ArrivalEvent, type AskOpened, type Charge, type CommandEvent, type JournalEvent } from '../journal/index.ts'
import type { Account } from './account.ts'
import { Cancelled, type Arrival, type Context, type Matcher, type StepOptions } from './context.ts'
import type { Command, Host } from './host.ts'
import { claimable, type Operation } from './operation.ts'
import { RestartRequested, Scope } from './scope.ts'

/** A command found in the journal that the code has not asked for yet. */
interface Known {
  readonly event: CommandEvent
  ended: boolean
  attempts: number
  doubt: number | undefined
  rounds: number
}
interface Waiter {
  readonly match: Matcher | undefined
  readonly resolve: (arrival: Arrival) => void
  readonly reject: (error: Error) => void
}
interface Live {
  readonly event: ArrivalEvent
  readonly text: string | undefined
  readonly row: string | undefined
}
interface Compensation {
  readonly name: string
  readonly undo: (ctx: Context) => Promise<void>
}

/** What an activation was born with. */
export interface Birth {
  readonly id: ActivationId
  readonly agent: string
  readonly version: string
  readonly input: Json
  readonly path: readonly string[]
  readonly accounts: readonly Account[]
  readonly at: number
}

export class Activation {
  readonly id: ActivationId
  readonly host: Host
  readonly birth: Birth
  version: string
  /** Next position in the log. */
  seq = 0
  clock: number
  carried: Json | undefined
  segment = 0
  /** Why this activation waits for an operator: its code and its journal disagree, or its code is missing. */
  stuck: string | undefined
  /** Memory is void (fenced, or a commit failed): whatever the code still does has no effect. */
  discarded = false
  outcome: Outcome | undefined
  recordedOutcome: Outcome | undefined
  usage: Usage = []
  readonly operations = new Map<string, Operation>()
  /** Keys of inbox rows that were used up and are to be marked so with the next commit. */
  taken: string[] = []
  /** A cancel has come in, or is recorded: another one changes nothing. */
  cancelKnown = false
  /** It has put questions to the outside that may still be open in the store. */
  asked = false
  #known = new Map<string, Known>()
  #unclaimed = 0
  #resolutions = new Map<string, { action: 'map' | 'execute' | 'drop'; to: string | undefined }>()
  #past: { event: ArrivalEvent; at: number }[] = []
  #cursor = 0
  #live: Live[] = []
  #head = 0
  #byId = new Map<string, Waiter>()
  #any: Waiter[] = []
  #buffer = new Map<string, Arrival>()
  #compensations: Compensation[] = []
  #cancelled: { reason: string; limit: 'usd' | 'tokens' | 'minutes' | 'turns' | undefined } | undefined
  #main: Outcome | undefined
  #started = false
  #undoing = false
  #restarting: Json | undefined
  #openSteps = 0
  #bodyless = false

  constructor(host: Host, birth: Birth) {
    this.host = host
    this.birth = birth
    this.id = birth.id
    this.version = birth.version
    this.clock = birth.at
  }

  // ---- restoring -------------------------------------------------------------------------------------------------------------------

  /** Folds one entry of the log into memory. Entries come in order; a gap throws `journal.hole`. */
  restore(seq: number, at: number, event: JournalEvent): void {
    if (isCommand(event) && event.op === 'ask') this.asked = true
    if (seq !== this.seq) {
      throw new ReeveError('journal.hole', `the journal of ${this.id} lacks entry ${this.seq} (found ${seq})`, {
        hint: 'Entries were lost or removed from outside. Restore the store from a backup; other runs are not touched.',
      })
    }
    this.seq++
    if (isArrival(event)) this.#restoreArrival(event, at)
    else if (isCommand(event)) {
      this.#known.set(event.address, { event, ended: false, attempts: 0, doubt: undefined, rounds: 0 })
      if (event.op === 'step' && claimable(event.effect)) this.#unclaimed++
    } else this.#restoreNote(event)
  }

  #restoreArrival(event: ArrivalEvent, at: number): void {
    this.#past.push({ event, at })
    if (event.type === 'cancel.received') this.cancelKnown = true
    const known = 'address' in event ? this.#known.get(event.address) : undefined
    if (known !== undefined) known.ended = true
    else if ('address' in event) {
      const carried = this.operations.get(event.address)
      if (carried !== undefined) carried.endRecorded = true
    }
  }

  #restoreNote(event: Exclude<JournalEvent, ArrivalEvent | CommandEvent>): void {
    const known = 'address' in event ? this.#known.get(event.address) : undefined
    switch (event.type) {
      case 'activation.settled':
        this.recordedOutcome = event.outcome
        this.usage = event.usage ?? []
        break
      case 'activation.restarted':
        this.#beginSegment(event.segment, event.state, event.open, event.unread)
        break
      case 'agent.moved':
        this.version = event.to
        break
      case 'step.attempt-failed':
        if (known !== undefined) known.attempts = event.attempt
        break
      case 'effect.in-doubt':
        if (known !== undefined) known.doubt = known.rounds = event.round
        break
      case 'effect.cleared':
        if (known !== undefined) known.doubt = undefined
        break
      case 'replay.resolved':
        this.#resolutions.set(event.address, { action: event.action, to: event.to })
        break
      default:
    }
  }

  #beginSegment(segment: number, state: Json, open: readonly { address: string; op: 'worker' | 'ask' }[], unread: readonly ArrivalEvent[]): void {
    const carriedOver: Operation[] = []
    for (const { address } of open) {
      const known = this.#known.get(address)
      const operation = this.operations.get(address) ?? (known === undefined ? undefined : this.#operation(known.event, known, undefined))
      if (operation !== undefined) carriedOver.push(operation)
    }
    this.segment = segment
    this.carried = state
    this.#known.clear()
    this.#unclaimed = 0
    this.operations.clear()
    for (const operation of carriedOver) this.operations.set(operation.address, operation)
    this.#past = unread.map((event) => ({ event, at: this.clock }))
    this.#cursor = 0
    this.#buffer.clear()
  }

  /** True as long as recorded arrivals are left to deliver. */
  get replaying(): boolean {
    return this.#cursor < this.#past.length
  }
  /** Effects that the code awaits and that are not in doubt. */
  get openSteps(): number {
    return this.#openSteps
  }
  /** Addresses of recorded commands that the code never asked for again. Empty after a faithful replay. */
  get unclaimed(): readonly string[] {
    return [...this.#known.keys()]
  }
  get cancelling(): boolean {
    return this.#cancelled !== undefined
  }
  get hasLive(): boolean {
    return this.#head < this.#live.length
  }

  // ---- the queue -------------------------------------------------------------------------------------------------------------------

  /** Something came in. `row` is the inbox row that is used up by it, `text` its stored form if known. */
  arrive(event: ArrivalEvent, text?: string, row?: string): void {
    if (this.discarded || this.outcome !== undefined) return
    if (event.type === 'cancel.received') {
      if (this.cancelKnown && row !== undefined) this.taken.push(row)
      if (this.cancelKnown) return
      this.cancelKnown = true
    }
    this.#live.push({ event, text, row })
    this.host.ready(this)
  }

  /** Delivers arrivals until one resumes the code. True if it did: then the microtask queue must run dry before the next delivery. */
  advance(): boolean {
    if (this.discarded || this.outcome !== undefined || this.stuck !== undefined) return false
    let resumed = false
    if (!this.#started) {
      this.#started = resumed = true
      this.#runMain()
    }
    while (!resumed) {
      const past = this.#past[this.#cursor]
      if (past !== undefined) {
        this.#cursor++
        resumed = this.#deliver(past.event, past.at)
        continue
      }
      const live = this.#live[this.#head]
      if (live === undefined) return false
      if (++this.#head === this.#live.length) {
        this.#live = []
        this.#head = 0
      }
      resumed = this.#deliverLive(live)
    }
    if (this.#cursor < this.#past.length || this.#head < this.#live.length) this.host.ready(this)
    return true
  }

  #deliverLive(live: Live): boolean {
    const at = Math.max(this.host.now(), this.clock)
    if (live.row !== undefined) this.taken.push(live.row)
    const text = this.host.append(this, live.event, at, live.text)
    const recorded = JSON.parse(text) as ArrivalEvent
    if (recorded.type === 'step.settled') {
      const reserved = this.operations.get(recorded.address)?.reserved
      if (reserved !== undefined) this.host.settle(this, reserved, recorded.charge)
    }
    return this.#deliver(recorded, at)
  }

  #deliver(event: ArrivalEvent, at: number): boolean {
    if (at > this.clock) this.clock = at
    switch (event.type) {
      case 'cancel.received':
        return this.#cancel(event.reason, event.limit)
      case 'message.received':
        return this.#hand({ type: 'message', id: event.id, from: event.from, body: event.body }, true)
      case 'message.refused':
        return this.#hand({ type: 'message.refused', id: event.id, reason: event.reason }, true)
      default:
        return this.#deliverEnd(event)
    }
  }

  #deliverEnd(event: Extract<ArrivalEvent, { address: string }>): boolean {
    const operation = this.operations.get(event.address)
    if (event.type !== 'ask.settled' && event.usage !== undefined) this.usage = addUsage(this.usage, event.usage)
    if (operation !== undefined && !operation.ended) {
      operation.ended = true
      if (operation.kind === 'step') this.#openSteps--
      if (operation.kind === 'ask') this.host.closeQuestion(operation)
      if (operation.stopped !== undefined && operation.type === 'timer.set') {
        this.operations.delete(event.address)
        return this.#settleIfDone()
      }
    }
    const id = event.type === 'worker.settled' ? childActivation(this.id, event.address) : event.address
    const arrival = (event.type === 'worker.settled' ? { type: event.type, id, outcome: event.outcome, usage: event.usage ?? [] } : { type: event.type, id, outcome: event.outcome }) as Arrival
    return this.#hand(arrival, operation !== undefined)
  }

  /** Gives an arrival to whoever waits for it, else keeps it. `offered`: predicates may have it (the code has begun what it belongs to). */
  #hand(arrival: Arrival, offered: boolean): boolean {
    const waiter = this.#byId.get(arrival.id)
    if (waiter !== undefined) {
      this.#byId.delete(arrival.id)
      this.#forget(arrival.id)
      waiter.resolve(arrival)
      return true
    }
    if (offered) {
      for (let i = 0; i < this.#any.length; i++) {
        const candidate = this.#any[i]!
        if (candidate.match !== undefined && !(candidate.match as (a: Arrival) => boolean)(arrival)) continue
        this.#any.splice(i, 1)
        this.#forget(arrival.id)
        candidate.resolve(arrival)
        return true
      }
    }
    this.#buffer.set(arrival.id, arrival)
    return this.#settleIfDone()
  }

  #forget(id: string): void {
    this.operations.delete(id.startsWith(this.id) ? id.slice(this.id.length + 1) : id)
  }

  /** The one wait (K3). */
  wait(match: Matcher | undefined): Promise<Arrival> {
    if (typeof match === 'string') {
      const kept = this.#buffer.get(match)
      if (kept !== undefined) return Promise.resolve(this.#takeKept(kept))
    } else if (this.#buffer.size > 0) {
      for (const kept of this.#buffer.values()) {
        const begun = kept.type === 'message' || kept.type === 'message.refused' || this.operations.has(kept.type === 'worker.settled' ? kept.id.slice(this.id.length + 1) : kept.id)
        if (begun && (match === undefined || match(kept))) return Promise.resolve(this.#takeKept(kept))
      }
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { match, resolve, reject }
      if (typeof match === 'string') this.#byId.set(match, waiter)
      else this.#any.push(waiter)
    })
  }

  #takeKept(arrival: Arrival): Arrival {
    this.#buffer.delete(arrival.id)
    this.#forget(arrival.id)
    return arrival
  }

  /** The code rests, waits for nothing of ours, and has not ended: it awaits something that replay cannot bring back (K3). */
  get awaitsForeign(): boolean {
    return this.#started && this.#main === undefined && this.outcome === undefined && this.stuck === undefined && !this.discarded && this.#byId.size + this.#any.length === 0
  }

  /** Ends an activation that broke the rules. */
  fail(outcome: Outcome): void {
    this.#main ??= outcome
    this.#settleIfDone()
  }

  // ---- commands, as scopes give them -----------------------------------------------------------------------------------------------

  guard(compensating: boolean): void {
    if (this.#restarting !== undefined) throw new RestartRequested()
    if (this.#cancelled !== undefined && !compensating) throw new Cancelled(this.#cancelled.reason)
  }

  /** Claims the recorded command at this address, or records a new one. Undefined: the activation is stuck and nothing will ever arrive. */
  open(address: string, command: Command, scopePath: string, options: StepOptions<never> | undefined): Operation | undefined {
    const effect = command.op === 'step' ? command.effect : undefined
    let known = this.#claim(address)
    let at = address
    if (known === undefined) {
      const former = this.#former(address, scopePath, options?.aliases)
      if (former !== undefined) {
        at = former
        known = this.#claim(former)
      }
    }
    if (known === undefined && claimable(effect) && this.#unclaimed > 0 && options?.aliases === undefined && !this.#resolutions.has(address)) this.#diverge(address)
    if (this.stuck !== undefined) return undefined
    const event = { ...command, address: at } as CommandEvent
    const operation = this.#operation(known?.event ?? event, known, options)
    if (known === undefined) this.host.append(this, event, this.clock)
    this.operations.set(at, operation)
    if (operation.kind === 'step') this.#openSteps++
    return operation
  }

  #operation(event: CommandEvent, known: Known | undefined, options: StepOptions<never> | undefined): Operation {
    const address = event.address as OpId
    const kind = event.op === 'worker' || event.op === 'ask' ? event.op : 'step'
    return {
      id: kind === 'worker' ? childActivation(this.id, address) : address,
      address,
      kind,
      owner: this,
      type: event.type,
      effect: event.op === 'step' ? event.effect : undefined,
      fresh: known === undefined,
      endRecorded: known?.ended ?? false,
      ended: false,
      stopped: undefined,
      run: undefined,
      options,
      reserved: event.op === 'step' ? event.reserve : undefined,
      abort: undefined,
      attempts: known?.attempts ?? 0,
      doubt: known?.doubt,
      rounds: known?.rounds ?? 0,
    }
  }

  #claim(address: string): Known | undefined {
    const known = this.#known.get(address)
    if (known === undefined) return undefined
    this.#known.delete(address)
    if (known.event.op === 'step' && claimable(known.event.effect)) this.#unclaimed--
    return known
  }

  #former(address: string, scopePath: string, aliases: readonly string[] | undefined): string | undefined {
    const mapped = this.#resolutions.get(address)
    if (mapped?.action === 'map' && mapped.to !== undefined) return mapped.to
    return aliases?.map((alias) => scopePath + alias).find((former) => this.#known.has(former))
  }

  #diverge(address: string): void {
    for (const [dropped, resolution] of this.#resolutions) if (resolution.action === 'drop' && this.#known.has(dropped)) this.#claim(dropped)
    if (this.#unclaimed === 0) return
    const unclaimed = [...this.#known.values()].filter((known) => known.event.op === 'step' && claimable(known.event.effect)).map((known) => known.event.address)
    this.stuck = `the code asks for the new effect "${address}" while the journal holds ${unclaimed.map((name) => `"${name}"`).join(', ')}, which nobody has asked for`
    this.host.openDivergence(this, address, unclaimed)
  }

  /** Starts to wait for a step's end: a recorded one is in the queue, a new or interrupted one is let out. */
  letOut(operation: Operation, charge: Charge | undefined): void {
    if (operation.endRecorded) return
    if (operation.fresh && charge !== undefined) {
      const refusal = this.host.reserve(this, charge)
      if (refusal !== undefined) {
        operation.reserved = undefined
        this.arrive({ type: 'step.settled', address: operation.address, outcome: failed(refusal) })
        return
      }
    }
    if (operation.effect === 'once' && !operation.fresh && !this.host.inFlight(operation)) {
      const isNew = operation.doubt === undefined
      if (isNew) operation.doubt = ++operation.rounds
      this.host.openDoubt(operation, isNew)
    } else this.host.letOut(operation)
  }

  /** Records a command that has no end (a fact, a message), unless the journal has it. True if it is new. */
  once(address: string, command: Command): boolean {
    if (this.#claim(address) !== undefined || this.stuck !== undefined) return false
    this.host.append(this, { ...command, address } as CommandEvent, this.clock)
    return true
  }

  ask(operation: Operation, event: AskOpened): void {
    if (!operation.endRecorded && operation.fresh) this.host.openQuestion(operation, event)
  }

  stop(id: string, reason: string): void {
    const operation = this.operations.get(id.startsWith(`${this.id}>`) ? id.slice(this.id.length + 1) : id)
    if (operation === undefined || operation.ended || operation.stopped !== undefined) return
    operation.stopped = reason
    if (operation.kind === 'step') this.host.abort(operation)
    else if (operation.kind === 'worker') {
      if (!operation.endRecorded) this.host.stopWorker(operation, reason)
    } else {
      this.host.closeQuestion(operation)
      if (operation.type === 'timer.set') this.operations.delete(operation.address)
      else if (!operation.endRecorded) this.arrive({ type: 'ask.settled', address: operation.address, outcome: cancelled(reason) })
    }
  }

  onCancel(name: string, undo: (ctx: Context) => Promise<void>): void {
    this.#compensations.push({ name, undo })
  }

  restart(state: Json): never {
    this.#restarting = state
    throw new RestartRequested()
  }

  // ---- the end ---------------------------------------------------------------------------------------------------------------------

  #runMain(): void {
    const orchestration = this.host.orchestration(this)
    if (orchestration === undefined) {
      this.#bodyless = true
      return
    }
    const context = new Scope(this, this.segment === 0 ? '' : `@${this.segment}/`, false, orchestration.version)
    let body: Promise<Outcome>
    try {
      body = orchestration.run(context, this.birth.input)
    } catch (thrown) {
      body = Promise.reject(thrown as Error)
    }
    const end = (outcome: Outcome): void => {
      if (this.discarded || this.stuck !== undefined) return
      if (this.#restarting !== undefined && this.#cancelled === undefined) return this.#nextSegment(this.#restarting)
      this.#main ??= outcome
      this.#settleIfDone()
    }
    body.then(end, (thrown: unknown) => end(this.#thrownOutcome(thrown)))
  }

  #thrownOutcome(thrown: unknown): Outcome {
    if (thrown instanceof Cancelled) return cancelled(thrown.reason)
    const what = failureFrom(thrown, 'orchestration.threw')
    return failed(what.class === 'unknown' ? { ...what, class: 'internal', retryable: false } : what)
  }

  #nextSegment(state: Json): void {
    this.#restarting = undefined
    const open: { address: string; op: 'worker' | 'ask' }[] = []
    const closing: Operation[] = []
    for (const operation of this.operations.values()) {
      if (operation.ended) continue
      if (operation.kind === 'step') closing.push(operation)
      else open.push({ address: operation.address, op: operation.kind })
    }
    for (const operation of closing) {
      this.host.abort(operation)
      if (operation.reserved !== undefined) this.host.settle(this, operation.reserved, undefined)
      this.operations.delete(operation.address)
    }
    const unread = [...this.#buffer.values()].map((arrival) => this.#asEvent(arrival))
    this.#openSteps = 0
    this.host.append(this, { type: 'activation.restarted', state, segment: this.segment + 1, open, unread }, this.clock)
    this.#beginSegment(this.segment + 1, state, open, unread)
    this.#byId.clear()
    this.#any = []
    this.#compensations = []
    this.#started = false
    this.host.ready(this)
  }

  #asEvent(arrival: Arrival): ArrivalEvent {
    switch (arrival.type) {
      case 'message':
        return { type: 'message.received', id: arrival.id, ...(arrival.from === undefined ? {} : { from: arrival.from }), body: arrival.body }
      case 'worker.settled':
        return { type: arrival.type, address: arrival.id.slice(this.id.length + 1), outcome: arrival.outcome }
      case 'message.refused':
        return arrival
      default:
        return { type: arrival.type, address: arrival.id, outcome: arrival.outcome }
    }
  }

  #cancel(reason: string, limit: 'usd' | 'tokens' | 'minutes' | 'turns' | undefined): boolean {
    if (this.#cancelled !== undefined) return false
    this.#cancelled = { reason, limit }
    for (const operation of [...this.operations.values()]) this.stop(operation.id, reason)
    const waiters = [...this.#byId.values(), ...this.#any]
    this.#byId.clear()
    this.#any = []
    for (const waiter of waiters) waiter.reject(new Cancelled(reason))
    if (this.#bodyless) this.#main = cancelled(reason)
    if (waiters.length === 0) this.#settleIfDone()
    return true
  }

  /** Finishes as soon as the code has ended and, after a cancel, everything it had started has ended and is undone. */
  #settleIfDone(): boolean {
    if (this.#main === undefined || this.outcome !== undefined || this.stuck !== undefined) return false
    if (this.#cancelled === undefined) {
      this.#finish(this.#main)
      return true
    }
    if (this.#undoing) return false
    for (const operation of this.operations.values()) if (!operation.ended && operation.kind !== 'ask') return false
    this.#undoing = true
    const { reason, limit } = this.#cancelled
    const ended: Outcome = limit === undefined ? cancelled(reason) : { status: 'limited', limit, message: reason }
    this.#undo().then(
      () => this.#finish(ended),
      (thrown: unknown) => this.#finish(failed(failure('orchestration.threw', `while undoing after "${reason}": ${failureFrom(thrown, 'orchestration.threw').message}`, 'internal'))),
    )
    return true
  }

  async #undo(): Promise<void> {
    const context = new Scope(this, '!cancel/', true, this.version)
    for (const { name, undo } of this.#compensations.reverse()) await undo(context.scope(name))
  }

  #finish(outcome: Outcome): void {
    if (this.discarded) return
    this.outcome = outcome
    const open: string[] = []
    for (const operation of this.operations.values()) {
      if (operation.ended || operation.type === 'timer.set') continue
      open.push(operation.address)
      if (operation.stopped === undefined && operation.kind !== 'ask') this.stop(operation.id, 'its leader has ended')
      if (operation.reserved !== undefined) this.host.settle(this, operation.reserved, undefined)
    }
    const recorded = this.recordedOutcome
    if (recorded === undefined) {
      const usage = this.usage.length === 0 ? {} : { usage: this.usage }
      const text = this.host.append(this, { type: 'activation.settled', outcome, ...usage, ...(open.length === 0 ? {} : { open }) }, Math.max(this.clock, this.host.now()))
      this.outcome = (JSON.parse(text) as { outcome: Outcome }).outcome
    }
    this.host.settled(this, recorded ?? this.outcome, this.usage, recorded !== undefined)
  }
}

