/**
 * Migration: an event store of the Restate engine of 0.1 becomes a store of today.
 *
 * Owns: the order of the work, what is there already, and what is told. Does not own: reading the old rows (source.ts,
 * old-run.ts, old-stream.ts), how a store writes (its `commit`).
 * Holds: K1 (a run, or a stream, is written whole in one transaction or not at all, and never twice). The source is
 * only read.
 */
import { existsSync } from 'node:fs'
import { ReeveError, type ErrorCode, type RunId } from '@reeve/core'
import { encode } from '@reeve/journal'
import { SqliteStore } from '@reeve/sqlite/store'
import { configOf, driver, made } from '@reeve/postgres/connection'
import { PostgresStore } from '@reeve/postgres/store'
import { storeMark } from '@reeve/engine'
import { type Batch, emptyBatch, type Store, type StoreReader } from '@reeve/engine/storage'
import { addRun, oldRun, runColumns, type OldRun, type RunRow } from './old-run.ts'
import { oldStream, openWrites, type OldStream, type OpenWrite } from './old-stream.ts'
import { locationOf, type StoreLocation } from './store-location.ts'
import { openSource, type MigrationSource } from './source.ts'

export interface Migration {
  /** The event store of 0.1: a file, or `postgres://…` with `?schema=name` where it is not `reeve`. */
  readonly from: string
  /** The store of today: a file, or `postgres://…`. Made if it is not there. */
  readonly to: string
  /** Says what would be done, and writes nothing. */
  readonly check?: boolean
  /** Called, and waited for, after each commit: how many runs are done, of how many. */
  readonly onProgress?: (done: number, of: number) => void | Promise<void>
}

/** What became of the runs and streams of a source; with `check`, what would. */
export interface Migrated {
  readonly runs: number
  readonly written: number
  /** They were in the target already, as they are here or further on. */
  readonly there: number
  readonly streams: number
  /** Those that stay where they are, and why. */
  readonly refused: readonly { readonly what: string; readonly why: string }[]
}

/** What is wrong with one run or one stream, and no other. */
const ownFaults: ReadonlySet<ErrorCode> = new Set([
  'journal.hole',
  'journal.unknown-event',
  'run.conflict',
  'store.corrupt',
  'store.refused',
])
/** Entries of one commit, before what is gathered is written. */
const commitCap = 2_000
const runsAtOnce = 100

/**
 * Writes everything that an event store of 0.1 holds into a store of today, where its runs go on. May be broken off and
 * repeated: what is there is left alone. Workers of the source must have stopped; rejects with `store.busy` where it
 * shows that they have not, with `store.foreign` for a source that is not an event store, and with `store.*`.
 */
export async function migrateStore({ from, to, check = false, onProgress = () => {} }: Migration): Promise<Migrated> {
  const places = { from: locationOf(from), to: locationOf(to) }
  if (isSame(places.from, places.to))
    throw new ReeveError('config.invalid', 'the source and the target are the same place', {
      hint: 'Name another file for the target, or another schema: postgres://…?schema=name. Nothing was changed.',
    })
  const source = await openSource(places.from)
  try {
    await mustBeIdle(source)
    const marked =
      (
        await source.rows('SELECT 1 AS marked FROM value WHERE stream = $1 AND key = $2', [
          storeMark.stream,
          storeMark.key,
        ])
      ).length > 0
    const target = check && !(await isThere(places.to)) ? undefined : openTarget(places.to, marked)
    try {
      if (!marked) target?.mustHaveRules()
      const migrated = await new MigrationRun(source, target, check, onProgress).done()
      await mustBeIdle(source)
      return migrated
    } finally {
      await target?.stop()
      await target?.release()
      await target?.close()
    }
  } finally {
    await source.close()
  }
}

const isSame = (a: StoreLocation, b: StoreLocation): boolean => JSON.stringify(a) === JSON.stringify(b)

const busy = (source: MigrationSource, why: string): ReeveError =>
  new ReeveError('store.busy', `${source.name} is still in use: ${why}`, {
    retryable: true,
    hint: 'Stop all processes that use it, then run the migration again. What has been migrated stays, and is not migrated twice.',
  })

const marksOf = new WeakMap<MigrationSource, string>()

/**
 * A process that still writes to the source loses its writes: reported before anything is migrated, and after it if
 * something has been written meanwhile.
 */
async function mustBeIdle(source: MigrationSource): Promise<void> {
  const users = await source.users()
  if (users !== undefined) throw busy(source, users)
  const mark = await source.mark()
  const before = marksOf.get(source) ?? mark
  marksOf.set(source, before)
  if (before !== mark) throw busy(source, 'it was written to during the migration')
}

