/**
 * Edge: everything that crosses from a leader to a worker.
 *
 * Owns: the type, and of which groups the edges of a root, a worker, a member of a flow and a tool are made.
 * Does not own: how each group crosses (groups/), how an edge is recorded (record.ts), the functions that decide what
 * crosses (they belong to the leader's definition), what comes back: an `Outcome`, and result.ts puts it into words.
 * Holds: K1 in its part: an edge is the recorded input of an activation, so a worker depends on nothing else. No
 * crossing grants more than `above` does. All crossings are pure.
 */
import { failure, present, type Draft, type Failure, type HistoryEntry, type Json } from '@reeve/core'
import type { Brief } from './brief.ts'
import type { LeaderGrant, MemberGrant, Receiver, RootGrant } from './grant.ts'
import { boundsOfMember, boundsOfRoot, boundsOfTool, boundsOfWorker, type EdgeBounds } from './groups/bounds.ts'
import type { EdgeFlow } from './groups/flow.ts'
import { leaderOfWorker, sameLeader, type EdgeLeader } from './groups/leader.ts'
import {
  oversightOfMember,
  oversightOfRoot,
  oversightOfTool,
  oversightOfWorker,
  type EdgeOversight,
} from './groups/oversight.ts'
import { runOfMember, runOfRoot, runOfTool, runOfWorker, type EdgeRun } from './groups/run.ts'
import { teamOf, type EdgeTeam } from './groups/team.ts'
import { workOfMember, workOfRoot, workOfTool, workOfWorker, type EdgeWork } from './groups/work.ts'

/** All that a worker gets from its leader. Recorded as the input of the worker's activation (`encodeEdge`). */
export interface Edge {
  /** The order in which its members are recorded. */
  readonly order: EdgeOrder
  /** What is to be done, and what was said before. */
  readonly work: EdgeWork
  /** What the work may use and do. */
  readonly bounds: EdgeBounds
  /** How closely approvers look. Absent: they are asked only for tools and edges that say so themselves. */
  readonly oversight?: EdgeOversight
  /** What binds the worker to the leader that waits for it. */
  readonly leader: EdgeLeader
  /** The team below, and the place in the team above. */
  readonly team: EdgeTeam
  /** What the start of the run has fixed. */
  readonly run: EdgeRun
  /** Present where control is handed on instead of down: an agent in a flow leaves a handoff record. */
  readonly flow?: EdgeFlow
}

/** The orders in which edges are recorded: one for each way in which an edge is made. */
export type EdgeOrder = 'root' | 'worker' | 'member' | 'tool'

/** The edge of a root, which has no leader. Without `root`, its limits and its roster are not in the edge. */
export const rootEdge = (brief: Brief, grant: RootGrant = {}, root?: Receiver): Edge => ({
  order: 'root',
  work: workOfRoot(brief, grant),
  bounds: boundsOfRoot(grant, root),
  leader: {},
  team: teamOf(root),
  run: runOfRoot(grant),
  ...present({ oversight: oversightOfRoot(grant, root) }),
})

/** The edge from a leader, who works under `above` itself, to one of its workers. */
export function workerEdge(above: Edge, worker: Receiver, brief: Brief, grant: LeaderGrant = {}): Edge {
  const edge: Draft<Edge> = {
    order: 'worker',
    work: workOfWorker(brief, grant),
    bounds: boundsOfWorker(above.bounds, above.flow, worker, grant),
    leader: leaderOfWorker(above.leader, grant),
    team: teamOf(worker, grant.assignment),
    run: runOfWorker(above.run, grant),
  }
  const oversight = oversightOfWorker(above.oversight, worker, grant)
  if (oversight !== undefined) edge.oversight = oversight
  return edge
}

/** The edge from a flow to one of its members. */
export function memberEdge(
  above: Edge,
  member: Receiver,
  brief: Brief,
  entries: readonly HistoryEntry[],
  flow: EdgeFlow,
  grant: MemberGrant = {},
): Edge {
  const isLead = flow.lead === true
  return {
    order: 'member',
    work: workOfMember(above.work, brief, entries, isLead),
    bounds: boundsOfMember(above.bounds, member, flow, grant),
    leader: sameLeader(above.leader),
    team: teamOf(member, above.team.assignment),
    run: runOfMember(above.run, isLead),
    flow,
    ...present({ oversight: oversightOfMember(above.oversight, member, grant) }),
  }
}

/**
 * The edge of a tool that is orchestration: that of its caller, with the tool's input alone. `resultTokens`: how much its
 * author lets models be shown of its result.
 */
export const toolEdge = (above: Edge, input: Json, resultTokens?: number): Edge => ({
  // a worker that was admitted is recorded as that, in its place; a tool is told so last
  order: above.order === 'worker' && above.oversight?.admitted !== true ? 'tool' : above.order,
  work: workOfTool(input),
  bounds: boundsOfTool(above.bounds, above.flow, resultTokens),
  leader: sameLeader(above.leader),
  team: teamOf(undefined, above.team.assignment),
  run: runOfTool(above.run),
  ...present({ oversight: oversightOfTool(above.oversight) }),
})

/** Whether the agent under this edge leaves a handoff record: it works in a flow, or its leader wants a report. */
export const leavesHandoff = ({ flow, leader }: Edge): boolean => flow !== undefined || leader.report === true

/** The failure of a leader at `path` that is as deep as delegations may nest. */
export function depthRefusal({ bounds }: Edge, worker: string, path: readonly string[]): Failure {
  const message = `delegations may nest ${bounds.maxDepth} deep, and ${[...path, worker].join(' > ')} would be deeper`
  return failure('delegation.depth', message, 'policy', {
    hint: 'Do this part yourself, or answer with what you have. limits.depth of the root allows more.',
  })
}
