/**
 * What a log already holds of an activation: commands that the code has yet to ask for again, and arrivals that it has
 * yet to see.
 *
 * Owns: folding a log into memory, claiming by address, former names, what an operator decided about a divergence, and
 * going on from an entry that stands for those before it. Does not own: delivery (activation.ts).
 * Holds: K4 (nothing but a new effect beside an unclaimed one stops a run).
 */
import { addUsage, ReeveError, type Json, type Outcome, type Usage } from '@reeve/core'
import {
  isArrival,
  isCommand,
  type ActivationSummed,
  type ArrivalEvent,
  type Before,
  type CommandEvent,
  type JournalEvent,
  type RunPausing,
  type StepOpened,
} from '@reeve/journal'
import type { Command } from './activation-host.ts'
import { claimable, type RecordedCommand } from './operation.ts'
import type { Seeds } from './origin.ts'
import { isTraffic } from './traffic.ts'

/** Something that was open when a segment of the log was closed. */
export type Carried = { readonly address: string; readonly op: 'worker' | 'ask' }

/** How and when a pause was asked for, whether nothing is out any more, and whether a human has the run. */
export type Pausing = { readonly event: RunPausing; readonly at: number; reached: boolean; takenOver: boolean }

const newKnown = (event: CommandEvent, isOut = true): RecordedCommand => ({
  event,
  ended: false,
  attempts: 0,
  isOut,
  outFrom: 0,
  held: false,
  doubt: undefined,
  rounds: 0,
})

const none: readonly never[] = []

/** Something recorded that the code is given. */
type Past = { event: ArrivalEvent | ActivationSummed; at: number; seq: number }

/** The first entry that this one stands for, if it stands for any. */
const standsFor = (event: JournalEvent): number | undefined =>
  event.type === 'activation.summed' ? event.from : event.type === 'activation.restarted' ? 1 : undefined

/** Why an activation is stuck at an address. */
export const divergence = (address: string, obstacles: readonly string[]): string =>
  obstacles.includes(address)
    ? `the code asks for "${address}", which is something of another kind in the journal`
    : `the code asks for the new effect "${address}" while the journal holds ${obstacles.map((name) => `"${name}"`).join(', ')}, which the code has not asked for`

export class RecordedLog {
  /** Of a forked run: what it draws. */
  seeds: Seeds | undefined
  segment = 0
  carried: Json | undefined
  /** Workers and questions of an earlier segment whose ends may still come. */
  open: readonly RecordedCommand[] = none
  outcome: Outcome | undefined
  usage: Usage = none
  /** Of a forked run: entries before this position are copied, and what was out then is not of this run. */
  copiedTo = 0
  /** Usage of attempts of this segment that others have followed. */
  attempted: Usage = none
  /** Usage of what ended in former segments. */
  spent: Usage = none
  cancelled = false
  asked = false
  /** How the last pause was asked for, if there was one. */
  pausing: Pausing | undefined
  /** Recorded arrivals are left to deliver. */
  replaying = false
  // made when the first entry is folded: most activations are never read from a log
  #known: Map<string, RecordedCommand> | undefined
  /** Of facts and sent messages only their presence matters: one record stands for all of them. */
  #plain: { fact?: RecordedCommand; send?: RecordedCommand } | undefined
  #unclaimed = 0
  /** Commands that an operator has dropped: the code will not ask for them again. */
  #dropped: RecordedCommand[] | undefined
  #resolutions: Map<string, { action: 'map' | 'execute' | 'drop'; to: string | undefined }> | undefined
  #past: (Past | undefined)[] | undefined
  #cursor = 0
  /** Since here everything that was folded is traffic. */
  #trafficFrom = 0
  #summedAt = 0
  /** The position after the last entry that was folded. */
  #foldedTo = 0

