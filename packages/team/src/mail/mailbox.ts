/**
 * The mailbox of a team: sent, unread and dropped messages (spec team 1.7, R-7). Pure but for being written to.
 *
 * Owns: numbers, bounds, inboxes, mail for those who are not there yet, copies. Does not own: how mail comes in and
 * goes out (message-router.ts), who is meant (recipients.ts). Below the bounds nothing is lost. A message costs the
 * same, however many there were before.
 */
import { copy, present, type Json } from '@reeve/core'
import type { Mail } from '@reeve/agent'
import { Inbox } from './inbox.ts'
import { mailDefaults, type MailboxOptions } from './options.ts'

/** The recipients of a message. */
export interface Addressees {
  /** Members on the team. */
  readonly recipients: readonly string[]
  /** The name or role it waits for, if no such member exists. */
  readonly waitsAs?: string
}

/** Dropped mail. */
export interface Truncation {
  /** The owner of the inbox; absent: the whole mailbox. */
  readonly member?: string
  /** The oldest message kept there. */
  readonly from?: number
  /** How many messages were dropped here. */
  readonly dropped: number
  /** How many messages were ever dropped, in an inbox or in total; each counts once. */
  readonly total: number
}

/** The result of posting a message. */
export type Posted =
  | {
      readonly accepted: true
      readonly seq: number
      /** Whose inboxes it is in. */
      readonly recipients: readonly string[]
      readonly truncations: readonly Truncation[]
    }
  | { readonly accepted: false; readonly reason: 'full' }

/** A kept message as a summary has it: of one that is in no inbox its number is enough. */
type KeptLetter = number | (Omit<Letter, 'mail'> & { readonly mail: Mail | number })

/** Everything that a mailbox holds. */
export interface MailboxState {
  readonly seq: number
  readonly dropped: number
  readonly kept: readonly KeptLetter[]
  /** The numbers of what lies in each inbox. */
  readonly inboxes: { readonly [member: string]: readonly number[] }
  readonly waiting: { readonly [name: string]: readonly number[] }
  readonly left: readonly string[]
}

/** A message, as the mailbox has it. */
interface Letter {
  readonly mail: Mail
  /** Whose inbox it is in, or was. */
  readonly holders: string[]
  readonly waitsAs: string | undefined
  givenUp: boolean
}

export class Mailbox {
  readonly #maxMessages: number
  readonly #maxPerRecipient: number
  readonly #overflow: NonNullable<MailboxOptions['overflow']>
  #kept = new Inbox<Letter>()
  #inboxes = new Map<string, Inbox<Letter>>()
  #waiting = new Map<string, Inbox<Letter>>()
  #left = new Set<string>()
  #seq = 0
  #dropped = 0

  constructor({
    maxMessages,
    maxPerRecipient,
    overflow,
  }: Pick<MailboxOptions, 'maxMessages' | 'maxPerRecipient' | 'overflow'> = {}) {
    this.#maxMessages = maxMessages ?? mailDefaults.maxMessages
    this.#maxPerRecipient = maxPerRecipient ?? mailDefaults.maxPerRecipient
    this.#overflow = overflow ?? mailDefaults.overflow
  }

  /** How many messages were ever given up, in an inbox or altogether; each counts once. */
  get dropped(): number {
    return this.#dropped
  }

  /** What is kept, oldest first, read or not. A copy. */
  get messages(): readonly Mail[] {
    return this.#kept.unread.map(({ mail }) => copy(mail as unknown as Json) as unknown as Mail)
  }

