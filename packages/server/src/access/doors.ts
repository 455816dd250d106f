/**
 * Doors: every way into the server, what it opens, and who may.
 *
 * Owns: one row for each route and each verb of a protocol: the role that it asks for, the resource that it opens, by
 * which the server checks whose that is. Data. Does not own: the checks (access.ts, tenant-runtime.ts), what a role
 * includes (principal.ts).
 * Holds: a route or a verb without a row does not compile. No check of a role stands anywhere else.
 */
import type { Role } from '../wire.ts'

/** What each kind of resource is to a principal of one tenant, or of some agents. */
export const resources = {
  /** Says nothing of any run or agent, or proves by itself who may: a link. */
  public: 'all',
  /** The caller's own: who they are, their cookie. */
  caller: 'own',
  /** Agents: those that the principal may use. */
  agent: 'own',
  /** The run that the path names: what is not theirs is not there. */
  run: 'own',
  /** Lists and streams over runs and questions: theirs alone. */
  runs: 'own',
  question: 'own',
  /** A conversation: read by who may see its runs, continued by its owner and whom it is shared with. */
  session: 'own',
  /** What all tenants share: refused to a principal of one tenant, or of some agents. */
  installation: 'refused',
} as const

/** A kind of resource that a door opens. */
export type Resource = keyof typeof resources

/** A way in. */
export interface Door {
  /** Who may; `open`: everyone, without a credential. */
  readonly role: Role | 'open'
  readonly resource: Resource
}

const open = <Of extends Resource>(resource: Of) => ({ role: 'open', resource }) as const
const viewer = <Of extends Resource>(resource: Of) => ({ role: 'viewer', resource }) as const
const operator = <Of extends Resource>(resource: Of) => ({ role: 'operator', resource }) as const
const approver = <Of extends Resource>(resource: Of) => ({ role: 'approver', resource }) as const
const admin = <Of extends Resource>(resource: Of) => ({ role: 'admin', resource }) as const

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
  'POST /runs': operator('agent'),
  'GET /runs/{run}': viewer('run'),
  'DELETE /runs/{run}': admin('run'),
  'GET /runs/{run}/outcome': viewer('run'),
  'GET /runs/{run}/events': viewer('run'),
  'GET /runs/{run}/feed': viewer('run'),

  'GET /runs/{run}/control': viewer('run'),
  'GET /runs/{run}/takeover-context': viewer('run'),
  'POST /runs/{run}/pause': operator('run'),
  'POST /runs/{run}/resume': operator('run'),
  'POST /runs/{run}/cancel': operator('run'),
  'POST /runs/{run}/take-over': operator('run'),
  'POST /runs/{run}/hand-back': operator('run'),
  'POST /runs/{run}/complete': operator('run'),
  'POST /runs/{run}/finish': operator('run'),
  'POST /runs/{run}/stop': operator('run'),

  'POST /runs/{run}/team/recruit': operator('run'),
  'POST /runs/{run}/team/retire': operator('run'),
  'POST /runs/{run}/team/post': operator('run'),
  'POST /runs/{run}/messages': operator('run'),

  'POST /runs/{run}/fork': operator('run'),
  'GET /runs/{run}/diff/{other}': viewer('run'),
  'GET /runs/{run}/delegations': viewer('run'),
  'GET /runs/{run}/audit': viewer('run'),
  'POST /runs/retry': operator('runs'),
  'POST /runs/{run}/retry': operator('run'),

  'GET /questions': viewer('runs'),
  'GET /questions/{id}': viewer('question'),
  'POST /approvals/{id}/decision': approver('question'),
  'POST /interrupts/{id}/answer': approver('question'),
  'POST /questions/{id}/settle': operator('question'),

  'GET /sessions': viewer('runs'),
  'GET /sessions/{session}': viewer('session'),
  'GET /sessions/{session}/access': viewer('session'),
  'POST /sessions/{session}/share': operator('session'),
  'POST /sessions/{session}/unshare': operator('session'),

  'GET /grants': viewer('session'),
  'DELETE /grants': approver('session'),

  'GET /trust': viewer('installation'),
  'GET /trust/{name}': viewer('installation'),
  'POST /trust/{name}/level': admin('installation'),
  'POST /trust/{name}/incidents': admin('installation'),

  'GET /versions': viewer('installation'),
  'GET /versions/uses': viewer('installation'),
  'POST /versions/{agent}': admin('installation'),

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
  'chat answer': approver('question'),
  'chat stop': operator('session'),

  'openai models': viewer('agent'),
  'openai start': operator('agent'),
  'openai read': viewer('run'),
  'openai answer': approver('question'),
  'openai cancel': operator('run'),

  'a2a card': open('agent'),
  'a2a start': operator('agent'),
  'a2a read': viewer('run'),
  'a2a answer': viewer('question'),
  'a2a cancel': operator('run'),

  'mcp start_run': operator('agent'),
  'mcp run_status': viewer('run'),
  'mcp run_result': viewer('run'),
  'mcp list_questions': viewer('runs'),
  'mcp decide': approver('question'),
  'mcp answer': approver('question'),
  'mcp cancel': operator('run'),
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
