/**
 * The server: a Web-standard handler over a runtime.
 *
 * Owns: `createServer`: finding the route of a request, checking what was sent by its schemas, calling it, turning what
 * was thrown into a response. Does not own: routes (routes/), who may call them (access/), sockets (listen.ts).
 * Holds: what was sent is checked before a handler sees it, by own members only.
 */
import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import {
  jsonIn,
  messageOf,
  mustBeOptions,
  ReeveError,
  refuseProblems,
  type Json,
  type JsonObject,
} from '../core/index.ts'
import { optionProblems, duration, functionCheck, text, unchecked, required, type Checks } from '../core/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { errorResponse } from './error-status.ts'
import { LiveRuns } from './live/live-runs.ts'
import { openApiDocument } from './openapi.ts'
import type { RequestContext, Route, RouteInput } from './route.ts'
import { routes } from './routes/index.ts'
import { wireProblem, type WireSchema } from './wire-schema.ts'

/** The version of the package. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

/** The options of a server. */
export interface ReeveServerOptions {
  /** What it serves. The server does not close it. */
  readonly runtime: Runtime
  /** What all paths begin with. Default `/api`. */
  readonly base?: string
  /** A stream sends a comment after so many milliseconds without a message. Default 15,000. */
  readonly heartbeatMs?: number
  /** A reader of a stream that takes nothing for so many milliseconds is dropped. Default 30,000. */
  readonly readerTimeoutMs?: number
  /** Told of every error that is the server's and not the caller's. Default: a warning of the process. */
  readonly onError?: (error: unknown, request: Request) => void
}

/** HTTP and SSE over a runtime, for any host that speaks `Request` and `Response`. */
export interface ReeveServer {
  /** Answers a request. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** Ends all streams, and refuses new requests. The runtime stays open. Idempotent. */
  close(): void
}

const serverChecks: Checks<ReeveServerOptions> = {
  runtime: required(unchecked),
  base: text,
  heartbeatMs: duration,
  readerTimeoutMs: duration,
  onError: functionCheck,
}

/** Makes a server. Throws `config.invalid` for invalid options. */
export function createServer(options: ReeveServerOptions): ReeveServer {
  mustBeOptions(options, 'createServer', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(serverChecks, options, 'createServer'))
  const { base = '/api', runtime, heartbeatMs = 15_000, readerTimeoutMs = 30_000 } = options
  const { onError = (error) => process.emitWarning(error instanceof Error ? error : messageOf(error)) } = options
  const closed = new AbortController()
  const live = new LiveRuns(runtime)
  const failed = (thrown: unknown, request: Request): Response => {
    const response = errorResponse(thrown)
    if (response.status >= 500) onError(thrown, request)
    return response
  }
  let made: JsonObject | undefined
  const document = (): JsonObject => (made ??= openApiDocument(routes, base, version))
  const app = new Hono()
  for (const route of routes) {
    app.on(route.method, patternOf(base, route.path), async ({ req }) => {
      const context: RequestContext = {
        runtime,
        live,
        principal: { name: 'operator', roles: ['admin'] },
        via: 'local',
        request: req.raw,
        signal: AbortSignal.any([req.raw.signal, closed.signal]),
        document,
        heartbeatMs,
        readerTimeoutMs,
      }
      const input = await inputOf(route, req.raw, req.param())
      const answer = await route.handle(context, input)
      return answer instanceof Response ? answer : Response.json(answer)
    })
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).map(({ method }) => method)
    app.all(patternOf(base, path), ({ req }) => wrongMethod(req.method, req.path, allow))
  }
  app.notFound(({ req }) => errorResponse(unknownPath(req.method, req.path, base)))
  app.onError((thrown, { req }) => failed(thrown, req.raw))
  return {
    async fetch(request) {
      try {
        if (closed.signal.aborted) throw new ReeveError('engine.closed', 'the server is closed', { retryable: true })
        return await app.fetch(request)
      } catch (thrown) {
        return failed(thrown, request)
      }
    },
    close: () => {
      closed.abort()
      live.close()
    },
  }
}

/** The path as the router writes it. */
const patternOf = (base: string, path: string): string => base + path.replaceAll(/\{(\w+)\}/g, ':$1')

function wrongMethod(method: string, path: string, allow: readonly string[]): Response {
  const response = errorResponse(
    new ReeveError('request.wrong-method', `${JSON.stringify(path)} does not take ${method}`, {
      hint: `It takes ${allow.join(', ')}.`,
    }),
  )
  response.headers.set('Allow', allow.join(', '))
  return response
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
): Promise<RouteInput<string, unknown, unknown>> {
  const query = queryOf(new URL(request.url).searchParams, route.query)
  const body = route.body === undefined ? undefined : await bodyOf(request, route.body)
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
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}

async function bodyOf(request: Request, schema: WireSchema<unknown>): Promise<Json> {
  const said = await request.text()
  const type = request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json' && (said !== '' || type !== undefined))
    throw new ReeveError('request.not-json', 'the body is not declared as JSON', {
      hint: 'Send it with Content-Type: application/json. Nothing was done.',
    })
  const value = said === '' ? {} : jsonIn(said)
  if (value === undefined) throw invalid('the body', 'it is not valid JSON')
  const problem = wireProblem(value, schema)
  if (problem !== undefined) throw invalid('the body', problem)
  return value
}
