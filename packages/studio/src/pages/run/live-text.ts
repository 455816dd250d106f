/**
 * Live text: what models stream, kept as lines until their answers are in the journal.
 *
 * Owns: joining pieces in their order, which lines have changed, which ended texts are still to be shown. Does not own: the stream, drawing. No timers: who
 * draws asks once for each frame. Holds: a piece costs as much as it is long, whatever has come before.
 */
import { beginsAnew } from '@reeve/core/seen-text'
import type { PartMessage } from '@reeve/server/wire'

/** The text of one model call of one kind. */
export class LiveText {
  readonly activation: string
  readonly address: string
  readonly kind: 'text' | 'reasoning'
  readonly attempt: number
  /** Finished lines, as they were said: who draws them shows them through `visible`. */
  readonly lines: string[] = []
  /** Pieces that came after the first one and did not fit: something was missed. */
  missed = false
  #last = ''
  #length = 0

  constructor(part: PartMessage, kind: LiveText['kind']) {
    this.activation = part.activation
    this.address = part.address
    this.attempt = part.attempt
    this.kind = kind
  }

  get length(): number {
    return this.#length
  }

  /** The line that still grows. */
  get last(): string {
    return this.#last
  }

  append(text: string, offset: number | undefined): void {
    const known = offset === undefined ? 0 : this.#length - offset
    if (known < 0) this.missed = true
    const added = known > 0 ? text.slice(known) : text
    this.#length = known < 0 ? offset! + text.length : this.#length + added.length
    const pieces = added.split('\n')
    for (const [i, piece] of pieces.entries()) {
      if (i > 0) {
        this.lines.push(this.#last)
        this.#last = ''
      }
      this.#last += piece
      // a line without an end is cut where a screen is full, or each piece would cost as much as all before it
      while (this.#last.length > longest) {
        const head = this.#last.slice(0, longest).replace(/[\uD800-\uDBFF]$/u, '')
        this.lines.push(head)
        this.#last = this.#last.slice(head.length)
      }
    }
  }
}
const longest = 2_000

/** All that is streamed in a run. Who draws subscribes; `version` rises with every change. */
export class LiveTexts {
  readonly #texts = new Map<string, LiveText>()

  /** Takes pieces in. True if something is to be drawn again. */
  add(parts: readonly PartMessage[]): boolean {
    let changed = false
    for (const message of parts) {
      const delta = deltaOf(message)
      if (delta === undefined) continue
      const key = `${message.activation} ${message.address} ${delta.kind}`
      const known = this.#texts.get(key)
      const isSame = known !== undefined && !beginsAnew(known.attempt, known.length, message)
      const text = isSame ? known : new LiveText(message, delta.kind)
      if (text !== known) this.#texts.set(key, text)
      text.append(delta.text, message.offset)
      changed = true
    }
    return changed
  }

  /** Forgets what has ended: its text is in the journal. `isOpen`: whether a call is still under way. */
  keep(isOpen: (activation: string, address: string) => boolean): boolean {
    let changed = false
    for (const [key, { activation, address }] of this.#texts)
      if (!isOpen(activation, address)) {
        this.#texts.delete(key)
        changed = true
      }
    return changed
  }

  clear(): void {
    this.#texts.clear()
  }

  of(activation: string): readonly LiveText[] {
    return [...this.#texts.values()].filter((text) => text.activation === activation)
  }
}

/** A streamed text as it is shown. `hasEnded`: its call has ended. */
export interface ShownText {
  readonly text: LiveText
  readonly hasEnded: boolean
}

/**
 * The streamed texts of one activation, beside what is read of its journal: one that has ended is shown until a reading
 * that began afterwards is there.
 */
export class UnreadTexts {
  #live: readonly LiveText[] = []
  /** With the number of changes of the run after which it had ended. */
  readonly #ended = new Map<LiveText, number>()

  /** `live`: those under way, after so many `changes` of the run. `readAt`: the changes when the reading shown began. */
  shown(live: readonly LiveText[], changes: number, readAt: number): readonly ShownText[] {
    for (const text of this.#live) if (!live.includes(text)) this.#ended.set(text, changes)
    this.#live = live
    for (const [text, at] of this.#ended) {
      const isSaidAnew = live.some(({ address, kind }) => address === text.address && kind === text.kind)
      if (readAt >= at || isSaidAnew) this.#ended.delete(text)
    }
    const ended = [...this.#ended.keys()].map((text) => ({ text, hasEnded: true }))
    return [...ended, ...live.map((text) => ({ text, hasEnded: false }))]
  }
}

/** Only own members of the shape that the runtime sends count. */
function deltaOf({ part }: PartMessage): { readonly kind: LiveText['kind']; readonly text: string } | undefined {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined
  const { type, text } = part as { readonly type?: unknown; readonly text?: unknown }
  if (typeof text !== 'string') return undefined
  if (type === 'text.delta') return { kind: 'text', text }
  return type === 'reasoning.delta' ? { kind: 'reasoning', text } : undefined
}
