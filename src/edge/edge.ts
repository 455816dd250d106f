/**
 * Edge: everything that crosses from a leader to a worker, as one JSON value (DESIGN §1.2).
 *
 * Owns: the type, how the edge of a root and of a worker is made.
 * Does not own: the functions that decide what crosses (they belong to the leader's definition; context.ts,
 * permissions.ts and limits.ts hold their pure parts), nor what comes back: that is an `Outcome`, and result.ts puts it
 * into words.
 * Holds: K1 in its part: an edge is the recorded input of an activation, so whatever is not in it a worker cannot
 * depend on.
 */
import {
  asText,
  copy,
  failure,
  isObject,
  ReeveError,
  own,
  present,
  type ActivationId,
  type Failure,
  type HistoryEntry,
  type Json,
  type JsonObject,
  type Message,
} from '../core/index.ts'
import type { Assignment } from './assignment.ts'
import type { StartHooks } from './hooks.ts'
import { handedDown, tighter, type Limits } from './limits.ts'
import { stricter, type Oversight } from './oversight.ts'
import { narrow, type Permissions } from './permissions.ts'
import type { Revisions } from './revision.ts'

/** What a worker is asked to do: a text, or a value that fits the worker's `input` schema. */
export type Brief = { readonly instructions: string } | { readonly input: Json }

/**
 * One message of an earlier conversation, as it crosses an edge. Text only: tool calls, tool results and system texts
 * never cross, so a worker sees what was said and not with what machinery.
 */
export interface EdgeMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Who said it, for `assistant`. */
  readonly agent?: string
  /** In the history of a session: a note of its own code to this agent, which nobody else is shown. */
  readonly for?: string
}

/** All that a worker gets from its leader. JSON; recorded as the input of the worker's activation. */
export interface Edge {
  readonly brief: Brief
  /** What the context policy lets through; absent under the policy `brief`. */
  readonly context?: readonly EdgeMessage[]
  /** What the worker may do; never more than its leader may. Absent: everything its definition has. */
  readonly permissions?: Permissions
  /**
   * The tightest limits of the worker and everybody above it. The engine enforces them on its accounts; here they are
   * so that a worker can tell.
   */
  readonly limits?: Limits
  /**
   * How closely humans look at the work here and below; never less than at its leader's. Absent: only tools and edges
   * that say so themselves are asked for.
   */
  readonly oversight?: Oversight
  /**
   * So many of its leader's workers have failed in a row, and nobody has looked at that: whoever begins here says so
   * first.
   */
  readonly failures?: number
  /** Its beginning has been approved already, or is nothing that a human has to see: nobody is asked about it. */
  readonly admitted?: true
  /** 0 for a root, one more for each delegation below it. */
  readonly depth: number
  /** The deepest depth there may be below here. */
  readonly maxDepth: number
  /** Turns of this activation, in place of those that its definition states. */
  readonly turns?: number
  /** What its leader adds to its instructions, after an empty line. From the leader's code, never from a model. */
  readonly added?: string
  /** What its leader adds to the caller's metadata, for it and everybody below it. */
  readonly metadata?: JsonObject
  /** Its leader wants to see how it got there: it leaves a `Trail`. */
  readonly report?: true
  /** Its leader's name for this delegation, `d1`, `d2`, …; absent where it was begun in another way. */
  readonly delegation?: string
  /**
   * The names of the workers that a leader had when it was given this work: a later change of its roster changes no run
   * that has begun.
   */
  readonly team?: readonly string[]
  /** Who gave the permit to work below here, if permits are limited: is told when a human is waited for. */
  readonly permit?: ActivationId
  /**
   * Whoever gave this work takes questions. For the worker and those who work in its order; who delegates on is asked
   * itself.
   */
  readonly asks?: { readonly leader: ActivationId }
  /** Its place in a planned team. For the member and those who work in its order. */
  readonly assignment?: Assignment
  /** Versions of agents that hold here and below, whatever was published since. */
  readonly versions?: Revisions
  /** What stands around this run by the word of its start: of the root, and of whoever leads in its place. */
  readonly hooks?: StartHooks
  /** Threads of memory that somebody above has while it waits for the work below here. */
  readonly threads?: readonly string[]
  /** Earlier messages of the session, oldest first; only on a root. */
  readonly history?: readonly EdgeMessage[]
  /** Messages before the brief, as the caller gave them; only on a root. */
  readonly messages?: readonly Message[]
  /** The whole conversation as it stands, the brief included; instead of history, messages and context. */
  readonly entries?: readonly HistoryEntry[]
  /** Present where control is handed on instead of down: whoever works under it leaves a `Trail`. */
  readonly flow?: FlowEdge
}

