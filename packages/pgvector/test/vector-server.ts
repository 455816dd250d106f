/**
 * A PostgreSQL with pgvector for tests.
 *
 * Owns: which server. On PostgreSQL (`REEVE_TEST_ENGINE=postgres`) it is the one that runs, if it offers the extension;
 * else PostgreSQL compiled to WebAssembly, with pgvector's own code, behind a socket: it needs no installation.
 */
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { Client } from 'pg'
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
  const sockets = new Set<Socket>()
  const server = serve(db, sockets).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    kind: 'PGlite',
    url: `postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    schema: 'memory_test',
    query: async <Row>(text: string, values: readonly unknown[] = []) => (await db.query<Row>(text, [...values])).rows,
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy()
      await new Promise((resolve) => server.close(resolve))
      await db.close()
    },
  }
}

/** The first message of a connection that speaks version 3 of the protocol; one for TLS is refused. */
const startup = 196_608

/**
 * The protocol of PostgreSQL over sockets. PGlite has one session for all connections, so what a connection sends is
 * given to it from one end of a statement to the next; a connection that breaks leaves nothing half done.
 */
const serve = (db: PGlite, sockets: Set<Socket>): Server =>
  createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    let batch: Uint8Array[] = []
    let hasBegun = false
    let work = Promise.resolve()
    const answer = async (messages: readonly Uint8Array[]): Promise<void> =>
      db.runExclusive(async () => {
        for (const each of messages) {
          const said = await db.execProtocolRaw(each)
          if (socket.writable) socket.write(said)
        }
      })
    socket.on('data', (piece: Buffer) => {
      received = Buffer.concat([received, piece])
      for (;;) {
        const before = hasBegun ? 1 : 0
        if (received.length < before + 4) return
        const length = before + received.readInt32BE(before)
        if (received.length < length) return
        const message = Uint8Array.from(received.subarray(0, length))
        const kind = hasBegun ? String.fromCharCode(received[0]!) : received.readInt32BE(4)
        received = received.subarray(length)
        if (kind === 'X') return void socket.end()
        if (typeof kind === 'number' && kind !== startup) {
          socket.write('N')
          continue
        }
        hasBegun = true
        batch.push(message)
        if (kind !== startup && kind !== 'S' && kind !== 'Q') continue
        const whole = batch
        batch = []
        work = work.then(() => answer(whole)).catch((thrown: unknown) => void socket.destroy(thrown as Error))
      }
    })
  })
