/**
 * The server: a Web-standard handler over a runtime.
 *
 * Owns: `createServer`: finding the route of a request, checking what was sent by its schemas, calling it, turning what
 * was thrown into a response. Does not own: routes (routes/), who may call them (access/), sockets (listen.ts).
 * Holds: what was sent is checked before a handler sees it, by own members only.
 */
import { Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import {
  messageOf,
  mustBeOptions,
  present,
  ReeveError,
  refuseProblems,
  systemClock,
  version,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { duration, functionCheck, listOf, optionProblems, required, text, unchecked, type Checks } from '@reeve/core'
import { installationValues, type Runtime } from '@reeve/runtime'
import { accessChecks, createAccess, type AccessOptions, type AccessRule, type Entrance } from './access/access.ts'
import type { RequestBody } from './access/request-body.ts'
import { runtimeOf } from './access/tenant-runtime.ts'
import { errorHeaders, errorResponse, responseOf, shownError, type ShownError } from './error-status.ts'
import { EventLoopDelay } from './event-loop-delay.ts'
import { isStreamed, ReaderDropped } from './event-stream.ts'
import { LiveRuns } from './live/live-runs.ts'
import { openApiDocument } from './openapi.ts'
import { protocolCheck, protocolContext, protocolFor, type Protocol } from './protocol.ts'
import { Readiness } from './readiness.ts'
import { ownRun, type RequestContext, type Route, type RouteInput } from './route.ts'
import { routes } from './routes/index.ts'
import { staticFiles } from './static.ts'
import { wireProblem, type WireSchema } from './wire-schema.ts'
import type { Principal } from './wire.ts'

/** The options of a server. */
export interface ReeveServerOptions extends AccessOptions {
  /** What it serves. The server does not close it. */
  readonly runtime: Runtime
  /** The folder of the studio as it is built: served beside the API. Default: none. */
  readonly assets?: string
  /** What all paths begin with. Default `/api`. */
  readonly base?: string
  /** Other protocols that it speaks, beside its own routes and behind the same access: `openai()`, `mcp()`, … Default: none. */
  readonly protocols?: readonly Protocol[]
  /** A stream sends a comment after so many milliseconds without a message. Default 15,000. */
  readonly heartbeatMs?: number
  /** A reader of a stream that takes nothing for so many milliseconds is dropped. Default 30,000. */
  readonly readerTimeoutMs?: number
  /** Told of every error that is the server's and not the caller's. Default: a warning of the process. */
  readonly onError?: (error: unknown, request: Request) => void
}

/** HTTP and SSE over a runtime, for any host that speaks `Request` and `Response`. */
export interface ReeveServer {
  /** The token that lets a caller in, drawn when the server was made; absent where `auth` is given. */
  readonly token?: string
  /**
   * Answers a request. Never rejects. `peer`: the address of the connection, by which guesses are counted. `hangUp` closes
   * the connection: it is called where an answer that is being read cannot go on. Default: the body ends with an error.
   */
  fetch(request: Request, peer?: string, hangUp?: () => void): Promise<Response>
  /** Permits it to be reached under a host. Throws `config.invalid` for another than loopback without `auth`. */
  bind(host: string): void
  /** From now on it says that it is not ready; requests are answered as before. Idempotent. */
  retire(): void
  /** Ends all streams, and refuses new requests. The runtime stays open. Idempotent. */
  close(): void
}

const serverChecks: Checks<ReeveServerOptions> = {
  ...accessChecks,
  runtime: required(unchecked),
  assets: text,
  base: text,
  protocols: listOf(protocolCheck, 'protocols'),
  heartbeatMs: duration,
  readerTimeoutMs: duration,
  onError: functionCheck,
}

/** Makes a server. Throws `config.invalid` for invalid options. */
export function createServer(options: ReeveServerOptions): ReeveServer {
  mustBeOptions(options, 'createServer', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(serverChecks, options, 'createServer'))
  const { base = '/api', runtime, protocols = [], heartbeatMs = 15_000, readerTimeoutMs = 30_000 } = options
  const { onError = (error) => process.emitWarning(error instanceof Error ? error : messageOf(error)) } = options
  const closed = new AbortController()
  const live = new LiveRuns(runtime)
  const eventLoop = new EventLoopDelay()
  const readiness = new Readiness(runtime)
  /** Aborts when the caller is gone, may not read any more, or the server closes. */
  const whileReading = (request: Request, ended: AbortSignal | undefined): AbortSignal =>
    AbortSignal.any([request.signal, closed.signal, ...(ended === undefined ? [] : [ended])])
  /** What was thrown; of work that was broken off, why: the caller is gone, or the server closes. */
  const causeOf = (thrown: unknown, request: Request): unknown =>
    thrown === closed.signal.reason || (thrown === request.signal.reason && request.signal.aborted)
      ? serverClosed()
      : thrown
  /** Errors that are the server's own: not those of a caller who is gone, or that it closes. */
  const report = (error: unknown, status: number, request: Request): void => {
    if (status >= 500 && !ReeveError.is(error, 'engine.closed')) onError(error, request)
  }
  /** What a protocol may tell the caller. */
  const shownOf = (thrown: unknown, request: Request, route: string, peer: string | undefined): ShownError => {
    const cause = causeOf(thrown, request)
    const error = shownError(cause)
    report(cause, error.status, request)
    access.denied(request, error, route, peer)
    return error
  }
  const failed = (thrown: unknown, request: Request, route: string, peer: string | undefined): Response =>
    responseOf(shownOf(thrown, request, route, peer))
  /** What is done about an answer that ends before its end; undefined: its reader is told. */
  const broken =
    (request: Request, hangUp: Connection['hangUp']) =>
    (thrown: unknown): boolean => {
      if (!(thrown instanceof ReaderDropped)) report(causeOf(thrown, request), 500, request)
      hangUp?.()
      return hangUp !== undefined
    }
  let made: JsonObject | undefined
  const document = (): JsonObject => (made ??= openApiDocument(routes, base, version))
  const access = createAccess(options, systemClock, installationValues(runtime, 'reg_browser-sessions'))
  const files = options.assets === undefined ? undefined : staticFiles(options.assets)
  /** The path as the table has it: some hold a secret, as that of a link. */
  const known = routes.map(({ path }) => ({ path: base + path, form: formOf(base + path) }))
  const routeOf = (path: string): string => known.find(({ form }) => form.test(path))?.path ?? path
  const contextOf = (
    request: Request,
    { principal, body, place, ended }: Pick<Entrance, 'principal' | 'body' | 'place' | 'ended'>,
  ): RequestContext => ({
    runtime: runtimeOf(runtime, principal),
    live,
    access,
    eventLoop,
    readiness,
    principal,
    found: new Map(),
    request,
    body,
    place,
    signal: whileReading(request, ended),
    document,
    heartbeatMs,
    readerTimeoutMs,
  })
  const probes = new Map(
    routes.flatMap((route) => (route.isProbe === true ? [[base + route.path, route] as const] : [])),
  )
  const app = new Hono<{ Bindings: Connection }>()
  for (const route of routes) {
    if (route.isProbe === true) continue
    app.on(route.method, patternOf(base, route.path), async ({ req, env }) => {
      const { peer, hangUp } = env
      const { leave, via, ...entrance } = await access.enter(req.raw, ruleOf(route), peer)
      const context = { ...contextOf(req.raw, entrance), ...present({ via, peer }) }
      try {
        const path: Readonly<Record<string, string>> = req.param()
        if (route.resource === 'run') for (const id of runsIn(path)) await ownRun(context, id)
        const input = await inputOf(route, req.raw, path, entrance.body)
        const answer = await route.handle(context, input)
        if (!(answer instanceof Response)) return Response.json(answer)
        return route.answer === 'stream' || isStreamed(answer)
          ? untilRead(answer, leave, broken(req.raw, hangUp))
          : answer
      } catch (thrown) {
        leave()
        throw thrown
      }
    })
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).map(({ method }) => method)
    app.all(patternOf(base, path), ({ req }) => wrongMethod(req.method, req.path, allow))
  }
  const speak = async (protocol: Protocol, request: Request, { peer, hangUp }: Connection): Promise<Response> => {
    let leave: (() => void) | undefined
    const [route = ''] = protocol.paths
    try {
      // who sends a credential to an open path is shown what is theirs
      const isOpen =
        protocol.open?.includes(new URL(request.url).pathname) === true &&
        !request.headers.has('Authorization') &&
        !request.headers.has('Cookie')
      const rule: AccessRule = {
        role: isOpen ? 'open' : 'viewer',
        resource: 'public',
        isStream: true,
        ...present({ openBodyBytes: protocol.openBodyBytes }),
      }
      const entrance = await access.enter(request, rule, peer)
      leave = entrance.leave
      const signal = whileReading(request, entrance.ended)
      const own = runtimeOf(runtime, entrance.principal)
      const body = (): Promise<Json | undefined> => entrance.body.json()
      const text = (): Promise<string> => entrance.body.text()
      const shown = (thrown: unknown): ShownError => shownOf(thrown, request, route, peer)
      const given = { own, request, signal, heartbeatMs, readerTimeoutMs, body, text, shown }
      const context = protocolContext(runtime, entrance.principal, given)
      return untilRead(await protocol.handle(request, context), leave, broken(request, hangUp))
    } catch (thrown) {
      leave?.()
      const error = shownOf(thrown, request, route, peer)
      const response = protocol.refuse(error, request)
      for (const [name, value] of Object.entries(errorHeaders(error.status))) response.headers.set(name, value)
      return response
    }
  }
  app.notFound(async ({ req, env }) => {
    const protocol = protocolFor(protocols, req.path)
    if (protocol !== undefined) return speak(protocol, req.raw, env)
    const file = req.path.startsWith(`${base}/`) ? undefined : await files?.(req.raw)
    return file ?? errorResponse(unknownPath(req.method, req.path, base))
  })
  app.onError((thrown, { req, env }) => failed(thrown, req.raw, routeOf(req.path), env.peer))
  const probeAt = (path: string): Route | undefined => probes.get(path.replace(/\/$/, ''))
  const probed = async (probe: Route, request: Request): Promise<Response> => {
    const response = (await probe.handle(
      contextOf(request, { principal: prober, body: unread, place: () => () => {} }),
      {
        path: {},
        query: {},
        body: undefined,
      },
    )) as Response
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
  const answer = async (request: Request, connection: Connection): Promise<Response> => {
    try {
      const path = getPath(request)
      const probe = isRead(request) ? probeAt(path) : undefined
      if (probe !== undefined) return await probed(probe, request)
      const preflight = access.admit(request, isPage(path, base, protocols), protocolFor(protocols, path)?.headers)
      if (preflight !== undefined) return preflight
      if (closed.signal.aborted) throw serverClosed()
      return await app.fetch(request, connection)
    } catch (thrown) {
      return failed(thrown, request, routeOf(getPath(request)), connection.peer)
    }
  }
  for (const protocol of protocols)
    protocol.follow?.(runtime, closed.signal).catch((thrown: unknown) => {
      if (!closed.signal.aborted) onError(thrown, new Request(`http://localhost${protocol.paths[0] ?? '/'}`))
    })
  return {
    ...present({ token: access.token }),
    fetch: async (request, peer, hangUp) => access.finish(request, await answer(request, { peer, hangUp })),
    bind: (host) => access.bind(host),
    retire: () => readiness.retire(),
    close: () => {
      readiness.retire()
      closed.abort()
      live.close()
      eventLoop.stop()
    },
  }
}

/** Who asks a probe: unknown, and it may do nothing else. */
const prober: Principal = { name: '', roles: [] }
const unread: RequestBody = {
  json: () => Promise.resolve(undefined),
  form: () => Promise.resolve(new Map()),
  text: () => Promise.resolve(''),
}
const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'
/** What is known of the connection of a request. */
interface Connection {
  readonly peer: string | undefined
  readonly hangUp: (() => void) | undefined
}

const serverClosed = (): ReeveError => new ReeveError('engine.closed', 'the server is closed', { retryable: true })

/** The path as the router writes it. */
const patternOf = (base: string, path: string): string => base + path.replaceAll(/\{(\w+)\}/g, ':$1')

/** The paths that a path of the table stands for, and all below them. */
const formOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}(?:$|/)`)

function wrongMethod(method: string, path: string, allow: readonly string[]): Response {
  const response = errorResponse(
    new ReeveError('request.wrong-method', `${JSON.stringify(path)} does not take ${method}`, {
      hint: `It takes ${allow.join(', ')}.`,
    }),
  )
  response.headers.set('Allow', allow.join(', '))
  return response
}

/** The runs that a path names: each is the principal's own before a handler is called, or a body read. */
const runsIn = ({ run, other }: Readonly<Record<string, string>>): readonly string[] =>
  [run, other].filter((id) => id !== undefined)

const ruleOf = ({ role, resource, answer }: Route): AccessRule => ({ role, resource, isStream: answer === 'stream' })

/**
 * Whether a path, as the router reads it, is a page, which a link may open: one of the table, or none of the server's
 * own.
 */
const isPage = (path: string, base: string, protocols: readonly Protocol[]): boolean =>
  (!path.startsWith(`${base}/`) && protocolFor(protocols, path) === undefined) ||
  routes.some((route) => route.isPage === true && path.startsWith(base + route.path.replace(/\{.*/, '')))

/**
 * The response; `left` is called when its body has been read to the end, or no one reads it any more. `broken` is told
 * why its body has no end, and says whether that is enough: else its reader is told.
 */
function untilRead(response: Response, left: () => void, broken: (thrown: unknown) => boolean): Response {
  if (response.body === null) {
    left()
    return response
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      // also where no one reads: a reader that takes nothing is dropped
      start(controller) {
        reader.closed.then(left, (thrown: unknown) => {
          left()
          if (!broken(thrown)) controller.error(thrown)
        })
      },
      async pull(controller) {
        const { done, value } = await reader.read().catch(() => ({ done: undefined, value: undefined }))
        if (done === true) controller.close()
        else if (value !== undefined) controller.enqueue(value)
      },
      cancel(reason) {
        left()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}

function unknownPath(method: string, path: string, base: string): ReeveError {
  return new ReeveError('request.unknown-path', `there is no ${method} ${JSON.stringify(path)}`, {
    hint: `GET ${base}/openapi.json lists all paths.`,
  })
}

/** What was sent, checked by the schemas of the route. Throws `input.invalid`, `request.not-json`. */
async function inputOf(
  route: Route,
  request: Request,
  path: Readonly<Record<string, string>>,
  sent: RequestBody,
): Promise<RouteInput<string, unknown, unknown>> {
  const query = queryOf(new URL(request.url).searchParams, route.query)
  const body = route.body === undefined ? undefined : await bodyOf(sent, route.body)
  return { path, query, body }
}

const invalid = (where: string, problem: string): ReeveError =>
  new ReeveError('input.invalid', `${where}: ${problem}`, { hint: 'Nothing was done.' })

/**
 * Parameters as their schemas want them: numbers and flags are read from their text, lists from commas or from a name
 * that is repeated, `name.key` is a member of the object `name`.
 */
function queryOf(given: URLSearchParams, schema: WireSchema<unknown> | undefined): unknown {
  const properties = (schema?.schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>
  const query = new Map<string, Json>()
  for (const [key, value] of given) {
    const dot = key.indexOf('.')
    const group = dot === -1 ? undefined : key.slice(0, dot)
    if (group !== undefined && Object.hasOwn(properties, group) && properties[group]!['type'] === 'object') {
      query.set(group, { ...(query.get(group) as JsonObject | undefined), [key.slice(dot + 1)]: value })
      continue
    }
    const type = Object.hasOwn(properties, key) ? properties[key]!['type'] : undefined
    if (type === 'array') query.set(key, [...((query.get(key) ?? []) as string[]), ...value.split(',')])
    else if (query.has(key)) throw invalid('the query', `${JSON.stringify(key)} is given twice`)
    else query.set(key, fromText(value, type))
  }
  const value = Object.fromEntries(query)
  const problem = schema === undefined ? undefined : wireProblem(value, schema)
  if (problem !== undefined) throw invalid('the query', problem)
  return value
}

const fromText = (value: string, type: Json | undefined): Json => {
  const isNumber = (type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)
  if (isNumber && Number.isFinite(Number(value))) return Number(value)
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}

async function bodyOf(sent: RequestBody, schema: WireSchema<unknown>): Promise<Json> {
  const value = (await sent.json()) ?? {}
  const problem = wireProblem(value, schema)
  if (problem !== undefined) throw invalid('the body', problem)
  return value
}
