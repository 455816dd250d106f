/**
 * Options of the engine on Restate: their types, defaults and checks.
 *
 * Owns: checking them. Does not own: their use (restate.ts), options of the store and of the host (engine/). Opens
 * nothing.
 * Holds: no password and no token in any message.
 */
import { isIP } from 'node:net'
import { described, hasNames, ReeveError, unknownNames, type NamesOf } from '../../core/index.ts'
import { warning, type HostOptions } from '../../engine/host/index.ts'
import { storeAndHostNames, storeAndHostProblems, type NamedStoreOptions } from '../../engine/store-name.ts'

/** How the engine on Restate is set up. Only `store` has no default. */
export interface RestateOptions extends NamedStoreOptions, HostOptions {
  /**
   * Where runs are kept: the address of a PostgreSQL database (`postgres://user:password@host/database`, with
   * `?schema=name` for another schema than `reeve`), or the path of an SQLite file on one node. All processes of a
   * namespace name the same store.
   */
  readonly store: string
  /** Restate's ingress. Default `http://127.0.0.1:8080`. */
  readonly ingress?: string
  /** Restate's admin API. Default `http://127.0.0.1:9070`. */
  readonly admin?: string
  /** Bearer tokens for the ingress and the admin API. Default: none. */
  readonly tokens?: { readonly ingress?: string; readonly admin?: string }
  /** Prefix of the service's name, so that several systems can share a Restate server. Default `reeve`. */
  readonly namespace?: string
  /**
   * Where a worker listens for calls of Restate. Default 127.0.0.1:9080; port 0 takes a free one. Several workers of
   * one host may share a port.
   */
  readonly listen?: { readonly host?: string; readonly port?: number }
  /** The address at which Restate reaches this worker, or the load balancer before it. Default: where it listens. */
  readonly advertise?: string
  /**
   * Public keys of Restate servers that may call this worker (`publickeyv1_…`). Required if it does not listen on
   * loopback.
   */
  readonly identityKeys?: readonly string[]
  /** False: the deployment is registered by other means. Default true. */
  readonly register?: boolean
}

/** The options of the mover, with the defaults. */
export interface MoverSetup {
  readonly ingress: string
  readonly admin: string
  readonly tokens: { readonly ingress?: string; readonly admin?: string }
  readonly namespace: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly advertise: string | undefined
  readonly identityKeys: readonly string[]
  readonly register: boolean
  readonly warn: (code: string, message: string) => void
}

const names: NamesOf<RestateOptions> = {
  ...storeAndHostNames,
  store: true,
  ingress: true,
  admin: true,
  tokens: true,
  namespace: true,
  listen: true,
  advertise: true,
  identityKeys: true,
  register: true,
}

/** Options of earlier versions, and what to do instead. */
const gone: Readonly<Record<string, string>> = {
  build:
    'leave it out: a run goes on in any worker that has its agent; with onMissingVersion: "park" of createRuntime, only in one that has its version',
  effectsWithinMs: 'leave it out: an effect may take as long as its deadline allows (deadlines, timeoutMs)',
  sweepMs: 'leave it out: the host looks each second for runs that no process moves',
}

/** Splits the options into those of the mover and those of the store and the host. Throws `config.invalid`. */
export function setupOf(options: RestateOptions): {
  readonly store: string
  readonly setup: MoverSetup
  readonly others: NamedStoreOptions & HostOptions
} {
  const problems = problemsWith(options)
  if (problems.length > 0) throw new ReeveError('config.invalid', problems.join('\n'), { hint: 'Nothing was opened.' })
  const { store, ingress, admin, tokens, namespace, listen, advertise, identityKeys, register, ...others } = options
  const setup: MoverSetup = {
    ingress: ingress ?? 'http://127.0.0.1:8080',
    admin: admin ?? 'http://127.0.0.1:9070',
    tokens: tokens ?? {},
    namespace: namespace ?? 'reeve',
    listen: { host: listen?.host ?? loopback, port: listen?.port ?? 9080 },
    advertise,
    identityKeys: identityKeys ?? [],
    register: register ?? true,
    warn: others.onWarning ?? warning,
  }
  return { store, setup, others }
}

