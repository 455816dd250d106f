/**
 * A followed run: one run, read once for all who are shown it.
 *
 * Owns: reading the feed of a run into what is shown, what each reader has still to be given, when there is nothing more
 * to wait for: the run has ended, or needs a person. Does not own: what is shown (shown-fold.ts), how it is written.
 * Holds: K9: readers change nothing; one that leaves leaves the run alone. A reader that comes late gets what was shown
 * before, also text that is not recorded yet. What waits for a slow reader is joined.
 */
import type { RunId } from '../../core/index.ts'
import type { Question, Run, RunOutcome, RunWaiting } from '../../runtime/index.ts'
import { ShownFold } from './shown-fold.ts'
import { applyChange, joinedChange, type ShownChange } from './shown.ts'

/** Why nothing more is shown for now. `position`: of the last event that was read. */
export type Rest =
  | { readonly type: 'ended'; readonly position: number; readonly outcome: RunOutcome }
  | { readonly type: 'waiting'; readonly position: number; readonly waiting: RunWaiting }

interface ShownReader {
  readonly queue: ShownChange[]
  wake: () => void
}

/** The runs that are followed now, one reading for each. */
export class FollowedRuns {
  readonly #all = new Map<RunId, FollowedRun>()

  /** The run, followed from now on if it was not. */
  follow(run: Run): FollowedRun {
    const found = this.#all.get(run.id)
    if (found !== undefined) return found
    const followed = new FollowedRun(run, () => {
      if (this.#all.get(run.id) === followed) this.#all.delete(run.id)
    })
    this.#all.set(run.id, followed)
    return followed
  }
}

export class FollowedRun {
  readonly run: Run
  readonly #fold = new ShownFold()
  readonly #shown: ShownChange[] = []
  readonly #readers = new Set<ShownReader>()
  readonly #left = new AbortController()
  readonly #onClose: () => void
  /** Resolves when its feed has ended. Rejects if it cannot be read. */
  readonly #over: Promise<void>
  #rest: Promise<Rest> | undefined
  #isOver = false
  #hasNews = (): void => {}

  constructor(run: Run, onClose: () => void = () => {}) {
    this.run = run
    this.#onClose = onClose
    this.#over = this.#read()
    this.#over.catch(() => this.#close())
    // also without a reader: once nothing goes on there is nothing to keep
    this.#untilRest().catch(() => {})
  }

  async #read(): Promise<void> {
    for await (const item of this.run.feed({ signal: this.#left.signal })) this.#take(this.#fold.take(item))
    this.#isOver = true
  }

  #take(changes: readonly ShownChange[]): void {
    for (const change of changes) {
      applyChange(this.#shown, change)
      for (const { queue } of this.#readers) push(queue, change)
    }
    this.#hasNews()
    if (changes.length > 0) for (const reader of this.#readers) reader.wake()
  }

  #close(): void {
    this.#left.abort()
    this.#onClose()
  }

  /** What was decided about an approval. Of one of a child run it is shown at once: its events are in another feed. */
  noteDecision(question: Question, approved: boolean): void {
    if (question.run === this.run.id) return
    if (!this.#fold.knows(question.id)) this.#take(this.#fold.takeQuestion(question))
    this.#take(this.#fold.takeDecision(question.id, approved))
  }

  /**
   * Everything that is shown, from the beginning, then what changes, until the run has ended or needs a person. The last
   * item says which. It is followed for this reader from this call on, until it leaves or the signal aborts. Rejects with
   * `run.unknown`, `engine.closed`, `store.*`.
   */
  read(signal: AbortSignal): AsyncGenerator<ShownChange | Rest, undefined> {
    const reader: ShownReader = { queue: [...this.#shown], wake: () => {} }
    const rest = this.#untilRest()
    rest.catch(() => {})
    this.#readers.add(reader)
    const leave = (): void => {
      signal.removeEventListener('abort', leave)
      this.#readers.delete(reader)
      reader.wake()
      if (this.#readers.size === 0 && this.#rest === undefined) this.#close()
    }
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    return readChanges(reader, rest, signal, leave)
  }

  #untilRest(): Promise<Rest> {
    this.#rest ??= this.#findRest().finally(() => {
      this.#rest = undefined
      if (this.#readers.size === 0) this.#close()
    })
    return this.#rest
  }

  async #findRest(): Promise<Rest> {
    const found = await Promise.race([this.run.until('waiting'), this.#failure()])
    if (!('waiting' in found)) {
      await this.#over
      return { type: 'ended', position: this.#fold.position, outcome: found }
    }
    // the feed may be behind what the run was found to wait for
    const recorded = await this.run.journal({ from: this.#fold.position })
    const last = recorded.at(-1)?.position ?? 0
    while (this.#fold.position < last && !this.#isOver)
      await Promise.race([new Promise<void>((resolve) => (this.#hasNews = resolve)), this.#over])
    for (const question of found.questions)
      if (question.run !== this.run.id && !this.#fold.knows(question.id)) this.#take(this.#fold.takeQuestion(question))
    return { type: 'waiting', position: this.#fold.position, waiting: found }
  }

  /** Rejects where the feed cannot be read; never resolves. */
  #failure(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#over.catch(reject)
    })
  }
}

async function* readChanges(
  reader: ShownReader,
  resting: Promise<Rest>,
  signal: AbortSignal,
  leave: () => void,
): AsyncGenerator<ShownChange | Rest, undefined> {
  let rest: Rest | undefined
  let failed: { readonly thrown: unknown } | undefined
  resting.then(
    (found) => {
      rest = found
      reader.wake()
    },
    (thrown: unknown) => {
      failed = { thrown }
      reader.wake()
    },
  )
  try {
    while (!signal.aborted) {
      const next = reader.queue.shift()
      if (next !== undefined) yield next
      else if (rest !== undefined) {
        yield rest
        return undefined
      } else if (failed !== undefined) throw failed.thrown
      else await new Promise<void>((resolve) => (reader.wake = resolve))
    }
    return undefined
  } finally {
    leave()
  }
}

/** Adds what a reader has still to be given: joined with what waits for it, where that is of the same text or worker. */
function push(queue: ShownChange[], change: ShownChange): void {
  const last = queue.at(-1)
  const joined = last === undefined ? undefined : joinedChange(last, change)
  if (joined === undefined) queue.push(change)
  else queue[queue.length - 1] = joined
}