async function isThere(place: StoreLocation): Promise<boolean> {
  if (place.kind === 'file') return existsSync(place.file)
  const loaded = await driver()
  const client = made(() => new loaded.Client(configOf(place, loaded)))
  try {
    await client.connect()
    const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
      `"${place.schema}".meta`,
    ])
    return rows[0]!.there
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** What was kept out of the source stays out: a store that is opened with rules is marked for good. */
function openTarget(place: StoreLocation, marked: boolean): Store {
  const rules = marked ? { redact: { keys: ['!'] } } : {}
  return place.kind === 'file'
    ? new SqliteStore({ file: place.file, ...rules })
    : new PostgresStore({ postgres: place.address, schema: place.schema, ...rules })
}

/** What is written in one commit. */
interface Portion {
  readonly runs: readonly OldRun[]
  readonly streams: readonly OldStream[]
}

class MigrationRun {
  readonly #source: MigrationSource
  readonly #target: Store | undefined
  readonly #check: boolean
  readonly #onProgress: NonNullable<Migration['onProgress']>
  readonly #refused: { what: string; why: string }[] = []
  #runs = 0
  #done = 0
  #written = 0
  #there = 0
  #streams = 0

  constructor(
    source: MigrationSource,
    target: Store | undefined,
    check: boolean,
    onProgress: NonNullable<Migration['onProgress']>,
  ) {
    this.#source = source
    this.#target = target
    this.#check = check
    this.#onProgress = onProgress
  }

  /**
   * Streams first: a run that goes on finds its values. What a run has written and not noted is written with the run.
   */
  async done(): Promise<Migrated> {
    this.#runs = (await this.#source.rows<{ n: number }>('SELECT count(*) AS n FROM run'))[0]!.n
    const open = await openWrites(this.#source)
    const bound = bundles(open)
    for (const { id } of await this.#source.rows<{ id: string }>('SELECT id FROM stream ORDER BY id'))
      if (!bound.some(({ streams }) => streams.has(id))) await this.#stream(id)
    for (const { runs, streams } of bound) await this.#bundle(runs, streams, open)
    const bundled = new Set(bound.flatMap(({ runs }) => [...runs]))
    await this.#rest(bundled)
    return {
      runs: this.#runs,
      written: this.#written,
      there: this.#there,
      streams: this.#streams,
      refused: this.#refused,
    }
  }

  /** All runs that nothing binds to a stream, the oldest first. */
  async #rest(but: ReadonlySet<RunId>): Promise<void> {
    let gathered: OldRun[] = []
    let entries = 0
    const write = async (): Promise<void> => {
      await this.#write({ runs: gathered, streams: [] })
      gathered = []
      entries = 0
    }
    for (let last = 0; ;) {
      const rows = await this.#source.rows<RunRow>(
        `SELECT ${runColumns} FROM run WHERE num > $1 ORDER BY num LIMIT ${runsAtOnce}`,
        [last],
      )
      if (rows.length === 0) break
      for (const row of rows) {
        last = row.num
        const run = but.has(row.id) ? undefined : await this.#missing(row)
        if (run === undefined) continue
        gathered.push(run)
        entries += run.entries.length
        if (entries >= commitCap || gathered.length >= runsAtOnce) await write()
      }
    }
    await write()
  }

