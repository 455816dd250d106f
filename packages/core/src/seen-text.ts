/**
 * Seen text: what a reader has had of the text of one activation before that text is recorded.
 *
 * Owns: which delta begins a text anew, which one follows what was seen, what of it is withdrawn, the rest of a recorded text; the same for a reader
 * that can take nothing back. Does not own: the order of deltas and events (runtime/feed/merged-feed.ts), which events
 * say a text (the readers).
 * Holds: K9: a reader has each text whole and once, whenever it began and whatever it missed. What an attempt said that
 * did not become the answer is withdrawn, as far as the next one does not say the same.
 */
import type { ActivationId } from './ids.ts'

/**
 * Whether a delta begins its text anew, for one who has heard so many characters of an attempt last. Numbers of attempts
 * come again after a pause, and after the death of a process.
 */
export const beginsAnew = <Attempt>(
  attempt: Attempt,
  length: number,
  delta: { readonly attempt: Attempt; readonly offset?: number | undefined },
): boolean => delta.attempt !== attempt || (delta.offset === 0 && length > 0)

/** A delta of a step. */
export interface SeenDelta {
  readonly address: string
  /** The attempt of the step that shows it. */
  readonly attempt: string
  readonly text: string
  /** How long the text of its attempt was before it. */
  readonly offset: number | undefined
}

/**
 * A change to what an agent has said so far: `withdrawn` characters (UTF-16 code units) are taken off its end, then
 * `text` follows.
 */
export interface TextChange {
  readonly withdrawn: number
  readonly text: string
}

/** A change to the text of a run. */
export interface RunTextChange extends TextChange {
  /** Who has said it: texts of several are told apart by this. */
  readonly activation: ActivationId
}

/** A change, and whether what it completes is recorded: nothing of that is withdrawn any more. */
export interface SaidChange extends RunTextChange {
  readonly isRecorded: boolean
}

const none: TextChange = { withdrawn: 0, text: '' }

/** Whether a change changes anything. */
export const isChange = ({ withdrawn, text }: TextChange): boolean => withdrawn > 0 || text !== ''

/** Two changes as one. */
export function bothChanges(first: TextChange, second: TextChange): TextChange {
  const kept = first.text.length - second.withdrawn
  return kept >= 0
    ? { withdrawn: first.withdrawn, text: first.text.slice(0, kept) + second.text }
    : { withdrawn: first.withdrawn - kept, text: second.text }
}

/** What turns one text into another. */
function changeOf(before: string, after: string): TextChange {
  let same = 0
  while (same < before.length && same < after.length && before[same] === after[same]) same++
  // half a character is not kept
  if (same > 0 && (same < before.length || same < after.length) && /[\ud800-\udbff]/.test(before[same - 1]!)) same--
  return { withdrawn: before.length - same, text: after.slice(same) }
}

/** Changed in place: a model shows a delta for every few letters. */
interface SeenStep {
  attempt: string
  /** What the reader has of this step. */
  given: string
  /** How much of it the present attempt has said, too. */
  said: number
  /** The reader was too slow or missed a delta: the rest comes once it is recorded. */
  isCut: boolean
}

export class SeenText {
  /** By address: steps under way. An agent may have several: it answers a worker's question during its own turn. */
  readonly #steps = new Map<string, SeenStep>()
  /** Addresses of calls of a model: what they record is what they have shown. */
  readonly #models = new Set<string>()
  /** Of the last step that has ended with a result. */
  #ended: { readonly text: string; readonly ofModel: boolean } | undefined

  /** A model is asked. Steps of code may show a text that they do not record. */
  asked(address: string): void {
    this.#models.add(address)
  }

  /**
   * What the reader is given of a delta. As long as an attempt says what the one before it said, that is nothing.
   * `hasRoom`: the reader keeps up.
   */
  show(delta: SeenDelta, hasRoom = true): TextChange {
    const { address, attempt, text, offset } = delta
    let step = this.#steps.get(address)
    if (step === undefined) this.#steps.set(address, (step = { attempt, given: '', said: 0, isCut: false }))
    if (beginsAnew(step.attempt, step.said, delta)) {
      step.attempt = attempt
      step.said = 0
      step.isCut = false
    }
    step.isCut ||= !hasRoom || (offset !== undefined && offset !== step.said)
    if (step.isCut) return none
    const { given, said } = step
    step.said += text.length
    if (said === given.length) {
      step.given += text
      return { withdrawn: 0, text }
    }
    const told = given.slice(said)
    if (told.startsWith(text)) return none
    step.given = given.slice(0, said) + text
    return changeOf(told, text)
  }

  /** A step has ended. `hasResult`: what it has shown belongs to the text that is recorded next; else it is withdrawn. */
  ended(address: string, hasResult: boolean): TextChange {
    const seen = this.#steps.get(address)
    const ofModel = this.#models.delete(address)
    this.#steps.delete(address)
    if (seen === undefined) return none
    if (!hasResult) return { withdrawn: seen.given.length, text: '' }
    this.#ended = { text: seen.given, ofModel }
    return none
  }

  /** What a recorded text changes for the reader. */
  restOf(text: string): TextChange {
    const seen = this.#ended
    this.#ended = undefined
    if (seen?.ofModel !== false) return changeOf(seen?.text ?? '', text)
    return { withdrawn: 0, text: text.startsWith(seen.text) ? text.slice(seen.text.length) : text }
  }
}

/** What a reader of plain text is given where an agent withdraws what it has said: what follows is said in its place. */
export const withdrawnMark = '\n\n[What was said above is withdrawn. It was cut off, and begins again:]\n\n'

/** Changes as pieces of plain text, for a reader that can take nothing back. */
export class PlainText {
  /** What each activation has said that may still be withdrawn. */
  readonly #said = new Map<ActivationId, string>()
  readonly #withdrawn = new Set<ActivationId>()

  /** The piece that a change is. */
  piece({ activation, withdrawn, text, isRecorded }: SaidChange): string {
    const before = this.#said.get(activation) ?? ''
    const said = (withdrawn === 0 ? before : before.slice(0, Math.max(0, before.length - withdrawn))) + text
    if (withdrawn > 0) this.#withdrawn.add(activation)
    if (isRecorded) this.#said.delete(activation)
    else this.#said.set(activation, said)
    // what is withdrawn alone is said with what comes in its place
    if (said === '' || (text === '' && !isRecorded)) return ''
    return this.#withdrawn.delete(activation) ? withdrawnMark + said : text
  }
}
