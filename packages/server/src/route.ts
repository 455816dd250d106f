/**
 * A route: one path and method of the server, as data.
 *
 * Owns: the type of a route, what its handler is given. Does not own: any route (routes/), the verbs among them (verbs/),
 * who may call it (access/doors.ts).
 */
import type { JsonObject } from '@reeve/core'
import type { Run, Runtime } from '@reeve/runtime'
import type { EventLoopDelay } from './event-loop-delay.ts'
import type { LiveRuns } from './live/live-runs.ts'
import type { Access } from './access/access.ts'
import type { Door } from './access/door.ts'
import { routeDoors, type RouteDoor } from './access/doors.ts'
import type { RequestBody } from './access/request-body.ts'
import { runOf } from './access/tenant-runtime.ts'
import type { Readiness } from './readiness.ts'
import type { NamesIn } from './verbs/verb.ts'
import type { WireSchema } from './wire-schema.ts'
import type { Me, Principal } from './wire.ts'

/** What a handler knows of its request. */
export interface RequestContext {
  /** Of a principal of a tenant: what is the tenant's alone. */
  readonly runtime: Runtime
  /** Runs as the studio shows them, folded once for all who look. */
  readonly live: LiveRuns
  readonly access: Access
  readonly eventLoop: EventLoopDelay
  readonly readiness: Readiness
  /** The address of the caller, where it is known. */
  readonly peer?: string
  readonly principal: Principal
  /** Runs of this request that were looked for, by their ids. */
  readonly found: Map<string, Promise<Run>>
  /** Absent: an open route, and nobody has asked who calls it. */
  readonly via?: Me['via']
  readonly request: Request
  /** What was sent with it: for a handler whose route has no schema of it. */
  readonly body: RequestBody
  /** Takes a place among the streams of the principal, for as long as the answer waits. Throws `request.too-many`. */
  readonly place: () => () => void
  /** Aborts when the caller is gone, or the server closes. */
  readonly signal: AbortSignal
  /** The OpenAPI document of the server. */
  readonly document: () => JsonObject
  /** A stream sends a comment after this many milliseconds without a message. */
  readonly heartbeatMs: number
  /** A reader of a stream that takes nothing for this long is dropped. */
  readonly readerTimeoutMs: number
}

/** What a handler is given: everything checked by the schemas of its route. */
export interface RouteInput<Path extends string, Query, Body> {
  readonly path: { readonly [Name in NamesIn<Path>]: string }
  readonly query: Query
  readonly body: Body
}

/** A route without what the table of doors says of it: who may, and what it opens. */
interface RouteShape<Method extends string, Path extends string, Query, Body, Answer> {
  readonly method: Method
  /** Below the base. With the method a row of `routeDoors`. */
  readonly path: Path
  readonly summary: string
  /** Asked by what watches the process: answered whatever host and origin the request names, on no limit. Of role `open`. */
  readonly isProbe?: true
  /** A page for people: any link may open it, and its body is a form, which the handler reads. */
  readonly isPage?: true
  readonly query?: WireSchema<Query>
  readonly body?: WireSchema<Body>
  /** What a 2xx answers; `stream`: server-sent events; `text`: plain text. */
  readonly answer: WireSchema<Answer> | 'stream' | 'text'
  /** The other statuses of success. Default: 200 alone. */
  readonly statuses?: readonly (201 | 202 | 204)[]
  /** The answer, or a response: then its status and its body are the handler's. */
  handle(context: RequestContext, input: RouteInput<Path, Query, Body>): Answer | Response | Promise<Answer | Response>
}

/** A route as the server calls it: its input was checked before. */
export type Route = RouteShape<RouteMethod, string, unknown, unknown, unknown> & Door

type RouteMethod = 'GET' | 'POST' | 'DELETE'

/** A route; the types of path, query, body and answer are held to its schemas, method and path to the table of doors. */
export const route = <
  const Method extends RouteMethod,
  const Path extends string,
  Answer,
  Query = object,
  Body = undefined,
>(
  shape: RouteShape<Method, Path, Query, Body, Answer> &
    (`${Method} ${Path}` extends RouteDoor ? unknown : { readonly path: RouteDoor }),
): Route => ({ ...shape, ...routeDoors[`${shape.method} ${shape.path}` as RouteDoor] })

/** An answer with another status than 200. */
export const answered = (status: 201 | 202 | 204, body?: unknown): Response =>
  body === undefined ? new Response(null, { status }) : Response.json(body, { status })

/** The run of this id, if it is there for the caller. Asked once for each request. Rejects with `run.unknown`. */
export function ownRun({ runtime, principal, found }: RequestContext, id: string): Promise<Run> {
  const run = found.get(id) ?? runOf(runtime, principal, id)
  found.set(id, run)
  return run
}
