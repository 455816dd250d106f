/**
 * Options of the engine on Temporal: their types, defaults and checks.
 *
 * Owns: checking them. Does not own: their use (temporal.ts), options of the store and of the host (engine/). Opens
 * nothing.
 * Holds: no password, no API key and nothing of a certificate in any message.
 */
import { storeAndHostChecks } from '@reeve/stores/store-name'
import {
  described,
  either,
  expects,
  hasNames,
  isBoolean,
  object,
  optionProblems,
  refuseProblems,
  required,
  secret,
  type Checks,
} from '@reeve/core'
import type { HostOptions } from '@reeve/engine/host'
import type { NamedStoreOptions } from '@reeve/stores/store-name'

/** How a Temporal server is reached with TLS beyond what the system trusts. */
export interface TemporalTls {
  /** The name that the server's certificate must have. Default: the host of the address. */
  readonly serverNameOverride?: string
  /** The authority that must have signed it, as PEM. Default: the authorities that the system trusts. */
  readonly serverRootCACertificate?: Uint8Array
  /** The certificate and key of this process (mTLS), as PEM. Default: none. */
  readonly clientCertPair?: { readonly crt: Uint8Array; readonly key: Uint8Array }
}

/** How the engine on Temporal is set up. Only `store` has no default. */
export interface TemporalOptions extends NamedStoreOptions, HostOptions {
  /**
   * Where runs are kept: the address of a PostgreSQL database (`postgres://user:password@host/database`, with
   * `?schema=name` for another schema than `reeve`), or the path of an SQLite file on one node. All processes of a task
   * queue name the same store.
   */
  readonly store: string
  /** Host and port of its frontend. Default `127.0.0.1:7233`. */
  readonly address?: string
  /** The namespace on the server, which must exist. Default `default`. */
  readonly namespace?: string
  /** The task queue of the workers. Each store needs a queue of its own. Default `reeve`. */
  readonly taskQueue?: string
  /** Whether the connection is encrypted, and how. Default: true with an `apiKey`, else false. */
  readonly tls?: boolean | TemporalTls
  /** Sent as a bearer token, as Temporal Cloud wants it. Default: none. */
  readonly apiKey?: string
}

/** The server's options with their defaults. */
export interface Server {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  /** As the SDK takes it. */
  readonly tls:
    | boolean
    | {
        serverNameOverride?: string
        serverRootCACertificate?: Buffer
        clientCertPair?: { crt: Buffer; key: Buffer }
      }
  readonly apiKey: string | undefined
}

const serverName = expects(
  (given) => typeof given === 'string' && /^[^\s\0/][^\s\0]{0,199}$/.test(given),
  'a name of 1 to 200 characters without spaces',
)
const pem = secret(
  (given) => given instanceof Uint8Array,
  'is not a certificate or key, expected its PEM text as bytes (readFileSync)',
)
const checks: Checks<TemporalOptions> = {
  ...storeAndHostChecks,
  address: expects((given) => typeof given === 'string' && isAddress(given), "'host:port'"),
  namespace: serverName,
  taskQueue: serverName,
  tls: either(
    isBoolean,
    object<TemporalTls>({
      serverNameOverride: expects((given) => typeof given === 'string', 'a name'),
      serverRootCACertificate: pem,
      clientCertPair: object<NonNullable<TemporalTls['clientCertPair']>>({ crt: required(pem), key: required(pem) }),
    }),
  ),
  apiKey: secret(
    (given) => typeof given === 'string' && /^[\x21-\x7e]+$/.test(given),
    'is not an API key, expected printable characters without spaces',
  ),
}

/** Splits the options into those of the server and those of the store and the host. Throws `config.invalid`. */
export function setupOf(options: TemporalOptions): {
  readonly store: string
  readonly server: Server
  readonly others: NamedStoreOptions & HostOptions
} {
  refuseProblems('config.invalid', problemsWith(options), 'Nothing was opened.')
  const {
    store,
    address = '127.0.0.1:7233',
    namespace = 'default',
    taskQueue = 'reeve',
    tls,
    apiKey,
    ...others
  } = options
  return { store, server: { address, namespace, taskQueue, tls: tlsOf(tls ?? apiKey !== undefined), apiKey }, others }
}

const problemsWith = (options: TemporalOptions): readonly string[] =>
  hasNames(options)
    ? optionProblems(checks, options, 'temporal', ({ apiKey, tls }, where) => [
        apiKey !== undefined &&
          tls === false &&
          `${where}: with tls: false the apiKey would be sent in the clear: leave tls out`,
      ])
    : [`temporal() was given ${described(options)}, expected { store: 'postgres://…' }`]

const isAddress = (text: string): boolean => /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$/.test(text)

function tlsOf(tls: boolean | TemporalTls): Server['tls'] {
  if (typeof tls === 'boolean') return tls
  const { serverNameOverride, serverRootCACertificate: root, clientCertPair: pair } = tls
  return {
    ...(serverNameOverride === undefined ? undefined : { serverNameOverride }),
    ...(root === undefined ? undefined : { serverRootCACertificate: Buffer.from(root) }),
    ...(pair === undefined
      ? undefined
      : { clientCertPair: { crt: Buffer.from(pair.crt), key: Buffer.from(pair.key) } }),
  }
}
