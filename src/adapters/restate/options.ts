/**
 * Options of the Restate engine: what may be said, what is taken when nothing is said, and what is refused.
 */
import { isIP } from 'node:net'
import { isObject, ReeveError, redactor, systemClock, type Clock, type Json, type Redaction } from '../../core/index.ts'
import { digestsOf } from '../../engine/embedded/digests.ts'
import type { Deadlines, Governor } from '../../engine/index.ts'
import type { EventStoreOptions } from '../eventstore/index.ts'
import type { PlaceOptions } from './desk.ts'
import { serviceNames, type Patience, type ServiceNames } from './names.ts'

/** How the Restate engine is set up. Only the store has no default. */
export interface RestateOptions {
  /** Where events, questions and values are kept: PostgreSQL on a cluster, an SQLite file on one node. */
  readonly store: EventStoreOptions
  /** Restate's ingress. Default `http://127.0.0.1:8080`. */
  readonly ingress?: string
  /** Restate's admin API. Default `http://127.0.0.1:9070`. */
  readonly admin?: string
  /** Sent as bearer tokens to the ingress and to the admin API. */
  readonly tokens?: { readonly ingress?: string; readonly admin?: string }
  /** Begins the names of its services, so that several systems can share a Restate. Default `reeve`. */
  readonly namespace?: string
  /**
   * Names this build of your code. Each build then has workflows of its own: a run finishes on the build that it began with, as long as a worker of that
   * build is there. Absent: one pool of workers for all versions; which code goes on is the matter of `earlier` and `onMissingVersion`.
   */
  readonly build?: string
  /** Where a worker listens for Restate. Default 127.0.0.1:9080; port 0 takes a free one. Several workers of one host may share a port. */
  readonly listen?: { readonly host?: string; readonly port?: number }
  /** Under which address Restate reaches this worker, or the load balancer before it. Default: where it listens. */
  readonly advertise?: string
  /** Public keys of Restate servers that may call this worker (`publickeyv1_…`). Required if it listens on anything but loopback. */
  readonly identityKeys?: readonly string[]
  /** False: somebody else registers the deployment. Default true. */
  readonly register?: boolean
  /** An activation that rests leaves its process after this long. Milliseconds, default 10,000. */
  readonly parkAfterMs?: number
  /** How long one effect may take. Milliseconds, default 3,600,000 (one hour): after that, Restate takes the worker for dead and begins another attempt. */
  readonly effectsWithinMs?: number
  /** How often is looked for what nobody moves: invocations that were killed or lost. Milliseconds, default 10,000. */
  readonly sweepMs?: number
  /** Ended runs are removed from the store after this long. Milliseconds. Default: never. */
  readonly retentionMs?: number
  /** How long one compensation (`onCancel`) may work. Milliseconds, default 60,000. */
  readonly undoWithinMs?: number
  /** How long a call of a model, a call of a tool and a function of yours may take that say nothing about it. Defaults: 30 minutes, an hour, 5 minutes. */
  readonly deadlines?: Deadlines
  /** Taken out before anything is recorded; live code sees the redacted value, too (K10). */
  readonly redact?: Redaction
  /** In strict mode (for tests) a foreign await is an error. Default false. */
  readonly strict?: boolean
  /** For tests. With another clock than the system's, deadlines are watched by this process as well: Restate's timers know real time only. */
  readonly clock?: Clock
  /** Hears what is wrong but stops nothing. Default: process.emitWarning. */
  readonly onWarning?: (code: string, message: string) => void
  /** Who sees to it that a model that refuses calls is not asked too much. Default: one for all engines of this process that share a clock. */
  readonly governor?: Governor
  /** For tests: true lets the process "die" at this point. */
  readonly crash?: (point: 'commit.before' | 'commit.after') => boolean
}

/** The options with everything that was left out. */
export interface Settings {
  readonly names: ServiceNames
  readonly namespace: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly patience: Patience
  readonly place: PlaceOptions
  readonly sweepMs: number
}

const invalid = (message: string, hint: string): ReeveError => new ReeveError('config.invalid', `restate: ${message}`, { hint })

/** Loopback is this host and nobody else. */
const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** Exactly one of the two, and said as an object: whoever comes from the embedded engine writes a file name first. */
function mustBeStore(store: unknown): void {
  const kinds = ['postgres', 'sqlite'] as const
  const given = isObject(store) ? kinds.filter((kind) => store[kind] !== undefined) : []
  if (given.length === 1 && typeof (store as Record<string, unknown>)[given[0]!] === 'string') return
  throw invalid(
    given.length > 1 ? 'store names both a PostgreSQL and an SQLite file' : 'store says neither postgres nor sqlite',
    "Write store: { postgres: 'postgres://…' } on a cluster, or store: { sqlite: 'events.db' } on one node.",
  )
}

/** Throws `config.invalid`. */
export function settingsOf(options: RestateOptions): Settings {
  const { namespace = 'reeve', build, listen = {}, identityKeys = [], clock = systemClock } = options
  for (const [what, name] of [['namespace', namespace] as const, ['build', build] as const]) {
    if (name !== undefined && !/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
      throw invalid(`${what} "${name}" is no name`, 'Begin with a letter; letters, digits, - and _ may follow, 64 in all.')
  }
  mustBeStore(options.store)
  const host = listen.host ?? '127.0.0.1'
  if (!isLoopback(host) && identityKeys.length === 0) {
    throw invalid(
      `a worker that listens on ${host} takes orders from whoever can reach it`,
      'Give identityKeys: the public key that your Restate server prints at its start (request identity), so that only that server is obeyed; or listen on loopback.',
    )
  }
  for (const key of identityKeys)
    if (!key.startsWith('publickeyv1_'))
      throw invalid(`"${key}" is no identity key`, 'It begins with publickeyv1_ and is printed by the Restate server.')
  const redact = redactor(options.redact)
  return {
    names: serviceNames(namespace, build),
    namespace,
    listen: { host, port: listen.port ?? 9080 },
    patience: {
      parkAfterMs: options.parkAfterMs ?? 10_000,
      effectsWithinMs: options.effectsWithinMs ?? 3_600_000,
      keepEndedMs: 60_000,
    },
    place: {
      clock,
      strict: options.strict ?? false,
      build,
      undoWithinMs: options.undoWithinMs,
      deadlines: options.deadlines,
      rules: options.redact,
      redacts: redact !== undefined,
      digests: digestsOf(options.redact),
      redactJson: redact ?? ((value) => value),
      redact: redact === undefined ? (text) => text : (text, shape) => JSON.stringify(redact(JSON.parse(text) as Json, shape)),
      warn: options.onWarning ?? ((code, message) => process.emitWarning(message, { type: 'ReeveWarning', code })),
      crash: options.crash,
      governor: options.governor,
    },
    sweepMs: options.sweepMs ?? 10_000,
  }
}
