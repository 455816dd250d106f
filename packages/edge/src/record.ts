/**
 * Record of an edge: the one place that knows how an edge stands in a journal.
 *
 * Owns: the recorded form: one flat JSON object, the names of its members, their orders. Does not own: the edge
 * (edge.ts), what of it is a content key or redacted (../journal).
 * Holds: K12: names and orders are persistent format. What was read is written again byte for byte.
 */
import { isObject, own, ReeveError, type ActivationId, type Draft, type Json, type JsonObject } from '@reeve/core'
import { isEdge } from '@reeve/journal'
import type { Assignment } from './assignment.ts'
import type { Edge, EdgeOrder } from './edge.ts'
import type { EdgeBounds } from './groups/bounds.ts'
import type { EdgeFlow } from './groups/flow.ts'
import type { EdgeLeader } from './groups/leader.ts'
import type { EdgeOversight } from './groups/oversight.ts'
import type { EdgeRun } from './groups/run.ts'
import type { EdgeTeam } from './groups/team.ts'
import type { EdgeWork } from './groups/work.ts'
import type { Oversight } from './oversight.ts'

/** An edge as it is recorded. */
interface RecordedEdge
  extends
    EdgeWork,
    EdgeBounds,
    Omit<EdgeOversight, 'policy'>,
    Omit<EdgeLeader, 'slotOf' | 'questionsTo'>,
    Omit<EdgeRun, 'extras'> {
  readonly oversight?: Oversight
  /** `leader.slotOf`. */
  readonly permit?: ActivationId
  /** `leader.questionsTo`. */
  readonly asks?: { readonly leader: ActivationId }
  /** `team.roster`. */
  readonly team?: readonly string[]
  readonly assignment?: Assignment
  readonly flow?: EdgeFlow
  /** `run.extras`. */
  readonly root?: JsonObject
}

type Name = keyof RecordedEdge

const worker = namesIn(
  'brief depth maxDepth limits permissions oversight admitted context entries permit asks assignment hooks versions ' +
    'threads team turns added metadata report delegation failures flow history messages root files',
)
const orders: Readonly<Record<EdgeOrder, readonly Name[]>> = {
  worker,
  root: beginning('brief depth maxDepth permissions limits oversight team versions hooks history messages root'),
  member: beginning(
    'brief permissions oversight permit versions threads team metadata depth maxDepth entries flow turns added hooks ' +
      'asks assignment limits failures',
  ),
  tool: beginning('brief depth maxDepth limits permissions oversight permit asks assignment versions threads metadata'),
}

function namesIn(text: string): readonly Name[] {
  return text.split(' ') as Name[]
}

/** An order that begins with these names. What a worker has besides follows, last that it is admitted. */
function beginning(text: string): readonly Name[] {
  const first = namesIn(text)
  return [...first, ...worker.filter((name) => name !== 'admitted' && !first.includes(name)), 'admitted']
}

/** The recorded members of an edge, whether it has them or not. */
const membersOf = ({ work, bounds, oversight, leader, team, run, flow }: Edge): Readonly<Record<Name, unknown>> => ({
  brief: work.brief,
  context: work.context,
  entries: work.entries,
  history: work.history,
  messages: work.messages,
  added: work.added,
  turns: work.turns,
  files: work.files,
  depth: bounds.depth,
  maxDepth: bounds.maxDepth,
  limits: bounds.limits,
  permissions: bounds.permissions,
  oversight: oversight?.policy,
  failures: oversight?.failures,
  admitted: oversight?.admitted,
  delegation: leader.delegation,
  report: leader.report,
  permit: leader.slotOf,
  asks: leader.questionsTo === undefined ? undefined : { leader: leader.questionsTo },
  threads: leader.threads,
  team: team.roster,
  assignment: team.assignment,
  versions: run.versions,
  metadata: run.metadata,
  hooks: run.hooks,
  root: run.extras,
  flow,
})

/** The edge as the input of an activation. */
export function encodeEdge(edge: Edge): JsonObject {
  const members = membersOf(edge)
  const names = orders[edge.order]
  const recorded: { [name: string]: unknown } = {}
  for (let i = 0; i < names.length; i++) {
    const value = members[names[i]!]
    if (value !== undefined) recorded[names[i]!] = value
  }
  return recorded as JsonObject
}

