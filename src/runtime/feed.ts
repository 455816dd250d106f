/**
 * The feed of one run: its journal as far as it goes, then what is appended, until the run has ended.
 *
 * Owns: following a run through the engine's `read` and `changed`, as events or as what was said; the live parts for one reader. Does not own: storage, what a
 * view makes of it, which events are somebody's words (journal/spoken.ts).
 * K9: readers own nothing. Leaving (`return`, `break`, an aborted signal) changes nothing and never throws.
 */
import { parentOf, rootActivation, type ActivationId, type RunId } from '../core/index.ts'
import { unknownRun, type Engine, type LivePart, type RunStatus } from '../engine/index.ts'
import { newSpoken, speak, type JournalEvent, type Recorded, type Spoken } from '../journal/index.ts'
import { droppedPart, isDelta, LiveQueue, mergeParts, partBytes } from './parts.ts'

/** Where to begin reading, and when to stop. */
export interface ReadOptions {
  /** A position: events after it are given. Default 0, everything. */
  readonly from?: number
  readonly signal?: AbortSignal
}

/** Which messages are wanted. */
export interface MessagesOptions extends ReadOptions {
  /** What is said below calls, too: by workers under delegation and by agents as tools. Default true. `false` leaves out all of that but questions to the outside. */
  readonly inner?: boolean
}

/** Which parts are wanted. */
export interface PartsOptions {
  /** Agents' names from the root: only parts of that agent's work, and of whoever works below it. Default: everybody's. */
  readonly path?: readonly string[]
  readonly signal?: AbortSignal
}

const ended: ReadonlySet<RunStatus> = new Set<RunStatus>(['completed', 'failed', 'limited', 'timed-out', 'cancelled'])

/** True for the status of a run that has ended. */
export const hasEnded = (status: RunStatus): boolean => ended.has(status)

/** Follows a run: every event after `from`, in order, until the run has ended. */
export function follow(engine: Engine, run: RunId, options: ReadOptions = {}): AsyncIterableIterator<Recorded, undefined> {
  return leavable(options.signal, (signal) => events(engine, run, options.from ?? 0, signal))
}

/** Follows what is said in a run: every message after `from`, in order, until the run has ended. Reads all events, because who speaks is told before `from`. */
export function followMessages(engine: Engine, run: RunId, options: MessagesOptions = {}): AsyncIterableIterator<Spoken, undefined> {
  return leavable(options.signal, (signal) => messages(engine, run, options, signal))
}

/** What a source gives until its reader leaves, also while it waits. */
function leavable<T>(
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

async function* events(engine: Engine, run: RunId, from: number, signal: AbortSignal): AsyncGenerator<Recorded, undefined> {
  let position = from
  while (!signal.aborted) {
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    let isOver = hasEnded(summary.status)
    for (const recorded of await engine.read(run, position)) {
      if (signal.aborted) return undefined
      position = recorded.position
      isOver ||= isRunEnd(recorded)
      yield recorded
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
  const fold = newSpoken()
  for await (const recorded of events(engine, run, 0, signal)) {
    for (const spoken of speak(fold, recorded)) {
      if (signal.aborted) return undefined
      if (spoken.position > from && (inner || isMeantForOutside(spoken))) yield spoken
    }
  }
  return undefined
}

/** A question below a call is the run's as much as any other: somebody outside has to answer it. */
const isMeantForOutside = ({ inner, type }: Spoken): boolean => inner !== true || type === 'interrupt' || type === 'approval'

const isRunEnd = ({ run, activation, event }: Recorded<JournalEvent>): boolean =>
  event.type === 'activation.settled' && activation === rootActivation(run)

const partsBound = 1024 * 1024

/** The live parts of a run for one reader, until the run has ended. Adjacent deltas are merged while the reader is busy. */
export function liveParts(engine: Engine, run: RunId, options: PartsOptions = {}): AsyncIterableIterator<LivePart, undefined> {
  const queue = new LiveQueue<LivePart>({
    bound: partsBound,
    bytes: partBytes,
    merge: mergeParts,
    dropped: (count) => droppedPart(rootActivation(run), count),
  })
  const stop = engine.listen(run, (part) => queue.push(part))
  const left = new AbortController()
  const leave = (): void => {
    stop()
    left.abort()
    queue.leave()
    options.signal?.removeEventListener('abort', leave)
  }
  options.signal?.addEventListener('abort', leave)
  if (options.signal?.aborted === true) leave()
  untilEnded(engine, run, left.signal)
    .then(
      () => queue.end(),
      (failure: unknown) => queue.end(failure),
    )
    .finally(stop)
  const wanted = options.path === undefined ? undefined : new Below(engine, run, options.path)
  const next = wanted === undefined ? () => queue.take() : () => takeWanted(queue, wanted)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next,
    return() {
      leave()
      return Promise.resolve({ value: undefined, done: true })
    },
  }
}

/** Resolves when the run has ended or the signal is aborted. Unlike `engine.outcome`, it lets go of the run when its reader has left. */
async function untilEnded(engine: Engine, run: RunId, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    if (hasEnded(summary.status)) return
    await engine.changed(run, Number.MAX_SAFE_INTEGER, signal)
  }
}

async function takeWanted(queue: LiveQueue<LivePart>, wanted: Below): Promise<IteratorResult<LivePart, undefined>> {
  for (;;) {
    const result = await queue.take()
    if (result.done === true || result.value.address === '' || (await wanted.has(result.value.activation))) return result
  }
}

/** The text that the root agent says while it says it. A text that was begun and failed is followed by the text of its next attempt. */
export function liveText(engine: Engine, run: RunId, options: PartsOptions = {}): AsyncIterableIterator<string, undefined> {
  const parts = liveParts(engine, run, options)
  const root = rootActivation(run)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      for (;;) {
        const result = await parts.next()
        if (result.done === true) return result
        const { activation, part } = result.value
        if ((options.path !== undefined || activation === root) && isDelta(part) && part.type === 'text.delta')
          return { value: part.text, done: false }
      }
    },
    async return() {
      await parts.return?.()
      return { value: undefined, done: true }
    },
  }
}

/** Which activations belong to the agent at a path and to whoever works below it. Reads the journal once for each activation it has not met. */
class Below {
  readonly #engine: Engine
  readonly #run: RunId
  readonly #path: readonly string[]
  readonly #known = new Map<ActivationId, readonly string[]>()
  #position = 0

  constructor(engine: Engine, run: RunId, path: readonly string[]) {
    this.#engine = engine
    this.#run = run
    this.#path = path
  }

  async has(activation: ActivationId): Promise<boolean> {
    if (!this.#known.has(activation)) await this.#readOn()
    const names = this.#known.get(activation) ?? []
    return this.#path.every((name, i) => names[i] === name)
  }

  async #readOn(): Promise<void> {
    for (const { position, activation, event } of await this.#engine.read(this.#run, this.#position)) {
      this.#position = position
      if (event.type !== 'activation.started') continue
      const parent = parentOf(activation)?.parent
      const above = (parent === undefined ? undefined : this.#known.get(parent)) ?? []
      this.#known.set(activation, event.path ?? [...above, event.agent])
    }
  }
}
