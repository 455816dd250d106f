/**
 * Starting: a member begins an attempt at its task, under the edge of its team.
 *
 * Owns: what crosses to it: brief, assignment, permissions, limits, oversight. Does not own: whether it may begin (work.ts), how a brief reads (brief.ts).
 */
import type { ActivationId, Failure } from '../../core/index.ts'
import { startWorker } from '../../agent/index.ts'
import { briefOf, briefValue, type Edge } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { oversightOf } from '../plan/overseen.ts'
import type { Book, Entry } from './book.ts'
import { assignmentOf, briefFor } from './brief.ts'
import type { WorkRules } from './rules.ts'
import type { Topics } from './topics.ts'

/** What a member is told of. */
export interface Surroundings {
  readonly book: Book
  readonly topics: Topics
  readonly rules: Pick<WorkRules, 'passAll' | 'verbs'>
  /** How much mail it has not read. */
  readonly unread: number
}

/** Starts whoever has this task; a failure says why that is impossible. */
export function startMember(ctx: Context, edge: Edge, entry: Entry, { book, topics, rules, unread }: Surroundings): ActivationId | Failure {
  const leader = ctx.place.activation
  const inputs = book.inputs(entry, rules.passAll)
  const assignment = assignmentOf(entry, { leader, question: briefValue(edge.brief) }, inputs, rules.verbs, unread)
  const { agent, added, tools, limits, oversight: ofRole } = entry.role
  const shown = topics.shown(entry.task.consumes ?? [], assignment.inputs)
  // whose role and task say nothing works under what holds for the team
  const oversight = entry.task.mode === undefined ? ofRole : oversightOf(entry.task, edge.oversight, ofRole)
  return startWorker(ctx, edge, agent, briefOf(briefFor(entry, assignment, agent, shown)), {
    added,
    permit: leader,
    assignment,
    ...(entry.after === undefined ? undefined : { after: entry.after }),
    ...(tools === undefined ? undefined : { permissions: { tools } }),
    ...(limits === undefined ? undefined : { limits }),
    ...(oversight === undefined ? undefined : { oversight }),
  })
}
