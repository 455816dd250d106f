/**
 * The meaning of PostgreSQL's errors: each becomes a `store.*` error that says whether to retry and what to do.
 *
 * Owns: the meanings; which errors are about content, which about other transactions, which about the connection. Does
 * not own: what is tried again (commit.ts, claim.ts).
 */
import { connectionErrorText, messageOf, ReeveError, tlsProblem, type ErrorCode, type TlsProblem } from '@reeve/core'

interface Meaning {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly hint: string
}

const meaning = (code: ErrorCode, retryable: boolean, hint: string): Meaning => ({ code, retryable, hint })
const restore = 'Restore the store from a backup.'

/** By the SQLSTATE of PostgreSQL or its first two characters (its class), or by the code of the network error. */
const meanings: Readonly<Record<string, Meaning>> = {
  '08': meaning(
    'store.unavailable',
    true,
    'The connection to PostgreSQL broke. Check that the server runs and the network holds.',
  ),
  '0A000': meaning(
    'store.unavailable',
    false,
    'A proxy between this process and PostgreSQL does not support a command: connect to the server itself.',
  ),
  '22': meaning(
    'store.refused',
    false,
    'PostgreSQL cannot hold this value: an id, a key or an address has a character that it refuses (NUL).',
  ),
  '23': meaning('store.refused', false, 'The write contradicts data that is already recorded.'),
  '25006': meaning(
    'store.read-only',
    false,
    'The server takes no writes: name the primary, not a standby, as the store.',
  ),
  '25P03': meaning(
    'store.busy',
    true,
    'This process stood still in the middle of a transaction. Nothing was written; try again.',
  ),
  '26': meaning(
    'store.unavailable',
    false,
    'A pooler in transaction mode is between this process and PostgreSQL: use session mode, or connect to the server itself.',
  ),
  '28': meaning(
    'store.unavailable',
    false,
    'The server rejected this user: check user and password in the address, and pg_hba.conf.',
  ),
  '3D000': meaning('store.unavailable', false, 'Create the database (createdb), or name another one in the address.'),
  '40': meaning('store.busy', true, 'The transaction kept conflicting with others. Try again.'),
  '42501': meaning(
    'store.unavailable',
    false,
    'Grant this user CREATE on the database once, or let another one create the store; then USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on its tables.',
  ),
  '42P07': meaning(
    'store.foreign',
    false,
    'The schema holds tables of another program. Name another schema. Nothing was changed.',
  ),
  '42P01': meaning('store.corrupt', false, `A table of the store is missing. ${restore}`),
  '42703': meaning('store.foreign', false, 'The schema holds tables of another program. Name another schema.'),
  '53100': meaning(
    'store.full',
    true,
    'Free space on the disk of the server. Runs go on by themselves as soon as they can be recorded.',
  ),
  '53300': meaning(
    'store.unavailable',
    true,
    'The server has no connection left: raise max_connections, or run fewer processes.',
  ),
  '53': meaning('store.unavailable', true, 'The server is short of a resource. See its log.'),
  '54': meaning('store.refused', false, 'An id, a key or an address is too long for PostgreSQL.'),
  '55P03': meaning('store.busy', true, 'Another transaction has held a row for too long. Find it in pg_stat_activity.'),
  '57014': meaning(
    'store.busy',
    true,
    'The server cancelled the statement: it took longer than statement_timeout allows.',
  ),
  '57': meaning('store.unavailable', true, 'The server is starting, stopping or was restarted. Try again.'),
  '58': meaning('store.unavailable', true, 'The disk of the server reported an error. See its log.'),
  XX001: meaning('store.corrupt', false, restore),
  XX002: meaning('store.corrupt', false, 'An index is damaged: REINDEX the database.'),
  DEPTH_ZERO_SELF_SIGNED_CERT: meaning(
    'store.unavailable',
    false,
    'The server’s certificate is self-signed: name its authority (sslrootcert) in the address.',
  ),
  SELF_SIGNED_CERT_IN_CHAIN: meaning(
    'store.unavailable',
    false,
    'Name the authority of the server’s certificate (sslrootcert) in the address.',
  ),
  ERR_TLS_CERT_ALTNAME_INVALID: meaning(
    'store.unavailable',
    false,
    'The server’s certificate is for another host. Check the address.',
  ),
}
/** What a failed handshake means, where its code is not listed above: no retry mends it. */
const tlsMeanings: Readonly<Record<TlsProblem, Meaning>> = {
  certificate: meaning(
    'store.unavailable',
    false,
    'The certificate of the server is not trusted: check the host in the address and the expiry of the certificate, and name its authority (sslrootcert) in the address.',
  ),
  'no-tls': meaning(
    'store.unavailable',
    false,
    'The server speaks without TLS: leave sslmode out of the address, or switch ssl on at the server.',
  ),
  refused: meaning(
    'store.unavailable',
    false,
    'The server refused the TLS connection: it may demand a certificate of the client (sslcert and sslkey in the address).',
  ),
  'own-certificate': meaning(
    'store.unavailable',
    false,
    'A file that the address names (sslcert, sslkey, sslrootcert) is not in the form of PEM, or the key is not that of the certificate.',
  ),
}
const unreachable = meaning(
  'store.unavailable',
  true,
  'PostgreSQL cannot be reached. Check that the server runs, and host and port in the address.',
)

