/**
 * The feed of a chat: one run, read once for all who are shown it.
 *
 * Owns: folding a followed run into what is shown, what each reader has still to be given. Does not own: when there is
 * nothing more to wait for (../protocol-run), what is shown (chat-fold.ts), how it is written.
 * Holds: K9: readers change nothing; one that leaves leaves the run alone. A reader that comes late gets what was shown
 * before, also text that is not recorded yet. What waits for a slow reader is joined.
 */
import { detached, ReeveError, systemClock, type Json, type RunId } from '@reeve/core'
import { childRunsIn, WovenReading } from '@reeve/journal'
import { pagesOf, type Question, type Run, type StreamItem } from '@reeve/runtime'
import { followRun, type StreamEnd } from '../protocol-run/index.ts'
import { ChatFold } from './chat-fold.ts'
import { applyChange, joinedChange, type ChatChange } from './chat-item.ts'

interface ChatReader {
  readonly queue: ChatChange[]
  wake: () => void
}

/** Finds a run by its id. */
export type FindRun = (id: RunId) => Run

/** How long a child run is waited for that its leader has begun and that is not there yet, in milliseconds. */
const childLaterMs = 50

/** The runs that are read now, one reading for each. */
export class ChatFeeds {
  readonly #all = new Map<RunId, ChatFeed>()

  /** The feed of the run, read from now on if it was not. `handle`: finds its child runs; without it they are not read. */
  follow(run: Run, handle?: FindRun): ChatFeed {
    const found = this.#all.get(run.id)
    if (found !== undefined) return found
    const feed = new ChatFeed(run, handle, () => this.#all.delete(run.id))
    this.#all.set(run.id, feed)
    return feed
  }
}

export class ChatFeed {
  readonly run: Run
  readonly #fold = new ChatFold()
  readonly #shown: ChatChange[] = []
  readonly #readers = new Set<ChatReader>()
  readonly #handle: FindRun | undefined
  readonly #woven: WovenReading
  /** Child runs that are followed. */
  readonly #followed = new Map<RunId, AbortController>()
  /** Resolves when everything up to the end is shown. Rejects if the run cannot be read. */
  readonly #end: Promise<StreamEnd | undefined>

  /** Reads the run from now on, also without a reader. `onEnd`: when there is nothing more to wait for. */
  constructor(run: Run, handle?: FindRun, onEnd: () => void = () => {}) {
    this.run = run
    this.#handle = handle
    this.#woven = new WovenReading(run.id)
    this.#end = this.#read().finally(() => {
      for (const left of this.#followed.values()) left.abort()
      onEnd()
    })
    this.#end.catch(() => {})
  }

  async #read(): Promise<StreamEnd | undefined> {
    for await (const item of followRun(this.run)) {
      if (item.type !== 'end') {
        await this.#next(item)
        continue
      }
      const { end } = item
      if (end.type === 'waiting')
        for (const question of end.waiting.questions)
          if (question.run !== this.run.id && !this.#fold.knows(question.id))
            this.#take(this.#fold.takeQuestion(question))
      return end
    }
    return undefined
  }

  /** Takes the next item in. Child runs are read beside it; what one has recorded stands before its end. */
  async #next(item: StreamItem): Promise<void> {
    if (item.type === 'part') return this.#take(this.#fold.take(item))
    const { event } = item
    const ended = this.#woven.endedBy(event)
    if (ended !== undefined) await this.#endChild(ended)
    const placed = this.#woven.take(event)
    if (placed === undefined) return
    this.#take(this.#fold.take({ type: 'event', event: placed }))
    if (this.#handle === undefined) return
    for (const run of childRunsIn([event])) {
      if (this.#followed.has(run)) continue
      const left = new AbortController()
      this.#followed.set(run, left)
      detached(
        () => this.#readChild(this.#handle!(run), left.signal),
        () => undefined,
      )
    }
  }

  /** What is missed of a child run is only not shown. */
  async #readChild(run: Run, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const item of run.feed({ signal })) {
          if (signal.aborted) return
          await this.#next(item)
        }
        return
      } catch (thrown) {
        // it is there a moment after its leader has begun it
        if (!ReeveError.is(thrown, 'run.unknown')) return
        await new Promise<void>((resolve) => systemClock.timer(systemClock.now() + childLaterMs, resolve))
      }
    }
  }

  /** Its leader knows its end. It may go on for a while, as one that was stopped does: that is not waited for. */
  async #endChild(id: RunId): Promise<void> {
    const left = this.#followed.get(id)
    if (left === undefined || left.signal.aborted) return
    left.abort()
    try {
      for await (const page of pagesOf(this.#handle!(id), this.#woven.positionOf(id)))
        for (const event of page) await this.#next({ type: 'event', event })
    } catch {
      // what is missed of a child run is only not shown
    }
  }

  #take(changes: readonly ChatChange[]): void {
    for (const change of changes) {
      applyChange(this.#shown, change)
      for (const { queue } of this.#readers) push(queue, change)
    }
    if (changes.length > 0) for (const reader of this.#readers) reader.wake()
  }

  /** What was decided about an approval. Of one of a child run it is shown at once: its events are in another feed. */
  noteDecision(question: Question, approved: boolean): void {
    if (question.run === this.run.id) return
    if (!this.#fold.knows(question.id)) this.#take(this.#fold.takeQuestion(question))
    this.#take(this.#fold.takeDecision(question.id, approved))
  }

  /** What the client has said of a call. Of one of a child run it is shown at once: its events are in another feed. */
  noteAnswer(question: Question, answer: Json): void {
    if (question.run === this.run.id) return
    if (!this.#fold.knows(question.id)) this.#take(this.#fold.takeQuestion(question))
    this.#take(this.#fold.takeAnswer(question.id, answer))
  }

  /**
   * Everything that is shown, from the beginning, then what changes, until the run has ended or needs a person. The last
   * item says which. It is followed for this reader from this call on, until it leaves or the signal aborts. Rejects with
   * `run.unknown`, `engine.closed`, `store.*`.
   */
  read(signal: AbortSignal): AsyncGenerator<ChatChange | StreamEnd, undefined> {
    const reader: ChatReader = { queue: [...this.#shown], wake: () => {} }
    this.#readers.add(reader)
    const leave = (): void => {
      signal.removeEventListener('abort', leave)
      this.#readers.delete(reader)
      reader.wake()
    }
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    return readChanges(reader, this.#end, signal, leave)
  }
}

async function* readChanges(
  reader: ChatReader,
  ending: Promise<StreamEnd | undefined>,
  signal: AbortSignal,
  leave: () => void,
): AsyncGenerator<ChatChange | StreamEnd, undefined> {
  let ended: (() => StreamEnd | undefined) | undefined
  const endWith = (end: () => StreamEnd | undefined): void => {
    ended = end
    reader.wake()
  }
  ending.then(
    (end) => endWith(() => end),
    (thrown: unknown) =>
      endWith(() => {
        throw thrown
      }),
  )
  try {
    while (!signal.aborted) {
      const next = reader.queue.shift()
      if (next !== undefined) yield next
      else if (ended === undefined) await new Promise<void>((resolve) => (reader.wake = resolve))
      else {
        const end = ended()
        if (end !== undefined) yield end
        return undefined
      }
    }
    return undefined
  } finally {
    leave()
  }
}

/** Adds what a reader has still to be given: joined with what waits for it, where that is of the same text or worker. */
function push(queue: ChatChange[], change: ChatChange): void {
  const last = queue.at(-1)
  const joined = last === undefined ? undefined : joinedChange(last, change)
  if (joined === undefined) queue.push(change)
  else queue[queue.length - 1] = joined
}
