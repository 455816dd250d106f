/**
 * An activation in memory: an async function fed by one queue: recorded arrivals first, then live ones, recorded as
 * they are delivered. There is one loop: run and resume are the same code.
 *
 * Owns: delivery, what the code asks for, cancel and compensation, the end.
 * Does not own: the recorded past (recorded-log.ts), waiters (waits.ts), names (scope.ts), storage, commits and effects
 * (../activation-host.ts).
 * Holds: K3 (nothing but the queue resumes the code), K7 (one end), K8 (cancel is an arrival), K10 (live code sees what
 * was recorded).
 */
import {
  addUsage,
  canonical,
  cancelled,
  derivedId,
  doneBefore,
  failed,
  parentOf,
  withWorkDone,
  type ActivationId,
  type Clock,
  type Json,
  type MessageId,
  type OpId,
  type Outcome,
  type Shape,
  type Usage,
  ChurnMap,
} from '@reeve/core'
import {
  decode,
  questionContent,
  resultShape,
  type ActivationRestarted,
  type ActivationSettled,
  type ActivationSummed,
  type ArrivalEvent,
  type AskOpened,
  type AttemptFailed,
  type CancelReceived,
  type Charge,
  type CommandEvent,
  type Earlier,
  type EarlierEffect,
  type JournalEvent,
  type StepOpened,
  type WorkerSettled,
} from '@reeve/journal'
import {
  Cancelled,
  type Arrival,
  type ForeseenCall,
  type KnownEffect,
  type Matcher,
  type OnCancelOptions,
  type Orchestration,
  type OriginDeed,
  type StepOptions,
  type SummedTraffic,
} from '../context.ts'
import { Cancellation, thrownOutcome } from './cancellation.ts'
import { EarlierWork, type Met } from './earlier-attempts.ts'
import { awaitedWorkers, cutSegment, endEvent, openAtEnd, segmentEvent, settleOpen } from './settlement.ts'
import { addressed, admitted, type Command, type ActivationHost } from './activation-host.ts'
import { InboxQueue, type QueuedArrival } from './inbox-queue.ts'
import { Locals } from './locals.ts'
import {
  addressOf,
  openOperation,
  reserveOf,
  type Birth,
  type RecordedCommand,
  type Operation,
  type Owner,
} from './operation.ts'
import { isInDoubt, madeBefore, raiseDoubt, seedsOf, type Seeds } from './origin.ts'
import { FailedWorkers } from './failed-workers.ts'
import { divergence, RecordedLog, type Pausing } from './recorded-log.ts'
import {
  RestartRequested,
  Scope,
  whereaboutsOf,
  type Undo,
  type Undoing,
  type Verbs,
  type Whereabouts,
} from './scope.ts'
import { Traffic } from './traffic.ts'
import { arrivalOf, unreadEvent, PendingWaits } from './waits.ts'
import type { StopCause } from './activation-host.ts'

/** How long cancelled code may still await something foreign. Milliseconds. */
const abandonAfterMs = 2_000
const none: readonly never[] = []

export class Activation implements Owner, Verbs {
  readonly id: ActivationId
  readonly host: ActivationHost
  readonly birth: Birth
  readonly since: number
  readonly seeds: Seeds | undefined
  version: string
  seq = 0
  clock: number
  stuck: string | undefined
  discarded = false
  /** Its outcome, as soon as it is certain. */
  outcome: Outcome | undefined
  /** Its end is in the log. */
  over = false
  usage: Usage = none
  #failed = new FailedWorkers()
  readonly operations = new ChurnMap<string, Operation>()
  /** How many operations were opened. */
  opened = 0
  locals = new Locals()
  #whereabouts: Whereabouts | undefined
  readonly #log = new RecordedLog()
  readonly #waits = new PendingWaits((id) => this.operations.has(addressOf(this, id)))
  readonly #live = new InboxQueue()
  readonly #cancellation = new Cancellation()
  readonly #earlier: EarlierWork | undefined
  /** Of work that was sent back: what each round knows, by what its addresses begin with. */
  #rounds: { readonly path: string; readonly earlier: EarlierWork }[] = []
  #code: Orchestration | undefined
  #main: Outcome | undefined
  #started = false
  #bodyless = false
  #restarting: { state: Json } | undefined
  /** The code has asked for something whose end came before. */
  #isLate = false
  /** Of code that sums up what it hears. */
  #traffic: Traffic | undefined
  /** What was open when its outcome became certain. */
  #openAtEnd: readonly Operation[] = none
  /** Addresses of workers that have to end before its own end is recorded. */
  #awaited: Set<string> | undefined
  /** The activation ends without waiting for its code. */
  #abandoned = false
  /** Whether it is known what it had done, where its outcome is to say so. */
  #isDoneKnown = false

