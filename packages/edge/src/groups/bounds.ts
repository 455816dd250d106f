/**
 * Bounds: what work may use and do.
 *
 * Owns: the group of the edge and how it crosses. Does not own: the arithmetic of limits (../limits.ts) and of
 * permissions (../permissions.ts), the accounts (the engine).
 * Holds: bounds only ever shrink on the way down.
 */
import { present, type Draft } from '@reeve/core'
import { ownLimits, revised, type LeaderGrant, type MemberGrant, type Receiver, type RootGrant } from '../grant.ts'
import { handedDown, resultLimit, tighter, type Limits } from '../limits.ts'
import { narrow, type Permissions } from '../permissions.ts'
import type { EdgeFlow } from './flow.ts'

/** What the worker may use and do. */
export interface EdgeBounds {
  /** 0 for a root, one more for each delegation below it. */
  readonly depth: number
  /** The deepest depth that is allowed below here. */
  readonly maxDepth: number
  /**
   * The tightest limits of the worker and all its leaders. The engine enforces them on its accounts; here they are so
   * that a worker can tell.
   */
  readonly limits?: Limits
  /** What the worker may do; never more than its leader may. Absent: everything its definition has. */
  readonly permissions?: Permissions
}

/** How deep delegations may nest by default. */
const defaultDepth = 4

/** The bounds of a root: its own limits and those of the caller. */
export function boundsOfRoot(
  { limits: given, permissions, versions }: RootGrant,
  root: Receiver | undefined,
): EdgeBounds {
  const limits = tighter(given, root === undefined ? undefined : revised(versions, root).defaults?.limits)
  return { depth: 0, maxDepth: limits?.depth ?? defaultDepth, ...present({ limits, permissions }) }
}

/** The bounds of a worker: one deeper than its leader. */
export function boundsOfWorker(
  above: EdgeBounds,
  flow: EdgeFlow | undefined,
  worker: Receiver,
  grant: LeaderGrant,
): EdgeBounds {
  const depth = above.depth + 1
  const own = ownLimits(worker, grant)
  const bounds: Draft<EdgeBounds> = { depth, maxDepth: shallower(above.maxDepth, depth, own) }
  const limits = tighter(limitsLeft(above, flow), own)
  if (limits !== undefined) bounds.limits = limits
  const permissions = narrow(above.permissions, grant.permissions)
  if (permissions !== undefined) bounds.permissions = permissions
  return bounds
}

/** The bounds of a member: as deep as its flow, whose order is fixed, so that it ends by itself. */
export function boundsOfMember(above: EdgeBounds, member: Receiver, flow: EdgeFlow, grant: MemberGrant): EdgeBounds {
  const own = tighter(grant.limits, member.limits)
  // transfers are counted from the beginning of the run, and the member's own begin here
  const counted = own?.transfers === undefined ? own : { ...own, transfers: flow.hops + own.transfers }
  return {
    depth: above.depth,
    maxDepth: shallower(above.maxDepth, above.depth, own),
    ...present({
      limits: tighter(flow.lead === true ? above.limits : handedDown(above.limits), counted),
      permissions: narrow(above.permissions, grant.permissions),
    }),
  }
}

/** The bounds of a tool: what its caller has left. */
export function boundsOfTool(above: EdgeBounds, flow: EdgeFlow | undefined, resultTokens?: number): EdgeBounds {
  const left = limitsLeft(above, flow)
  const shown = resultLimit(left, resultTokens)
  const limits = shown === left?.resultTokens ? left : { ...left, ...present({ resultTokens: shown }) }
  return { ...above, ...present({ limits }) }
}

/** The limits for what is called from here: transfers are counted anew there, so it has what is left of them. */
function limitsLeft({ limits: whole }: EdgeBounds, flow: EdgeFlow | undefined): Limits | undefined {
  const limits = handedDown(whole)
  if (flow === undefined || limits?.transfers === undefined) return limits
  return { ...limits, transfers: Math.max(0, limits.transfers - flow.hops) }
}

const shallower = (above: number, from: number, own: Limits | undefined): number =>
  own?.depth === undefined ? above : Math.min(above, from + own.depth)
