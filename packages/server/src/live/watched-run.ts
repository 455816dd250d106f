/**
 * A watched run: one run, read and folded once for all who look at it.
 *
 * Owns: reading the journal in pages and following it, child runs included; when what is shown is brought up to date;
 * live parts, joined; its readers. Does not own: what is shown (run-state.ts), rows (journal-rows.ts), which runs are
 * watched (live-runs.ts).
 * Holds: a reader holds no queue of patches: it is given what changed since it last asked. Pieces of a text come after the
 * patch that shows their call open, and none after its end was read. Folding gives way to the rest
 * of the process every few milliseconds. K9: readers change nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ReeveError, runOf, sentPart, systemClock, type ActivationId, type RunId } from '@reeve/core'
import {
  childRunsIn,
  spansAfter,
  WovenReading,
  type ActivationStarted,
  type Recorded,
  type SpanPage,
} from '@reeve/journal'
import { mergeParts, type Question, type Run, type RunPart, type Runtime } from '@reeve/runtime'
import type { PartMessage } from '../wire.ts'
import { AgentConversation } from './conversation.ts'
import { JournalRows, type RowFilter } from './journal-rows.ts'
import { RunState, type StoreStatus } from './run-state.ts'
import { callKey, SaidSoFar } from './said-so-far.ts'

/** Events that are read at once. */
const pageSize = 1_000
/** How long events are folded before the rest of the process has its turn, in milliseconds. */
const sliceMs = 10
/** The least time between two patches, and between two messages of parts, in milliseconds. */
const patchEveryMs = 100
const partsEveryMs = 50
/** Making a patch may take one part of so many of the time. */
const share = 10
/** How often a run that has not ended is asked for what its journal does not say, in milliseconds. */
const lookEveryMs = 1_000
/** How long to wait before a store that is away is asked again, in milliseconds. */
const retryMs = 500
/** Characters of parts that wait for one reader. One that is further behind misses them: the journal has the text. */
const partsBound = 512 * 1024
/** Calls of which pieces wait for the event that began them. */
const mostPending = 2_000

/** What one reader has seen. */
interface LiveReader {
  version: number | undefined
  parts: string[]
  partsLength: number
  wake: () => void
}

/** A conversation, and the row up to which it was read. */
interface HeldConversation {
  readonly talk: AgentConversation
  rows: number
  reading?: Promise<void>
}

export class WatchedRun {
  readonly id: RunId
  readonly rows = new JournalRows()
  readonly state = new RunState()
  /** Resolves when everything that was recorded when it was opened has been folded. Rejects with `run.unknown`. */
  readonly opened: Promise<void>
  readonly #runtime: Runtime
  readonly #left = new AbortController()
  readonly #run: Run
  /** Its journal with those of its child runs. */
  readonly #woven: WovenReading
  /** Child runs that are followed. */
  readonly #followed = new Set<RunId>()
  readonly #readers = new Set<LiveReader>()
  #sliceBegan = 0
  #status: StoreStatus | undefined
  #questions: readonly Question[] = []
  #showing: Promise<void> | undefined
  #isStale = false
  #lastShown = 0
  #cost = 0
  #callOff = (): void => {}
  readonly #said = new SaidSoFar()
  #pending = new Map<string, RunPart[]>()
  /** Calls that have begun since what is shown was last brought up to date. */
  readonly #notShown = new Set<string>()
  #isFlushing = false
  #isOpen = false
  readonly #conversations = new Map<ActivationId, HeldConversation>()
  #found: { readonly key: string; readonly size: number; readonly rows: readonly number[] } | undefined

  constructor(runtime: Runtime, id: RunId) {
    this.#runtime = runtime
    this.id = id
    this.#run = runtime.handle(id)
    this.#woven = new WovenReading(id)
    this.opened = this.#open()
    this.opened.catch(() => this.close())
  }