  /** Takes a message. Never waits, never throws. Its receiver has joined, or joins by this. */
  post(draft: Omit<Mail, 'seq'>, { recipients, waitsAs }: Addressees): Posted {
    const strict = this.#overflow === 'drop-newest'
    const full = strict ? recipients.filter((member) => this.size(member) >= this.#maxPerRecipient) : []
    if (strict && (this.#kept.size >= this.#maxMessages || (full.length > 0 && full.length === recipients.length)))
      return { accepted: false, reason: 'full' }
    const mail: Mail = { seq: ++this.#seq, ...draft }
    const letter: Letter = { mail, holders: [], waitsAs: recipients.length === 0 ? waitsAs : undefined, givenUp: false }
    this.#kept.put(letter)
    if (letter.waitsAs !== undefined) inboxIn(this.#waiting, letter.waitsAs).put(letter)
    const truncations = recipients.flatMap((member) => this.#deliver(letter, member))
    const of = this.#most(this.#maxMessages, this.#kept.size)
    if (of !== undefined) truncations.push(this.#truncate(of))
    return { accepted: true, seq: mail.seq, recipients: [...letter.holders], truncations }
  }

  /** Whether this member is or was on the team. */
  knows(member: string): boolean {
    return this.#inboxes.has(member) || this.#left.has(member)
  }

  /**
   * A member joins: gets the mail that waited for it, by id or by role. Nothing the second time, and nothing for those
   * who have left.
   */
  join(
    member: string,
    role: string,
  ): { readonly seqs: readonly number[]; readonly truncations: readonly Truncation[] } {
    if (this.knows(member)) return { seqs: [], truncations: [] }
    this.#inboxes.set(member, new Inbox())
    const letters = [member, waitsAsRole(role)].flatMap((key) => {
      const own = this.#waiting.get(key)?.take() ?? []
      this.#waiting.delete(key)
      return own
    })
    letters.sort((one, other) => one.mail.seq - other.mail.seq)
    const truncations = letters.flatMap((letter) => this.#deliver(letter, member))
    return { seqs: letters.filter(({ holders }) => holders.includes(member)).map(({ mail }) => mail.seq), truncations }
  }

  /** Those who have an inbox. */
  get members(): readonly string[] {
    return [...this.#inboxes.keys()]
  }

  /** How much a member has not read. */
  size(member: string): number {
    return this.#inboxes.get(member)?.size ?? 0
  }

  /** Whether a member has not read something of this sender. */
  holds(member: string, from: string): boolean {
    return this.#inboxes.get(member)?.holds(from) === true
  }

  /** What a member has not read, oldest first; of one sender, if one is named. It is read then. */
  read(member: string, from?: string): readonly Mail[] {
    return (this.#inboxes.get(member)?.take(from) ?? []).map(({ mail }) => mail)
  }

  /** A member has left. Returns the numbers of its unread mail. */
  leave(member: string): readonly number[] {
    const unread = this.#inboxes.get(member)?.take() ?? []
    this.#inboxes.delete(member)
    this.#left.add(member)
    return unread.map(({ mail }) => mail.seq)
  }

  /** A member that left returns: a join by this name is not refused. */
  back(member: string): void {
    this.#left.delete(member)
  }

  /** What it holds, so that another mailbox can go on from it. What was read is there by its number alone. */
  get state(): MailboxState {
    const boxes = (of: ReadonlyMap<string, Inbox<Letter>>): readonly (readonly [string, readonly Letter[]])[] =>
      [...of].map(([name, inbox]) => [name, inbox.unread])
    const [inboxes, waiting] = [boxes(this.#inboxes), boxes(this.#waiting)]
    const unread = new Set([...inboxes, ...waiting].flatMap(([, letters]) => letters))
    const numbers = (of: typeof inboxes): MailboxState['inboxes'] =>
      Object.fromEntries(of.map(([name, letters]) => [name, letters.map(({ mail }) => mail.seq)]))
    return {
      seq: this.#seq,
      dropped: this.#dropped,
      kept: this.#kept.unread.map((letter) => {
        if (unread.has(letter)) return { ...letter }
        const { seq } = letter.mail
        return letter.givenUp ? { ...letter, holders: [], mail: seq } : seq
      }),
      inboxes: numbers(inboxes),
      waiting: numbers(waiting),
      left: [...this.#left],
    }
  }

  /** Goes on from what another mailbox held. */
  set state({ seq, dropped, kept, inboxes, waiting, left }: MailboxState) {
    this.#seq = seq
    this.#dropped = dropped
    const letters = kept.map((each): Letter => {
      const { mail, ...rest } =
        typeof each === 'number' ? { mail: each, holders: [], waitsAs: undefined, givenUp: false } : each
      return { ...rest, holders: [...rest.holders], mail: typeof mail === 'number' ? read(mail) : mail }
    })
    const byNumber = new Map(letters.map((letter) => [letter.mail.seq, letter]))
    const box = (of: Iterable<Letter | undefined>): Inbox<Letter> => {
      const inbox = new Inbox<Letter>()
      for (const letter of of) if (letter !== undefined) inbox.put(letter)
      return inbox
    }
    const boxes = (of: MailboxState['inboxes']): (readonly [string, Inbox<Letter>])[] =>
      Object.entries(of).map(([name, numbers]) => [name, box(numbers.map((each) => byNumber.get(each)))])
    this.#kept = box(letters)
    this.#inboxes = new Map(boxes(inboxes))
    this.#waiting = new Map(boxes(waiting))
    this.#left = new Set(left)
  }

  #deliver(letter: Letter, member: string): readonly Truncation[] {
    const inbox = inboxIn(this.#inboxes, member)
    if (this.#overflow === 'drop-newest' && inbox.size >= this.#maxPerRecipient)
      return [this.#given([letter], inbox.oldest, member)]
    inbox.put(letter)
    letter.holders.push(member)
    const most = this.#most(this.#maxPerRecipient, inbox.size)
    return most === undefined ? [] : [this.#given(inbox.keep(most), inbox.oldest, member)]
  }

  /** The whole mailbox is too full: dropped mail has no receiver any more. */
  #truncate(most: number): Truncation {
    const given = this.#kept.keep(most)
    for (const { mail, holders, waitsAs } of given) {
      for (const member of holders) this.#inboxes.get(member)?.keepFrom(mail.seq + 1)
      const waiting = waitsAs === undefined ? undefined : this.#waiting.get(waitsAs)
      waiting?.keepFrom(mail.seq + 1)
      if (waiting?.size === 0) this.#waiting.delete(waitsAs!)
    }
    return this.#given(given, this.#kept.oldest)
  }

  #given(letters: readonly Letter[], from: number | undefined, member?: string): Truncation {
    for (const letter of letters) {
      if (!letter.givenUp) this.#dropped++
      letter.givenUp = true
    }
    return {
      ...present({ member, from }),
      dropped: letters.length,
      total: this.#dropped,
    }
  }

  /** How many may stay where there are so many; undefined: all. */
  #most(bound: number, size: number): number | undefined {
    if (size <= bound) return undefined
    return this.#overflow === 'keep-newest-half' ? Math.max(1, Math.floor(bound / 2)) : bound
  }
}

/** Mail that was read, or that nobody has: nobody asks for more of it than its number. */
const read = (seq: number): Mail => ({ seq, from: '', to: '', content: null, at: 0 })

/** Under which name mail waits for a role. Not a name that a member could have. */
export const waitsAsRole = (role: string): string => `role:${role.trim().toLowerCase()}`

function inboxIn(inboxes: Map<string, Inbox<Letter>>, name: string): Inbox<Letter> {
  const inbox = inboxes.get(name) ?? new Inbox<Letter>()
  inboxes.set(name, inbox)
  return inbox
}
