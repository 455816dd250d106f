/**
 * Errors as A2A says them, over JSON-RPC and over HTTP.
 *
 * Owns: the reasons of A2A with their codes, and the bodies of both bindings. Does not own: Reeve's codes and their
 * status (../../server).
 */
import type { Json, JsonObject } from '@reeve/core'
import type { ShownError } from '@reeve/server'

/** Reasons of A2A, and of JSON-RPC. `http`: the status over HTTP, `status`: its name there. */
const reasons = {
  PARSE_ERROR: { rpc: -32_700, http: 400, status: 'INVALID_ARGUMENT' },
  INVALID_REQUEST: { rpc: -32_600, http: 400, status: 'INVALID_ARGUMENT' },
  METHOD_NOT_FOUND: { rpc: -32_601, http: 404, status: 'UNIMPLEMENTED' },
  INVALID_PARAMS: { rpc: -32_602, http: 400, status: 'INVALID_ARGUMENT' },
  INTERNAL_ERROR: { rpc: -32_603, http: 500, status: 'INTERNAL' },
  TASK_NOT_FOUND: { rpc: -32_001, http: 404, status: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { rpc: -32_002, http: 400, status: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpc: -32_003, http: 400, status: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { rpc: -32_004, http: 400, status: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { rpc: -32_005, http: 400, status: 'INVALID_ARGUMENT' },
  VERSION_NOT_SUPPORTED: { rpc: -32_009, http: 400, status: 'FAILED_PRECONDITION' },
} as const

/** Why a request was refused, as A2A names it. */
export type A2aReason = keyof typeof reasons

/** The names of a status over HTTP, where A2A has none of its own. */
const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  409: 'ABORTED',
  413: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}
/** JSON-RPC's own range for servers: who asks may not, or not now. */
const serverError = -32_000

/** A request that A2A itself refuses. */
export class A2aRefusal extends Error {
  readonly reason: A2aReason

  constructor(reason: A2aReason, message: string) {
    super(message)
    this.name = 'A2aRefusal'
    this.reason = reason
  }
}

/** An error, ready for both bindings. */
export interface A2aError {
  readonly rpc: number
  readonly http: number
  readonly status: string
  readonly message: string
  readonly info: JsonObject
}

/** The error of a refusal. */
export const refusalError = ({ reason, message }: A2aRefusal): A2aError => ({
  ...reasons[reason],
  message,
  info: infoOf(reason),
})

/** An error of Reeve's, as A2A names it where it has a name. */
export function shownAsA2a({ code, message, hint, status }: ShownError): A2aError {
  const metadata = { code, ...(hint === undefined ? {} : { hint }) }
  const reason = reasonOf(code, status)
  if (reason !== undefined) return { ...reasons[reason], message, info: infoOf(reason, metadata) }
  return {
    rpc: status >= 500 ? reasons.INTERNAL_ERROR.rpc : serverError,
    http: status,
    status: statusNames[status] ?? 'FAILED_PRECONDITION',
    message,
    info: { '@type': infoType, reason: code.toUpperCase().replaceAll(/[.-]/g, '_'), domain: 'reeve', metadata },
  }
}

function reasonOf(code: string, status: number): A2aReason | undefined {
  if (code === 'run.unknown') return 'TASK_NOT_FOUND'
  if (code === 'request.not-json') return 'CONTENT_TYPE_NOT_SUPPORTED'
  if (code === 'request.unknown-path' || code === 'request.wrong-method') return 'METHOD_NOT_FOUND'
  if (status === 500) return 'INTERNAL_ERROR'
  // what was decided, or is busy, is no fault of the parameters alone; A2A has no other name for it
  return status === 400 || status === 404 || status === 409 ? 'INVALID_PARAMS' : undefined
}

const infoType = 'type.googleapis.com/google.rpc.ErrorInfo'

const infoOf = (reason: A2aReason, metadata?: JsonObject): JsonObject => ({
  '@type': infoType,
  reason,
  domain: 'a2a-protocol.org',
  ...(metadata === undefined ? {} : { metadata }),
})

/** An id of a JSON-RPC request; null: it has none, or none could be read. */
export type RpcId = string | number | null

/** As JSON-RPC says it. What lies before the protocol, such as a missing credential, keeps its status. */
export function rpcError({ rpc, http, message, info }: A2aError, id: RpcId): Response {
  const isOutside = rpc === serverError || rpc === reasons.INTERNAL_ERROR.rpc
  const body = { jsonrpc: '2.0', id, error: { code: rpc, message, data: [info] } } satisfies Json
  return Response.json(body, { status: isOutside ? http : 200 })
}

/** As HTTP says it. */
export const restError = ({ http, status, message, info }: A2aError): Response =>
  Response.json({ error: { code: http, status, message, details: [info] } }, { status: http })
