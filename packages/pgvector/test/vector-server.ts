/**
 * A PostgreSQL with pgvector for tests, and a memory on it whose vectors can be foretold.
 *
 * Owns: which server. On PostgreSQL (`REEVE_TEST_ENGINE=postgres`) it is the one that runs, if it offers the extension;
 * else PostgreSQL compiled to WebAssembly, with pgvector's own code, behind a socket: it needs no installation.
 */
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { Client } from 'pg'
import { freePort } from '../../../test/servers/place.ts'
import { freshPostgres } from '../../../test/servers/postgres.ts'

export interface VectorServer extends AsyncDisposable {
  /** What it is, for the title of a report. */
  readonly kind: 'PostgreSQL' | 'PGlite'
  readonly url: string
  /** A schema of one's own, which goes with the server. */
  readonly schema: string
  query<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export const vectorServer = async (): Promise<VectorServer> =>
  (process.env['REEVE_TEST_ENGINE'] === 'postgres' ? await onPostgres() : undefined) ?? onPglite()

async function onPostgres(): Promise<VectorServer | undefined> {
  const place = await freshPostgres()
  const client = new Client({ connectionString: place.server })
  await client.connect()
  const query = async <Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
    (await client.query(text, [...values])).rows as Row[]
  const dispose = async (): Promise<void> => {
    await client.end()
    await place.dispose()
  }
  if ((await query(`SELECT 1 FROM pg_available_extensions WHERE name = 'vector'`)).length === 0) {
    await dispose()
    return undefined
  }
  return { kind: 'PostgreSQL', url: place.server, schema: place.schema, query, [Symbol.asyncDispose]: dispose }
}

async function onPglite(): Promise<VectorServer> {
  const db = await PGlite.create({ extensions: { vector } })
  const port = await freePort()
  const server = new PGLiteSocketServer({ db, port, host: '127.0.0.1', maxConnections: 20 })
  await server.start()
  return {
    kind: 'PGlite',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    schema: 'memory_test',
    query: async <Row>(text: string, values: readonly unknown[] = []) => (await db.query<Row>(text, [...values])).rows,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await db.close()
    },
  }
}

/** How many numbers a vector of `words` has. */
export const dimensions = 64

/** Texts as vectors by their words: texts with the same words are alike. Always the same for the same text. */
export const words = (texts: readonly string[]): number[][] =>
  texts.map((text) => {
    const vector = Array.from({ length: dimensions }, () => 0)
    for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
      let hash = 0x811c9dc5
      for (const char of word) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
      vector[hash % dimensions]! += 1
    }
    return vector
  })
