/**
 * Grant: what is given besides the brief where an edge is made, and the agent that it leads to.
 *
 * Owns: the grants of a caller and of a leader, the receiver and its own limits. Does not own: how they cross
 * (groups/).
 */
import {
  own,
  present,
  type ActivationId,
  type FilePart,
  type HistoryEntry,
  type JsonObject,
  type Message,
} from '@reeve/core'
import type { FollowedWork } from '@reeve/engine'
import type { Assignment } from './assignment.ts'
import type { EdgeMessage } from './brief.ts'
import type { StartHooks } from './hooks.ts'
import { tighter, type Limits } from './limits.ts'
import type { Oversight } from './oversight.ts'
import type { Permissions } from './permissions.ts'
import type { Revisions } from './revision.ts'

/** The agent that an edge leads to, as far as the edge depends on it. Every `Agent` is one. */
export interface Receiver {
  readonly name: string
  /** What its definition states. */
  readonly limits?: Limits
  /** How closely its definition wants approvers to look. */
  readonly oversight?: Oversight
  /** What holds where it is a root. */
  readonly defaults?: { readonly limits?: Limits }
  /** Whether its last turn is for an answer only: one turn of its account is kept for that. */
  readonly lastAnswer?: boolean
  /** The names of its workers as they are now; absent for agents that lead none. */
  team?(): readonly string[]
}

/** What the caller of a run gives besides the brief. */
export interface RootGrant {
  readonly oversight?: Oversight
  readonly versions?: Revisions
  readonly limits?: Limits
  readonly permissions?: Permissions
  readonly history?: readonly EdgeMessage[]
  readonly messages?: readonly Message[]
  readonly hooks?: StartHooks
  /** What the layers of the runtime read of the start. */
  readonly extras?: JsonObject
}

/** What a leader gives a worker besides the brief. */
export interface Grant {
  readonly limits?: Limits
  readonly permissions?: Permissions
  /** Approvers look more closely at this work than they would. */
  readonly oversight?: Oversight
  readonly context?: readonly EdgeMessage[]
  /** A whole conversation instead of the brief and the context. */
  readonly entries?: readonly HistoryEntry[]
  /** Files that the worker sees with its brief. */
  readonly files?: readonly FilePart[]
  /** Turns of this worker, in place of those that its definition states. What is left to the leader still holds. */
  readonly turns?: number
  /** Added to the worker's own instructions, after an empty line. */
  readonly added?: string
  /** Added to the caller's metadata, for this worker and all below it. */
  readonly metadata?: JsonObject
  /** The worker leaves what it said and did on its outcome. */
  readonly report?: true
}

/** What a flow grants each of its members. */
export type MemberGrant = Pick<Grant, 'limits' | 'permissions' | 'oversight'>

/** What a leader gives besides the wishes of its code: slots, threads, its own names. */
export interface LeaderGrant extends Grant {
  /** The leader whose concurrency slot the worker uses. */
  readonly slotOf?: ActivationId
  readonly threads?: readonly string[]
  readonly delegation?: string
  readonly questionsTo?: ActivationId
  readonly assignment?: Assignment
  /** The worker works in the place of the agent that was started with them. */
  readonly hooks?: StartHooks
  readonly admitted?: true
  /** The worker is another attempt at the work of this one. Not on the edge. */
  readonly after?: ActivationId
  /** Work that ended without an answer, and that the worker may repeat. Not on the edge. */
  readonly follows?: readonly FollowedWork[]
  /** An approver has sent that work back. Not on the edge. */
  readonly sentBack?: { readonly repeat: readonly string[] }
  /** The worker is placed apart, as a run of its own. Not on the edge. */
  readonly place?: 'apart'
}

/** The receiver with the limits of its revision. Pure. */
export function revised(versions: Revisions | undefined, receiver: Receiver): Receiver {
  const limits = own(versions, receiver.name)?.limits
  if (limits === undefined) return receiver
  const { name, defaults, oversight, lastAnswer } = receiver
  return {
    name,
    limits,
    ...present({ oversight, lastAnswer }),
    defaults: { limits: { ...defaults?.limits, ...limits } },
    ...(receiver.team === undefined ? undefined : { team: () => receiver.team?.() ?? [] }),
  }
}

/**
 * The limits that are a worker's own here: those of its definition and of the grant, the tighter; turns as they were
 * granted.
 */
export function ownLimits({ limits }: Receiver, grant: Grant | undefined): Limits | undefined {
  const turns = grant?.turns
  if (turns === undefined || limits === undefined) return tighter(grant?.limits, limits)
  const { turns: tree, ownTurns, ...others } = limits
  return tighter(grant?.limits, {
    ...others,
    ...(tree === undefined ? undefined : { turns }),
    ...(ownTurns === undefined ? undefined : { ownTurns: turns }),
  })
}
