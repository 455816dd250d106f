/**
 * Text: what is said in a run, as a text that grows: while it is written where that is seen here, and once it is
 * recorded in every case.
 *
 * Owns: that each recorded answer is given once and whole, however much of it was seen while it was written. Does not
 * own: whose words are wanted (part-origin.ts), which events are words (journal/views/transcript.ts).
 * K9: a reader that begins late, is slow, or sits in another process has the same text as any other; only when it has
 * it differs.
 */
import type { ActivationId, RunId } from '../../core/index.ts'
import { isDelta, type Engine, type LivePart } from '../../engine/index.ts'
import { newSpoken, speakChange, type Recorded, type Spoken, type SpokenFold } from '../../journal/index.ts'
import type { PartsOptions } from './run-feed.ts'
import { LiveQueue } from './live-parts.ts'
import { Placing } from './part-origin.ts'
import { weave, type Woven } from './merged-feed.ts'

const bound = 1024 * 1024

/** The text of a run for one reader, from the first word to the end of the run. */
export function textOf(
  engine: Engine,
  run: RunId,
  options: PartsOptions = {},
  begun?: Promise<unknown>,
): AsyncIterableIterator<string, undefined> {
  const left = new AbortController()
  const { signal } = options
  const growing = new Growing(
    new Placing(engine, run, { ...options, control: options.path === undefined && options.agent === undefined }),
  )
  const queue = new LiveQueue<string>({
    bound,
    bytes: (text) => 64 + 2 * text.length,
    merge: (last, next) => last + next,
    droppable: () => false,
    dropped: () => '',
  })
  const leave = (): void => {
    left.abort()
    queue.leave()
    signal?.removeEventListener('abort', leave)
  }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  const take = (item: Woven): void => {
    for (const text of growing.take(item, queue.bytes < bound)) if (text !== '') queue.push(text)
  }
  weave(engine, run, { take, room: () => queue.room() }, left.signal, begun).then(
    () => queue.end(),
    (failure: unknown) => queue.end(failure),
  )
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => queue.take(),
    return() {
      leave()
      return Promise.resolve({ value: undefined, done: true })
    },
  }
}

/** What was seen of the words that an agent is about to say. */
interface Seen {
  readonly attempt: string
  readonly text: string
  /** Its reader was too slow, or has missed some of it: the rest comes once it is recorded. */
  readonly isCut: boolean
}

class Growing {
  readonly #placing: Placing
  readonly #spoken: SpokenFold
  readonly #seen = new Map<ActivationId, Seen>()
  /** What each has said last. */
  readonly #last = new Map<ActivationId, string>()

  constructor(placing: Placing) {
    this.#placing = placing
    this.#spoken = newSpoken(placing.index)
  }

  /** `hasRoom`: the reader keeps up, so that it is given what is not recorded yet. */
  take(item: Woven, hasRoom: boolean): readonly string[] {
    return item.type === 'part' ? this.#part(item.part, hasRoom) : this.#event(item.event)
  }

  /** A text that was begun and failed is followed by the text of its next attempt. */
  #part(live: LivePart, hasRoom: boolean): readonly string[] {
    const { activation, address, epoch, attempt: nth, offset, part } = live
    if (!isDelta(part) || part.type !== 'text.delta' || !this.#placing.isWanted(activation)) return []
    const attempt = `${address} ${epoch} ${nth}`
    const before = this.#seen.get(activation)
    const seen = before?.attempt === attempt ? before : { attempt, text: '', isCut: false }
    const hasMissed = offset !== undefined && offset !== seen.text.length
    const isCut = seen.isCut || !hasRoom || hasMissed
    this.#seen.set(activation, isCut ? { ...seen, isCut } : { ...seen, text: seen.text + part.text })
    return isCut ? [] : [part.text]
  }

  #event(recorded: Recorded): readonly string[] {
    const change = this.#placing.note(recorded)
    const words = change === undefined ? [] : speakChange(this.#spoken, recorded, change)
    return words.flatMap((each) => (this.#placing.isWanted(each.activation) ? this.#said(each) : []))
  }

  #said(said: Spoken): readonly string[] {
    const text = wordsIn(said)
    if (text === undefined || (said.type === 'ended' && text === this.#last.get(said.activation))) return []
    const seen = this.#seen.get(said.activation)?.text ?? ''
    this.#seen.delete(said.activation)
    this.#last.set(said.activation, text)
    // what a reader has missed before it began, and what it has not seen at the end
    const at = text.indexOf(seen)
    return at === -1 ? [text] : [text.slice(at + seen.length)]
  }
}

/** The words in what was said, where there are any: an answer, or the text with which a hook has ended the work. */
function wordsIn(said: Spoken): string | undefined {
  if (said.type === 'assistant') return said.text
  return said.type === 'ended' && said.outcome.status === 'bailed' ? said.outcome.text : undefined
}