function problemsWith(options: RestateOptions): readonly string[] {
  if (!hasNames(options)) return [`restate() was given ${described(options)}, expected { store: 'postgres://…' }`]
  const said = Object.keys(options).filter((name) => Object.hasOwn(gone, name))
  const known = Object.fromEntries(Object.entries(options).filter(([name]) => !said.includes(name)))
  return [
    ...said.map((name) => `restate: ${name} is not an option any more; ${gone[name]}`),
    ...unknownNames(known, names, 'restate'),
    ...storeAndHostProblems('restate', options),
    ...namespaceProblems(options.namespace),
    ...addressProblems('ingress', options.ingress),
    ...addressProblems('admin', options.admin),
    ...addressProblems('advertise', options.advertise),
    ...tokenProblems(options.tokens),
    ...listenProblems(options.listen, options.identityKeys),
    ...(options.register === undefined || typeof options.register === 'boolean'
      ? []
      : [`restate: register is ${described(options.register)}, expected true or false`]),
  ]
}

function namespaceProblems(namespace: unknown): readonly string[] {
  if (namespace === undefined || isNamespace(namespace)) return []
  return [
    `restate: namespace is ${described(namespace)}, expected a letter and up to 63 letters, digits, - and _ after it`,
  ]
}

/** Whether this is a valid prefix of a service name. */
const isNamespace = (given: unknown): given is string =>
  typeof given === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(given)

/** An address with a password in it is not repeated. */
function addressProblems(name: string, given: unknown): readonly string[] {
  if (given === undefined) return []
  if (typeof given === 'string' && /^https?:/.test(given) && URL.canParse(given)) {
    const { username, password } = new URL(given)
    return username + password === ''
      ? []
      : [`restate: ${name} holds a user or a password, expected an address without; give tokens instead`]
  }
  const what = typeof given === 'string' && given.includes('@') ? 'a text' : described(given)
  return [`restate: ${name} is ${what}, expected an address such as http://127.0.0.1:8080`]
}

function tokenProblems(tokens: unknown): readonly string[] {
  if (tokens === undefined) return []
  if (!hasNames(tokens)) return ['restate: tokens is not an object, expected { ingress, admin }']
  const { ingress, admin } = tokens as { readonly ingress?: unknown; readonly admin?: unknown }
  return [
    ...unknownNames(tokens, { ingress: true, admin: true }, 'restate: tokens'),
    ...Object.entries({ ingress, admin }).flatMap(([name, token]) =>
      token === undefined || (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token))
        ? []
        : [`restate: tokens.${name} is not a bearer token: letters, digits and signs, without spaces`],
    ),
  ]
}

const loopback = '127.0.0.1'
/** Whether it can be reached from this host only. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

function listenProblems(listen: unknown, keys: unknown): readonly string[] {
  if (listen !== undefined && !hasNames(listen))
    return [`restate: listen is ${described(listen)}, expected { host, port }`]
  const { host = loopback, port = 9080 } = (listen ?? {}) as { readonly host?: unknown; readonly port?: unknown }
  const problems = [
    ...(listen === undefined ? [] : unknownNames(listen, { host: true, port: true }, 'restate: listen')),
    ...(Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535
      ? []
      : [`restate: listen.port is ${described(port)}, expected a port number`]),
    ...(typeof host === 'string' && host !== ''
      ? []
      : [`restate: listen.host is ${described(host)}, expected a host name`]),
  ]
  if (keys !== undefined && !Array.isArray(keys))
    return [...problems, `restate: identityKeys is ${described(keys)}, expected a list of keys`]
  const given: readonly unknown[] = keys ?? []
  if (typeof host === 'string' && !isLoopback(host) && given.length === 0)
    problems.push(
      `restate: a worker that listens on ${host} accepts calls from every client that can reach it: give identityKeys, the public key that your Restate server prints at its start (request identity), or listen on loopback`,
    )
  for (const key of given)
    if (typeof key !== 'string' || !/^publickeyv1_\w+$/.test(key))
      problems.push(
        'restate: identityKeys holds an invalid key, expected publickeyv1_…, as the Restate server prints it',
      )
  return problems
}