/** Somebody to whom control may be handed. */
export interface Candidate {
  readonly name: string
  readonly description: string
}

/** What an agent is given that works in a flow: under a router, or as a step of a fixed order. */
export interface FlowEdge {
  /** To whom its model may hand control, in the order in which they are told. Absent: to nobody. */
  readonly to?: readonly Candidate[]
  /** Transfers made in this run so far. */
  readonly hops: number
  /** The router is to think itself, once; whoever started this looks after its workers. */
  readonly lead?: true
  /** What it is asked to do, after the conversation. */
  readonly task?: string
}

/** How deep delegations may nest when nobody says. */
export const defaultDepth = 4

/** Whoever an edge leads to, as far as the edge depends on it. Every `Agent` is one. */
export interface Receiver {
  readonly name: string
  /** What its definition states. */
  readonly limits?: Limits
  /** How closely its definition wants humans to look. */
  readonly oversight?: Oversight
  /** What holds where it is a root. */
  readonly defaults?: { readonly limits?: Limits }
  /** Whether its last turn is for an answer only: one turn of its account is kept for that. */
  readonly lastAnswer?: boolean
  /** The names of its workers as they are now; absent for those that lead nobody. */
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
}

/**
 * The edge of a root: nobody is above it, so only its own limits and those of the caller hold. Pure. Give `root`, or
 * its limits and its roster are not in the edge.
 */
export function rootEdge(brief: Brief, given: RootGrant = {}, root?: Receiver): Edge {
  const limits = tighter(given.limits, root === undefined ? undefined : revised(given.versions, root).defaults?.limits)
  const oversight = stricter(given.oversight, root?.oversight)
  return {
    brief,
    depth: 0,
    maxDepth: limits?.depth ?? defaultDepth,
    ...(given.permissions === undefined ? undefined : { permissions: given.permissions }),
    ...(limits === undefined ? undefined : { limits }),
    ...(oversight === undefined ? undefined : { oversight }),
    ...(root?.team === undefined ? undefined : { team: root.team() }),
    ...(given.versions === undefined ? undefined : { versions: given.versions }),
    ...(given.hooks === undefined ? undefined : { hooks: given.hooks }),
    ...(given.history === undefined || given.history.length === 0 ? undefined : { history: given.history }),
    ...(given.messages === undefined || given.messages.length === 0 ? undefined : { messages: given.messages }),
  }
}

/** What a leader gives a worker besides the brief. */
export interface Grant {
  readonly limits?: Limits
  readonly permissions?: Permissions
  /** Humans look more closely at this work than they would. */
  readonly oversight?: Oversight
  readonly context?: readonly EdgeMessage[]
  /** A whole conversation instead of the brief and the context. */
  readonly entries?: readonly HistoryEntry[]
  /** Turns of this worker, in place of those that its definition states. What is left to the leader still holds. */
  readonly turns?: number
  /** Added to the worker's own instructions, after an empty line. */
  readonly added?: string
  /** Added to the caller's metadata, for this worker and everybody below it. */
  readonly metadata?: JsonObject
  /** The worker leaves what it said and did on its outcome. */
  readonly report?: true
}