/**
 * The edge that was recorded as the input of an activation. Throws `input.invalid` for any other input: the activation
 * was not started by Reeve.
 */
export function readEdge(recorded: Json): Edge {
  if (!isEdge(recorded))
    throw new ReeveError('input.invalid', 'the input of this activation is not an edge', {
      hint: 'Start agents through a runtime or with delegate(), which make the edge.',
    })
  const given = recorded as unknown as RecordedEdge
  const edge: Draft<Edge> = {
    order: orderOf(recorded),
    work: workIn(given),
    bounds: boundsIn(given),
    leader: leaderIn(given),
    team: teamIn(given),
    run: runIn(given),
  }
  if (given.oversight !== undefined) edge.oversight = oversightIn(given, given.oversight)
  if (given.flow !== undefined) edge.flow = given.flow
  return edge
}

function workIn({ brief, context, entries, history, messages, added, turns, files }: RecordedEdge): EdgeWork {
  const work: Draft<EdgeWork> = { brief }
  if (files !== undefined) work.files = files
  if (context !== undefined) work.context = context
  if (entries !== undefined) work.entries = entries
  if (history !== undefined) work.history = history
  if (messages !== undefined) work.messages = messages
  if (added !== undefined) work.added = added
  if (turns !== undefined) work.turns = turns
  return work
}

function boundsIn({ depth, maxDepth, limits, permissions }: RecordedEdge): EdgeBounds {
  const bounds: Draft<EdgeBounds> = { depth, maxDepth }
  if (limits !== undefined) bounds.limits = limits
  if (permissions !== undefined) bounds.permissions = permissions
  return bounds
}

function oversightIn({ failures, admitted }: RecordedEdge, policy: Oversight): EdgeOversight {
  const oversight: Draft<EdgeOversight> = { policy }
  if (failures !== undefined) oversight.failures = failures
  if (admitted !== undefined) oversight.admitted = admitted
  return oversight
}

function leaderIn({ delegation, report, permit, asks, threads }: RecordedEdge): EdgeLeader {
  const leader: Draft<EdgeLeader> = {}
  if (delegation !== undefined) leader.delegation = delegation
  if (report !== undefined) leader.report = report
  if (permit !== undefined) leader.slotOf = permit
  if (asks !== undefined) leader.questionsTo = asks.leader
  if (threads !== undefined) leader.threads = threads
  return leader
}

function teamIn({ team: roster, assignment }: RecordedEdge): EdgeTeam {
  const team: Draft<EdgeTeam> = {}
  if (roster !== undefined) team.roster = roster
  if (assignment !== undefined) team.assignment = assignment
  return team
}

function runIn({ versions, metadata, hooks, root }: RecordedEdge): EdgeRun {
  const run: Draft<EdgeRun> = {}
  if (versions !== undefined) run.versions = versions
  if (metadata !== undefined) run.metadata = metadata
  if (hooks !== undefined) run.hooks = hooks
  if (root !== undefined) run.extras = root
  return run
}

/** The order that the members of a recorded edge follow; where several fit, they are the same for it. */
function orderOf(recorded: JsonObject): EdgeOrder {
  const names = Object.keys(recorded)
  for (const order in orders) if (follow(names, orders[order as EdgeOrder])) return order as EdgeOrder
  return 'worker'
}

function follow(names: readonly string[], order: readonly string[]): boolean {
  let at = -1
  for (let i = 0; i < names.length; i++) if ((at = order.indexOf(names[i]!, at + 1)) === -1) return false
  return true
}

/** The oversight policy in the input of an activation; undefined where it states none, or is no edge. */
export const recordedOversight = (input: Json): Oversight | undefined =>
  isObject(input) ? (input as Partial<RecordedEdge>).oversight : undefined

/** The leader whose slot an activation with this input uses; undefined if there is none. */
export function recordedSlot(input: Json): ActivationId | undefined {
  const leader = isObject(input) ? own(input, 'permit') : undefined
  return typeof leader === 'string' ? (leader as ActivationId) : undefined
}