  async #open(): Promise<void> {
    this.#status = await this.#run.summary()
    this.#listen(this.id)
    // reading one may find further ones
    for (const run of this.#woven.runs()) await this.#catchUp(run)
    await this.#show()
    this.#isOpen = true
    for (const run of this.#woven.runs()) this.#goOn(run)
    this.#lookLater()
  }

  /** Reads a journal to its end of now. */
  async #catchUp(run: RunId): Promise<void> {
    for (;;) {
      const page = await this.#runtime.handle(run).journal({ from: this.#woven.positionOf(run), limit: pageSize })
      this.#sliceBegan = performance.now()
      for (const recorded of page) {
        await this.#takeInOrder(recorded)
        if (performance.now() - this.#sliceBegan > sliceMs) await this.#giveWay()
      }
      if (page.length < pageSize || this.#left.signal.aborted) return
      await nextTurn()
    }
  }

  async #giveWay(): Promise<void> {
    await nextTurn()
    this.#sliceBegan = performance.now()
  }

  /** What a child run has recorded stands before its end. */
  async #takeInOrder(recorded: Recorded): Promise<void> {
    const child = this.#woven.endedBy(recorded)
    if (child !== undefined) await this.#catchUp(child)
    const placed = this.#woven.take(recorded)
    if (placed !== undefined) this.#take(recorded, placed)
  }

  #take(recorded: Recorded, placed: Recorded): void {
    const { run, position, activation, event } = recorded
    this.#noteCall(activation, event)
    this.rows.add(recorded)
    this.state.take(placed, run === this.id ? position : 0)
    if (!this.#isOpen) return
    for (const child of childRunsIn([recorded])) this.#goOn(child)
  }

  #noteCall(activation: ActivationId, event: Recorded['event']): void {
    if (event.type === 'step.settled') {
      const key = callKey(activation, event.address)
      this.#said.end(key)
      this.#pending.delete(key)
    } else if (this.#isOpen && 'op' in event && event.op === 'step')
      this.#notShown.add(callKey(activation, event.address))
  }

  #goOn(run: RunId): void {
    if (this.#followed.has(run)) return
    this.#followed.add(run)
    this.#follow(run).catch(() => this.close())
    if (run !== this.id) this.#listen(run)
  }