/** What a leader gives that is no wish of its code: how many work at once, and what it calls this delegation. */
export interface PermitGrant extends Grant {
  readonly permit?: ActivationId
  readonly threads?: readonly string[]
  readonly delegation?: string
  readonly asks?: Edge['asks']
  readonly assignment?: Assignment
  /** It works in the place of the one that was started with them. */
  readonly hooks?: StartHooks
  readonly failures?: number
  readonly admitted?: true
  /** It is another attempt at the work of this one. Nothing of it stands on the edge. */
  readonly after?: ActivationId
  /** It is placed apart, as a run of its own. Nothing of it stands on the edge. */
  readonly place?: 'apart'
}

/** Whoever an edge leads to, with the limits of its revision. Pure. */
export function revised(versions: Revisions | undefined, receiver: Receiver): Receiver {
  const limits = own(versions, receiver.name)?.limits
  if (limits === undefined) return receiver
  const { name, defaults, oversight, lastAnswer } = receiver
  return {
    name,
    limits,
    ...(oversight === undefined ? undefined : { oversight }),
    ...(lastAnswer === undefined ? undefined : { lastAnswer }),
    defaults: { limits: { ...defaults?.limits, ...limits } },
    ...(receiver.team === undefined ? undefined : { team: () => receiver.team?.() ?? [] }),
  }
}

/**
 * The edge from a leader, who works under `above` itself, to one of its workers. Pure; never grants more than `above`
 * does.
 */