const codeOf = (thrown: unknown): string => {
  const code = (thrown as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

const isState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code)

function meaningOf(thrown: unknown): Meaning {
  const code = codeOf(thrown)
  const listed = meanings[code] ?? (isState(code) ? meanings[code.slice(0, 2)] : undefined)
  if (listed !== undefined || isState(code)) return listed ?? unreachable
  const problem = tlsProblem(thrown)
  return problem === undefined ? unreachable : tlsMeanings[problem]
}

/** Several addresses of one host fail as one error without a message of its own. */
const errorText = (thrown: unknown): string =>
  connectionErrorText(
    thrown instanceof AggregateError && thrown.message === ''
      ? thrown.errors.map(messageOf).join('; ')
      : messageOf(thrown),
  )

/** `name` names server and database, never a password. */
export function storeError(thrown: unknown, name: string): ReeveError {
  if (ReeveError.is(thrown)) return thrown
  if (thrown instanceof SyntaxError)
    return new ReeveError('store.corrupt', `${name}: a row is not JSON: ${thrown.message}`, {
      hint: restore,
      cause: thrown,
    })
  const { code, retryable, hint } = meaningOf(thrown)
  return new ReeveError(code, `${name}: ${errorText(thrown)}`, { retryable, hint, cause: thrown })
}

/** Whether the server itself refused a statement. The connection goes on; nothing of the transaction is written. */
export function isAnswer(thrown: unknown): boolean {
  const { severity } = (thrown ?? {}) as { severity?: string }
  return isState(codeOf(thrown)) && severity !== 'FATAL' && severity !== 'PANIC' && !codeOf(thrown).startsWith('08')
}

/** Whether the error came from the server itself, also where it refuses the connection. */
export const isSaid = (thrown: unknown): boolean => isState(codeOf(thrown)) && !codeOf(thrown).startsWith('08')

/** The error of a closing process whose server does not answer. */
export const silentServer = (name: string): ReeveError =>
  new ReeveError(
    'store.unavailable',
    `${name}: the server has not answered for five seconds, and this process is closing`,
    {
      retryable: true,
      hint: 'Nothing that was written is lost: the process that opens the store next goes on from there.',
    },
  )

/** Two transactions conflicted: a retry succeeds. */
export const isConflict = (thrown: unknown): boolean => ['40001', '40P01'].includes(codeOf(thrown))

/** Whether the condition of a statement did not hold: it divides by zero, which no other statement does. */
export const isGate = (thrown: unknown): boolean => codeOf(thrown) === '22012'

/** A row with this key exists already. */
export const isDuplicate = (thrown: unknown): boolean => codeOf(thrown) === '23505'

/** The same, said by JavaScript before the server is asked. */
const refusedNames: ReadonlySet<string> = new Set(['RangeError', 'DataCloneError'])

/** True where the store is well and what was to be written is not: to write it again would fail again. */
export function isRefusal(thrown: unknown): boolean {
  const code = codeOf(thrown)
  if (isState(code)) return !isGate(thrown) && ['22', '23', '54'].includes(code.slice(0, 2))
  return refusedNames.has((thrown as { name?: string } | undefined)?.name ?? '')
}

/** The table does not exist any more. */
export const isMissing = (thrown: unknown): boolean => ['42P01', '3F000'].includes(codeOf(thrown))

export const closedStore = (name: string): ReeveError =>
  new ReeveError('store.unavailable', `${name}: the store was closed`, { hint: 'Create a new runtime.' })

/** The store was rolled back or replaced: it does not match this process's memory. */
export const replaced = (what: string): ReeveError =>
  new ReeveError('store.replaced', `${what} while this process had it open`, {
    hint: 'This process has stopped: what it did since then may not be recorded. Put the right database in place, then start the process again.',
  })
