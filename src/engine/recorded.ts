/**
 * What a log already holds of an activation: commands that the code has yet to ask for again, and arrivals that it has yet to see.
 *
 * Owns: folding a log into memory, claiming by address, former names, what an operator decided about a divergence.
 * Does not own: delivery (activation.ts). Holds: K4 (nothing but a new effect beside an unclaimed one stops a run).
 */
import { addUsage, ReeveError, type Json, type Outcome, type Usage } from '../core/index.ts'
import { isArrival, isCommand, type ArrivalEvent, type CommandEvent, type JournalEvent } from '../journal/index.ts'
import { claimable, type Known } from './operation.ts'

/** Something that was open when a segment of the log was closed. */
export type Carried = { readonly address: string; readonly op: 'worker' | 'ask' }

export class RecordedLog {
  /** Next position in the log. */
  seq = 0
  segment = 0
  carried: Json | undefined
  /** Workers and questions of an earlier segment whose ends may still come. */
  open: Known[] = []
  outcome: Outcome | undefined
  usage: Usage = []
  /** Usage of what ended in former segments. */
  spent: Usage = []
  movedTo: string | undefined
  cancelled = false
  asked = false
  // made by what is folded: most activations live and end without having been read from a log
  #known: Map<string, Known> | undefined
  #unclaimed = 0
  #resolutions: Map<string, { action: 'map' | 'execute' | 'drop'; to: string | undefined }> | undefined
  #past: { event: ArrivalEvent; at: number }[] = []
  #cursor = 0

  /** Folds one entry. Entries come in order; a gap throws `journal.hole`. */
  fold(seq: number, at: number, event: JournalEvent): void {
    if (seq !== this.seq) {
      throw new ReeveError('journal.hole', `entry ${this.seq} is missing (found ${seq})`, {
        hint: 'Entries were lost or removed from outside. Restore the store from a backup; other runs are not touched.',
      })
    }
    this.seq++
    if (isArrival(event)) this.#arrival(event, at)
    else if (isCommand(event)) {
      ;(this.#known ??= new Map()).set(event.address, { event, ended: false, attempts: 0, doubt: undefined, rounds: 0 })
      if (event.op === 'step' && claimable(event.effect)) this.#unclaimed++
      if (event.op === 'ask') this.asked = true
    } else this.#note(event, at)
  }

  #arrival(event: ArrivalEvent, at: number): void {
    this.#past.push({ event, at })
    if (event.type === 'cancel.received') this.cancelled = true
    if (!('address' in event)) return
    const known = this.#known?.get(event.address) ?? this.open.find((open) => open.event.address === event.address)
    if (known !== undefined) known.ended = true
  }

  #note(event: Exclude<JournalEvent, ArrivalEvent | CommandEvent>, at: number): void {
    const known = 'address' in event ? this.#known?.get(event.address) : undefined
    switch (event.type) {
      case 'activation.settled':
        this.outcome = event.outcome
        this.usage = event.usage ?? []
        break
      case 'activation.restarted':
        for (const { event: past } of this.#past)
          if ('usage' in past && past.usage !== undefined) this.spent = addUsage(this.spent, past.usage)
        this.beginSegment(event.segment, event.state, event.open, event.unread, at)
        break
      case 'agent.moved':
        this.movedTo = event.to
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
        ;(this.#resolutions ??= new Map()).set(event.address, { action: event.action, to: event.to })
        break
      default:
    }
  }

  /** Everything before is history; only what is still open and what was not read goes on. */
  beginSegment(segment: number, state: Json, open: readonly Carried[], unread: readonly ArrivalEvent[], at: number): void {
    const still = new Set([...open, ...unread].flatMap((item) => ('address' in item ? [item.address] : [])))
    this.open = [...this.open, ...(this.#known?.values() ?? [])].filter(({ event }) => still.has(event.address))
    this.segment = segment
    this.carried = state
    this.#known = undefined
    this.#unclaimed = 0
    this.#past = unread.map((event) => ({ event, at }))
    this.#cursor = 0
  }

  get replaying(): boolean {
    return this.#cursor < this.#past.length
  }

  /** The next recorded arrival, in recorded order. */
  nextArrival(): { event: ArrivalEvent; at: number } | undefined {
    return this.#cursor < this.#past.length ? this.#past[this.#cursor++] : undefined
  }

  /** Addresses of commands that were recorded and never asked for again. Empty after a faithful replay. */
  get unclaimedAddresses(): readonly string[] {
    return [...(this.#known?.keys() ?? [])]
  }

  /** The code asks for what stands at this address, or under a former name of it. */
  claim(address: string, scopePath: string, aliases: readonly string[] | undefined): { known: Known; address: string } | undefined {
    if (this.#known === undefined) return undefined
    const names = [address]
    const mapped = this.#resolutions?.get(address)
    if (mapped?.action === 'map' && mapped.to !== undefined) names.push(mapped.to)
    for (const alias of aliases ?? []) names.push(scopePath + alias)
    for (const name of names) {
      const known = this.#take(name)
      if (known !== undefined) return { known, address: name }
    }
    return undefined
  }

  #take(address: string): Known | undefined {
    const known = this.#known?.get(address)
    if (known === undefined) return undefined
    this.#known?.delete(address)
    if (known.event.op === 'step' && claimable(known.event.effect)) this.#unclaimed--
    return known
  }

  /** A new effect is asked for. Which recorded ones stand in its way, if any: nobody can tell whether it replaces one of them. */
  obstacles(address: string): readonly string[] {
    if (this.#unclaimed === 0 || this.#resolutions?.has(address) === true) return []
    for (const [dropped, { action }] of this.#resolutions ?? []) if (action === 'drop') this.#take(dropped)
    return [...(this.#known?.values() ?? [])]
      .filter(({ event }) => event.op === 'step' && claimable(event.effect))
      .map(({ event }) => event.address)
  }
}
