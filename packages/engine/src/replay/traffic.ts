/**
 * Traffic: messages that code answers with facts and messages alone, and what they came to. A leader that hears a
 * million of them goes on from what they came to, and reads none of them again.
 *
 * Owns: which entries of a log are traffic and nothing else, when they are summed up, taking a summary instead of them.
 * Does not own: what the state is (who sums up), the log (recorded-log.ts), leaving entries out (the stores).
 * Holds: K1 (nothing leaves the log: a summary is one more entry), K3 (a summary is delivered in the place of what it
 * stands for), K10 (nothing is summed up that the code has not gone through: an operation, a stop or another fact ends
 * what may be summed up).
 */
import type { ActivationSummed, JournalEvent } from '@reeve/journal'
import type { MessageId } from '@reeve/core'
import type { SummedTraffic } from '../context.ts'

/** At least so many entries are summed up at once, if nothing is said. */
const defaultEntries = 5_000
/** A summary of so many bytes stands for at least one more entry: together they stay a small part of the log. */
const bytesPerEntry = 4

/** Entries that a summary may hold: messages that came in, facts and messages of its own. */
export const isTraffic = (event: JournalEvent): boolean =>
  event.type === 'message.received' || ('op' in event && (event.op === 'fact' || event.op === 'send'))

/** What was recorded before the code began to sum up. */
interface LogBefore {
  /** Since here everything is traffic. */
  readonly trafficFrom: number
  /** Where the last summary is. */
  readonly summedAt: number
  /** Where the next entry comes. */
  readonly seq: number
}

export class Traffic {
  readonly #parts: SummedTraffic
  readonly #facts: ReadonlySet<string>
  /** Since here everything in the log is traffic. */
  #pureFrom: number
  /** Where the next entry comes, if nobody else writes one. */
  #next: number
  /** The first entry of what may be summed up. */
  #from: number | undefined
  #summedAt: number
  /** The message that the code was given last, if it has not said that it is done with it. */
  #heard: { readonly seq: number; readonly id: MessageId } | undefined
  #bytes = 0

  constructor(parts: SummedTraffic, { trafficFrom, summedAt, seq }: LogBefore) {
    this.#parts = parts
    this.#facts = new Set(parts.facts)
    this.#pureFrom = trafficFrom
    this.#summedAt = summedAt
    this.#next = seq
  }

  /** A message, a fact or a message of its own was recorded here. */
  wrote(seq: number): void {
    if (seq !== this.#next) this.#pureFrom = seq
    this.#next = seq + 1
  }

  /** The code is given this message. */
  heard(seq: number, id: MessageId): void {
    if (this.#heard !== undefined) this.#from = undefined
    this.#heard = { seq, id }
  }

  /** A fact of this type is recorded: one of others ends what may be summed up. */
  fact(type: string): void {
    if (type !== 'message.sent' && !this.#facts.has(type)) this.ends()
  }

  /** Something else has come in or was asked for. */
  ends(): void {
    this.#from = this.#heard = undefined
  }

  /**
   * The code has answered this message. The summary that is to be recorded now, if there is one. `seq`: where the next
   * entry comes; undefined: recorded arrivals are still to be delivered.
   */
  answered(id: MessageId, seq: number | undefined): ActivationSummed | undefined {
    const heard = this.#heard
    this.#heard = undefined
    if (heard?.id !== id) this.#from = undefined
    else if (this.#from === undefined || this.#from < this.#pureFrom)
      this.#from = heard.seq < this.#pureFrom ? undefined : heard.seq
    const from = this.#from
    if (from === undefined || seq === undefined || seq !== this.#next) return undefined
    const since = seq - Math.max(from, this.#summedAt)
    if (since < (this.#parts.entries ?? defaultEntries) || since * bytesPerEntry < this.#bytes) return undefined
    const state = this.#parts.state()
    return state === undefined ? undefined : { type: 'activation.summed', from, state }
  }

  /** A summary was recorded here. */
  summed(seq: number, bytes: number): void {
    this.#summedAt = seq
    this.#bytes = bytes
    this.#next = seq + 1
  }

  /** A summary is given to the code instead of what it stands for. */
  take({ from, state }: ActivationSummed, seq: number): void {
    this.#parts.restore(state)
    this.#from = from
    this.#summedAt = seq
    this.#heard = undefined
  }
}