  /**
   * Folds one entry. Entries come in order; a gap throws `journal.hole`, unless this entry stands for what is left out.
   */
  fold(seq: number, at: number, event: JournalEvent): void {
    const isAhead = seq > this.#foldedTo && standsFor(event) === this.#foldedTo
    if (seq !== this.#foldedTo && !isAhead) {
      throw new ReeveError('journal.hole', `entry ${this.#foldedTo} is missing (found ${seq})`, {
        hint: 'Entries were lost or removed from outside. Restore the store from a backup; other runs are not touched.',
      })
    }
    this.#foldedTo = seq + 1
    this.seeds?.note(event, seq)
    if (event.type === 'activation.summed') {
      this.#summedAt = seq
      if (isAhead) this.#addPast({ event, at, seq })
      return
    }
    if (!isTraffic(event)) this.#trafficFrom = this.#foldedTo
    if (isArrival(event)) this.#arrival(event, at, seq)
    else if (isCommand(event)) {
      const isPlain = event.op === 'fact' || event.op === 'send'
      const isOut = seq >= this.copiedTo
      const known = isPlain ? ((this.#plain ??= {})[event.op] ??= newKnown(event)) : newKnown(event, isOut)
      ;(this.#known ??= new Map()).set(event.address, known)
      if (event.op === 'step' && claimable(event.effect)) this.#unclaimed++
      if (event.op === 'ask') this.asked = true
    } else this.#note(event, at, seq)
  }

  #addPast(past: Past): void {
    ;(this.#past ??= []).push(past)
    this.replaying = true
  }

  #arrival(event: ArrivalEvent, at: number, seq: number): void {
    this.#addPast({ event, at, seq })
    if (event.type === 'cancel.received') this.cancelled = true
    if (!('address' in event)) return
    this.endUnclaimed(event.address)
  }

  /**
   * Marks an operation as ended that the code has not asked for (again). Undefined: it is unknown, or its end is known.
   */
  endUnclaimed(address: string): RecordedCommand | undefined {
    const known = this.#known?.get(address) ?? this.open.find((open) => open.event.address === address)
    if (known === undefined || known.ended) return undefined
    known.ended = true
    return known
  }

  /** Whether nothing more comes for this address: the operation has ended and was read, or was dropped. */
  isOver(address: string): boolean {
    return this.#known?.has(address) !== true && !this.open.some((open) => open.event.address === address)
  }

  #note(event: Exclude<JournalEvent, ArrivalEvent | CommandEvent>, at: number, seq: number): void {
    const known = 'address' in event ? this.#known?.get(event.address) : undefined
    switch (event.type) {
      case 'activation.settled':
        this.outcome = event.outcome
        this.usage = event.usage ?? []
        break
      case 'activation.restarted':
        this.#goOn(event.before, event.unread)
        this.beginSegment(event.segment, event.state, event.open, event.unread, at, seq)
        break
      case 'step.attempt-failed':
        this.attempted = addUsage(this.attempted, event.usage ?? [])
        if (known === undefined) break
        if (event.lost !== true) known.attempts = event.attempt
        known.outFrom = at + event.delayMs
        break
      case 'effect.in-doubt':
        if (known !== undefined) known.doubt = known.rounds = event.round
        break
      case 'effect.cleared':
        if (known !== undefined) known.doubt = undefined
        break
      case 'effect.held':
      case 'effect.released':
        if (known !== undefined) known.held = event.type === 'effect.held'
        break
      case 'run.pausing':
        this.pausing = {
          event,
          at,
          reached: false,
          takenOver: event.escalated === true && this.pausing?.takenOver === true,
        }
        break
      case 'run.paused':
        if (this.pausing !== undefined) this.pausing.reached = true
        break
      case 'run.taken-over':
        if (this.pausing !== undefined) {
          const { withinMs: _withinMs, ...event } = this.pausing.event
          // the deadline of an earlier pause does not apply to the human who has the run now
          this.pausing = { ...this.pausing, takenOver: true, ...(at > this.pausing.at ? { event } : undefined) }
        }
        break
      case 'replay.resolved':
        ;(this.#resolutions ??= new Map()).set(event.address, { action: event.action, to: event.to })
        break
      default:
    }
  }

  /** What an entry says of everything before it, whether that was read or not. */
  #goOn({ usage = [], begun }: Before, unread: readonly ArrivalEvent[]): void {
    const ended = new Set(unread.flatMap((event) => ('address' in event ? [event.address] : [])))
    this.spent = usage
    this.attempted = none
    // what was asked before is not known here
    this.asked = true
    this.open = begun.map((event) => ({ ...newKnown(event), ended: ended.has(event.address) }))
    this.#known = undefined
  }

  /** Of the log as it was read: for who sums up what comes after it. `seq`: where the next entry comes. */
  traffic(seq: number): { readonly trafficFrom: number; readonly summedAt: number; readonly seq: number } {
    // what was written since is unknown here
    const trafficFrom = seq === this.#foldedTo ? this.#trafficFrom : seq
    return { trafficFrom, summedAt: this.#summedAt, seq }
  }

  /** Everything before is history; only what is still open and what was not read goes on. `seq`: of the entry that says so. */
  beginSegment(
    segment: number,
    state: Json,
    open: readonly Carried[],
    unread: readonly ArrivalEvent[],
    at: number,
    seq: number,
  ): void {
    const still = new Set([...open, ...unread].flatMap((item) => ('address' in item ? [item.address] : [])))
    this.open = [...this.open, ...(this.#known?.values() ?? [])].filter(({ event }) => still.has(event.address))
    this.segment = segment
    this.carried = state
    this.#known = undefined
    this.#dropped = undefined
    this.#unclaimed = 0
    this.#past = unread.map((event) => ({ event, at, seq }))
    this.#cursor = 0
    this.replaying = unread.length > 0
    this.seeds?.move(seq)
  }

  /** Takes what goes on from an earlier segment. */
  takeOpen(): readonly RecordedCommand[] {
    const { open } = this
    this.open = none
    return open
  }

  /** Takes the next recorded arrival, in recorded order. */
  nextArrival(): Past | undefined {
    const past = this.#past
    const next = past?.[this.#cursor]
    this.seeds?.move(next?.seq)
    if (past === undefined || next === undefined) return undefined
    past[this.#cursor++] = undefined
    if (this.#cursor === past.length) {
      this.#past = undefined
      this.#cursor = 0
      this.replaying = false
    }
    return next
  }

  /** Addresses of commands that were recorded and never asked for again. Empty after a faithful replay. */
  get unclaimedAddresses(): readonly string[] {
    return [...(this.#known?.keys() ?? [])]
  }

  /** Steps that the code has not asked for again: their ends are not known and will not be. */
  get abandoned(): readonly StepOpened[] {
    if (this.#known === undefined && this.#dropped === undefined) return none
    const open = [...(this.#known?.values() ?? []), ...(this.#dropped ?? none)].filter(({ ended }) => !ended)
    return open.flatMap(({ event }) => (event.op === 'step' ? [event] : []))
  }

  /** Takes the workers that the code has not asked for again and that have not ended. */
  takeUnclaimedWorkers(): readonly RecordedCommand[] {
    const workers = [...(this.#known?.values() ?? [])].filter(({ event, ended }) => event.op === 'worker' && !ended)
    for (const { event } of workers) this.#known?.delete(event.address)
    return workers
  }

  /** An operation that the code has yet to ask for again. */
  holds(address: string): boolean {
    return this.#known?.has(address) === true
  }

  /** Its command. */
  held(address: string): CommandEvent | undefined {
    return this.#known?.get(address)?.event
  }

  #conflicts(address: string, op: CommandEvent['op']): boolean {
    const known = this.#known?.get(address)
    return known !== undefined && known.event.op !== op
  }

  /** Takes the recorded command at this address, or under a former name of it. */
  claim(
    address: string,
    op: CommandEvent['op'],
    scopePath: string,
    aliases: readonly string[] | undefined,
  ): { known: RecordedCommand; address: string } | undefined {
    if (this.#known === undefined) return undefined
    const names = [address]
    const mapped = this.#resolutions?.get(address)
    if (mapped?.action === 'map' && mapped.to !== undefined) names.push(mapped.to)
    for (const alias of aliases ?? []) names.push(scopePath + alias)
    for (const name of names) {
      const known = this.#conflicts(name, op) ? undefined : this.#take(name)
      if (known !== undefined) return { known, address: name }
    }
    return undefined
  }

  #take(address: string): RecordedCommand | undefined {
    const known = this.#known?.get(address)
    if (known === undefined) return undefined
    this.#known?.delete(address)
    if (known.event.op === 'step' && claimable(known.event.effect)) this.#unclaimed--
    return known
  }

  /**
   * Something new is asked for. The recorded commands in its way, if any: one of another kind at the same address; for
   * a new effect all unclaimed effects, since it may replace one of them.
   */
  obstacles(address: string, command: Command, aliases: readonly string[] | undefined): readonly string[] {
    if (this.#known === undefined) return none
    if (this.#conflicts(address, command.op)) return [address]
    // After a cancel a new effect is stopped before it is let out: the unclaimed effects need no decision.
    if (command.op !== 'step' || !claimable(command.effect) || aliases !== undefined || this.cancelled) return none
    if (this.#unclaimed === 0 || this.#resolutions?.has(address) === true) return none
    for (const [address, { action }] of this.#resolutions ?? []) {
      const dropped = action === 'drop' ? this.#take(address) : undefined
      if (dropped !== undefined) (this.#dropped ??= []).push(dropped)
    }
    return [...this.#known.values()]
      .filter(({ event }) => event.op === 'step' && claimable(event.effect))
      .map(({ event }) => event.address)
  }
}
