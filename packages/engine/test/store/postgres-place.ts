/** PostgreSQL as the store contract needs it: a schema of its own on the server that runs. */
import { Client } from 'pg'
import { PostgresStore } from '@reeve/postgres'
import type { StoreSubject } from '../../../contract/src/index.ts'
import { freshPostgres } from '../../../restate/test/harness.ts'

const leaseMs = 3_000

/** One statement, on a connection of its own. */
export async function onServer<Row>(address: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

export const postgres = (name: string): StoreSubject => ({
  name,
  passesParts: true,
  keepsIndex: true,
  keepsContents: true,
  async create({ clock }) {
    const { server, schema, dispose } = await freshPostgres()
    return {
      open: (given) =>
        new PostgresStore({ ...given, postgres: server, schema, leaseMs, poolSize: 2, onWarning: () => {} }),
      // with a clock of its own there is no session that ends
      kill: async ({ lease }) => {
        await onServer(server, `UPDATE ${schema}.process SET until = -1 WHERE id = $1`, [lease.id])
      },
      stall: () => clock.advance(leaseMs * 2),
      dispose,
    }
  },
})
