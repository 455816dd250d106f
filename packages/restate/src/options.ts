/**
 * Options of the engine on Restate: their types, defaults and checks.
 *
 * Owns: checking them. Does not own: their use (restate.ts), options of the store and of the host (engine/). Opens
 * nothing.
 * Holds: no password and no token in any message.
 */
import { storeAndHostChecks } from '@reeve/stores/store-name'
import { isIP } from 'node:net'
import {
  described,
  expects,
  flag,
  hasNames,
  number,
  object,
  objectOr,
  optionProblems,
  refuseProblems,
  secret,
  type Check,
  type Checks,
  type Rule,
} from '@reeve/core'
import { warning, type HostOptions } from '@reeve/engine/host'
import type { NamedStoreOptions } from '@reeve/stores/store-name'

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

const bearer = secret(
  (given) => typeof given === 'string' && /^[\x21-\x7e]+$/.test(given),
  'is not a bearer token: letters, digits and signs, without spaces',
)
/** An address with a password in it is not repeated. */
const addressCheck: Check = (given, where) => {
  if (typeof given === 'string' && /^https?:/.test(given) && URL.canParse(given)) {
    const { username, password } = new URL(given)
    return username + password === ''
      ? []
      : [`${where} holds a user or a password, expected an address without; give tokens instead`]
  }
  const what = typeof given === 'string' && given.includes('@') ? 'a text' : described(given)
  return [`${where} is ${what}, expected an address such as http://127.0.0.1:8080`]
}

const loopback = '127.0.0.1'
/** Reached from this host alone. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

const checks: Checks<RestateOptions> = {
  ...storeAndHostChecks,
  ingress: addressCheck,
  admin: addressCheck,
  tokens: objectOr(
    object<NonNullable<RestateOptions['tokens']>>({ ingress: bearer, admin: bearer }),
    secret(() => false, 'is not an object, expected { ingress, admin }'),
  ),
  namespace: expects(
    (given) => typeof given === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(given),
    'a letter and up to 63 letters, digits, - and _ after it',
  ),
  listen: objectOr(
    object<NonNullable<RestateOptions['listen']>>({
      host: expects((given) => typeof given === 'string' && given !== '', 'a host name'),
      port: number((given) => Number.isInteger(given) && given >= 0 && given <= 65_535, 'a port number'),
    }),
    expects(() => false, '{ host, port }'),
  ),
  advertise: addressCheck,
  identityKeys: (given, where) =>
    Array.isArray(given)
      ? given.flatMap((key: unknown) =>
          typeof key === 'string' && /^publickeyv1_\w+$/.test(key)
            ? []
            : [`${where} holds an invalid key, expected publickeyv1_…, as the Restate server prints it`],
        )
      : [`${where} is ${described(given)}, expected a list of keys`],
  register: flag,
}

/** What must hold between them: only who may give orders reaches the worker. */
const listenRule: Rule<RestateOptions> = ({ listen, identityKeys = [] }, where) => {
  const host: unknown = hasNames(listen) ? listen.host : undefined
  return [
    typeof host === 'string' &&
      host !== '' &&
      !isLoopback(host) &&
      Array.isArray(identityKeys) &&
      identityKeys.length === 0 &&
      `${where}: a worker that listens on ${host} accepts calls from every client that can reach it: give identityKeys, the public key that your Restate server prints at its start (request identity), or listen on loopback`,
  ]
}

/** Splits the options into those of the mover and those of the store and the host. Throws `config.invalid`. */
export function setupOf(options: RestateOptions): {
  readonly store: string
  readonly setup: MoverSetup
  readonly others: NamedStoreOptions & HostOptions
} {
  refuseProblems('config.invalid', problemsWith(options), 'Nothing was opened.')
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
  return optionProblems(checks, options, 'restate', listenRule)
}
