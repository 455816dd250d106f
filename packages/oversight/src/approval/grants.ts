/**
 * Grants: "always allow this". An approval that covers later calls, stored on the stream of the session.
 *
 * Owns: the content of a grant, which calls it covers, storing it. Does not own: which calls need an approval
 * (agent/approval/tool-gate.ts), how a decision arrives (runtime), revoking (runtime).
 * Holds: no model output can create a grant: it comes with a decision from outside. Each use is checked and recorded;
 * never for a sensitive tool or a high risk. K4: `$grants` is persistent format.
 */
import {
  canonical,
  choice,
  choiceOr,
  duration,
  expects,
  hasNames,
  isObject,
  jsonProblem,
  object,
  objectOr,
  required,
  present,
  type Json,
  type JsonObject,
} from '@reeve/core'
import type { Context } from '@reeve/engine'

/** The scope of an approval. `session`: later calls of this agent's tool version in this session, or in this run. */
export type Granting = 'once' | 'session' | SessionGrant

/** A grant for the session, narrowed. */
export interface SessionGrant {
  readonly for: 'session'
  /**
   * Covers only calls whose arguments have these members with these values; other members do not matter. Default: any
   * arguments.
   */
  readonly input?: JsonObject
  /** Milliseconds from the decision. Default: until it is revoked. */
  readonly expiresInMs?: number
}

/** A stored grant. */
export interface ApprovalGrant {
  readonly id: string
  readonly tool: string
  readonly toolVersion: string
  /** The name of the agent: a tool of the same name of another agent is another tool. */
  readonly agent: string
  /** The user of the run that it was given in, null without one: it covers the calls of their runs. */
  readonly user: string | null
  readonly input?: JsonObject
  /** When it ends. */
  readonly until?: number
  readonly approver?: string
  readonly at: number
}

/** A call to check: an agent's tool in a version, with these arguments. */
export interface GatedCall {
  readonly agent: string
  readonly tool: string
  readonly toolVersion: string
  readonly input: Json
  /** The user of the run. */
  readonly user?: string | undefined
}

/** The key of the grants. */
export const grantsKey = '$grants'

/** The problem of a grant; undefined if it is valid. Pure. */
export const grantProblem = (given: unknown): string | undefined =>
  grantCheck(given, 'grant')[0] ?? (hasNames(given) ? jsonProblem(given, 'grant') : undefined)
const grantCheck = objectOr(
  object<SessionGrant>({
    for: required(choice('session')),
    input: expects(hasNames, 'an object of arguments'),
    expiresInMs: duration,
  }),
  choiceOr(() => false, '{ for: "session", … }', 'once', 'session'),
)

/** Parses the grant of a decision; undefined if it has none. Pure. */
export function readGranting(given: Json | undefined): SessionGrant | undefined {
  if (given === undefined || given === 'once' || grantProblem(given) !== undefined) return undefined
  return given === 'session' ? { for: 'session' } : (given as unknown as SessionGrant)
}

/** Parses stored grants. Pure. */
export function readGrants(value: Json): readonly ApprovalGrant[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list as readonly ApprovalGrant[]
}

/** The grant that covers this call now. Pure. */
export function grantFor(
  grants: readonly ApprovalGrant[],
  { tool, toolVersion, input, agent, user }: GatedCall,
  now: number,
): ApprovalGrant | undefined {
  return grants.find(
    (grant) =>
      grant.tool === tool &&
      grant.toolVersion === toolVersion &&
      grant.agent === agent &&
      grant.user === (user ?? null) &&
      (grant.until === undefined || now < grant.until) &&
      (grant.input === undefined || hasMembers(input, grant.input)),
  )
}

const hasMembers = (input: Json, wanted: JsonObject): boolean =>
  isObject(input) &&
  Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(input, name) && canonical(input[name] ?? null) === canonical(value ?? null),
  )

/** Stores a grant and drops expired ones. */
export async function keepGrant(
  ctx: Context,
  { agent, tool, toolVersion }: Pick<GatedCall, 'agent' | 'tool' | 'toolVersion'>,
  { input, expiresInMs }: SessionGrant,
  approver: string | undefined,
): Promise<void> {
  const at = ctx.now().getTime()
  const grant: ApprovalGrant = {
    id: ctx.id('gra'),
    agent,
    user: ctx.place.caller.user ?? null,
    tool,
    toolVersion,
    at,
    ...present({ input }),
    ...(expiresInMs === undefined ? undefined : { until: at + expiresInMs }),
    ...present({ approver }),
  }
  await ctx.values.update(grantsKey, (value) => {
    const others = readGrants(value).filter(({ until, id }) => id !== grant.id && (until === undefined || at < until))
    return [...others, grant] as unknown as Json
  })
}
