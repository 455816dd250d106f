/**
 * The text of a run: deltas while it is written, if this process receives them, and the rest once it is recorded.
 *
 * Owns: returning each recorded answer once and complete, after the deltas already seen. Does not own: the filter
 * (part-origin.ts), which events are text (journal/views/transcript.ts).
 * Holds: K9: late, slow and remote readers receive the same text as any other, only at another time.
 */
import { streamPartOf, type ActivationId, type RunId } from '../../core/index.ts'
import type { Engine, LivePart } from '../../engine/index.ts'
import {
  newTranscriptFold,
  transcribeChange,
  type Recorded,
  type Spoken,
  type TranscriptFold,
} from '../../journal/index.ts'
import type { PartsOptions } from './run-feed.ts'
import { LiveQueue } from './live-parts.ts'
import { PartOrigins } from './part-origin.ts'
import { mergeFeed, type FeedItem } from './merged-feed.ts'

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
  const builder = new TextBuilder(
    new PartOrigins(engine, run, { ...options, control: options.path === undefined && options.agent === undefined }),
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
  const take = (item: FeedItem): void => {
    for (const text of builder.take(item, queue.bytes < bound)) if (text !== '') queue.push(text)
  }
  mergeFeed(engine, run, { take, room: () => queue.room() }, left.signal, { begun }).then(
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

/** The deltas seen of an answer that is not recorded yet. */
interface Seen {
  readonly attempt: string
  readonly text: string
  /** The reader was too slow or missed a delta: the rest comes once it is recorded. */
  readonly isCut: boolean
}

class TextBuilder {
  readonly #origins: PartOrigins
  readonly #spoken: TranscriptFold
  readonly #seen = new Map<ActivationId, Seen>()
  /** The last text of each activation. */
  readonly #last = new Map<ActivationId, string>()

  constructor(origins: PartOrigins) {
    this.#origins = origins
    this.#spoken = newTranscriptFold(origins.index)
  }

  /** `hasRoom`: the reader keeps up, so it receives deltas. */
  take(item: FeedItem, hasRoom: boolean): readonly string[] {
    return item.type === 'part' ? this.#part(item.part, hasRoom) : this.#event(item.event)
  }

  /** The text of a failed attempt is followed by that of the next attempt. */
  #part(live: LivePart, hasRoom: boolean): readonly string[] {
    const { activation, address, epoch, attempt: nth, offset } = live
    const part = streamPartOf(live)
    if (part.type !== 'text.delta' || !this.#origins.isWanted(activation)) return []
    const attempt = `${address} ${epoch} ${nth}`
    const before = this.#seen.get(activation)
    const seen = before?.attempt === attempt ? before : { attempt, text: '', isCut: false }
    const hasMissed = offset !== undefined && offset !== seen.text.length
    const isCut = seen.isCut || !hasRoom || hasMissed
    this.#seen.set(activation, isCut ? { ...seen, isCut } : { ...seen, text: seen.text + part.text })
    return isCut ? [] : [part.text]
  }

  #event(recorded: Recorded): readonly string[] {
    const change = this.#origins.note(recorded)
    const words = change === undefined ? [] : transcribeChange(this.#spoken, recorded, change)
    return words.flatMap((each) => (this.#origins.isWanted(each.activation) ? this.#said(each) : []))
  }

  #said(said: Spoken): readonly string[] {
    const text = wordsIn(said)
    if (text === undefined || (said.type === 'ended' && text === this.#last.get(said.activation))) return []
    const seen = this.#seen.get(said.activation)?.text ?? ''
    this.#seen.delete(said.activation)
    this.#last.set(said.activation, text)
    // the part that the reader missed before it began, or at the end
    const at = text.indexOf(seen)
    return at === -1 ? [text] : [text.slice(at + seen.length)]
  }
}

/** The text of a message, if any: an answer, or the text with which a hook ended the work. */
function wordsIn(said: Spoken): string | undefined {
  if (said.type === 'assistant') return said.text
  return said.type === 'ended' && said.outcome.status === 'bailed' ? said.outcome.text : undefined
}