  constructor(host: ActivationHost, birth: Birth) {
    this.host = host
    this.birth = birth
    this.id = birth.id
    this.version = birth.version
    this.clock = birth.at
    this.since = host.now()
    this.seeds = this.#log.seeds = seedsOf(birth)
    this.#log.copiedTo = birth.copied?.at(-1)?.seq ?? 0
    this.#earlier = birth.earlier && new EarlierWork(birth.agent, birth.earlier)
  }

  /** Folds one entry of the log into memory, in order. Throws `journal.hole`. */
  restore(seq: number, at: number, event: JournalEvent): void {
    this.#log.fold(seq, at, event)
    this.seq = seq + 1
    if (event.type === 'agent.moved') this.version = event.to
    if (event.type === 'step.attempt-failed') this.noteAttempt(event)
    if (event.type !== 'activation.restarted') return
    this.version = event.before.version ?? this.version
    this.usage = this.#log.spent
    this.#failed = FailedWorkers.of(event.before)
    if (at > this.clock) this.clock = at
  }

  noteAttempt({ usage = none }: AttemptFailed): void {
    this.usage = addUsage(this.usage, usage)
  }

  get replaying(): boolean {
    return this.#log.replaying
  }
  get hasLive(): boolean {
    return this.#live.size > 0
  }
  /** Addresses of recorded commands that the code never asked for again. Empty after a faithful replay. */
  get unclaimed(): readonly string[] {
    return this.#log.unclaimedAddresses
  }
  /** A cancel has come in, or is recorded: another one changes nothing. */
  get cancelKnown(): boolean {
    return this.#log.cancelled
  }
  /** It has asked questions that may still be open in the store. */
  get asked(): boolean {
    return this.#log.asked
  }
  /** How the last pause was asked for: on the root, whose log holds the operator's commands. */
  get pausing(): Pausing | undefined {
    return this.#log.pausing
  }
  /** Nothing more comes for this address: the code has gone past it. */
  isOver(address: string): boolean {
    return this.#started && !this.replaying && !this.operations.has(address) && this.#log.isOver(address)
  }

