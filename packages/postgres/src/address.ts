/**
 * The address of a store in PostgreSQL, as users write it: `postgres://user@host:port,other:port/database?parameters`.
 *
 * Owns: the schema at its end, which the driver does not know; several hosts; a Unix socket as the host; which
 * parameters of the specification hold here; what of it may be shown. Does not own: connecting (connection.ts), TLS and
 * other parameters that the driver reads.
 * Holds: no password in any name or message. A parameter that would be passed over, and by that weaken what was asked
 * for, is refused. The forms are those of PostgreSQL's documentation, 34.1.1.3 and 34.1.2.
 */
import { ReeveError } from '@reeve/core'

/** What an address says. */
export interface PostgresAddress {
  /** `PostgreSQL at user@host:port/database`, for messages. */
  readonly name: string
  /** One address for each host, in the order in which they are tried. None has parameters that only this module reads. */
  readonly hosts: readonly string[]
  /** Whether a server that offers it must be held to its channel (`channel_binding`). */
  readonly isBound: boolean
}

/** The address without the schema. What is no address is left for the store to refuse. */
export function addressOf(url: string): { readonly url: string; readonly schema: string | undefined } {
  const [address = url, query] = url.split('?', 2)
  const params = new URLSearchParams(query)
  const schemas = params.getAll('schema')
  const [schema] = schemas
  if (schema === undefined) return { url, schema }
  if (schemas.length > 1) throw badAddress('it names the schema twice', 'Name one schema.')
  params.delete('schema')
  return { url: params.size === 0 ? address : `${address}?${params.toString()}`, schema }
}

/** Parameters of the specification that the driver does not know, and that nobody may believe to hold. */
const withoutEffect = [
  'gssencmode',
  'hostaddr',
  'load_balance_hosts',
  'passfile',
  'require_auth',
  'requirepeer',
  'requiressl',
  'service',
  'sslcrl',
  'sslcrldir',
  'sslpassword',
]

/** Every connection is to a server that takes writes, so these ask for what holds anyway. */
const takesWrites = ['any', 'read-write', 'primary']

/** Reads an address. Throws `config.invalid`. */
export function readAddress(address: string): PostgresAddress {
  const [, scheme, given = '', path = '', query = ''] =
    /^(postgres|postgresql):\/\/([^/?]*)([^?]*)\??(.*)$/s.exec(address) ?? []
  if (scheme === undefined) return socketAddress(address)
  const params = new URLSearchParams(query)
  mustBeWhole(address, path, params)
  mustHold(params)
  const isBound = ['prefer', 'require'].includes(params.get('channel_binding') ?? '')
  const at = given.lastIndexOf('@') + 1
  const [user, authority] = [given.slice(0, at), given.slice(at)]
  const places = placesOf(authority, params)
  for (const name of ['host', 'port', 'target_session_attrs', 'channel_binding']) params.delete(name)
  const rest = params.size === 0 ? '' : `?${params.toString()}`
  const hosts = places.map(({ host, port }) => {
    const shown = host.startsWith('/') ? encodeURIComponent(host) : host
    return `${scheme}://${user}${shown}${port === '' ? '' : `:${port}`}${path}${rest}`
  })
  return { name: shownName(user, places, path), hosts, isBound }
}

/**
 * A user or password with a character that ends a part of the address would be cut there: its rest is taken for a host,
 * a port, a path or a parameter, which are shown.
 */
function mustBeWhole(address: string, path: string, params: URLSearchParams): void {
  if (!address.includes('#') && !path.includes('@') && ![...params.keys()].some((name) => name.includes('@'))) return
  throw badAddress(
    'a user, password or database in it has a "#", "/", "?" or "@"',
    'Percent-encode it: %23 for #, %2F for /, %3F for ?, %40 for @.',
  )
}

/** The driver's own form of a Unix socket: `socket:/folder?db=name`. */
function socketAddress(address: string): PostgresAddress {
  if (!address.startsWith('socket:')) throw badAddress()
  const { username, pathname } = parsed(address)
  return {
    name: `PostgreSQL at ${username === '' ? '' : `${decoded(username)}@`}${decoded(pathname)}`,
    hosts: [address],
    isBound: false,
  }
}

interface HostAndPort {
  readonly host: string
  readonly port: string
}

/** The hosts of an address: in its authority, or as parameters, where commas stand between several. */
function placesOf(authority: string, params: URLSearchParams): readonly HostAndPort[] {
  const [hosts, ports] = [params.get('host'), params.get('port')?.split(',') ?? []]
  const own = (authority === '' ? [] : authority.split(',')).map(placeOf)
  const named = hosts?.split(',').map((host) => ({ host, port: '' }))
  const places = named ?? (own.length === 0 ? [{ host: 'localhost', port: '' }] : own)
  if (ports.length > 1 && ports.length !== places.length)
    throw badAddress(
      `it names ${places.length} hosts and ${ports.length} ports`,
      'Name one port for each host, or one for all.',
    )
  return places.map(({ host, port }, i) => {
    const asked = ports[i] ?? ports[0] ?? port
    if (asked !== '' && !/^\d{1,5}$/.test(asked)) throw badAddress(`the port ${JSON.stringify(asked)} is no number`)
    return { host: host === '' ? 'localhost' : host, port: asked }
  })
}

/** `host`, `host:port`, `[::1]:port`; the folder of a socket is percent-encoded. */
function placeOf(text: string): HostAndPort {
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) ?? []
  if (host === '' && port === '' && text !== '') throw badAddress()
  return { host: decoded(host), port }
}

function mustHold(params: URLSearchParams): void {
  const refused = withoutEffect.filter((name) => params.has(name))
  if (refused.length > 0)
    throw badAddress(
      `its ${refused.length === 1 ? 'parameter' : 'parameters'} ${refused.join(', ')} would have no effect`,
      'The driver of Node does not know them. Leave them out; docs/how-to/engines.md says which parameters hold.',
    )
  const attributes = params.get('target_session_attrs')
  if (attributes !== null && !takesWrites.includes(attributes))
    throw badAddress(
      `target_session_attrs is ${JSON.stringify(attributes)}`,
      `Reeve writes: it takes ${takesWrites.join(', ')}, which all mean the server that takes writes.`,
    )
}

/** Server and database, without the password. */
function shownName(user: string, places: readonly HostAndPort[], path: string): string {
  const name = decoded(user.slice(0, -1).split(':', 1)[0]!)
  const servers = places.map(({ host, port }) => (port === '' ? host : `${host}:${port}`)).join(',')
  return `PostgreSQL at ${name === '' ? '' : `${name}@`}${servers}${decoded(path)}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw badAddress('it is not percent-encoded as it must be')
  }
}

function parsed(address: string): URL {
  try {
    return new URL(address)
  } catch {
    throw badAddress()
  }
}

/** No cause: it would repeat the password. */
export const badAddress = (problem?: string, hint?: string): ReeveError =>
  new ReeveError(
    'config.invalid',
    `this is not the address of a PostgreSQL database${problem === undefined ? '' : `: ${problem}`}`,
    {
      hint:
        hint ??
        'Write postgres://user:password@host:5432/database, with special characters of the password percent-encoded.',
    },
  )
