/**
 * A route: one path and method of the server, as data.
 *
 * Owns: the type of a route, what its handler is given. Does not own: any route (routes/), who may call it (access).
 */
import type { JsonObject } from '../core/index.ts'
import type { Run, Runtime } from '../runtime/index.ts'
import type { EventLoopDelay } from './event-loop-delay.ts'
import type { LiveRuns } from './live/live-runs.ts'
import type { Access } from './access/access.ts'
import { runOf } from './access/tenant-runtime.ts'
import type { Readiness } from './readiness.ts'
import type { WireSchema } from './wire-schema.ts'
import type { Me, Principal, Role } from './wire.ts'

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
  /** Absent: an open route, and nobody has asked who calls it. */
  readonly via?: Me['via']
  readonly request: Request
  /** Aborts when the caller is gone, or the server closes. */
  readonly signal: AbortSignal
  /** The OpenAPI document of the server. */
  readonly document: () => JsonObject
  /** A stream sends a comment after this many milliseconds without a message. */
  readonly heartbeatMs: number
  /** A reader of a stream that takes nothing for this long is dropped. */
  readonly readerTimeoutMs: number
}

/** The names in braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

/** What a handler is given: everything checked by the schemas of its route. */
export interface RouteInput<Path extends string, Query, Body> {
  readonly path: { readonly [Name in NamesIn<Path>]: string }
  readonly query: Query
  readonly body: Body
}

interface RouteShape<Path extends string, Query, Body, Answer> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the base. */
  readonly path: Path
  /** Who may; `open`: everyone. */
  readonly role: Role | 'open'
  readonly summary: string
  /**
   * Its path in an earlier version. Clients of that version are still answered there; it is not in the document. Where a
   * probe has the path now, they are known by a credential, or by asking for an event stream.
   */
  readonly formerly?: string
  /** Asked by what watches the process: answered whatever host and origin the request names, on no limit. Of role `open`. */
  readonly isProbe?: true
  /** Tenants share what it reads or changes: a principal of one tenant may not. */
  readonly isShared?: true
  /** A page for people: any link may open it, and its body is a form, which the handler reads. */
  readonly isPage?: true
  readonly query?: WireSchema<Query>
  readonly body?: WireSchema<Body>
  /** What a 2xx answers; `stream`: server-sent events. */
  readonly answer: WireSchema<Answer> | 'stream'
  /** The other statuses of success. Default: 200 alone. */
  readonly statuses?: readonly (201 | 202 | 204)[]
  /** The answer, or a response: then its status and its body are the handler's. */
  handle(context: RequestContext, input: RouteInput<Path, Query, Body>): Answer | Response | Promise<Answer | Response>
}

/** A route as the server calls it: its input was checked before. */
export type Route = RouteShape<string, unknown, unknown, unknown>

/** A route; the types of path, query, body and answer are held to its schemas. */
export const route = <const Path extends string, Answer, Query = object, Body = undefined>(
  shape: RouteShape<Path, Query, Body, Answer>,
): Route => shape

/** An answer with another status than 200. */
export const answered = (status: 201 | 202 | 204, body?: unknown): Response =>
  body === undefined ? new Response(null, { status }) : Response.json(body, { status })

/** The run of this id, if it is there for the caller. Rejects with `run.unknown`. */
export const ownRun = ({ runtime, principal }: RequestContext, id: string): Promise<Run> =>
  runOf(runtime, principal, id)
