/** Asking the server: prepared statements on a connection of the pool. */
import type { Pool, PoolClient } from 'pg'
import type { NamedStatement, Params } from './connection.ts'

/** Undefined: there is no store yet, and so no rows. */
export type PoolSource = () => Promise<Pool | undefined>

/** The rows of a statement. `on`: the connection that is asked; default: any. */
export type Asker = <Row>(
  statement: NamedStatement,
  params?: Params,
  on?: Pick<Pool | PoolClient, 'query'>,
) => Promise<Row[]>

/** A statement as `pg` takes it. */
export const query = (
  [name, text]: NamedStatement,
  values: Params,
): { name: string; text: string; values: unknown[] } => ({
  name,
  text,
  values: values as unknown[],
})

export const askerOn =
  (pool: PoolSource): Asker =>
  async <Row>(...[statement, params = [], on]: Parameters<Asker>): Promise<Row[]> => {
    const asked = on ?? (await pool())
    return asked === undefined ? [] : ((await asked.query(query(statement, params))).rows as Row[])
  }