export function workerEdge(above: Edge, worker: Receiver, brief: Brief, grant: PermitGrant | undefined): Edge {
  const depth = above.depth + 1
  const own = ownLimits(worker, grant)
  const edge: { -readonly [K in keyof Edge]: Edge[K] } = {
    brief,
    depth,
    maxDepth: own?.depth === undefined ? above.maxDepth : Math.min(above.maxDepth, depth + own.depth),
  }
  const limits = tighter(leftOf(above), own)
  const permissions = narrow(above.permissions, grant?.permissions)
  if (limits !== undefined) edge.limits = limits
  if (permissions !== undefined) edge.permissions = permissions
  const oversight = stricter(stricter(above.oversight, grant?.oversight), worker.oversight)
  if (oversight !== undefined) edge.oversight = oversight
  if (grant?.failures !== undefined) edge.failures = grant.failures
  if (grant?.admitted === true && oversight !== undefined) edge.admitted = true
  if (grant?.context !== undefined && grant.context.length > 0) edge.context = grant.context
  if (grant?.entries !== undefined) edge.entries = grant.entries
  const permit = grant?.permit ?? above.permit
  if (permit !== undefined) edge.permit = permit
  if (grant?.asks !== undefined) edge.asks = grant.asks
  if (grant?.assignment !== undefined) edge.assignment = grant.assignment
  if (grant?.hooks !== undefined) edge.hooks = grant.hooks
  if (above.versions !== undefined) edge.versions = above.versions
  const threads = grant?.threads ?? above.threads
  if (threads !== undefined) edge.threads = threads
  if (worker.team !== undefined) edge.team = worker.team()
  if (grant?.turns !== undefined) edge.turns = grant.turns
  if (grant?.added !== undefined) edge.added = grant.added
  if (above.metadata !== undefined || grant?.metadata !== undefined)
    edge.metadata = { ...above.metadata, ...grant?.metadata }
  if (grant?.report === true) edge.report = true
  if (grant?.delegation !== undefined) edge.delegation = grant.delegation
  return edge
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

/**
 * The edge to somebody who works in a flow. It is no deeper than the flow: its order is fixed, so it ends by itself.
 * Pure; never grants more than `above` does.
 */
export function memberEdge(
  above: Edge,
  member: Receiver,
  brief: Brief,
  entries: readonly HistoryEntry[],
  flow: FlowEdge,
  grant?: Pick<Grant, 'limits' | 'permissions' | 'oversight'>,
): Edge {
  // of a policy no more than this crosses: what else it has (a function that chooses the context) is its flow's own
  const { limits: granted, permissions, oversight } = grant ?? {}
  const given = present({ limits: granted, permissions, oversight })
  const { depth: _depth, maxDepth: _maxDepth, limits: _limits, ...edge } = workerEdge(above, member, brief, given)
  const mine = tighter(granted, member.limits)
  const maxDepth = mine?.depth === undefined ? above.maxDepth : Math.min(above.maxDepth, above.depth + mine.depth)
  // transfers are counted from the beginning of the run, and its own begin here
  const whole = flow.lead === true ? above.limits : handedDown(above.limits)
  const limits = tighter(
    whole,
    mine?.transfers === undefined ? mine : { ...mine, transfers: flow.hops + mine.transfers },
  )
  // the lead of a router is the router, as its leader sees it
  const lead =
    flow.lead === true
      ? {
          ...(above.turns === undefined ? undefined : { turns: above.turns }),
          ...(above.added === undefined ? undefined : { added: above.added }),
          ...(above.hooks === undefined ? undefined : { hooks: above.hooks }),
        }
      : undefined
  const asks = above.asks === undefined ? undefined : { asks: above.asks }
  const assignment = above.assignment === undefined ? undefined : { assignment: above.assignment }
  return {
    ...edge,
    depth: above.depth,
    maxDepth,
    entries,
    flow,
    ...lead,
    ...asks,
    ...assignment,
    ...(limits === undefined ? undefined : { limits }),
  }
}

/** The edge of a tool that is orchestration: that of its caller, with the tool's input alone. Pure. */
export function toolEdge(above: Edge, input: Json): Edge {
  const {
    history: _history,
    messages: _messages,
    context: _context,
    team: _team,
    entries: _entries,
    flow: _flow,
    ...kept
  } = above
  const {
    turns: _turns,
    added: _added,
    report: _report,
    delegation: _delegation,
    failures: _failures,
    hooks: _hooks,
    ...edge
  } = kept
  const limits = leftOf(above)
  return {
    ...edge,
    brief: { input },
    ...(limits === undefined ? undefined : { limits }),
    // whoever called has asked for it
    ...(above.oversight === undefined ? undefined : { admitted: true as const }),
  }
}

/**
 * Whether whoever works under this edge leaves a trail: control may be handed on, or its leader wants to see how it got
 * there.
 */
export const leavesTrail = ({ flow, report }: Edge): boolean => flow !== undefined || report === true

/** The limits for somebody below a call: it counts its transfers anew, so it has what is left of them. */
function leftOf({ limits: whole, flow }: Edge): Limits | undefined {
  const limits = handedDown(whole)
  if (flow === undefined || limits?.transfers === undefined) return limits
  return { ...limits, transfers: Math.max(0, limits.transfers - flow.hops) }
}

/** What is said when a leader at `path` is as deep as delegations may nest. */
export function depthRefusal(above: Edge, worker: string, path: readonly string[]): Failure {
  const message = `delegations may nest ${above.maxDepth} deep, and ${[...path, worker].join(' > ')} would be deeper`
  return failure('delegation.depth', message, 'policy', {
    hint: 'Do this part yourself, or answer with what you have. limits.depth of the root allows more.',
  })
}

/**
 * A text becomes instructions, anything else a typed input. The value is copied: a later change of the caller's object
 * changes nothing.
 */
export const briefOf = (given: Json): Brief =>
  typeof given === 'string' ? { instructions: given } : { input: copy(given) }

/** The brief as a model reads it: the instructions, or the input as JSON text. */
export const briefText = (brief: Brief): string => ('instructions' in brief ? brief.instructions : asText(brief.input))

/** The brief as code reads it: the text, or the value. */
export const briefValue = (brief: Brief): Json => ('instructions' in brief ? brief.instructions : brief.input)

/**
 * Reads an edge back from an activation's recorded input. Throws `input.invalid` if it is none: the activation was not
 * started by Reeve.
 */
export function readEdge(recorded: Json): Edge {
  if (
    isObject(recorded) &&
    isObject(recorded['brief']) &&
    typeof recorded['depth'] === 'number' &&
    typeof recorded['maxDepth'] === 'number'
  ) {
    return recorded as unknown as Edge
  }
  throw new ReeveError('input.invalid', 'the input of this activation is not an edge', {
    hint: 'Start agents through a runtime or with delegate(), which make the edge.',
  })
}
