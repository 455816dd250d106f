/**
 * Exchanges: mail that goes to and fro while nothing comes of it (a livelock), or says the same thing again and again
 * (a loop). Pure but for being written to.
 *
 * Owns: counting replies since something last moved, who took part. Does not own: what counts as moving (the caller of
 * `moved`), what is done about it. Only replies count: mail of a member that has read since it last wrote. However much
 * a member sends unasked is a matter of quotas and bounds.
 */
import { digestJson, type Json } from '@reeve/core'

/** What goes round. */
export interface MailRound {
  readonly kind: 'livelock' | 'loop'
  /** Those who took part, each writing to the next, in the order in which they first wrote. */
  readonly cycle: readonly string[]
  /** It was not found before, since something last moved. */
  readonly isNew: boolean
}

/** Everything that was counted. */
export interface ExchangesState {
  readonly hasRead: readonly string[]
  readonly writers: readonly string[]
  readonly repeats: readonly (readonly [string, number])[]
  readonly replies: number
  readonly found: boolean
}

/** So often may the same reply go the same way. */
export const mostRepeats = 20

export class Exchanges {
  readonly #most: number
  #hasRead = new Set<string>()
  #writers = new Set<string>()
  #repeats = new Map<string, number>()
  #replies = 0
  #found = false

  /** `most`: so many replies are fine; 0: however many. */
  constructor(most: number) {
    this.#most = most
  }

  /** Something else than mail has happened. */
  moved(): void {
    this.#hasRead.clear()
    this.#writers.clear()
    this.#repeats.clear()
    this.#replies = 0
    this.#found = false
  }

  /** What was counted, so that others can go on from it. */
  get state(): ExchangesState {
    return {
      hasRead: [...this.#hasRead],
      writers: [...this.#writers],
      repeats: [...this.#repeats],
      replies: this.#replies,
      found: this.#found,
    }
  }

  set state({ hasRead, writers, repeats, replies, found }: ExchangesState) {
    this.#hasRead = new Set(hasRead)
    this.#writers = new Set(writers)
    this.#repeats = new Map(repeats)
    this.#replies = replies
    this.#found = found
  }

  read(member: string): void {
    this.#hasRead.add(member)
  }

  /**
   * A member writes; says whether that only goes round. A member told so has not replied: its next mail is a reply
   * again.
   */
  wrote(from: string, to: string, content: Json): MailRound | undefined {
    if (this.#most === 0 || !this.#hasRead.has(from)) return undefined
    const kind = this.#kindOf(from, to, content)
    if (kind === undefined) {
      this.#hasRead.delete(from)
      return undefined
    }
    const isNew = !this.#found
    this.#found = true
    return { kind, cycle: [...this.#writers], isNew }
  }

  #kindOf(from: string, to: string, content: Json): MailRound['kind'] | undefined {
    this.#writers.add(from)
    this.#replies++
    const key = `${from}\u0000${to}\u0000${digestJson(content)}`
    const repeats = (this.#repeats.get(key) ?? 0) + 1
    this.#repeats.set(key, repeats)
    if (this.#writers.size < 2) return undefined
    if (repeats > Math.min(mostRepeats, this.#most)) return 'loop'
    return this.#replies > this.#most ? 'livelock' : undefined
  }
}
