/**
 * Changes over all runs: what lists and inboxes have to read again.
 *
 * Owns: one follower of the feed of all runs for all readers, which events change what a list shows, collecting them
 * for a moment, who may hear of which run. Does not own: the lists.
 * Holds: a reader is told first to read everything, and from then on of every change: what changes after its first
 * message is in a later one. A reader of a tenant, or of some agents, hears of their runs alone. K9: readers change nothing.
 */
import { pause, ReeveError, rootActivation, rootRun, type RunId } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import { isInScope, type FeedEvent, type Runtime } from '@reeve/runtime'
import { seesAll, type Scope } from '../access/tenant-runtime.ts'
import type { Changes } from '../wire.ts'

/** The least time between two messages, in milliseconds. */
const everyMs = 200
/** Runs that one message names at most. */
const namedAtMost = 100
/** Runs whose tenant and agent are remembered. */
const birthsKept = 10_000
/** How long to wait before a store that is away is asked again, in milliseconds. */
const retryMs = 500

/** Whether an event asks, answers or closes a question. */
const questionTypes: ReadonlySet<JournalEvent['type']> = new Set<JournalEvent['type']>([
  'approval.requested',
  'interrupt.raised',
  'ask.settled',
  'approval.resolved',
  'effect.in-doubt',
  'effect.cleared',
  'replay.diverged',
  'replay.resolved',
])

/** What changes the state of a run without a question. Of the beginning and the end: those of the run itself. */
const stateTypes: ReadonlySet<JournalEvent['type']> = new Set<JournalEvent['type']>([
  'activation.started',
  'activation.settled',
  'agent.moved',
  'cancel.received',
  'run.pausing',
  'run.paused',
  'run.resumed',
  'run.taken-over',
  'run.handed-back',
  'run.forked',
])

interface Changed {
  readonly run: RunId
  readonly hasQuestions: boolean
}

interface ChangesReader {
  readonly scope: Scope
  /** What it has not been told. */
  news: News
  wake: () => void
  /** How many messages it was sent. */
  told: number
}

/** Whose a run is. */
type RunBirth = Parameters<typeof isInScope>[1]

interface News {
  questions: boolean
  readonly runs: Set<RunId>
  /** More than are named in `runs`. */
  isMore: boolean
}

const everything = (): News => ({ questions: true, runs: new Set(), isMore: true })
const nothing = (): News => ({ questions: false, runs: new Set(), isMore: false })

/** One way through the feed of all runs. */
interface Following {
  readonly left: AbortController
  /** Resolves when every later event is told, or it was left. */
  readonly begun: Promise<void>
}

export class AllChanges {
  readonly #runtime: Runtime
  readonly #readers = new Set<ChangesReader>()
  readonly #births = new Map<RunId, RunBirth | undefined>()
  #position = 0
  #following: Following | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** What changed for a principal of this scope, collected for a moment, for as long as it stays. */
  async *messages(scope: Scope, signal: AbortSignal): AsyncGenerator<Changes, undefined> {
    const reader: ChangesReader = { scope, news: everything(), wake: () => {}, told: 0 }
    const wake = (): void => reader.wake()
    this.#readers.add(reader)
    signal.addEventListener('abort', wake)
    this.#following ??= this.#follow()
    const { begun, left } = this.#following
    const { signal: closed } = left
    closed.addEventListener('abort', wake)
    try {
      await Promise.race([begun, aborted(signal)])
      while (!signal.aborted && !closed.aborted) {
        const { news } = reader
        if (news.isMore || news.runs.size > 0) {
          reader.news = nothing()
          reader.told++
          yield this.#message(news, reader)
          await pause(everyMs, signal, 'unref')
        } else await new Promise<void>((resolve) => (reader.wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', wake)
      closed.removeEventListener('abort', wake)
      this.#readers.delete(reader)
      if (this.#readers.size === 0) this.close()
    }
    return undefined
  }

  /** How far the whole store is, is nothing to a principal of one tenant, or of some agents: they are told how often they were told. */
  #message({ questions, runs, isMore }: News, { scope, told }: ChangesReader): Changes {
    return { position: seesAll(scope) ? this.#position : told, questions, ...(isMore ? {} : { runs: [...runs] }) }
  }

  #follow(): Following {
    const left = new AbortController()
    const begun = new Promise<void>((resolve) => {
      left.signal.addEventListener('abort', () => resolve())
      this.#read(left.signal, resolve).catch(() => left.abort())
    })
    return { left, begun }
  }

  async #read(signal: AbortSignal, begun: () => void): Promise<void> {
    const onBegin = (position: number): void => {
      this.#position = position
      begun()
    }
    let from: number | 'now' = this.#position === 0 ? 'now' : this.#position
    while (!signal.aborted) {
      try {
        for await (const event of this.#runtime.feed({ from, signal, onBegin })) {
          from = this.#position = event.id
          const changed = changeOf(event)
          if (changed !== undefined) await this.#tell(changed, event)
        }
      } catch (thrown) {
        if (ReeveError.is(thrown, 'engine.closed')) return
        // one event that cannot be read hides none of those after it; a store may be away for a while
        await pause(retryMs, signal, 'unref')
        from = 'now'
        for (const { news, wake } of this.#readers) {
          news.questions = news.isMore = true
          wake()
        }
      }
    }
  }

  async #tell({ run, hasQuestions }: Changed, event: FeedEvent): Promise<void> {
    const isWanted = [...this.#readers].some(({ scope }) => !seesAll(scope))
    const birth = isWanted ? await this.#birthOf(rootRun(run), event) : undefined
    for (const reader of this.#readers) {
      if (!seesAll(reader.scope) && (birth === undefined || !isInScope(reader.scope, birth))) continue
      const { news, wake } = reader
      news.questions ||= hasQuestions
      if (news.runs.size < namedAtMost) news.runs.add(run)
      else news.isMore ||= !news.runs.has(run)
      wake()
    }
  }

  async #birthOf(run: RunId, { activation, event }: FeedEvent): Promise<RunBirth | undefined> {
    if (this.#births.has(run)) return this.#births.get(run)
    const isBirth = event.type === 'activation.started' && activation === rootActivation(run)
    const birth = isBirth ? { agent: event.agent, caller: event.caller ?? {} } : await this.#storedBirth(run)
    if (this.#births.size >= birthsKept) this.#births.delete(this.#births.keys().next().value!)
    this.#births.set(run, birth)
    return birth
  }

  async #storedBirth(run: RunId): Promise<RunBirth | undefined> {
    try {
      return await this.#runtime.handle(run).summary()
    } catch (thrown) {
      // it was removed meanwhile
      if (ReeveError.is(thrown, 'run.unknown')) return undefined
      throw thrown
    }
  }

  /** Stops following. The next reader begins again. */
  close(): void {
    this.#following?.left.abort()
    this.#following = undefined
  }
}

/** What an event changes in lists; undefined for most. */
function changeOf({ run, activation, event }: FeedEvent): Changed | undefined {
  const root = rootRun(run)
  if (questionTypes.has(event.type)) return { run: root, hasQuestions: true }
  if (!stateTypes.has(event.type)) return undefined
  // the end of an agent closes its questions
  if (event.type === 'activation.settled' && (event.open?.length ?? 0) > 0) return { run: root, hasQuestions: true }
  const isOwn = activation === rootActivation(root)
  return isOwn ? { run: root, hasQuestions: false } : undefined
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  )
