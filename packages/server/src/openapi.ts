/**
 * The OpenAPI 3.1 document of a server, made from its table of routes.
 *
 * Owns: how a route becomes an operation, which schemas are shared. Does not own: the routes and their schemas. Pure.
 */
import { errorCodes, isObject, type Json, type JsonObject } from '@reeve/core'
import type { Route } from './route.ts'
import { flag, object, optional, text, type WireSchema } from './wire-schema.ts'
import type { ErrorBody } from './wire.ts'

const errorBody: WireSchema<ErrorBody> = object<ErrorBody>('ErrorBody', {
  error: object<ErrorBody['error']>('ErrorDetails', {
    code: { schema: { type: 'string', enum: [...errorCodes] } },
    message: text(),
    hint: optional(text()),
    retryable: flag(),
  }),
})

/** What each status says. */
const statusDescriptions: Readonly<Record<number, string>> = {
  200: 'The answer.',
  201: 'It begins now.',
  202: 'Recorded; it is not done yet.',
  204: 'Done.',
  400: 'What was sent is invalid; nothing was done.',
  401: 'The caller is unknown.',
  403: 'The caller may not.',
  404: 'It is not there, or not the caller\u2019s.',
  409: 'Too late, or another was first.',
  413: 'Too large.',
  415: 'The body is not declared as JSON.',
  429: 'Too many requests.',
  500: 'The server failed.',
  503: 'The store or the server is away; ask again after the seconds of Retry-After.',
}

/** The document. `base` is what all paths begin with; `version` is that of the package. */
export function openApiDocument(routes: readonly Route[], base: string, version: string): JsonObject {
  const schemas = new Map<string, JsonObject>()
  const paths = new Map<string, JsonObject>()
  for (const route of routes) {
    const path = base + route.path
    paths.set(path, { ...paths.get(path), [route.method.toLowerCase()]: operationOf(route, schemas) })
  }
  shared(errorBody.schema, schemas)
  return {
    openapi: '3.1.0',
    info: { title: 'Reeve', version, summary: 'Runs of supervised teams of agents: start, watch, decide, control.' },
    paths: Object.fromEntries(paths),
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** A stable name: the method and the words of the path. */
const operationId = ({ method, path }: Pick<Route, 'method' | 'path'>): string =>
  [method.toLowerCase(), ...path.split('/').filter((part) => part !== '')]
    .flatMap((part) => part.replaceAll(/[{}]/g, '').split(/[.-]/))
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')

function operationOf(route: Route, schemas: Map<string, JsonObject>): JsonObject {
  const { path, role, summary, query, body, answer, statuses = [], method, isProbe } = route
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name: name!,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...queryParameters(query, schemas),
    ...(answer === 'stream' ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'string' } }] : []),
    ...(method === 'POST' && path === '/runs'
      ? [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }]
      : []),
  ]
  const isOnlyEmpty = isEmpty(answer)
  const good = [...(isOnlyEmpty ? [] : [200]), ...statuses, ...(isProbe === true ? [503] : [])]
  // a token in a body is a credential, too; where a request was sent, and from which page, is looked at for all
  const asksWho = role !== 'open' || body !== undefined
  const refused = [...(asksWho ? [401] : []), 403, 400, 404, 409, 413, 415, 429, 500, 503]
    .filter((status) => method !== 'GET' || (status !== 413 && status !== 415 && status !== 409))
    .sort((a, b) => a - b)
  // a probe is refused nothing, and says in its own answer that the process is not ready
  const failures = isProbe === true ? [] : refused
  return {
    operationId: operationId(route),
    summary,
    tags: [path.split('/')[1]!],
    'x-role': role,
    ...(role === 'open' ? { security: [] } : { security: [{ bearer: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: requiredOf(body.schema).length > 0,
            content: { 'application/json': { schema: shared(body.schema, schemas) } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        good.map((status) => [
          String(status),
          { description: statusDescriptions[status]!, ...contentOf(status, answer, schemas) },
        ]),
      ),
      ...Object.fromEntries(
        failures.map((status) => [
          String(status),
          {
            description: statusDescriptions[status]!,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
          },
        ]),
      ),
    },
  }
}

/** An answer that is always without a body. */
const isEmpty = (answer: Route['answer']): boolean => typeof answer !== 'string' && answer.schema['title'] === 'Nothing'

function contentOf(status: number, answer: Route['answer'], schemas: Map<string, JsonObject>): JsonObject {
  if (status === 204 || (status === 202 && isEmpty(answer))) return {}
  if (typeof answer === 'string')
    return { content: { [answer === 'stream' ? 'text/event-stream' : 'text/plain']: { schema: { type: 'string' } } } }
  // a command that was recorded only has nothing to tell yet
  const schema = status === 202 ? { type: 'object' } : shared(answer.schema, schemas)
  return { content: { 'application/json': { schema } } }
}

function queryParameters(
  query: WireSchema<unknown> | undefined,
  schemas: Map<string, JsonObject>,
): readonly JsonObject[] {
  const properties = query?.schema['properties']
  if (query === undefined || !isObject(properties)) return []
  const needed = requiredOf(query.schema)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(needed.includes(name) ? { required: true } : {}),
    ...styleOf(schema as JsonObject),
    schema: shared(schema as JsonObject, schemas),
  }))
}

/** Lists are joined by commas; the members of an object are parameters of their own, `name.key`. */
const styleOf = ({ type }: JsonObject): JsonObject =>
  type === 'array'
    ? { style: 'form', explode: false }
    : type === 'object'
      ? { style: 'deepObject', 'x-separator': '.' }
      : {}

const requiredOf = ({ required }: JsonObject): readonly Json[] => (Array.isArray(required) ? (required as Json[]) : [])

/** The schema with everything that has a title in one place, and named from there. */
function shared(schema: JsonObject, schemas: Map<string, JsonObject>): JsonObject {
  const within = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'examples' ? value : sharedIn(value, schemas)]),
  )
  const title = schema['title']
  if (typeof title !== 'string') return within
  schemas.set(title, within)
  return { $ref: `#/components/schemas/${title}` }
}

function sharedIn(value: Json, schemas: Map<string, JsonObject>): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => sharedIn(each, schemas))
  return isObject(value) ? shared(value, schemas) : value
}
