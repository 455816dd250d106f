/**
 * Protocols: other languages that a server speaks beside its own routes.
 *
 * Owns: what a protocol is and what it is given: the runtime of the caller's tenant, their runs, their body. Does not
 * own: any protocol (`packages/protocols`), who may call (access/).
 * Holds: a protocol is reached through the same guard, credentials, limits and tenants as every route.
 */
import { expects, hasNames, messageOf, present, ReeveError, refuseProblems, type Json, type RunKey } from '@reeve/core'
import type { Run, Runtime, StartOptions } from '@reeve/runtime'
import { protocolDoors, verbRole, type ProtocolVerb } from './access/doors.ts'
import { asPrincipal, mustAllow, principalProblems } from './access/principal.ts'
import { runOf, runtimeOf } from './access/tenant-runtime.ts'
import { shownError, type ShownError } from './error-status.ts'
import { eventStream } from './event-stream.ts'
import type { Principal, Role } from './wire.ts'

/** What a protocol knows of a request that was let in. */
export interface ProtocolContext {
  /** What it serves: for a principal of a tenant, the tenant's alone. */
  readonly runtime: Runtime
  /** Who calls. Starts, decisions and commands are theirs; names in bodies do not count. */
  readonly principal: Principal
  /** Aborts when the caller is gone, or the server closes. */
  readonly signal: AbortSignal
  /** A stream says something after this many milliseconds of silence, where the protocol has a word for that. */
  readonly heartbeatMs: number
  /** A reader of a stream that takes nothing for this many milliseconds is dropped. */
  readonly readerTimeoutMs: number
  /** Throws `request.forbidden` for a caller without this role, or the one that a verb of Reeve's own protocols needs. */
  readonly mustAllow: (needed: Role | ProtocolVerb) => void
  /**
   * Starts a run as the caller: in their tenant, under their name, and in the trace that the header `traceparent` of the
   * request names. The options come before these, but for the tenant. Rejects as `runtime.start` does.
   */
  readonly start: (agent: string, input: Json, options?: StartOptions) => Promise<Run>
  /** The run of this id, if it is there for the caller. Rejects with `run.unknown`. */
  readonly run: (id: string) => Promise<Run>
  /** The run that was started by this key, if it is there for the caller; undefined if none was. */
  readonly keyed: (key: RunKey) => Promise<Run | undefined>
  /**
   * What the caller may be told of anything that was thrown after the answer began. What is the server's own fault is
   * reported, as where `handle` throws it.
   */
  readonly shown: (thrown: unknown) => ShownError
  /** The JSON of the body, within the server's limits. Rejects with `input.too-large`, `request.not-json`, `input.invalid`. */
  readonly body: () => Promise<Json | undefined>
  /**
   * The body exactly as it was sent, within the server's limits, for a protocol that checks a signature of it. It can be
   * read once, as text or as JSON. Rejects with `input.too-large`, `input.invalid`.
   */
  readonly text: () => Promise<string>
  /**
   * The same request as this principal, whom the protocol itself has found out, such as by a signature: with their
   * roles, their tenant and their agents. Throws `config.invalid` for an invalid principal.
   */
  readonly as: (principal: Principal) => ProtocolContext
  /**
   * A response of server-sent events, each with this data as JSON: with comments while nothing happens, and without a
   * reader that takes nothing. `open` is given the signal that says that nothing more is wanted.
   */
  readonly stream: (open: (signal: AbortSignal) => AsyncIterable<unknown>) => Response
}

/**
 * A protocol of `createServer({ protocols: [...] })`. Callers are let in as viewers; what asks for more says so by
 * `mustAllow`.
 */
export interface Protocol {
  /** Whole paths at and below which it answers: `/v1`. Not below the server's base. */
  readonly paths: readonly string[]
  /**
   * Names of request headers that its clients send, beside those that every caller may: a page of `origins` is told that
   * it may send them. Default: none.
   */
  readonly headers?: readonly string[]
  /** Those of its paths that anyone may read without a credential, such as a card that describes the service. */
  readonly open?: readonly string[]
  /** How large a body on an open path may be without a credential, in bytes. Default 16 kB. */
  readonly openBodyBytes?: number
  /**
   * What the protocol does beside requests, such as telling elsewhere what became of a question. Called once, when the
   * server is made; `signal` aborts when it closes. What it rejects with is reported as an error of the server.
   */
  follow?(runtime: Runtime, signal: AbortSignal): Promise<void>
  /** Answers a request. What it throws is answered by `refuse`. */
  handle(request: Request, context: ProtocolContext): Promise<Response>
  /** An error as the protocol says it. The server adds the headers that belong to its status. */
  refuse(error: ShownError, request: Request): Response
}

