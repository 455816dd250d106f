/** Prepared statements by their names: what each part of the SQLite store asks of one connection. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The statements of a list, as `prepare` gives them. Throws what SQLite says of a text that it does not understand. */
export const prepared = <Name extends string>(
  db: DatabaseSync,
  statements: Readonly<Record<Name, string>>,
): Record<Name, StatementSync> =>
  Object.fromEntries(Object.entries<string>(statements).map(([name, text]) => [name, db.prepare(text)])) as Record<
    Name,
    StatementSync
  >
