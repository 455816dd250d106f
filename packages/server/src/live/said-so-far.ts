/**
 * Said so far: the text of calls that are under way, for readers who come while it is streamed.
 *
 * Owns: joining its pieces, how much of one is kept. Does not own: hearing pieces and sending them (watched-run.ts), the
 * whole text, which is in the journal once the call has ended. Holds: a bounded number of characters, whatever is
 * streamed; of a longer text the end is kept, and its offset says what is missing.
 */
import { isDelta, mergeParts, type RunPart } from '@reeve/runtime'

/** Characters that are kept of one call, and of all calls of a run. */
const keptOfCall = 128 * 1024
const keptOfAll = 2 * 1024 * 1024
/** So many calls that have ended are remembered at least, and twice as many at most: their last pieces may come after that. */
const rememberedEnds = 2_000

interface AttemptParts {
  readonly attempt: number
  readonly epoch: number
  parts: RunPart[]
  length: number
}

/** The key of a call. */
export const callKey = (activation: string, address: string): string => `${activation} ${address}`

export class SaidSoFar {
  readonly #calls = new Map<string, AttemptParts>()
  /** Calls that have ended lately, and those that ended before them. */
  #ended = new Set<string>()
  #endedBefore = new Set<string>()
  #length = 0

  /** Takes a piece in. What is no piece of a text is not kept. False: its call has ended. */
  add(part: RunPart): boolean {
    const piece = part.part
    const key = callKey(part.activation, part.address)
    if (this.#ended.has(key) || this.#endedBefore.has(key)) return false
    if (!isDelta(piece) || part.offset === undefined) return true
    let said = this.#calls.get(key)
    // another attempt says it anew
    if (said === undefined || said.attempt !== part.attempt || said.epoch !== part.epoch) {
      this.#forget(key)
      said = { attempt: part.attempt, epoch: part.epoch, parts: [], length: 0 }
      this.#calls.set(key, said)
    }
    const last = said.parts.at(-1)
    const joined = last === undefined ? undefined : mergeParts(last, part)
    if (joined === undefined) said.parts.push(part)
    else said.parts[said.parts.length - 1] = joined
    this.#grow(said, piece.text.length)
    // cut rarely: each cut copies what is kept
    if (said.length > 2 * keptOfCall) this.#cut(said)
    while (this.#length > keptOfAll && this.#calls.size > 1) this.#forget(this.#calls.keys().next().value!)
    return true
  }

  /** The call has ended: its text is in the journal. */
  end(key: string): void {
    this.#forget(key)
    this.#ended.add(key)
    if (this.#ended.size < rememberedEnds) return
    this.#endedBefore = this.#ended
    this.#ended = new Set()
  }

  /** All that was said in calls that are under way, oldest first. */
  parts(): readonly RunPart[] {
    return [...this.#calls.values()].flatMap(({ parts }) => parts)
  }

  #grow(said: AttemptParts, by: number): void {
    said.length += by
    this.#length += by
  }

  #forget(key: string): void {
    const said = this.#calls.get(key)
    if (said === undefined) return
    this.#length -= said.length
    this.#calls.delete(key)
  }

  #cut(said: AttemptParts): void {
    let over = said.length - keptOfCall
    const kept: RunPart[] = []
    for (const each of said.parts) {
      const piece = each.part
      if (!isDelta(piece)) continue
      const cut = Math.min(over, piece.text.length)
      over -= cut
      this.#grow(said, -cut)
      if (cut === piece.text.length) continue
      kept.push({ ...each, offset: each.offset! + cut, part: { ...piece, text: piece.text.slice(cut) } })
    }
    said.parts = kept
  }
}
