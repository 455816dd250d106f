/**
 * What the two databases' errors mean: every one becomes a `store.*` error that says whether to try again and what to do.
 *
 * Owns: the meanings. Does not own: which transactions are tried again inside (postgres.ts).
 */
import { messageOf, ReeveError, type ErrorCode } from '../../core/index.ts'

interface Meaning {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly hint: string
}

const meaning = (code: ErrorCode, retryable: boolean, hint: string): Meaning => ({ code, retryable, hint })
const restore = 'Restore the store from a backup.'

/** By the first five, three or two characters of what PostgreSQL says (SQLSTATE), or by the whole code of the network. */
const postgresMeanings: Readonly<Record<string, Meaning>> = {
  '08': meaning('store.unavailable', true, 'The connection to PostgreSQL broke. Check that the server runs and the network holds.'),
  '22': meaning(
    'store.unavailable',
    false,
    'PostgreSQL cannot hold this value: an id, a key or an address has a character that it refuses (NUL).',
  ),
  '25006': meaning('store.read-only', false, 'The server takes no writes: name the primary, not a standby, as the store.'),
  '25P03': meaning('store.busy', true, 'This process stood still in the middle of a transaction. Nothing was written; try again.'),
  '28': meaning(
    'store.unavailable',
    false,
    'The server does not let this user in: check user and password in the connection string, and pg_hba.conf.',
  ),
  '3D000': meaning('store.unavailable', false, 'Create the database (createdb), or name another one in the connection string.'),
  '40': meaning('store.busy', true, 'Other transactions stood in the way again and again. Try again.'),
  '42501': meaning('store.unavailable', false, 'Grant this user CREATE on the database, and everything on the schema and its tables.'),
  '42P07': meaning('store.foreign', false, 'The schema holds tables of another program. Name another schema. Nothing was changed.'),
  '42P01': meaning('store.corrupt', false, `A table of the store is missing. ${restore}`),
  '42703': meaning('store.foreign', false, 'The schema holds tables of another program. Name another schema.'),
  '53100': meaning('store.full', true, 'Free space on the disk of the server. Runs go on by themselves as soon as they can be recorded.'),
  '53300': meaning(
    'store.unavailable',
    true,
    'The server has no connection left: raise max_connections, or lower poolSize of the processes.',
  ),
  '53': meaning('store.unavailable', true, 'The server is short of something. See its log.'),
  '54': meaning('store.unavailable', false, 'An id, a key or an address is too long for PostgreSQL.'),
  '55P03': meaning('store.busy', true, 'Another transaction holds a row for long. Find it in pg_stat_activity.'),
  '57014': meaning('store.busy', true, 'The server broke the statement off: it took longer than statement_timeout allows.'),
  '57': meaning('store.unavailable', true, 'The server is starting, stopping or was restarted. Try again.'),
  '58': meaning('store.unavailable', true, 'The disk of the server reported an error. See its log.'),
  XX001: meaning('store.corrupt', false, restore),
  XX002: meaning('store.corrupt', false, 'An index is damaged: REINDEX the database.'),
  DEPTH_ZERO_SELF_SIGNED_CERT: meaning(
    'store.unavailable',
    false,
    'The server’s certificate is its own: name its authority (sslrootcert) in the connection string.',
  ),
  SELF_SIGNED_CERT_IN_CHAIN: meaning(
    'store.unavailable',
    false,
    'Name the authority of the server’s certificate (sslrootcert) in the connection string.',
  ),
  ERR_TLS_CERT_ALTNAME_INVALID: meaning(
    'store.unavailable',
    false,
    'The server’s certificate is for another host. Check the connection string.',
  ),
}
const unreachable = meaning(
  'store.unavailable',
  true,
  'PostgreSQL cannot be reached. Check that the server runs, and host and port in the connection string.',
)

const codeOf = (thrown: unknown): string => {
  const code = (thrown as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

const postgresMeaning = (code: string): Meaning =>
  postgresMeanings[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? postgresMeanings[code.slice(0, 2)] : undefined) ?? unreachable

/** Two transactions stood in each other's way: the same one begun again finds its way. */
export const isConflict = (thrown: unknown): boolean => ['40001', '40P01'].includes(codeOf(thrown))

/** Several addresses of one host fail as one error without words of its own. */
const wordsOf = (thrown: unknown): string =>
  thrown instanceof AggregateError && thrown.message === '' ? thrown.errors.map(messageOf).join('; ') : messageOf(thrown)

/** `where` names server and database, never a password. */
export function postgresError(thrown: unknown, where: string): ReeveError {
  if (ReeveError.is(thrown)) return thrown
  if (thrown instanceof SyntaxError) return notJson(thrown, where)
  const { code, retryable, hint } = postgresMeaning(codeOf(thrown))
  return new ReeveError(code, `${where}: ${wordsOf(thrown)}`, { retryable, hint, cause: thrown })
}

const notJson = (thrown: SyntaxError, where: string): ReeveError =>
  new ReeveError('store.corrupt', `${where}: a row is not JSON: ${thrown.message}`, { hint: restore, cause: thrown })

/** By SQLite's result code. */
const sqliteMeanings: Readonly<Record<number, Meaning>> = {
  5: meaning(
    'store.busy',
    true,
    'Another process holds the store. Try again; if it stays so, find the process that keeps a transaction open.',
  ),
  6: meaning('store.busy', true, 'Another connection holds a table. Try again.'),
  8: meaning('store.read-only', false, 'Make the file and its folder writable for this user.'),
  10: meaning('store.unavailable', true, 'The disk reported an error. Check the device and the file system.'),
  11: meaning('store.corrupt', false, 'The file is damaged. Restore it from a backup; `sqlite3 file ".recover"` may save parts.'),
  13: meaning('store.full', true, 'Free space on the disk. Runs go on by themselves as soon as they can be recorded.'),
  14: meaning('store.unavailable', false, 'Check that the folder exists and may be written to.'),
  26: meaning('store.foreign', false, 'The file is not an SQLite database. Name another file as the store. Nothing was changed.'),
}

export function sqliteError(thrown: unknown, file: string): ReeveError {
  if (ReeveError.is(thrown)) return thrown
  if (thrown instanceof SyntaxError) return notJson(thrown, file)
  const code = (thrown as { errcode?: number } | undefined)?.errcode
  const known = code === undefined ? undefined : sqliteMeanings[code & 0xff]
  if (known === undefined) return new ReeveError('store.unavailable', `${file}: ${messageOf(thrown)}`, { retryable: true, cause: thrown })
  return new ReeveError(known.code, `${file}: ${messageOf(thrown)}`, { retryable: known.retryable, hint: known.hint, cause: thrown })
}

export const readOnlyFile = (file: string, cause: unknown): ReeveError =>
  new ReeveError('store.read-only', `${file} may not be written to`, { hint: sqliteMeanings[8]!.hint, cause })

export const closedStore = (): ReeveError =>
  new ReeveError('engine.closed', 'the event store is not open', { hint: 'It was closed, or open() was not awaited.' })
