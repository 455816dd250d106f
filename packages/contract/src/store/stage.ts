/**
 * The stage on which a case of the store contract plays: an empty store, processes that have it open, batches written
 * as data.
 *
 * Owns: what cases have in common. Does not own: what they check. Nothing here sleeps: conditions are awaited.
 */
import assert from 'node:assert/strict'
import {
  completed,
  rootActivation,
  runId,
  runOf,
  present,
  type ActivationId,
  type Clock,
  type Json,
  type Now,
  type Outcome,
  type ReeveError,
  type Redaction,
  type RunId,
} from '@reeve/core'
import { encode, type Caller, type JournalEvent } from '@reeve/journal'
import { type AccountState, askKey } from '@reeve/engine'
import {
  type Batch,
  type BatchResult,
  type Claimed,
  emptyBatch,
  type InboxRow,
  type NewQuestion,
  type NewRow,
  type Store,
  type ValueWrite,
} from '@reeve/engine/storage'
import { manualClock, type ManualClock } from '@reeve/testing'

/** An account of which so many turns were used. */
export const account = (turns: number): AccountState => ({
  limits: { turns: 9 },
  spent: { turns, tokens: 0, usd: 0 },
  reserved: { turns: 0, tokens: 0, usd: 0 },
  ms: 3,
  unknown: 0,
})

/** How a case has a store opened. */
export interface OpenStoreOptions {
  /** Default: that of the stage, which stands still. */
  readonly clock?: Clock
  /** Default 3. */
  readonly lossLimit?: number
  readonly redact?: Redaction
}

/** One store that was empty at first. */
export interface StorePlace {
  /** Opens it as a process of its own does. Of a store for one process: once. */
  open(options: Required<Pick<OpenStoreOptions, 'clock' | 'lossLimit'>> & OpenStoreOptions): Now<Store>
  /**
   * The process that has opened this store dies: nothing of it is released, and another process finds that it is dead
   * when it looks.
   */
  kill(store: Store): Now<void>
  /** The process stands still for longer than its lease. Another one that looks takes it for dead. */
  stall(store: Store): Now<void>
  /** Removes everything. What is open was closed before. */
  dispose(): Now<void>
}

/** A store to be tested. */
export interface StoreSubject {
  readonly name: string
  create(options: { readonly clock: ManualClock }): Now<StorePlace>
  /** No other process can open it: cases with two of them are skipped. */
  readonly isPrivate?: boolean
  /** It passes live parts on to other processes: cases with them are played. */
  readonly passesParts?: boolean
  /** It keeps an index of runs (`Store.index`): cases with it are played. */
  readonly keepsIndex?: boolean
  /** It keeps contents beside its journals (`Store.contents`): cases with them are played. */
  readonly keepsContents?: boolean
  /** Names of cases that do not hold, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
}

/** A case of the suite as it is written down. */
export interface StorePlay {
  readonly invariant: string
  readonly name: string
  /** Needs a store that several processes can open. */
  readonly shared?: true
  /** Needs a store that passes live parts on. */
  readonly parts?: true
  /** Needs a store that keeps an index of runs. */
  readonly index?: true
  /** Needs a store that keeps contents. */
  readonly contents?: true
  readonly play: (stage: StoreStage) => Promise<void>
}

/** The moment at which everything happens that is given none. */
const noon = 1_000_000

/** How a run begins that is put into a store. */
export interface SeededRun {
  readonly agent?: string
  readonly version?: string
  readonly at?: number
  readonly caller?: Caller
  /** Default: the process that writes it. Null: no owner. */
  readonly owner?: string | null
  readonly input?: Json
}

export const started = (agent = 'a', version = '1', input: Json = null): JournalEvent => ({
  type: 'activation.started',
  agent,
  version,
  input,
})
export const stepped = (address: string, output: Json = address): JournalEvent => ({
  type: 'step.settled',
  address,
  outcome: completed(output),
})
export const settled = (outcome: Outcome = completed('done')): JournalEvent => ({ type: 'activation.settled', outcome })

/** The id of a run, and that of its first activation. */
export const run = (name: string): RunId => runId(name)
export const root = (id: RunId): ActivationId => rootActivation(id)
/** The worker of an activation at this address. */
export const below = (id: ActivationId, address: string): ActivationId => `${id}>${address}` as ActivationId

/** A batch while it is written. */
export class BatchDraft {
  readonly batch: Batch
  constructor(owner: string) {
    this.batch = emptyBatch(owner)
  }

