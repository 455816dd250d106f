/**
 * Memory over sessions with vectors: the hooks `recall` and `save` of `createRuntime({ memory })`, on a table in
 * PostgreSQL with the extension pgvector.
 *
 * Owns: the options and their defaults, what is embedded, stored and shown, deleting what a user said. Does not own: when
 * the hooks are called, and that each call is recorded (runtime/session.ts); SQL (table.ts).
 * Holds: a run sees turns of its own room alone: a user within a tenant; runs without a user have a room of their own.
 * Saving a turn again changes nothing, so a crash between the row and its record costs nothing.
 */
import {
  beginning,
  choice,
  cut,
  described,
  expects,
  functionCheck,
  hasNames,
  isFunction,
  number,
  object,
  optionProblems,
  ReeveError,
  refuseProblems,
  required,
  secret,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import type { SessionMemory } from '@reeve/runtime'
import { embedding, isEmbeddingModel, type EmbedFunction, type EmbeddingModel } from './embedding.ts'
import { isQueryPool, openConnection, schemaIn, type QueryPool } from './pool.ts'
import { conversationOf, firstThatFit, formatTurns, type FormatTurns, type RememberedTurn } from './recalled.ts'
import { MemoryTable, roomOf } from './table.ts'

/** What a run is shown. */
export interface RecallOptions {
  /** How many turns are shown that are like the prompt: 0 to 50, default 5. They come first, as one message. */
  readonly limit?: number
  /** The least cosine similarity of a turn that is shown: -1 to 1, default 0. What is like depends on the model. */
  readonly minScore?: number
  /** How many turns of the same session are shown, the newest ones: 0 to 100, default 20. They are shown in order. */
  readonly recent?: number
  /**
   * Whose turns are searched: of the `user` (default), or of all users of the `tenant`. A run without a tenant always
   * searches its user's.
   */
  readonly by?: 'user' | 'tenant'
  /** The most characters of similar turns, and again of recent ones: 100 to 1,000,000, default 16,000. */
  readonly characters?: number
}

/** How a memory is set up: where it is, and how texts become vectors. */
export interface PgvectorOptions {
  /**
   * `postgres://user:password@host:5432/database`; `?schema=name` at its end says the same as `schema`. Needs the
   * package `pg`. This, or `pool`.
   */
  readonly url?: string
  /** A pool of yours: of `pg`, or anything with its `query`. It stays open when the memory is closed. */
  readonly pool?: QueryPool
  /** Default `public`. Made if it is not there. */
  readonly schema?: string
  /** Default `reeve_memory`. Made if it is not there. A table for each embedding model: their vectors are not alike. */
  readonly table?: string
  /** How many numbers a vector has: 1 to 16,000. */
  readonly dimensions: number
  /**
   * Makes vectors of texts: a function, or an embedding model of the AI SDK. Called with one text, at most 8,000
   * characters, up to three times.
   */
  readonly embed: EmbedFunction | EmbeddingModel
  readonly recall?: RecallOptions
  /** Writes the similar turns as one text; it is cut at twice `recall.characters`. Default: a line of JSON for each. */
  readonly format?: FormatTurns
}

/** Whose turns are forgotten. `tenant` left out: turns without a tenant. */
export interface ForgetQuery {
  /** Of this user; null: of runs without a user; left out: of all users, which needs `tenant` or `session`. */
  readonly user?: string | null
  readonly tenant?: string
  /** Of this session only. */
  readonly session?: string
}

/** A memory for `createRuntime({ memory })`. Close it after the runtime. */
export interface PgvectorMemory extends Required<SessionMemory>, AsyncDisposable {
  /**
   * Deletes turns, and resolves to how many. Rejects with `input.invalid` if nothing is named, with `store.*` if the
   * database fails.
   */
  forget(whose: ForgetQuery): Promise<number>
  /** Ends the connections that the memory opened. */
  close(): Promise<void>
}

/** A text is stored up to this length. Characters. */
const mostStored = 8_000
/** A prompt is embedded up to this length; of a turn, each of prompt and answer up to half of it. Characters. */
const mostEmbedded = 8_000

const isSqlName = (given: unknown): boolean =>
  typeof given === 'string' && /^[a-z_][a-z0-9_]{0,49}$/.test(given) && !given.startsWith('pg_')
const sqlName = expects(
  isSqlName,
  'a name of 1 to 50 lower-case letters, digits and "_", beginning with a letter or "_" and not with "pg_"',
)

const recallChecks: Checks<RecallOptions> = {
  limit: wholeNumber(0, 50),
  minScore: number((given) => given >= -1 && given <= 1, 'a number from -1 to 1'),
  recent: wholeNumber(0, 100),
  by: choice('user', 'tenant'),
  characters: wholeNumber(100, 1_000_000),
}

const checks: Checks<PgvectorOptions> = {
  url: secret((given) => typeof given === 'string', "is not a text such as 'postgres://…'"),
  pool: expects(isQueryPool, 'a pool of pg, or an object with its query'),
  schema: sqlName,
  table: sqlName,
  dimensions: required(wholeNumber(1, 16_000)),
  embed: required(
    expects((given) => isFunction(given) || isEmbeddingModel(given), 'a function or an embedding model of the AI SDK'),
  ),
  recall: object(recallChecks),
  format: functionCheck,
}

const rule = ({ url, pool }: PgvectorOptions, where: string): readonly (string | false)[] => [
  (url === undefined) === (pool === undefined) && `${where}: expected either url or pool`,
]

/**
 * Opens a memory, and makes its extension, schema and table if they are not there. Rejects with `config.invalid` for
 * options that are wrong, without pgvector or the right to create what is missing, and for a table whose vectors have
 * other dimensions; with `store.*` if the database cannot be used.
 */
export async function pgvectorMemory(options: PgvectorOptions): Promise<PgvectorMemory> {
  refuseProblems('config.invalid', problemsWith(options), 'Nothing was opened.')
  const {
    url,
    pool,
    schema,
    table = 'reeve_memory',
    dimensions,
    embed: given,
    recall = {},
    format = formatTurns,
  } = options
  const { limit = 5, minScore = 0, recent: mostRecent = 20, by = 'user', characters = 16_000 } = recall
  const place = { schema: schema ?? (url === undefined ? undefined : schemaIn(url)) ?? 'public', table, dimensions }
  refuseProblems('config.invalid', sqlName(place.schema, 'pgvectorMemory: schema'), 'Nothing was opened.')
  const connection = await openConnection({
    ...(url === undefined ? {} : { url }),
    ...(pool === undefined ? {} : { pool }),
  })
  const rows = await opened(
    () => MemoryTable.open(connection, place),
    () => connection.close(),
  )
  const embed = embedding(given, dimensions)

  return {
    async recall({ caller, prompt }, io) {
      const { session } = caller
      const newest = session === undefined || mostRecent === 0 ? [] : await rows.newest(caller, session, mostRecent)
      const recent = firstThatFit(newest.toReversed(), characters).toReversed()
      const conversation = conversationOf(recent)
      if (limit === 0 || prompt.trim() === '') return conversation
      const vector = await embed(beginning(prompt, mostEmbedded), io)
      const without = recent.map(({ run }) => run)
      const found = await rows.nearest(roomOf(caller, by), vector, { most: limit, minScore, without })
      const turns: readonly RememberedTurn[] = firstThatFit(found, characters).map(({ tenant: _tenant, ...turn }) => ({
        ...turn,
        score: turn.score ?? 0,
      }))
      if (turns.length === 0) return conversation
      const text: unknown = format(turns)
      if (typeof text !== 'string')
        throw new ReeveError('hook.failed', `format of pgvectorMemory returned ${described(text)}, expected a text`)
      return text === '' ? conversation : [{ role: 'user', text: cut(text, characters * 2) }, ...conversation]
    },

    async save({ caller, run, answeredBy, prompt, answer }, io) {
      const turn = {
        run,
        tenant: caller.tenant ?? null,
        user: caller.user ?? null,
        session: caller.session ?? null,
        agent: answeredBy,
        prompt: storable(prompt),
        answer: storable(answer),
      }
      const half = mostEmbedded / 2
      let vector: readonly number[]
      try {
        vector = await embed(`${beginning(prompt, half)}\n${beginning(answer, half)}`, io)
      } catch (thrown) {
        // it stays part of its conversation, and is not found by its meaning
        await rows.put(turn, undefined)
        throw thrown
      }
      await rows.put(turn, vector)
    },

    async forget(whose) {
      const { user, tenant, session } = whose
      if (user === undefined && tenant === undefined && session === undefined)
        throw new ReeveError('input.invalid', 'forget: name a user, a tenant or a session', {
          hint: "forget({ user: 'ann' }), forget({ user: 'ann', tenant: 'acme' }), forget({ tenant: 'acme' })",
        })
      return rows.remove(tenant ?? null, user, session)
    },

    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

/** A text that is given as such may be an address with a password, which is not repeated. */
const problemsWith = (options: PgvectorOptions): readonly string[] =>
  hasNames(options)
    ? optionProblems(checks, options, 'pgvectorMemory', rule)
    : [
        `pgvectorMemory() was given ${typeof options === 'string' ? 'a text' : described(options)}, expected { url, dimensions, embed }`,
      ]

/** PostgreSQL holds no NUL. */
const storable = (text: string): string => cut(text.replaceAll('\0', String.raw`\u0000`), mostStored)

async function opened<T>(open: () => Promise<T>, close: () => Promise<void>): Promise<T> {
  try {
    return await open()
  } catch (thrown) {
    await close().catch(() => undefined)
    throw thrown
  }
}
