/**
 * An inbox: the unread mail of one member, oldest first; from all senders, or from one.
 *
 * Owns: the order, taking out of the middle, giving up the oldest; all of it in a time that does not grow with what was
 * there before. Does not own: bounds (mailbox.ts). Pure but for being written to.
 */
import type { Mail } from '@reeve/agent'

/** A place in an inbox. Empty: what stood there was read, or given up. */
interface Slot<Letter> {
  readonly letter: Letter
  empty: boolean
}

export class Inbox<Letter extends { readonly mail: Mail }> {
  #slots: Slot<Letter>[] = []
  #bySender = new Map<string, Slot<Letter>[]>()
  /** Before this, every slot is empty. */
  #head = 0
  #size = 0

  /** How much of it is unread. */
  get size(): number {
    return this.#size
  }

  /** Oldest first. */
  get unread(): readonly Letter[] {
    return this.#slots.filter(({ empty }) => !empty).map(({ letter }) => letter)
  }

  /** The number of the oldest; undefined if it is empty. */
  get oldest(): number | undefined {
    this.#skip()
    return this.#slots[this.#head]?.letter.mail.seq
  }

  /** Whether there is something of this sender. */
  holds(from: string): boolean {
    return this.#bySender.get(from)?.at(-1)?.empty === false
  }

  /** Puts something behind everything else: numbers only grow. */
  put(letter: Letter): void {
    const slot = { letter, empty: false }
    this.#slots.push(slot)
    const { from } = letter.mail
    const own = this.#bySender.get(from)
    if (own === undefined) this.#bySender.set(from, [slot])
    else own.push(slot)
    this.#size++
  }

  /** Takes everything out, or everything of one sender. */
  take(from?: string): readonly Letter[] {
    const taken = (from === undefined ? this.#slots : (this.#bySender.get(from) ?? [])).filter(({ empty }) => !empty)
    for (const slot of taken) this.#empty(slot)
    if (from !== undefined) this.#bySender.delete(from)
    this.#tidy()
    return taken.map(({ letter }) => letter)
  }

  /** Gives up the oldest until so much is left. */
  keep(most: number): readonly Letter[] {
    return this.#giveUp(() => this.#size > most)
  }

  /** Gives up what is older than this number. */
  keepFrom(seq: number): readonly Letter[] {
    return this.#giveUp(({ mail }) => mail.seq < seq)
  }

  #giveUp(isTooMuch: (oldest: Letter) => boolean): readonly Letter[] {
    const given: Letter[] = []
    for (this.#skip(); this.#size > 0; this.#skip()) {
      const slot = this.#slots[this.#head]!
      if (!isTooMuch(slot.letter)) break
      this.#empty(slot)
      given.push(slot.letter)
    }
    this.#tidy()
    return given
  }

  #empty(slot: Slot<Letter>): void {
    slot.empty = true
    this.#size--
  }

  #skip(): void {
    while (this.#slots[this.#head]?.empty === true) this.#head++
  }

  /** Lets go of empty slots once most are. */
  #tidy(): void {
    if (this.#slots.length <= 2 * this.#size + 32) return
    const open = this.#slots.filter(({ empty }) => !empty)
    this.#slots = []
    this.#bySender = new Map()
    this.#head = this.#size = 0
    for (const { letter } of open) this.put(letter)
  }
}
