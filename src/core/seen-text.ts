/**
 * Seen text: what a reader has had of the text of one activation before that text is recorded.
 *
 * Owns: which delta follows what was seen, and the rest of a recorded text. Does not own: the order of deltas and
 * events (runtime/feed/merged-feed.ts), which events say a text (the readers).
 * Holds: K9: a reader has each text whole and once, whenever it began and whatever it missed.
 */

/** A delta of a step. */
export interface SeenDelta {
  readonly address: string
  /** The attempt of the step that shows it. */
  readonly attempt: string
  readonly text: string
  /** How long the text of its attempt was before it. */
  readonly offset: number | undefined
}

interface SeenStep {
  readonly attempt: string
  readonly text: string
  /** The reader was too slow or missed a delta: the rest comes once it is recorded. */
  readonly isCut: boolean
}

export class SeenText {
  /** By address: steps under way. An agent may have several: it answers a worker's question during its own turn. */
  readonly #steps = new Map<string, SeenStep>()
  /** Of the last step that has ended with a result. */
  #ended = ''

  /**
   * What the reader is given of a delta. An attempt that begins follows what the one before it showed. `hasRoom`: the
   * reader keeps up.
   */
  show({ address, attempt, text, offset }: SeenDelta, hasRoom = true): string {
    const before = this.#steps.get(address)
    // numbers of attempts come again after a pause, and after the death of a process
    const isSame = before?.attempt === attempt && offset !== 0
    const seen = isSame ? before : { attempt, text: '', isCut: false }
    const isCut = seen.isCut || !hasRoom || (offset !== undefined && offset !== seen.text.length)
    this.#steps.set(address, isCut ? { ...seen, isCut } : { ...seen, text: seen.text + text })
    return isCut ? '' : text
  }

  /** A step has ended. `hasResult`: what it has shown belongs to the text that is recorded next. */
  ended(address: string, hasResult: boolean): void {
    const seen = this.#steps.get(address)
    this.#steps.delete(address)
    if (seen !== undefined && hasResult) this.#ended = seen.text
  }

  /** What the reader has not had of a recorded text. */
  restOf(text: string): string {
    const seen = this.#ended
    this.#ended = ''
    // a model that asked its provider again within one call has shown more than it says
    if (seen.endsWith(text)) return ''
    // the reader began in the middle, or did not have the end
    const at = text.indexOf(seen)
    return at < 0 ? text : text.slice(at + seen.length)
  }
}
