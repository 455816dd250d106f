/**
 * Reading a store in memory: feeds, runs, questions, values. Never writes.
 *
 * Owns: finding and decoding. Does not own: what operators ask (../queries-over.ts, over `scan`), who may see what
 * (server), folding (journal/views).
 */
import { rootActivation, runOf, type ActivationId, type Json, type RunId } from '@reeve/core'
import { decode, type Caller, type JournalEvent, type Recorded } from '@reeve/journal'
import type { AccountState } from '../replay/account.ts'
import { missingCodeEnding } from '../code-version.ts'
import { valuesHeard } from '../fork/fork-values.ts'
import { unreadableEvent, type FeedEvent, type FeedPage, type RunEnd, type UnmovedRun } from '../port.ts'
import { callerIn } from '../run-row.ts'
import type { ScannedRun } from '../queries-over.ts'
import type {
  AgentVersion,
  DueQuestion,
  InboxRow,
  Past,
  StoredEntry,
  StoredOrigin,
  StoredRun,
  StoreReader,
} from '../store.ts'
import { inboxRow, placeOf, type EntryRecord, type MemoryTables, type RunRecord } from './tables.ts'

/** So many deadlines are told at once. */
const dueAtOnce = 1_000

export class MemoryReader implements StoreReader, Past {
  readonly #open: () => MemoryTables
  /** Runs that have ended since `ends` was last asked. */
  #ended: RunId[] = []

  /** `open`: throws where the store was closed. */
  constructor(open: () => MemoryTables) {
    this.#open = open
  }

