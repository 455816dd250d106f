/**
 * The text of a run: deltas while it is written, if this process receives them, and the rest once it is recorded.
 *
 * Owns: returning each recorded answer once and complete, after the deltas already seen. Does not own: what was seen of
 * an answer (core/seen-text.ts), the filter (part-origin.ts), which events are text (the story of the journal).
 * Holds: K9: late, slow and remote readers receive the same text as any other, only at another time.
 */
import {
  bothChanges,
  isChange,
  PlainText,
  SeenText,
  streamPartOf,
  type ActivationId,
  type RunId,
  type RunTextChange,
  type SaidChange,
} from '@reeve/core'
import type { Engine, LivePart } from '@reeve/engine'
import { Story, type Recorded, type SaidItem } from '@reeve/journal'
import type { PartsOptions } from './run-feed.ts'
import { LiveQueue } from './live-parts.ts'
import { PartOrigins } from './part-origin.ts'
import { mergeFeed, type FeedItem } from './merged-feed.ts'

const bound = 1024 * 1024

/** The text of a run for one reader, from the first word to the end of the run, as pieces that follow one another. */
export function textOf(
  engine: Engine,
  run: RunId,
  options: PartsOptions = {},
  begun?: Promise<unknown>,
): AsyncIterableIterator<string, undefined> {
  const plain = new PlainText()
  const queue = new LiveQueue<string>({
    bound,
    bytes: (text) => 64 + 2 * text.length,
    merge: (last, next) => last + next,
    droppable: () => false,
    dropped: () => '',
  })
  return read(engine, run, queue, (change) => push(queue, plain.piece(change)), options, begun)
}

const push = (queue: LiveQueue<string>, text: string): void => {
  if (text !== '') queue.push(text)
}

/** The same as changes, for a reader that can take back what is withdrawn. */
export function textChangesOf(
  engine: Engine,
  run: RunId,
  options: PartsOptions = {},
): AsyncIterableIterator<RunTextChange, undefined> {
  const queue = new LiveQueue<RunTextChange>({
    bound,
    bytes: ({ text }) => 128 + 2 * text.length,
    merge: (last, next) =>
      last.activation === next.activation ? { activation: last.activation, ...bothChanges(last, next) } : undefined,
    droppable: () => false,
    dropped: () => ({ activation: '' as ActivationId, withdrawn: 0, text: '' }),
  })
  const take = ({ activation, withdrawn, text }: SaidChange): void => {
    if (isChange({ withdrawn, text })) queue.push({ activation, withdrawn, text })
  }
  return read(engine, run, queue, take, options)
}

function read<T>(
  engine: Engine,
  run: RunId,
  queue: LiveQueue<T>,
  push: (change: SaidChange) => void,
  options: PartsOptions,
  begun?: Promise<unknown>,
): AsyncIterableIterator<T, undefined> {
  const left = new AbortController()
  const { signal } = options
  const builder = new TextBuilder(
    new PartOrigins(engine, run, { ...options, control: options.path === undefined && options.agent === undefined }),
  )
  const leave = (): void => {
    left.abort()
    queue.leave()
    signal?.removeEventListener('abort', leave)
  }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  const take = (item: FeedItem): void => {
    for (const change of builder.take(item, queue.bytes < bound)) push(change)
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

class TextBuilder {
  readonly #origins: PartOrigins
  readonly #story: Story
  readonly #seen = new Map<ActivationId, SeenText>()

  constructor(origins: PartOrigins) {
    this.#origins = origins
    this.#story = new Story(origins.index)
  }

  /** `hasRoom`: the reader keeps up, so it receives deltas. */
  take(item: FeedItem, hasRoom: boolean): readonly SaidChange[] {
    return item.type === 'part' ? this.#part(item.part, hasRoom) : this.#event(item.event)
  }

  #part(live: LivePart, hasRoom: boolean): readonly SaidChange[] {
    const { activation, address, epoch, attempt, offset } = live
    const part = streamPartOf(live)
    if (part.type !== 'text.delta' || !this.#origins.isWanted(activation)) return []
    const change = this.#seenOf(activation).show(
      { address, attempt: `${epoch} ${attempt}`, text: part.text, offset },
      hasRoom,
    )
    return isChange(change) ? [{ activation, ...change, isRecorded: false }] : []
  }

  #seenOf(activation: ActivationId): SeenText {
    let seen = this.#seen.get(activation)
    if (seen === undefined) this.#seen.set(activation, (seen = new SeenText()))
    return seen
  }

  #event(recorded: Recorded): readonly SaidChange[] {
    const { activation, event } = recorded
    if (event.type === 'model.requested' && this.#origins.isWanted(activation))
      this.#seenOf(activation).asked(event.address)
    const over =
      event.type === 'step.settled'
        ? this.#seen.get(activation)?.ended(event.address, event.outcome.status === 'completed')
        : undefined
    const change = this.#origins.note(recorded)
    const items = change === undefined ? [] : this.#story.takeChange(recorded, change)
    const texts = items.flatMap((item) => (item.type === 'said' ? this.#said(item) : []))
    if (event.type === 'activation.settled') this.#seen.delete(activation)
    return over === undefined || !isChange(over) ? texts : [{ activation, ...over, isRecorded: false }, ...texts]
  }

  #said({ spoken: { activation }, text }: SaidItem): readonly SaidChange[] {
    if (!this.#origins.isWanted(activation)) return []
    const change = this.#seen.get(activation)?.restOf(text) ?? { withdrawn: 0, text }
    return [{ activation, ...change, isRecorded: true }]
  }
}