  #listen(run: RunId): void {
    this.#hear(run).catch(() => this.close())
  }

  #showNow(): void {
    this.#show().catch(() => this.close())
  }

  /** Goes on reading until the run has ended, or nobody looks any more. */
  async #follow(run: RunId): Promise<void> {
    const { signal } = this.#left
    while (!signal.aborted && !this.#woven.isOver(run)) {
      try {
        const from = this.#woven.positionOf(run)
        for await (const recorded of this.#runtime.handle(run).events({ from, signal })) {
          await this.#takeInOrder(recorded)
          this.#later()
        }
        return
      } catch (thrown) {
        if (signal.aborted || ReeveError.is(thrown, 'engine.closed')) return
        // a child run is there a moment after its leader has begun it; a store may be away for a while
        if (ReeveError.is(thrown, 'run.unknown') && run === this.id) return this.close()
        await new Promise<void>((resolve) => systemClock.timer(systemClock.now() + retryMs, resolve))
      }
    }
  }

  /** Brings what is shown up to date soon: not before its time has come. */
  #later(): void {
    if (this.#isStale || this.#left.signal.aborted) return
    this.#isStale = true
    const wait = Math.max(patchEveryMs, share * this.#cost) - (performance.now() - this.#lastShown)
    this.#callOff()
    this.#callOff = systemClock.timer(systemClock.now() + Math.max(5, wait), () => this.#showNow())
  }

  /** A run may be parked, stuck or queued without an event that says so. */
  #lookLater(): void {
    if (this.#woven.isOver(this.id) || this.#left.signal.aborted || this.#isStale) return
    this.#callOff()
    this.#callOff = systemClock.timer(systemClock.now() + lookEveryMs, () => this.#showNow())
  }

  #show(): Promise<void> {
    this.#showing ??= this.#showOnce().finally(() => {
      this.#showing = undefined
    })
    return this.#showing
  }

  async #showOnce(): Promise<void> {
    try {
      this.#status = await this.#run.summary()
      this.#questions = this.state.hasDoubts ? await this.#runtime.questions({ run: this.id }) : []
    } catch (thrown) {
      if (ReeveError.is(thrown, 'run.unknown')) return this.close()
      // what was known before is shown until the store is back
    }
    const began = performance.now()
    this.#isStale = false
    const { version } = this.state
    this.state.show(this.#status, this.#questions)
    this.#notShown.clear()
    if (this.#pending.size > 0) this.#flushLater()
    if (this.state.version !== version) this.#wakeAll()
    this.#lastShown = performance.now()
    this.#cost = this.#lastShown - began
    this.#lookLater()
  }

  async #hear(run: RunId): Promise<void> {
    if (this.#woven.isOver(run)) return
    try {
      for await (const part of this.#runtime.handle(run).parts({ origin: false, signal: this.#left.signal }))
        this.#hold(part)
    } catch {
      // parts are never needed: what was said stands in the journal
    }
  }

  #hold(part: RunPart): void {
    if (!this.#said.add(part) || this.#readers.size === 0) return
    const key = callKey(part.activation, part.address)
    const held = this.#pending.get(key) ?? []
    const last = held.at(-1)
    const joined = last === undefined ? undefined : mergeParts(last, part)
    if (joined === undefined) held.push(part)
    else held[held.length - 1] = joined
    this.#pending.set(key, held)
    this.#flushLater()
  }

  #flushLater(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    systemClock.timer(systemClock.now() + partsEveryMs, () => this.#flush())
  }

  #flush(): void {
    this.#isFlushing = false
    const all: PartMessage[] = []
    for (const [key, parts] of this.#pending) {
      // its beginning is not shown yet: it goes with the next flush
      const { activation, address } = parts[0]!
      if (this.#notShown.has(key) || !this.#isUnderWay(activation, address)) continue
      all.push(...parts.map((part) => this.#message(part)))
      this.#pending.delete(key)
    }
    if (this.#pending.size > mostPending) this.#pending.clear()
    if (all.length === 0) return
    const json = partsJson(all)
    for (const reader of this.#readers) {
      if (reader.partsLength + json.length > partsBound) {
        reader.parts = []
        reader.partsLength = 0
      }
      reader.parts.push(json)
      reader.partsLength += json.length
      reader.wake()
    }
  }

  #isUnderWay(activation: ActivationId, address: string): boolean {
    return this.state.index.activations.get(activation)?.open.has(address) === true
  }

  #message({ activation, address, attempt, offset, part }: RunPart): PartMessage {
    const { agent = '', path = [] } = this.state.index.activations.get(activation) ?? {}
    return {
      activation,
      address,
      attempt,
      agent,
      path,
      ...(offset === undefined ? {} : { offset }),
      part: sentPart(part),
    }
  }

  /** Whether somebody looks at it live. */
  get isRead(): boolean {
    return this.#readers.size > 0
  }

  /**
   * Messages for one reader, as JSON of `LiveMessage`, for as long as it stays: a snapshot, the text of calls under way,
   * then what changed since the message before, and parts. Ends if the run is removed. Rejects with `run.unknown`.
   */
  async *messages(signal: AbortSignal): AsyncGenerator<string, undefined> {
    await this.opened
    const reader: LiveReader = { version: undefined, parts: [], partsLength: 0, wake: () => {} }
    const wake = (): void => reader.wake()
    this.#readers.add(reader)
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted && !this.#left.signal.aborted) {
        const message = this.#next(reader)
        if (message !== undefined) yield message
        else await new Promise<void>((resolve) => (reader.wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#readers.delete(reader)
    }
    return undefined
  }

  #next(reader: LiveReader): string | undefined {
    const { version } = this.state
    if (reader.version !== version) {
      const patch = reader.version === undefined ? undefined : this.state.patchSince(reader.version)
      reader.version = version
      if (patch !== undefined) return `{"type":"patch","patch":${patch}}`
      // pieces that come twice are told by their offsets
      const said = this.#said
        .parts()
        .filter(({ activation, address }) => this.#isUnderWay(activation, address))
        .map((part) => this.#message(part))
      if (said.length > 0) {
        const json = partsJson(said)
        reader.parts.unshift(json)
        reader.partsLength += json.length
      }
      return `{"type":"snapshot","run":${this.state.snapshot()}}`
    }
    const parts = reader.parts.shift()
    if (parts !== undefined) reader.partsLength -= parts.length
    return parts
  }

  #wakeAll(): void {
    for (const { wake } of this.#readers) wake()
  }

  /** The events of these rows, in the same order. Rows that are near each other are read at once. */
  async read(rows: readonly number[]): Promise<readonly Recorded[]> {
    const events: Recorded[] = []
    for (let i = 0; i < rows.length;) {
      const first = this.rows.at(rows[i]!)
      const run = runOf(first.activation)
      const wanted = new Set<number>()
      const begin = rows[i]!
      for (; i < rows.length && rows[i]! - begin < nearby; i++) {
        const row = this.rows.at(rows[i]!)
        if (runOf(row.activation) !== run) break
        wanted.add(row.position)
      }
      const limit = rows[i - 1]! - begin + 1
      const page = await this.#runtime.handle(run).journal({ from: first.position - 1, limit })
      events.push(...page.filter(({ position }) => wanted.has(position)))
      await nextTurn()
    }
    return events
  }

  /** What an activation was shown and said so far. */
  async conversation(activation: ActivationId): Promise<AgentConversation> {
    const held = this.#conversations.get(activation) ?? { talk: new AgentConversation(activation), rows: 0 }
    this.#conversations.delete(activation)
    this.#conversations.set(activation, held)
    if (this.#conversations.size > conversationsKept)
      this.#conversations.delete(this.#conversations.keys().next().value!)
    held.reading = (held.reading ?? Promise.resolve()).then(async () => {
      const { size } = this.rows
      const rows = this.rows.about(activation, held.rows)
      for (let i = 0; i < rows.length; i += nearby) {
        for (const recorded of await this.read(rows.slice(i, i + nearby))) held.talk.take(recorded)
      }
      held.rows = size
    })
    try {
      await held.reading
    } catch (thrown) {
      this.#conversations.delete(activation)
      throw thrown
    }
    return held.talk
  }

  /** The numbers of the rows whose event holds a text, whatever its case: the first `most` of them. */
  async search(text: string, filter: RowFilter, most: number, signal: AbortSignal): Promise<readonly number[]> {
    const key = JSON.stringify([text, filter.activation, filter.family, most])
    if (this.#found?.key === key && this.#found.size === this.rows.size) return this.#found.rows
    const { size } = this.rows
    const wanted = text.toLowerCase()
    const found: number[] = []
    const { rows } = this.rows.find(filter, 0, Infinity)
    for (let i = 0; i < rows.length && found.length < most && !signal.aborted; i += nearby) {
      const some = rows.slice(i, i + nearby)
      for (const [j, { event }] of (await this.read(some)).entries())
        if (JSON.stringify(event).toLowerCase().includes(wanted)) found.push(some[j]!)
    }
    if (!signal.aborted) this.#found = { key, size, rows: found.slice(0, most) }
    return found.slice(0, most)
  }

  /** Stops reading; its readers end. Idempotent. */
  close(): void {
    this.#left.abort()
    this.#callOff()
    this.#wakeAll()
  }

  get isClosed(): boolean {
    return this.#left.signal.aborted
  }

  /** Bars of the timeline after a position. */
  spans(after: number, limit: number): SpanPage {
    return spansAfter(this.state.timeline, after, limit)
  }

  /** How an activation began; undefined if the run has none of this id. */
  async beginningOf(activation: ActivationId): Promise<ActivationStarted | undefined> {
    const { rows } = this.rows.find({ activation, family: 'activation.started' }, 0, 1)
    const [first] = await this.read(rows)
    return first?.event.type === 'activation.started' ? first.event : undefined
  }

  /** The agent of an activation. */
  agentOf(activation: ActivationId): string {
    return this.state.index.activations.get(activation)?.agent ?? ''
  }
}

const partsJson = (parts: readonly PartMessage[]): string => `{"type":"parts","parts":${JSON.stringify(parts)}}`

/** Conversations that are kept in memory, of those that were read last. */
const conversationsKept = 4
/** Rows with fewer rows than this between the first and the last are read at once. */
const nearby = 200