  /** Whether this command is recorded and open, and the code has not come to it (again) yet. */
  willAsk(address: string): boolean {
    return !this.operations.has(address) && !this.#log.isOver(address)
  }
  wasAsked(address: string): boolean {
    return this.#log.holds(address)
  }
  get carried(): Json | undefined {
    return this.#log.carried
  }
  get whereabouts(): Whereabouts {
    return (this.#whereabouts ??= whereaboutsOf(this, this.host))
  }

  arrive(event: ArrivalEvent, text?: string, row?: string): void {
    if (this.discarded) return
    if (this.outcome !== undefined) return this.#afterEnd(event, row)
    if (event.type === 'cancel.received') {
      this.stuck = undefined
      if (this.#log.cancelled) {
        if (row !== undefined) this.host.useUp(this, row)
        return
      }
      this.#log.cancelled = true
    }
    this.#live.push({
      event,
      text,
      row,
      place: event.type === 'worker.settled' ? this.operations.get(event.address)?.place : undefined,
    })
    this.host.ready(this)
  }

  /**
   * Delivers arrivals until one resumes the code. True if it did: then the microtask queue must run dry before the next
   * delivery.
   */
  advance(): boolean {
    if (this.discarded || this.outcome !== undefined || this.stuck !== undefined) return false
    if (this.#abandoned) this.fail(cancelled(this.#cancellation.reason!))
    let resumed = false
    if (!this.#started) {
      this.#started = resumed = true
      this.#runMain()
    }
    while (!resumed) {
      resumed = this.#isLate && this.#offerKept()
      if (resumed) break
      const past = this.#log.nextArrival()
      if (past !== undefined) {
        resumed =
          past.event.type === 'activation.summed'
            ? this.#goOnFrom(past.event, past.at, past.seq)
            : this.#deliver(past.event, past.at, past.seq)
        continue
      }
      const live = this.#live.shift()
      if (live === undefined) return false
      const at = Math.max(this.host.now(), this.clock)
      const { seq } = this
      const recorded = this.#record(live, at)
      resumed = recorded !== undefined && this.#deliver(recorded, at, seq)
    }
    if (this.#isLate || this.#log.replaying || this.#live.size > 0) this.host.ready(this)
    return true
  }

  /** The engine closes: pending arrivals are recorded, and the code is given them by the next process. */
  recordArrivals(): void {
    if (this.discarded || this.outcome !== undefined || this.stuck !== undefined) return
    for (let live = this.#live.shift(); live !== undefined; live = this.#live.shift())
      this.#record(live, Math.max(this.host.now(), this.clock))
  }

  /**
   * The code is idle, has no pending verb and has not ended: it awaits something that replay cannot bring back (K3).
   */
  get awaitsForeign(): boolean {
    if (!this.#started || this.#bodyless || this.discarded || this.stuck !== undefined) return false
    return this.#main === undefined && this.outcome === undefined && this.#waits.pending === 0
  }

  /**
   * Cancelled code that awaits something foreign would keep its activation open for ever: after a grace period the
   * activation ends without it (K8).
   */
  leaveCode(clock: Clock): void {
    if (this.#cancellation.reason === undefined) return
    clock.timer(clock.now() + abandonAfterMs, () => {
      if (!this.awaitsForeign) return
      this.#abandoned = true
      this.host.ready(this)
    })
  }

  /** Ends an activation that broke the rules with this outcome; without one, an activation whose end was held back. */
  fail(outcome?: Outcome): void {
    this.#main ??= outcome
    this.#settleIfDone()
  }

  /** Records an arrival. Undefined: it would be a second end of an operation, or the end of an unknown one. */
  #record({ event, text, row }: QueuedArrival, at: number): ArrivalEvent | undefined {
    if (row !== undefined) this.host.useUp(this, row)
    const ends = 'address' in event ? this.#takeEnd(event.address) : undefined
    if ('address' in event && ends === undefined) return undefined
    if (event.type === 'message.received') this.#traffic?.wrote(this.seq)
    const stored = this.host.append(this, event, at, text, ends?.holds)
    // of a worker's outcome the worker has recorded what it is
    const isRead = event.type === 'worker.settled' || stored === text
    const recorded = isRead ? event : (decode(stored) as ArrivalEvent)
    if (ends?.reserved !== undefined && (recorded.type === 'step.settled' || recorded.type === 'worker.settled'))
      this.host.settle(this, ends.reserved, recorded.charge)
    return recorded
  }

  /**
   * An operation ends once: by its answer, its deadline or its withdrawal. Undefined: it has ended, or does not exist.
   */
  #takeEnd(address: string): { readonly reserved: Charge | undefined; readonly holds: Shape } | undefined {
    const operation = this.operations.get(address)
    if (operation === undefined) {
      const known = this.#log.endUnclaimed(address)
      return known && { reserved: reserveOf(known.event), holds: resultShape(known.event.type, undefined) }
    }
    if (operation.endRecorded) return undefined
    operation.endRecorded = true
    if (operation.kind === 'ask' || operation.doubt !== undefined) this.host.closeQuestion(operation)
    return { reserved: operation.reserved, holds: resultShape(operation.type, operation.options?.holds) }
  }

  /** The code is given what former messages came to. */
  #goOnFrom(event: ActivationSummed, at: number, seq: number): boolean {
    if (at > this.clock) this.clock = at
    if (this.#traffic === undefined) {
      this.stuck = `the code takes no summary, and entry ${seq} of its journal is one`
      this.host.openDivergence(this, '!summed', [])
      return false
    }
    this.#traffic.take(event, seq)
    return true
  }

  /** Something recorded waits for what the code has come to now. */
  #offersLate(): void {
    this.#isLate = true
    this.host.ready(this)
  }

  /** Ends that came before their operations were asked for are offered to the waits that are pending. */
  #offerKept(): boolean {
    const kept = this.#waits.offerKept()
    if (kept === undefined) this.#isLate = false
    else this.operations.delete(addressOf(this, kept))
    return kept !== undefined
  }

  #deliver(event: ArrivalEvent, at: number, seq: number): boolean {
    if (at > this.clock) this.clock = at
    if (event.type === 'ask.settled') this.seeds?.answered(event.address)
    if (event.type === 'message.received') this.#traffic?.heard(seq, event.id)
    else this.#traffic?.ends()
    if (event.type === 'cancel.received') return this.#cancel(event)
    if ('usage' in event && event.usage !== undefined) this.usage = addUsage(this.usage, event.usage)
    const address = 'address' in event ? event.address : undefined
    const operation = address === undefined ? undefined : this.operations.get(address)
    if (operation !== undefined) operation.ended = true
    if (event.type === 'worker.settled' && operation?.command.type === 'worker.started')
      this.#failed.ended(operation.id as ActivationId, operation.command, event.outcome)
    const isOffered = address === undefined || operation !== undefined
    if (!this.#waits.hand(arrivalOf(event, this.id, operation), isOffered)) return this.#settleIfDone()
    if (address !== undefined) this.operations.delete(address)
    return true
  }

  blocked(undoing: Undoing | undefined): Error | undefined {
    if (this.#restarting !== undefined) return new RestartRequested()
    const reason = undoing === undefined ? this.#cancellation.reason : undoing.expired
    return reason === undefined ? undefined : new Cancelled(reason)
  }

  wait(match: Matcher | undefined): Promise<Arrival> {
    const kept = this.#waits.take(match)
    if (kept === undefined) {
      if (this.#waits.hasLate) this.#offersLate()
      return this.#waits.wait(match, this.stuck !== undefined)
    }
    this.#traffic?.ends()
    this.operations.delete(addressOf(this, kept.id))
    return Promise.resolve(kept)
  }

  open(
    address: string,
    command: Command,
    scopePath: string,
    options: StepOptions<never> | undefined,
  ): Operation | undefined {
    this.#traffic?.ends()
    const claimed = this.#log.claim(address, command.op, scopePath, options?.aliases)
    const obstacles = claimed === undefined ? this.#log.obstacles(address, command, options?.aliases) : []
    if (obstacles.length > 0) this.#diverge(address, obstacles)
    if (this.stuck !== undefined) return undefined
    const asked = claimed?.known.event ?? this.#identified(addressed(command, address), options)
    const earlier = this.#earlierAt(address)
    // what was made is known before anything can refuse it, and costs nothing again
    const met = asked.op === 'step' ? earlier?.step(asked) : undefined
    const event = claimed === undefined ? this.#begun(asked, met) : asked
    const operation = openOperation(this, event, claimed?.known, options)
    if (claimed !== undefined && this.#waits.comesTo(operation.id)) {
      // it came before the code asked for it: in a fork, before what it waits for was approved
      if (operation.endRecorded) operation.ended = true
      this.#offersLate()
    }
    if (met !== undefined) Object.assign(operation, met)
    if (earlier !== undefined && event.op === 'worker') operation.earlier = earlier.worker(event)
    // the approver was told what was done before: that was the first doubt
    if (event.type === 'tool.called' && event.again !== undefined && operation.rounds === 0) operation.rounds = 1
    if (claimed === undefined) this.host.append(this, event, this.clock)
    this.operations.set(operation.address, operation)
    return operation
  }

  /**
   * Adds the digests that identify a new event. Where redaction is on, no plain digest of the input is recorded: a
   * short secret could be guessed from it.
   */
  #identified(event: CommandEvent, options: Pick<StepOptions<never>, 'content' | 'equalBy'> | undefined): CommandEvent {
    const { digests, redacts } = this.host
    if (digests === undefined) return event
    const isQuestion = event.type === 'interrupt.raised' || event.type === 'approval.requested'
    const content = isQuestion ? questionContent(event) : options?.content?.(digests.sha256)
    const known = event as { contentKey?: string; inputHash?: string }
    if (content !== undefined) known.contentKey = digests.keyOf(content)
    if (options?.equalBy !== undefined && redacts !== true) known.inputHash = digests.sha256(canonical(options.equalBy))
    return event
  }

  /** A new command with what is set aside for it: nothing for an effect that an earlier attempt has made. */
  #begun(event: CommandEvent, met: Met | undefined): CommandEvent {
    if (met?.made === undefined || event.op !== 'step') return admitted(this.host, this, event)
    const { reserve: _reserve, ...made } = event
    return made
  }

  #earlierAt(address: string): EarlierWork | undefined {
    return this.#rounds.findLast(({ path }) => address.startsWith(path))?.earlier ?? this.#earlier
  }

  knows(path: string, earlier: Earlier): void {
    this.#rounds.push({ path, earlier: new EarlierWork(this.birth.agent, earlier) })
  }

  known(address: string, { tool, effect, equalBy, asked }: ForeseenCall): KnownEffect | undefined {
    const { digests, redacts } = this.host
    const held = this.#log.held(address)
    const inputHash =
      held === undefined
        ? digests !== undefined && redacts !== true
          ? digests.sha256(canonical(equalBy))
          : undefined
        : 'inputHash' in held
          ? held.inputHash
          : undefined
    const earlier = this.#earlierAt(address)
    const step = { type: 'tool.called', op: 'step', address, tool, effect } as const
    const met = earlier?.foresee(inputHash === undefined ? step : { ...step, inputHash })
    const release = (): void => earlier?.release(address)
    if (met?.made !== undefined) return { state: 'made', release }
    const isAnswered = asked !== undefined && this.seeds?.isAnswered(asked) === true
    const done =
      met?.done ?? (isAnswered ? undefined : this.host.doneElsewhere?.({ owner: this, address: address as OpId }))
    if (done === undefined) {
      release()
      return undefined
    }
    return { state: 'done', done, isExact: done.activation !== undefined && inputHash !== undefined, release }
  }

  knownBefore(worker?: string): readonly EarlierEffect[] {
    const earlier = this.#rounds.at(-1)?.earlier ?? this.#earlier
    return earlier?.before(worker) ?? none
  }

  deedsOfOrigin(asked: string, scope: string): readonly OriginDeed[] {
    if (this.seeds?.hasAnswer(asked) === true) return none
    const deeds = this.host.deedsOfOrigin?.(this, scope) ?? none
    // what was asked for here was decided then
    return deeds.filter(({ place }) => this.operations.get(place)?.ended !== true)
  }

  #diverge(address: string, obstacles: readonly string[]): void {
    this.stuck = divergence(address, obstacles)
    this.host.openDivergence(this, address, obstacles)
  }

  letOut(operation: Operation): void {
    if (operation.endRecorded) return
    if (operation.made !== undefined && operation.rounds === 0) this.arrive(madeBefore(operation, operation.made))
    else if (isInDoubt(this.host, operation)) {
      if (raiseDoubt(this.host, operation)) this.#tellDoubt(operation, true)
    } else this.cleared(operation)
  }

  /** Nobody has made this effect: it leaves, unless it was refused when it was begun. */
  cleared(operation: Operation): void {
    const { address, refused } = operation
    if (refused === undefined) this.host.letOut(operation)
    else this.arrive({ type: 'step.settled', address, outcome: failed(refused) })
  }

  /** An operator has settled an effect in doubt. */
  doubtEnded(operation: Operation): void {
    operation.doubt = undefined
    this.host.closeQuestion(operation)
    this.#tellDoubt(operation, false)
  }

  /** Sends its leader the message that it begins or ceases to wait for a human, in the commit that records so. */
  #tellDoubt({ address, rounds }: Operation, waits: boolean): void {
    const word = this.discarded ? undefined : this.#code?.waiting?.(this.birth.input, waits)
    if (word === undefined) return
    const id = derivedId('msg', this.id, 'doubt', address, String(rounds), String(waits)) as MessageId
    this.host.send(this, word.to, id, word.body)
  }

  once(address: string, command: Command): boolean {
    this.#traffic?.fact(command.type)
    if (this.#log.claim(address, command.op, '', undefined) !== undefined || this.stuck !== undefined) return false
    this.#traffic?.wrote(this.seq)
    this.host.append(this, addressed(command, address), this.clock)
    return true
  }

  ask(operation: Operation, event: AskOpened): void {
    this.#log.asked = true
    if (operation.fresh) this.host.openQuestion(operation, event)
  }

  stop(id: string, reason: string, cause: StopCause = {}): void {
    const operation = this.operations.get(addressOf(this, id))
    if (cause.timedOutMs === undefined && id.startsWith(this.id)) this.replaced(id)
    if (operation === undefined || operation.ended || operation.stopped !== undefined) return
    operation.stopped = reason
    this.#traffic?.ends()
    if (operation.kind === 'step') this.host.abort(operation)
    else if (operation.kind === 'worker') {
      if (!operation.endRecorded) this.host.stopWorker(operation, reason, cause)
    } else if (!operation.endRecorded) {
      if (operation.type === 'timer.set') {
        this.host.closeQuestion(operation)
        this.operations.delete(operation.address)
      } else this.arrive({ type: 'ask.settled', address: operation.address, outcome: cancelled(reason) })
    }
  }

  replaced(worker: string): void {
    this.#failed.replaced(worker as ActivationId)
  }

  onCancel(name: string, undo: Undo, { always = false }: OnCancelOptions = {}): void {
    this.#cancellation.register(name, undo, always)
  }

  sums(parts: SummedTraffic): (message: MessageId) => void {
    const traffic = (this.#traffic = new Traffic(parts, this.#log.traffic(this.seq)))
    return (message) => {
      const summary = traffic.answered(message, this.replaying ? undefined : this.seq)
      if (summary === undefined || this.discarded || this.stuck !== undefined) return
      const { seq } = this
      const text = this.host.append(this, summary, this.clock)
      this.host.standsFor?.(this, summary.from)
      traffic.summed(seq, text.length)
    }
  }

  restart(state: Json): never {
    this.#restarting = { state }
    throw new RestartRequested()
  }

  #runMain(): void {
    const orchestration = (this.#code = this.host.orchestration(this))
    if (orchestration === undefined) {
      this.#bodyless = true
      // A cancel needs no code; there is nothing it could undo.
      if (this.#log.cancelled) this.stuck = undefined
      return
    }
    for (const known of this.#log.takeOpen()) this.#carryOver(known)
    const segment = this.#log.segment
    const context = new Scope(this, segment === 0 ? '' : `@${segment}/`, undefined, orchestration.version)
    const body = new Promise<Outcome>((resolve) => resolve(orchestration.run(context, this.birth.input)))
    const end = (outcome: Outcome): void => {
      if (this.discarded || this.stuck !== undefined) return
      if (this.#restarting !== undefined && this.#cancellation.reason === undefined)
        return this.#nextSegment(this.#restarting.state)
      this.#main ??= outcome
      this.#settleIfDone()
    }
    body.then(end, (thrown: unknown) => end(thrownOutcome(thrown)))
  }

  /** A worker or question of the former segment: its end is still to come. */
  #carryOver(known: RecordedCommand): void {
    if (this.operations.has(known.event.address)) return
    const operation = openOperation(this, known.event, known, undefined)
    this.operations.set(operation.address, operation)
    if (!operation.endRecorded && known.event.type === 'worker.started')
      this.host.startWorker(operation, known.event.agent, null, {})
  }

  #nextSegment(state: Json): void {
    this.#restarting = undefined
    this.locals = new Locals()
    const { carried: open, steps } = cutSegment(this.operations.values())
    const unread = this.#waits.unread
      .map((arrival) => unreadEvent(arrival, addressOf(this, arrival.id)))
      .filter((event) => !('address' in event) || this.operations.has(event.address))
    const { abandoned, segment } = this.#log
    const begins = { segment: segment + 1, state, open, unread }
    const next = segmentEvent(
      this,
      begins,
      steps,
      abandoned,
      { usage: this.usage, ...this.#failed.told },
      this.operations,
    )
    if ('status' in next) return this.fail(next)
    // what the code goes on with is what was recorded (K10)
    const recorded = decode(this.host.append(this, next.event, this.clock, next.text)) as ActivationRestarted
    // what a fork draws is known by what was copied
    if (this.seeds === undefined) this.host.standsFor?.(this, 1)
    this.#traffic = undefined
    this.usage = addUsage(this.usage, recorded.lost ?? [])
    this.#failed = FailedWorkers.of(recorded.before)
    for (const operation of steps) {
      operation.stopped = 'its activation restarts'
      operation.ended = true
      this.operations.delete(operation.address)
      this.host.abort(operation)
    }
    this.#settleOpen(steps, abandoned)
    this.#log.beginSegment(recorded.segment, recorded.state, open, recorded.unread, this.clock, this.seq - 1)
    this.#waits.clear()
    this.#cancellation.forget()
    this.#earlier?.beginSegment()
    this.#rounds = []
    this.#started = false
    this.host.ready(this)
  }

  #cancel(event: CancelReceived): boolean {
    if (!this.#cancellation.begin(event)) return false
    const reason = event.reason
    // a worker whose leader was finished by a human is cancelled, and nothing of its work is undone
    const keeps: StopCause = event.keeps === undefined ? {} : { keeps: event.keeps }
    const cause: StopCause = event.outcome === undefined ? keeps : { outcome: cancelled(reason) }
    for (const operation of this.operations.values()) this.stop(operation.id, reason, cause)
    this.#waits.rejectAll(new Cancelled(reason))
    if (this.#bodyless) this.#main = cancelled(reason)
    // Where the code has returned and its end was held back, only this ends it: no verb of the code is pending.
    this.#settleIfDone()
    return true
  }

  /** Finishes as soon as the code has ended and, after a cancel, everything it had started has ended and is undone. */
  #settleIfDone(): boolean {
    if (this.#main === undefined || this.outcome !== undefined || this.stuck !== undefined) return false
    if (this.#cancellation.reason === undefined) {
      if (this.host.holdsEnd(this)) return false
      this.#finish(this.#main)
      return true
    }
    for (const operation of this.operations.values()) if (!operation.ended && operation.kind !== 'ask') return false
    if (!this.#cancellation.beginUndoing()) return false
    this.#cancellation.undo(this, this.#log, this.#waits).then(
      () => this.#finish(this.#cancellation.outcome),
      (thrown: unknown) => this.#finish(this.#cancellation.notUndone(thrown)),
    )
    return true
  }

  /** Its outcome is certain: what it still does has no effect, and open operations are stopped. */
  #finish(outcome: Outcome): void {
    if (this.discarded || this.outcome !== undefined) return
    // what was begun and not asked for again ends with it
    if (this.#log.outcome === undefined) for (const known of this.#log.takeUnclaimedWorkers()) this.#carryOver(known)
    this.outcome = this.#failed.in(outcome)
    this.#openAtEnd = openAtEnd(this.operations)
    // an end that is in the log already has waited for its workers
    this.#awaited = this.#log.outcome === undefined ? awaitedWorkers(this.#openAtEnd) : new Set()
    for (const { kind, id } of this.#openAtEnd) if (kind !== 'ask') this.stop(id, 'its leader has ended')
    for (let live = this.#live.shift(); live !== undefined; live = this.#live.shift())
      this.#afterEnd(live.event, live.row)
    this.#recordEnd()
  }

  /**
   * After its end only the ends of workers count: they are not recorded here, but an activation's last word comes after
   * theirs (K7).
   */
  #afterEnd(event: ArrivalEvent, row: string | undefined): void {
    if (row !== undefined) this.host.useUp(this, row)
    if (this.over || event.type !== 'worker.settled' || this.#awaited?.delete(event.address) !== true) return
    if (event.usage !== undefined) this.usage = addUsage(this.usage, event.usage)
    this.#settleApart(event)
    this.#recordEnd()
  }

  /**
   * What was set aside for a worker that is placed apart is settled with what it used, also where its end is not
   * recorded any more.
   */
  #settleApart({ address, charge }: WorkerSettled): void {
    const operation = this.operations.get(address)
    if (operation?.reserved === undefined) return
    this.host.settle(this, operation.reserved, charge)
    operation.reserved = undefined
  }

  /** A worker that ends without an answer says what it, and those below it, had done: once all of them have ended. */
  #knowsWorkDone(): boolean {
    if (this.#isDoneKnown) return true
    this.#isDoneKnown = true
    const recorded = this.#log.outcome
    const outcome = this.outcome!
    if (recorded !== undefined) {
      const { done, more } = doneBefore(recorded)
      this.outcome = withWorkDone(outcome, more === 0 ? { done } : { done, doneCount: done.length + more })
      return true
    }
    const isTold = outcome.status !== 'completed' && parentOf(this.id) !== undefined && this.opened > 0
    if (!isTold || this.host.workDone === undefined) return true
    let isLater = false
    let isKnown = false
    this.host.workDone(this, (done) => {
      isKnown = true
      if (this.discarded || this.over) return
      this.outcome = withWorkDone(this.outcome!, done)
      if (isLater) this.#recordEnd()
    })
    isLater = true
    return isKnown
  }

  #recordEnd(): void {
    if (this.over || this.#awaited?.size !== 0) return
    if (!this.#knowsWorkDone()) return
    this.over = true
    const recorded = this.#log.outcome
    if (recorded === undefined) {
      const { abandoned } = this.#log
      const { event, text } = endEvent(this, this.outcome!, this.usage, this.#openAtEnd, abandoned)
      const stored = this.host.append(this, event, Math.max(this.clock, this.host.now()), text)
      this.#settleOpen(this.#openAtEnd, abandoned)
      this.outcome = stored === text ? event.outcome : (decode(stored) as ActivationSettled).outcome
      this.usage = event.usage ?? []
    } else this.usage = this.#log.usage
    this.host.settled(this, recorded ?? this.outcome!, this.usage, recorded !== undefined)
  }

  /** Settles what was set aside for steps whose ends will not be recorded, in the commit that says so (K11). */
  #settleOpen(operations: readonly Operation[], abandoned: readonly StepOpened[]): void {
    settleOpen((reserved, actual) => this.host.settle(this, reserved, actual), operations, abandoned)
  }
}
