/**
 * The feed of one run: its journal so far, then new events, until the run has ended.
 *
 * Owns: following a run through the engine's `read` and `changed`, as events or messages; live parts for one reader.
 * Does not own: storage, views, which events are messages (journal/views/transcript.ts), the agent of a part
 * (part-origin.ts), the text of a run (run-text.ts).
 * Holds: K9: readers change nothing. Leaving (`return`, `break`, an aborted signal) never throws.
 */
import { rootActivation, type RunId } from '@reeve/core'
import {
  mergeParts,
  partBytes,
  unknownRun,
  type Engine,
  type LivePart,
  type PartAuthor,
  type RunStatus,
} from '@reeve/engine'
import {
  journalPages,
  newTranscriptFold,
  readerPage,
  transcribe,
  type JournalEvent,
  type Recorded,
  type Spoken,
} from '@reeve/journal'
import { sharedPages } from './shared-pages.ts'
import { droppedPart, LiveQueue } from './live-parts.ts'
import { partOf, PartOrigins, type RunPart } from './part-origin.ts'

/** The start and end of reading. */
export interface ReadOptions {
  /** Returns events after this position. Default 0: all events. */
  readonly from?: number
  readonly signal?: AbortSignal
}

/** The filter of messages. */
export interface MessagesOptions extends ReadOptions {
  /**
   * Includes messages below calls: of workers under delegation and of agents as tools. Default true. With `false`, only
   * their questions to the outside are included.
   */
  readonly inner?: boolean
}

/** The filter of parts. All given conditions must hold. If no agent of the run matches, no part comes until its end. */
export interface PartsOptions {
  /**
   * Agents' names from the root: only parts of agents at this path and below it. An agent that comes after another in a
   * flow is not below it.
   */
  readonly path?: readonly string[]
  /** An agent's name: only parts of its turns and their tools, wherever it works. */
  readonly agent?: string
  /**
   * Whether parts have their agent and path, which are read from the journal. Default true. `false` is for readers that
   * follow the journal themselves: both are empty, and no filter may be given.
   */
  readonly origin?: boolean
  readonly signal?: AbortSignal
}

const ended: ReadonlySet<RunStatus> = new Set<RunStatus>([
  'completed',
  'failed',
  'limited',
  'timed-out',
  'cancelled',
  'bailed',
])

/** True for the status of a run that has ended. */
export const hasEnded = (status: RunStatus): boolean => ended.has(status)

/** Follows a run: every event after `from`, in order, until the run has ended. */
export function follow(
  engine: Engine,
  run: RunId,
  options: ReadOptions = {},
): AsyncIterableIterator<Recorded, undefined> {
  return leavable(options.signal, (signal) => events(engine, run, options.from ?? 0, signal))
}

/**
 * Follows the messages of a run after `from`, in order, until the run has ended. Reads all events, because the start of
 * an agent may be before `from`.
 */
export function followMessages(
  engine: Engine,
  run: RunId,
  options: MessagesOptions = {},
): AsyncIterableIterator<Spoken, undefined> {
  return leavable(options.signal, (signal) => messages(engine, run, options, signal))
}

/** Wraps a source so that its reader can leave at any time, also while it waits. */
export function leavable<T>(
  given: AbortSignal | undefined,
  open: (signal: AbortSignal) => AsyncGenerator<T, undefined>,
): AsyncIterableIterator<T, undefined> {
  const left = new AbortController()
  const source = open(given === undefined ? left.signal : AbortSignal.any([left.signal, given]))
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => source.next(),
    async return() {
      left.abort()
      await source.return(undefined)
      return { value: undefined, done: true }
    },
  }
}