  async #stream(id: string): Promise<void> {
    const stream = await this.#missingStream(id, [])
    if (stream !== undefined) await this.#write({ runs: [], streams: [stream] })
  }

  async #bundle(ids: ReadonlySet<RunId>, streams: ReadonlySet<string>, open: readonly OpenWrite[]): Promise<void> {
    const rows = await Promise.all(
      [...ids].map((id) => this.#source.rows<RunRow>(`SELECT ${runColumns} FROM run WHERE id = $1`, [id])),
    )
    const missing: OldRun[] = []
    for (const row of rows.flat()) {
      const run = await this.#missing(row)
      if (run !== undefined) missing.push(run)
    }
    const written: OldStream[] = []
    for (const id of streams) {
      const stream = await this.#missingStream(
        id,
        open.filter(({ run }) => missing.some(({ row }) => row.id === run)),
      )
      if (stream !== undefined) written.push(stream)
    }
    await this.#write({ runs: missing, streams: written })
  }

  /** A run that is to be written; undefined: it is there, or cannot be. */
  async #missing(row: RunRow): Promise<OldRun | undefined> {
    try {
      const run = await oldRun(this.#source, row)
      if (this.#target === undefined || (await this.#target.reader.run(row.id)) === undefined) return run
      await mustBeSameRun(this.#target.reader, run)
      this.#there++
      await this.#tell(1)
    } catch (thrown) {
      this.#refuse(`run ${row.id}`, thrown)
      await this.#tell(1)
    }
    return undefined
  }

  async #missingStream(id: string, open: readonly OpenWrite[]): Promise<OldStream | undefined> {
    try {
      const stream = await oldStream(this.#source, id, open)
      return stream.writes.length === 0 ||
        (this.#target !== undefined && (await isStreamThere(this.#target.reader, stream)))
        ? undefined
        : stream
    } catch (thrown) {
      this.#refuse(`stream ${id}`, thrown)
      return undefined
    }
  }

  /** What the store refuses is found by writing one after the other. */
  async #write(portion: Portion): Promise<void> {
    const { runs, streams } = portion
    if (runs.length + streams.length === 0) return
    try {
      if (!this.#check) await this.#commit(portion)
      this.#written += runs.length
      this.#streams += streams.length
    } catch (thrown) {
      const target = this.#target!
      if (!target.isRefusal(thrown)) throw target.errorOf(thrown)
      if (runs.length > 1 && streams.length === 0) {
        for (const run of runs) await this.#write({ runs: [run], streams: [] })
        return
      }
      for (const { row } of runs) this.#refuse(`run ${row.id}`, target.refusedBy(thrown, row.id))
      for (const { id } of streams) this.#refuse(`stream ${id}`, target.refusedBy(thrown, undefined))
    }
    await this.#tell(runs.length)
  }

  async #commit({ runs, streams }: Portion): Promise<void> {
    const target = this.#target!
    const batch: Batch = emptyBatch(target.lease.id)
    for (const run of runs) addRun(batch, run)
    for (const { writes } of streams) batch.values.push(...writes)
    const { existed, posts, values } = await target.commit(batch)
    const lost =
      posts.filter((post) => post !== 'accepted').length + values.filter(({ status }) => status !== 'written').length
    if (existed.length + lost > 0)
      throw new ReeveError('store.busy', `${target.name} was written to by another process meanwhile`, {
        retryable: true,
        hint: 'Start no runs in the target before the migration is over, then run it again.',
      })
  }

  /** Notes what is wrong with a run or a stream. What is wrong with a store is thrown: it concerns all of them. */
  #refuse(what: string, thrown: unknown): void {
    if (!ReeveError.is(thrown) || !ownFaults.has(thrown.code)) throw this.#target?.errorOf(thrown) ?? thrown
    this.#refused.push({ what, why: `${thrown.code}: ${thrown.message}` })
  }

  async #tell(more: number): Promise<void> {
    this.#done += more
    if (more > 0) await this.#onProgress(this.#done, this.#runs)
  }
}

/** Runs and streams that have to be written together, because a run has written to a stream and not noted it. */
function bundles(open: readonly OpenWrite[]): readonly { readonly runs: Set<RunId>; readonly streams: Set<string> }[] {
  let all: { runs: Set<RunId>; streams: Set<string> }[] = []
  for (const { run, stream } of open) {
    const touching = all.filter(({ runs, streams }) => runs.has(run) || streams.has(stream))
    const one = { runs: new Set([run]), streams: new Set([stream]) }
    for (const { runs, streams } of touching) {
      for (const each of runs) one.runs.add(each)
      for (const each of streams) one.streams.add(each)
    }
    all = [...all.filter((each) => !touching.includes(each)), one]
  }
  return all
}

/**
 * Throws `run.conflict` where the target holds another run of this id: the journal of this one does not stand at the
 * beginning of its journal.
 */
async function mustBeSameRun(reader: StoreReader, { row, entries }: OldRun): Promise<void> {
  const feed = await reader.feed(row.id, 0)
  const differs = entries.findIndex(({ act, seq, at, event }, i) => {
    const there = feed[i]
    return (
      there === undefined ||
      there.activation !== act ||
      there.seq !== seq ||
      there.at !== at ||
      encode(there.event) !== encode(event)
    )
  })
  if (differs < 0) return
  throw new ReeveError('run.conflict', `the target has another run of this id: entry ${differs + 1} differs`, {
    hint: 'Migrate into an empty store, or remove that run from the target.',
  })
}

/** Whether the target has these values, or later ones. Throws `run.conflict` where it has others. */
async function isStreamThere(reader: StoreReader, { id, writes }: OldStream): Promise<boolean> {
  const keys = await reader.valueKeys(id)
  if (keys.length === 0) return false
  const versions = await Promise.all(keys.map(async (key) => (await reader.value(id, key)).version))
  const length = versions.reduce((sum, version) => sum + version, 0)
  for (const [seq, { body }] of writes.entries()) {
    const written = seq < length ? JSON.stringify(await reader.written(id, seq)) : undefined
    if (written !== body)
      throw new ReeveError('run.conflict', `the target has other values in it: write ${seq + 1} differs`, {
        hint: 'Migrate into an empty store.',
      })
  }
  return true
}
