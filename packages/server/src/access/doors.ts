/**
 * Doors: every way into the server, what it opens, and who may.
 *
 * Owns: one row for each route and each verb of a protocol: the role that it asks for, the resource that it opens, by
 * which the server checks whose that is. Data; the verbs of the server bring the doors of their own rows (../verbs). Does
 * not own: the checks (access.ts, tenant-runtime.ts), what a role includes (principal.ts), what a door is (door.ts).
 * Holds: a route or a verb without a row does not compile. No check of a role stands anywhere else.
 */
import { verbDoors } from '../verbs/index.ts'
import type { Role } from '../wire.ts'
import { admin, approver, open, operator, viewer, type Door } from './door.ts'

/** The routes of the server, by method and path. */
export const routeDoors = {
  'GET /health': open('public'),
  'GET /live': open('public'),
  'GET /ready': open('public'),
  'GET /openapi.json': viewer('public'),
  'GET /agents': viewer('agent'),
  'GET /system': viewer('runs'),

  'GET /me': viewer('caller'),
  'POST /session': open('caller'),
  'DELETE /session': viewer('caller'),
  'GET /browser-sessions': viewer('caller'),
  'DELETE /browser-sessions': viewer('caller'),

  'GET /runs': viewer('runs'),
  'GET /totals': viewer('runs'),
  'GET /causes': viewer('runs'),
  'GET /metrics': operator('installation'),
  'POST /runs': operator('agent'),
  'GET /runs/{run}': viewer('run'),
  'DELETE /runs/{run}': admin('run'),
  'GET /runs/{run}/outcome': viewer('run'),
  'GET /runs/{run}/events': viewer('run'),
  'GET /runs/{run}/feed': viewer('run'),
  'GET /runs/{run}/contents/{name}': viewer('run'),

  'GET /runs/{run}/control': viewer('run'),
  'GET /runs/{run}/takeover-context': viewer('run'),

  'GET /runs/{run}/diff/{other}': viewer('run'),
  'GET /runs/{run}/delegations': viewer('run'),
  'GET /runs/{run}/audit': viewer('run'),

  'GET /batches': viewer('runs'),
  'GET /batches/{id}': viewer('run'),

  'GET /questions': viewer('runs'),
  'GET /questions/{id}': viewer('question'),

  'GET /sessions': viewer('runs'),
  'GET /sessions/{session}': viewer('session'),
  'GET /sessions/{session}/access': viewer('session'),

  'GET /grants': viewer('session'),
  'DELETE /grants': approver('session'),

  'GET /trust': viewer('installation'),
  'GET /trust/{name}': viewer('installation'),

  'GET /versions': viewer('installation'),
  'GET /versions/uses': viewer('installation'),
  'GET /models': viewer('installation'),

  'GET /changes': viewer('runs'),
  'GET /runs/{run}/live': viewer('run'),
  'GET /runs/{run}/spans': viewer('run'),
  'GET /runs/{run}/journal': viewer('run'),
  'GET /runs/{run}/conversation': viewer('run'),

  'POST /approvals/{id}/link': approver('question'),
  'GET /approvals/{id}/links': approver('question'),
  'DELETE /approvals/{id}/links/{link}': approver('question'),
  'GET /links/{token}': open('public'),
  'POST /links/{token}': open('public'),

  ...verbDoors,
} as const satisfies Readonly<Record<`${'GET' | 'POST' | 'DELETE'} /${string}`, Door>>

/**
 * The verbs of protocols. Every caller of a protocol is a viewer; `open`: a path that it lists as open. A reply to a
 * question needs the role of the route that does the same (packages/protocols/src/protocol-run/reply.ts).
 */
export const protocolDoors = {
  'ag-ui start': operator('agent'),
  'ag-ui resume': viewer('question'),

  'chat read': viewer('session'),
  'chat start': operator('agent'),
  'chat answer': verbDoors['POST /approvals/{id}/decision'],
  'chat stop': operator('session'),

  'openai models': viewer('agent'),
  'openai start': operator('agent'),
  'openai read': viewer('run'),
  'openai answer': verbDoors['POST /approvals/{id}/decision'],
  'openai cancel': verbDoors['POST /runs/{run}/cancel'],

  'a2a card': open('agent'),
  'a2a start': operator('agent'),
  'a2a read': viewer('run'),
  'a2a answer': viewer('question'),
  'a2a cancel': verbDoors['POST /runs/{run}/cancel'],

  'slack decide': verbDoors['POST /approvals/{id}/decision'],

  'mcp start_run': operator('agent'),
  'mcp run_status': viewer('run'),
  'mcp run_result': viewer('run'),
  'mcp list_questions': viewer('runs'),
  'mcp decide': verbDoors['POST /approvals/{id}/decision'],
  'mcp answer': verbDoors['POST /interrupts/{id}/answer'],
  'mcp cancel': verbDoors['POST /runs/{run}/cancel'],
} as const satisfies Readonly<Record<`${string} ${string}`, Door>>

/** A route of the table. */
export type RouteDoor = keyof typeof routeDoors
/** A verb of a protocol, such as `openai start`. */
export type ProtocolVerb = keyof typeof protocolDoors

/** What a verb asks for. */
export const verbRole = (verb: ProtocolVerb): Role => {
  const { role } = protocolDoors[verb]
  return role === 'open' ? 'viewer' : role
}