  /** The batch is written under this epoch of a run. */
  holds(id: RunId, epoch = 1): this {
    this.batch.epochs.set(id, epoch)
    return this
  }
  /** A new run with its first entry. */
  begin(
    id: RunId,
    { agent = 'a', version = '1', at = noon, caller, owner = this.batch.owner, input = null }: SeededRun = {},
  ): this {
    this.batch.runs.push({
      id,
      agent,
      version,
      caller: caller === undefined ? null : JSON.stringify(caller),
      at,
      owner,
    })
    return this.holds(id).activation(root(id), started(agent, version, input), at)
  }
  activation(id: ActivationId, event: JournalEvent = started(), at = noon): this {
    this.batch.acts.push(id)
    return this.log(id, 0, event, at)
  }
  log(act: ActivationId, seq: number, event: JournalEvent, at = noon): this {
    this.batch.log.push({ act, run: runOf(act), seq, at, body: encode(event) })
    return this
  }
  /** The entry at `upTo` stands for those since `from`. */
  sum(act: ActivationId, from: number, upTo: number): this {
    this.batch.summed.push({ act, from, upTo })
    return this
  }
  ask(act: ActivationId, address: string, more: Partial<NewQuestion> = {}): this {
    const given = {
      id: `int_${act}_${address}`,
      act,
      address,
      key: askKey + address,
      kind: 'interrupt',
      until: null,
      at: noon,
    }
    this.batch.questions.push({ ...given, body: JSON.stringify({ address }), ...more })
    return this
  }
  row(row: Pick<NewRow, 'act' | 'target' | 'key'> & Partial<NewRow>): this {
    this.batch.rows.push({ kinds: undefined, body: JSON.stringify({ type: 'message', id: row.key }), at: noon, ...row })
    return this
  }
  /** An answer to a question, as people give it. */
  answer(act: ActivationId, address: string, at = noon, body: Json = 'yes'): this {
    return this.row({
      act,
      target: 'question',
      key: address,
      kinds: ['approval', 'interrupt'],
      at,
      body: JSON.stringify(body),
    })
  }
  message(act: ActivationId, key: string, more: Partial<NewRow> = {}): this {
    return this.row({ act, target: 'activation', key, ...more })
  }
  /** An operator's command to a run. */
  command(id: RunId, key: string): this {
    return this.row({ act: root(id), target: 'run', key })
  }
  park(id: RunId, heard = 0): this {
    this.batch.parked.push({ run: id, heard })
    return this
  }
  /** The run ends: its last word, and what is kept of it beside the log. */
  end(
    id: RunId,
    seq: number,
    { at = noon, outcome = completed('done') }: { readonly at?: number; readonly outcome?: Outcome } = {},
  ): this {
    this.batch.ended.push({ run: id, status: outcome.status, at })
    this.batch.closedActs.push(root(id))
    return this.log(root(id), seq, settled(outcome), at)
  }
  value(stream: string, key: string, expected: number, value: Json, by?: ValueWrite['by']): this {
    const event = encode({
      type: 'value.updated',
      key,
      value,
      version: expected + 1,
      ...(by === undefined ? {} : { by: by.run }),
    })
    this.batch.values.push({ stream, key, expected, body: JSON.stringify(value), by, event, at: noon })
    return this
  }
  aside(id: RunId, reason: string | null, commands?: { upTo: number; cancel: boolean }): this {
    this.batch.stuck.push({ run: id, reason, ...present({ commands }) })
    return this
  }
}

/** A process that has the store open. */
export class StoreProcess {
  readonly store: Store
  constructor(store: Store) {
    this.store = store
  }
  get id(): string {
    return this.store.lease.id
  }

