/**
 * Grants: "always allow this". A human's yes that holds for more than one call: a policy of the session, kept on its
 * stream.
 *
 * Owns: what a grant says, which calls it lets pass, how it is kept and taken back. Does not own: which calls need an
 * approval (agent/approval/tool-gate.ts), how a decision gets here (runtime). Nothing that a model wrote can make one:
 * a grant comes with a decision from outside, and the first decision wins with what it grants. Each use is checked and
 * recorded on its own; never for a sensitive tool or a high risk. K4: `$grants` is persistent format.
 */
import {
  canonical,
  described,
  hasNames,
  isObject,
  jsonProblem,
  unknownNames,
  type Json,
  type JsonObject,
  type NamesOf,
} from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'

/**
 * What is granted along with an approval. `session`: every later call of this agent's tool in this version, in this
 * session (or in this run, if it belongs to none).
 */
export type Granting = 'once' | 'session' | SessionGrant

/** A grant for the session, narrowed. */
export interface SessionGrant {
  readonly for: 'session'
  /**
   * Only calls whose arguments have these members, with these values; what else there is does not matter. Default: any
   * arguments.
   */
  readonly input?: JsonObject
  /** Milliseconds from the decision. Default: until it is revoked. */
  readonly expiresInMs?: number
}

/** A grant as it is kept. */
export interface ApprovalGrant {
  readonly id: string
  readonly tool: string
  readonly toolVersion: string
  /**
   * Whose tool it is, by the agent's name: another agent's tool of that name is another tool. Absent in grants that
   * were given before this was recorded: those hold for every agent's.
   */
  readonly agent?: string
  readonly input?: JsonObject
  /** When it ends. */
  readonly until?: number
  readonly approver?: string
  readonly at: number
}

/** What is to be done: a tool of an agent in a version, with these arguments. */
export interface GatedCall {
  readonly agent: string
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
}

/** Where grants are kept. */
export const grantsKey = '$grants'

const names: NamesOf<SessionGrant> = { for: true, input: true, expiresInMs: true }

/** What is wrong with what is to be granted; undefined if nothing. Pure. */
export function grantProblem(given: unknown): string | undefined {
  if (given === 'once' || given === 'session') return undefined
  if (!hasNames(given)) return `grant is ${described(given)}, expected "once", "session" or { for: "session", … }`
  const { for: scope, input, expiresInMs } = given as { readonly [name: string]: unknown }
  const [unknown] = unknownNames(given, names, 'grant')
  if (unknown !== undefined) return unknown
  if (scope !== 'session') return `grant.for is ${described(scope)}, expected "session"`
  if (input !== undefined && !hasNames(input))
    return `grant.input is ${described(input)}, expected an object of arguments`
  if (expiresInMs !== undefined && !(Number.isFinite(expiresInMs) && (expiresInMs as number) > 0))
    return `grant.expiresInMs is ${described(expiresInMs)}, expected milliseconds above 0`
  return input === undefined ? undefined : jsonProblem(input, 'grant.input')
}

/** Reads what a decision grants; undefined if that is nothing. Pure. */
export function readGranting(given: Json | undefined): SessionGrant | undefined {
  if (given === undefined || given === 'once' || grantProblem(given) !== undefined) return undefined
  return given === 'session' ? { for: 'session' } : (given as unknown as SessionGrant)
}

/** Reads the grants that are kept. Pure. */
export function readGrants(value: Json): readonly ApprovalGrant[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list as readonly ApprovalGrant[]
}

/** The grant that lets this call pass now. Pure. */
export function grantFor(
  grants: readonly ApprovalGrant[],
  { tool, toolVersion, input, agent }: GatedCall,
  now: number,
): ApprovalGrant | undefined {
  return grants.find(
    (grant) =>
      grant.tool === tool &&
      grant.toolVersion === toolVersion &&
      (grant.agent === undefined || grant.agent === agent) &&
      (grant.until === undefined || now < grant.until) &&
      (grant.input === undefined || hasMembers(input, grant.input)),
  )
}

const hasMembers = (input: Json, wanted: JsonObject): boolean =>
  isObject(input) &&
  Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(input, name) && canonical(input[name] ?? null) === canonical(value ?? null),
  )

/** Keeps a grant, with those that still hold. */
export async function keepGrant(
  ctx: Context,
  { agent, tool, toolVersion }: Omit<GatedCall, 'input'>,
  { input, expiresInMs }: SessionGrant,
  approver: string | undefined,
): Promise<void> {
  const at = ctx.now().getTime()
  const grant: ApprovalGrant = {
    id: ctx.id('gra'),
    agent,
    tool,
    toolVersion,
    at,
    ...(input === undefined ? undefined : { input }),
    ...(expiresInMs === undefined ? undefined : { until: at + expiresInMs }),
    ...(approver === undefined ? undefined : { approver }),
  }
  await ctx.values.update(grantsKey, (value) => {
    const others = readGrants(value).filter(({ until, id }) => id !== grant.id && (until === undefined || at < until))
    return [...others, grant] as unknown as Json
  })
}