  get #tables(): MemoryTables {
    return this.#open()
  }

  /** These runs have ended. */
  heard(ended: Iterable<RunRecord>): void {
    for (const { id } of ended) this.#ended.push(id)
  }

  *activation(id: ActivationId): Generator<StoredEntry> {
    const act = this.#tables.activations.get(id)
    if (act === undefined) return
    let first = 0
    for (const { from, upTo } of [...act.summed, { from: Infinity, upTo: 0 }]) {
      const end = placeOf(act.log, ({ seq }) => seq < from)
      for (const entry of act.log.slice(first, end)) yield storedEntry(entry)
      first = placeOf(act.log, ({ seq }) => seq < upTo)
    }
  }
  log(id: ActivationId): Iterable<StoredEntry> {
    return (this.#tables.activations.get(id)?.log ?? []).map(storedEntry)
  }
  birth(run: RunId): JournalEvent | undefined {
    return eventOf(this.#tables.activations.get(rootActivation(run))?.log[0])
  }
  lastEvent(id: ActivationId): JournalEvent | undefined {
    return eventOf(this.#tables.activations.get(id)?.log.at(-1))
  }
  end(run: RunId): RunEnd | undefined {
    const event = this.lastEvent(rootActivation(run))
    return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
  }
  ends(runs: Pick<ReadonlyMap<RunId, unknown>, 'has'>): Map<RunId, RunEnd> {
    const ends = new Map<RunId, RunEnd>()
    for (const id of this.#ended) {
      const end = runs.has(id) ? this.end(id) : undefined
      if (end !== undefined) ends.set(id, end)
    }
    if (this.#ended.length > 0) this.#ended = []
    return ends
  }
  feed(run: RunId, from: number, limit = Infinity, length = Infinity): Recorded[] {
    const entries = this.#tables.runs.get(run)?.feed ?? []
    const first = placeOf(entries, ({ position }) => position <= from)
    const page: Recorded[] = []
    for (let i = first, left = length; i < entries.length && i - first < limit && left > 0; i++) {
      page.push(recorded(run, entries[i]!))
      left -= entries[i]!.body.length
    }
    return page
  }
  page(from: number | 'now', limit: number): FeedPage {
    const { feed, position: top } = this.#tables
    if (from === 'now' || top <= from) return { events: [], upTo: from === 'now' ? top : from }
    const first = placeOf(feed, ({ position }) => position <= from)
    const events: FeedEvent[] = []
    for (const entry of feed.slice(first, first + limit)) {
      const { position } = entry
      const run = entry.act.run!.id
      try {
        events.push({ id: position, ...recorded(run, entry) })
      } catch (thrown) {
        if (events.length === 0) throw unreadableEvent(position, run, thrown)
        return { events, upTo: events.at(-1)!.id }
      }
    }
    return { events, upTo: events.length === limit ? events.at(-1)!.id : top }
  }
  hasNews(run: RunId, from: number): boolean {
    const found = this.#tables.runs.get(run)
    return found === undefined || found.ended !== null || (found.feed.at(-1)?.position ?? 0) > from
  }
  below(id: ActivationId): StoredEntry[] {
    const inside = `${id}>`
    return this.#tables
      .family(runOf(id))
      .flatMap(({ activations }) => activations.filter((act) => act.id === id || act.id.startsWith(inside)))
      .flatMap(({ log }) => log)
      .toSorted((a, b) => a.position - b.position)
      .map(storedEntry)
  }
  origin(
    run: RunId,
    at: number,
    streamOf: (caller: Caller) => string,
    read: readonly Recorded[] = [],
  ): StoredOrigin | undefined {
    const found = this.#tables.runs.get(run)
    if (found === undefined) return undefined
    const feed = read.concat(this.feed(run, read.at(-1)?.position ?? 0))
    const written = (this.#tables.streams.get(streamOf(callerIn(found)))?.log.log ?? []).map(storedEntry)
    return {
      run: found.row(),
      feed,
      mail: this.unreadOf(run),
      accounts: this.accounts(run),
      values: valuesHeard({ run, at }, feed, written),
    }
  }

  run(run: RunId): StoredRun | undefined {
    return this.#tables.runs.get(run)?.row()
  }
  /** What `queriesOver` reads. */
  scan(of?: RunId): Iterable<ScannedRun> {
    return of === undefined ? this.#tables.runs.values() : this.#tables.family(of)
  }
  children(run: RunId): RunId[] {
    return this.#tables.below(run).flatMap(({ id, ended }) => (ended === null ? [id] : []))
  }
  endedBefore(at: number, limit: number): RunId[] {
    return [...this.#tables.ended]
      .filter(({ ended }) => ended! < at)
      .toSorted((a, b) => a.ended! - b.ended!)
      .slice(0, limit)
      .map(({ id }) => id)
  }
  left(): RunId[] {
    const cancelled = [...this.#tables.runs.values()].filter(
      (run) => run.ended === null && run.isParked && wasCancelled(this.#tables, run),
    )
    return [...this.#tables.stuck, ...cancelled].map(({ id }) => id)
  }
  withoutCode(): RunId[] {
    return [...this.#tables.stuck].flatMap(({ id, stuck }) => (stuck!.endsWith(missingCodeEnding) ? [id] : []))
  }
  /** What an operator said to a run that is set aside, and no process has read. A cancel counts more. */
  commandFor(run: RunId): 'cancel' | 'resume' | undefined {
    const root = rootActivation(run)
    const keys = [...(this.#tables.runs.get(run)?.unread ?? [])].flatMap(({ act, key }) =>
      act.id === root ? [key] : [],
    )
    if (keys.includes('!cancel')) return 'cancel'
    return keys.some((key) => key.startsWith('!resume')) ? 'resume' : undefined
  }

  /** Of runs that no process holds and that are ready, the kinds. */
  orphanKinds(): AgentVersion[] {
    const kinds = Map.groupBy(this.#tables.free, ({ agent, version }) => JSON.stringify([agent, version]))
    return [...kinds.values()].map(([run]) => ({ agent: run!.agent, version: run!.version }))
  }
  /** The oldest of a kind that were lost less often than `below`. */
  orphans({ agent, version }: AgentVersion, below: number, limit: number): RunId[] {
    return this.#oldestFree((run) => run.agent === agent && run.version === version && run.losses < below, limit)
  }
  /** Runs that may kill the process that takes them up, the least suspected first. */
  suspects(from: number, limit: number): RunId[] {
    return [...this.#tables.free]
      .filter(({ losses }) => losses > 1 && losses >= from)
      .toSorted((a, b) => a.losses - b.losses)
      .slice(0, limit)
      .map(({ id }) => id)
  }
  #oldestFree(is: (run: RunRecord) => boolean, limit: number): RunId[] {
    return [...this.#tables.free]
      .filter(is)
      .toSorted((a, b) => a.created - b.created)
      .slice(0, limit)
      .map(({ id }) => id)
  }
  ready(drives: (kind: AgentVersion) => boolean, limit: number): RunId[] {
    const ready: RunId[] = []
    for (const kind of this.orphanKinds())
      if (ready.length < limit && drives(kind)) ready.push(...this.orphans(kind, Infinity, limit - ready.length))
    return ready
  }

  unreadOf(run: RunId): InboxRow[] {
    return [...(this.#tables.runs.get(run)?.unread ?? [])].map(inboxRow)
  }
  withMail(): RunId[] {
    return [...this.#tables.unheard].flatMap(({ id, owner }) => (owner === null ? [id] : []))
  }
  asked(id: string): boolean {
    return this.#tables.questions.has(id)
  }
  /** How many questions to people a run has open. */
  questionCount(run: RunId): number {
    return this.#tables.runs.get(run)?.asked.length ?? 0
  }
  nextDeadline(): number | undefined {
    const first = this.#tables.deadlines.first()
    return first === undefined ? undefined : first.until! + (first.kind === 'timer' ? 0 : 1)
  }
  due(now: number): DueQuestion[] {
    return this.#tables.deadlines
      .upTo(now)
      .filter(({ until, kind }) => until! < now || kind === 'timer')
      .toSorted((a, b) => a.until! - b.until! || a.of.num - b.of.num || a.num - b.num)
      .slice(0, dueAtOnce)
      .map(({ act, address, kind, until }) => ({ act, address, kind, until: until! }))
  }
  accounts(run: RunId): Map<ActivationId, AccountState> {
    const found = new Map<ActivationId, AccountState>()
    for (const { id, account } of this.#tables.runs.get(run)?.activations ?? [])
      if (account !== undefined) found.set(id, account)
    return found
  }

  value(stream: string, key: string): { version: number; value: Json } {
    const found = this.#tables.streams.get(stream)?.values.get(key)
    return found === undefined
      ? { version: 0, value: null }
      : { version: found.version, value: JSON.parse(found.body) as Json }
  }
  valueKeys(stream: string): readonly string[] {
    return [...(this.#tables.streams.get(stream)?.values.keys() ?? [])].sort()
  }
  written(stream: string, seq: number): Json {
    const event = eventOf(this.#tables.streams.get(stream)?.log.entry(seq))
    return event?.type === 'value.updated' ? event.value : null
  }

  unmoved(before: number, most: number): UnmovedRun[] {
    return [...this.#tables.working].slice(0, most).flatMap((run) => {
      const since = run.lastAt
      return run.stuck === null && since < before ? [{ run: run.id, owner: run.owner, since }] : []
    })
  }
}

const eventOf = (entry: EntryRecord | undefined): JournalEvent | undefined =>
  entry === undefined ? undefined : decode(entry.body)
const storedEntry = ({ act, seq, at, body }: EntryRecord): StoredEntry => ({
  activation: act.id,
  seq,
  at,
  event: decode(body),
})
const recorded = (run: RunId, { position, act, seq, at, body }: EntryRecord): Recorded => ({
  position,
  run,
  activation: act.id,
  seq,
  at,
  event: decode(body),
})
/** Whether an operator's cancel was read. */
function wasCancelled(tables: MemoryTables, run: RunRecord): boolean {
  const row = tables.activations.get(rootActivation(run.id))
  return row?.hasMail('!cancel') === true && row.inbox.get('!cancel')!.body === undefined
}