  async commit(fill: (draft: BatchDraft) => unknown): Promise<BatchResult> {
    const draft = new BatchDraft(this.id)
    fill(draft)
    return this.store.commit(draft.batch)
  }
  /** Commits, and expects that it is not done. Returns what was thrown. */
  async refused(fill: (draft: BatchDraft) => unknown): Promise<unknown> {
    try {
      await this.commit(fill)
    } catch (thrown) {
      return thrown
    }
    return assert.fail('the commit was to fail')
  }
  /** Commits a run and nothing else. */
  async begin(id: RunId, born?: SeededRun): Promise<void> {
    const { existed, fenced } = await this.commit((draft) => draft.begin(id, born))
    assert.deepEqual([existed, fenced], [[], []])
  }
  async claim(...ids: readonly RunId[]): Promise<readonly Claimed[]> {
    return this.store.claim(ids, () => true)
  }
  /** Claims a run, and expects to get it. */
  async take(id: RunId): Promise<Claimed> {
    const [claimed, ...more] = await this.claim(id)
    assert.ok(claimed !== undefined, `${id} could not be claimed`)
    assert.equal(more.length, 0)
    return claimed
  }
  /** Runs that are ready, by name, without claiming them. */
  async ready(limit = 100): Promise<readonly string[]> {
    const seen: string[] = []
    await this.store.claim({ drives: () => true, lossesBelow: 100, limit }, ({ id }) => {
      seen.push(id)
      return false
    })
    return seen
  }
  /** Keys of what has come in for these runs since each was given its last row. */
  async unread(
    held: Readonly<Record<string, number>> = {},
  ): Promise<{ readonly keys: readonly string[]; readonly others: readonly string[] }> {
    const { rows, others } = await this.store.unread(
      new Map(Object.entries(held).map(([id, lastRow]) => [run(id), { lastRow }])),
    )
    return { keys: keysOf(rows), others: [...new Set(others)].sort() }
  }
  /** What is thrown, as the store says it. */
  async fails(work: () => Now<unknown>): Promise<ReeveError> {
    try {
      await work()
    } catch (thrown) {
      return this.store.errorOf(thrown)
    }
    return assert.fail('this was to fail')
  }
}

export const keysOf = (rows: readonly InboxRow[]): readonly string[] => rows.map(({ key }) => key)
/** The last row that a claim gave. */
export const lastOf = ({ mail }: Claimed): number => mail.at(-1)?.position ?? 0

/** One case's store and its processes. */
export class StoreStage {
  readonly clock = manualClock(noon)
  readonly #subject: StoreSubject
  readonly #open: Store[] = []
  #place: StorePlace | undefined

  constructor(subject: StoreSubject) {
    this.#subject = subject
  }

  async #at(): Promise<StorePlace> {
    return (this.#place ??= await this.#subject.create({ clock: this.clock }))
  }

  /** A process opens the store. */
  async open(options: OpenStoreOptions = {}): Promise<StoreProcess> {
    const place = await this.#at()
    const store = await place.open({ clock: this.clock, lossLimit: 3, ...options })
    this.#open.push(store)
    if (options.clock === undefined) await store.useOwnClock()
    await store.lease.beat()
    return new StoreProcess(store)
  }
  /** The store of a process: whoever takes it closes it. */
  handOver({ store }: StoreProcess): Store {
    this.#open.splice(this.#open.indexOf(store), 1)
    return store
  }
  async kill({ store }: StoreProcess): Promise<void> {
    await (await this.#at()).kill(store)
  }
  async stall({ store }: StoreProcess): Promise<void> {
    await (await this.#at()).stall(store)
  }
  /** The process ends in order. */
  async close(process: StoreProcess): Promise<void> {
    const store = this.handOver(process)
    await store.stop()
    await store.release()
    await store.close()
  }

  async dispose(): Promise<void> {
    for (const store of this.#open.splice(0)) {
      await store.stop()
      await store.close()
    }
    await this.#place?.dispose()
  }
}