async function* events(
  engine: Engine,
  run: RunId,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Recorded, undefined> {
  const pages = sharedPages(engine)
  let position = from
  while (!signal.aborted) {
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    let isOver = hasEnded(summary.status)
    for await (const page of journalPages((...place) => pages.read(run, ...place), position, readerPage, signal)) {
      for (const recorded of page) {
        if (signal.aborted) return undefined
        position = recorded.position
        isOver ||= isRunEnd(recorded)
        yield recorded
      }
    }
    if (isOver || signal.aborted) return undefined
    await engine.changed(run, position, signal)
  }
  return undefined
}

async function* messages(
  engine: Engine,
  run: RunId,
  { from = 0, inner = true }: MessagesOptions,
  signal: AbortSignal,
): AsyncGenerator<Spoken, undefined> {
  const fold = newTranscriptFold()
  for await (const recorded of events(engine, run, 0, signal)) {
    for (const spoken of transcribe(fold, recorded)) {
      if (signal.aborted) return undefined
      if (spoken.position > from && (inner || isMeantForOutside(spoken))) yield spoken
    }
  }
  return undefined
}

/** A question below a call needs an answer from outside, like any other. */
const isMeantForOutside = ({ inner, type }: Spoken): boolean =>
  inner !== true || type === 'interrupt' || type === 'approval'

const isRunEnd = ({ run, activation, event }: Recorded<JournalEvent>): boolean =>
  event.type === 'activation.settled' && activation === rootActivation(run)

const partsBound = 256 * 1024

const partsQueue = (run: RunId): LiveQueue<LivePart> =>
  new LiveQueue<LivePart>({
    bound: partsBound,
    bytes: partBytes,
    merge: mergeParts,
    dropped: (count) => droppedPart(rootActivation(run), count),
  })

/**
 * The live parts of a run for one reader, until the run has ended, after the text so far of the calls under way.
 * Adjacent deltas are merged while the reader is busy. Listens at once.
 */
export function liveParts(
  engine: Engine,
  run: RunId,
  options: PartsOptions = {},
): AsyncIterableIterator<RunPart, undefined> {
  const { signal } = options
  const queue = partsQueue(run)
  const origins = new PartOrigins(engine, run, options)
  const hear = (part: LivePart, author?: PartAuthor): void => {
    if (author !== undefined) origins.hear(part, author)
    queue.push(part)
  }
  const stop = engine.listen(run, hear, { soFar: true })
  const left = new AbortController()
  const leave = (): void => {
    stop()
    left.abort()
    queue.leave()
    signal?.removeEventListener('abort', leave)
  }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  untilEnded(engine, run, left.signal)
    .then(
      () => queue.end(),
      (failure: unknown) => queue.end(failure),
    )
    .finally(stop)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => takeWanted(queue, origins, options.origin !== false, left.signal),
    return() {
      leave()
      return Promise.resolve({ value: undefined, done: true })
    },
  }
}

/**
 * Calls back with the text so far of the calls under way, then with each live part of a run while it is shown, in
 * order, until the run has ended or the signal aborts.
 * Nothing stands between the agent and `hear`, where the process that drives the run calls it and no filter asks whose
 * a part is: such a part is not queued, not merged and never dropped. What the journal is to be asked about first waits
 * in a queue as that of `liveParts`, and what comes after it waits behind it. Rejects with what `hear` throws, and hears
 * no more then; the agent does not notice (K9). Listens at once.
 */
export async function hearParts(
  engine: Engine,
  run: RunId,
  hear: (part: RunPart) => void,
  options: PartsOptions = {},
): Promise<void> {
  const queue = partsQueue(run)
  const origins = new PartOrigins(engine, run, options)
  const left = new AbortController()
  const { signal, origin: hasOrigin = true } = options
  // parts are frequent, and to ask a signal is not cheap
  let isOver = false
  const leave = (): void => {
    isOver = true
    left.abort()
  }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  let failure: { readonly thrown: unknown } | undefined
  const fail = (thrown: unknown): void => {
    failure ??= { thrown }
    leave()
  }
  const tell = (part: RunPart | undefined): void => {
    if (part === undefined || isOver) return
    try {
      const word: unknown = hear(part)
      // an async function fails later
      if (word instanceof Promise) word.catch(fail)
    } catch (thrown) {
      fail(thrown)
    }
  }
  // the text so far waits in the queue: `hear` is not called before this has returned
  let catchingUp: Promise<void> | undefined = Promise.resolve()
  const catchUp = async (): Promise<void> => {
    while (queue.bytes > 0 && !isOver) {
      const { value } = await queue.take()
      if (value === undefined) continue
      if (!origins.knows(value)) await origins.readOn()
      tell(origins.place(value))
    }
    // in the turn that finds the queue empty: what comes next is told at once again
    catchingUp = undefined
  }
  const take = (part: LivePart, author?: PartAuthor): void => {
    if (author !== undefined) {
      if (catchingUp === undefined && origins.takesAll) return tell(partOf(part, author.agent, author.path))
      origins.hear(part, author)
    }
    if (catchingUp === undefined && (!hasOrigin || origins.knows(part))) return tell(origins.place(part))
    queue.push(part)
    catchingUp ??= catchUp().catch(fail)
  }
  const stop = engine.listen(run, take, { soFar: true })
  catchingUp = queue.bytes > 0 ? catchUp().catch(fail) : undefined
  try {
    await untilEnded(engine, run, left.signal)
    await catchingUp
  } finally {
    stop()
    signal?.removeEventListener('abort', leave)
  }
  if (failure !== undefined) throw failure.thrown
}

/**
 * Resolves when the run has ended or the signal aborts. Unlike `engine.outcome`, it releases the run when its reader
 * has left.
 */
async function untilEnded(engine: Engine, run: RunId, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    if (hasEnded(summary.status)) return
    await engine.changed(run, Number.MAX_SAFE_INTEGER, signal)
  }
}

async function takeWanted(
  queue: LiveQueue<LivePart>,
  origins: PartOrigins,
  hasOrigin: boolean,
  left: AbortSignal,
): Promise<IteratorResult<RunPart, undefined>> {
  for (;;) {
    const result = await queue.take()
    if (result.done === true) return result
    if (hasOrigin && !origins.knows(result.value)) await origins.readOn()
    if (left.aborted) return { value: undefined, done: true }
    const value = origins.place(result.value)
    if (value !== undefined) return { value, done: false }
  }
}
