/**
 * The event store: the works of this room, carried out on one database.
 *
 * Owns: which work is a transaction, and what becomes of a call when the store is not open. Does not own: the works.
 */
import type { RunId } from '../../core/index.ts'
import type { LivePart, RunFilter } from '../../engine/index.ts'
import * as births from './births.ts'
import * as care from './care.ts'
import * as committing from './commit.ts'
import { closedStore } from './errors.ts'
import * as forks from './forks.ts'
import * as moving from './moving.ts'
import * as outside from './outside.ts'
import { Parts } from './parts.ts'
import type { Commit, EventStore, NewRun, OutsidePost } from './port.ts'
import { PostgresDatabase, type PostgresOptions } from './postgres.ts'
import * as reading from './reading.ts'
import type { Database, News, TransactionOptions, Work } from './sql.ts'
import { SqliteDatabase } from './sqlite.ts'
import * as values from './values.ts'

/** Where events are kept: in PostgreSQL (a connection string; the schema is `reeve` if nothing is said), or in an SQLite file of one machine. */
export type EventStoreOptions = PostgresOptions | { readonly sqlite: string }

/** An event store, not open yet. Throws `config.invalid`. */
export function openEventStore(options: EventStoreOptions): EventStore {
  return eventStore('postgres' in options ? new PostgresDatabase(options) : new SqliteDatabase(options.sqlite))
}

function eventStore(database: Database): EventStore {
  const parts = new Parts(database)
  let state: 'new' | 'open' | 'closed' = 'new'
  let opening: Promise<void> | undefined
  const write = <T>(work: () => Work<T>, options?: TransactionOptions<T>): Promise<T> =>
    state === 'open' ? database.transaction(work, options) : Promise.reject(closedStore())
  const read = <T>(work: () => Work<T>): Promise<T> => (state === 'open' ? database.read(work) : Promise.reject(closedStore()))

  return {
    open() {
      if (state === 'closed') return Promise.reject(closedStore())
      opening ??= database.open().then(
        () => {
          state = 'open'
        },
        (thrown) => {
          opening = undefined
          throw thrown
        },
      )
      return opening
    },
    async close() {
      if (state !== 'open') {
        state = 'closed'
        return
      }
      await parts.close()
      state = 'closed'
      await database.close()
    },
    ...runs(read, write),
    ...activations(read, write),
    ...beside(read, write),
    watch: (hear, only) => (state === 'open' ? database.hear((news) => heard(news, hear, only)) : () => undefined),
    publish(run: RunId, some: readonly LivePart[]) {
      if (state === 'open') parts.publish(run, some)
    },
    settleParts: (run) => (state === 'open' ? parts.settle(run) : Promise.resolve()),
    overhear: (run, hear) => (state === 'open' ? parts.overhear(run, hear) : () => undefined),
  }
}

type Read = <T>(work: () => Work<T>) => Promise<T>
type Write = <T>(work: () => Work<T>, options?: TransactionOptions<T>) => Promise<T>
type Part<K extends keyof EventStore> = Pick<EventStore, K>

function heard(news: News | 'all', hear: (run: RunId | 'all') => void, only: 'ends' | undefined): void {
  if (news === 'all') hear('all')
  else if (news.about === 'end' || (news.about === 'events' && only === undefined)) hear(news.run)
}

type Runs = 'create' | 'fork' | 'summary' | 'summaries' | 'questions' | 'read' | 'tip' | 'first' | 'end' | 'remove' | 'endedBefore'
const runs = (read: Read, write: Write): Part<Runs> => ({
  create: (run: NewRun) => write(() => births.create(run), { keep: (created) => created }),
  fork: (request, plan) => write(() => forks.fork(request, plan), { keep: (created) => created }),
  summary: (run) => read(() => reading.summary(run)),
  summaries: (filter: RunFilter) => read(() => reading.summaries(filter)),
  questions: (filter) => read(() => reading.questions(filter)),
  read: (run, from) => read(() => reading.read(run, from)),
  tip: (run) => read(() => reading.tip(run)),
  first: (run) => read(() => reading.first(run)),
  end: (run) => read(() => reading.end(run)),
  remove: (run) => write(() => care.remove(run), { keep: (removed) => removed }),
  endedBefore: (at, limit) => read(() => reading.endedBefore(at, limit)),
})

type Activations = 'claim' | 'pull' | 'commit' | 'holds' | 'handOver'
const activations = (read: Read, write: Write): Part<Activations> => ({
  async claim(activation, generation, invocation, now, build) {
    const claimed = await write(() => moving.claim(activation, generation, invocation, now, build), { keep: (c) => c?.settled === false })
    if (claimed === undefined) return undefined
    // After the transaction: a long log holds nobody up. Whoever had the activation before cannot write to it any more.
    return { ...claimed, log: claimed.settled ? [] : await read(() => moving.logOf(activation)) }
  },
  async pull(activation, epoch, now, invocation) {
    const glance = await read(() => moving.glance(activation, epoch, now, invocation))
    return glance === 'look closer'
      ? await write(() => moving.pull(activation, epoch, now, invocation), { keep: (p) => p !== 'fenced' })
      : glance
  },
  commit: (commit: Commit) => write(() => committing.commit(commit), { keep: ({ status }) => status === 'written' }),
  holds: (activation, epoch) => read(() => moving.holds(activation, epoch)),
  handOver: (activation, epoch) => write(() => moving.handOver(activation, epoch)),
})

type Beside = 'post' | 'value' | 'valueKeys' | 'writeValue' | 'sentinels' | 'bury' | 'stuck'
const beside = (read: Read, write: Write): Part<Beside> => ({
  post: (post: OutsidePost) => write(() => outside.post(post)),
  value: (stream, key) => read(() => values.value(stream, key)),
  valueKeys: (stream) => read(() => values.valueKeys(stream)),
  writeValue: (one) => write(() => values.writeValue(one), { keep: ({ status }) => status === 'written' }),
  sentinels: (after, before, limit) => read(() => care.sentinels(after, before, limit)),
  bury: (activation, invocation, build) => write(() => care.bury(activation, invocation, build)),
  stuck: () => read(care.stuck),
})