const isPath = (given: unknown): boolean => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given)

const isHeaderName = (given: unknown): boolean => typeof given === 'string' && /^[\w-]+$/u.test(given)

/** The check of one protocol of the option `protocols`. */
export const protocolCheck = expects((given) => {
  if (!hasNames(given)) return false
  const {
    handle,
    refuse,
    follow,
    openBodyBytes,
    paths,
    open = [],
    headers = [],
  } = given as {
    readonly [Name in keyof Protocol]?: unknown
  }
  const lists = [paths, open].every((list) => Array.isArray(list) && list.every(isPath))
  const isNamed = Array.isArray(headers) && headers.every(isHeaderName)
  const isBounded = openBodyBytes === undefined || (Number.isSafeInteger(openBodyBytes) && Number(openBodyBytes) > 0)
  const mayFollow = follow === undefined || typeof follow === 'function'
  return lists && isNamed && isBounded && mayFollow && typeof handle === 'function' && typeof refuse === 'function'
}, 'a protocol, as those of reeve/openai, reeve/mcp and others')

/** The protocol that answers a path, if there is one. */
export const protocolFor = (protocols: readonly Protocol[], path: string): Protocol | undefined =>
  protocols.find(({ paths }) => paths.some((own) => path === own || path.startsWith(`${own}/`)))

/** What a protocol is given of one request. */
export function protocolContext(
  runtime: Runtime,
  principal: Principal,
  given: Pick<ProtocolContext, 'signal' | 'heartbeatMs' | 'readerTimeoutMs' | 'body' | 'text' | 'shown'> & {
    readonly own: Runtime
    readonly request: Request
  },
): ProtocolContext {
  const { own, request, ...rest } = given
  const { signal, heartbeatMs, readerTimeoutMs } = rest
  // a malformed one is ignored where the run is started
  const traceparent = request.headers.get('traceparent') ?? undefined
  return {
    ...rest,
    runtime: own,
    stream: (open) => eventStream({ request, signal, heartbeatMs, readerTimeoutMs }, (left) => messages(open(left))),
    principal,
    mustAllow: (needed) => mustAllow(principal, isVerb(needed) ? verbRole(needed) : needed),
    start: (agent, input, options) =>
      own.start(agent, input, { user: principal.name, ...present({ traceparent }), ...options }),
    run: (id) => runOf(runtime, principal, id),
    keyed: (key) => keyedRun(runtime, principal, key),
    as(other) {
      refuseProblems('config.invalid', principalProblems(other, 'the principal of a protocol'))
      const found = asPrincipal(other)
      return protocolContext(runtime, found, { ...given, own: runtimeOf(runtime, found) })
    },
  }
}

async function keyedRun(runtime: Runtime, principal: Principal, { id }: RunKey): Promise<Run | undefined> {
  try {
    return await runOf(runtime, principal, id)
  } catch (thrown) {
    if (ReeveError.is(thrown, 'run.unknown')) return undefined
    throw thrown
  }
}

const isVerb = (needed: Role | ProtocolVerb): needed is ProtocolVerb => Object.hasOwn(protocolDoors, needed)

async function* messages(source: AsyncIterable<unknown>): AsyncGenerator<{ readonly data: unknown }> {
  for await (const data of source) yield { data }
}

/** What a protocol is given where it is served without a server: one principal of this process. */
export interface LocalContextOptions {
  readonly runtime: Runtime
  readonly principal: Principal
  /** Aborts when the protocol is to end. */
  readonly signal: AbortSignal
  /** Told of every error that is not the caller's. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void
}

/**
 * The context of a protocol that one process has for itself, such as `reeve mcp` on standard input: its caller is this
 * principal, with the same roles and tenants as on a server. Throws `config.invalid` for an invalid principal.
 */
export function localContext(options: LocalContextOptions): ProtocolContext {
  const { runtime, signal } = options
  const { onError = (error) => process.emitWarning(error instanceof Error ? error : messageOf(error)) } = options
  refuseProblems('config.invalid', principalProblems(options.principal, 'principal'))
  const principal = asPrincipal(options.principal)
  return protocolContext(runtime, principal, {
    own: runtimeOf(runtime, principal),
    request: new Request('http://localhost/'),
    signal,
    heartbeatMs: 15_000,
    readerTimeoutMs: 30_000,
    body: () => Promise.resolve(undefined),
    text: () => Promise.resolve(''),
    shown(thrown) {
      const error = shownError(thrown)
      if (error.status >= 500) onError(thrown)
      return error
    },
  })
}
