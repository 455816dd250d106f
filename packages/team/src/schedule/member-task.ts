/**
 * Member task: what a member is given for an attempt at its task, under the edge of its team.
 *
 * Owns: what crosses to it: brief, assignment, permissions, limits, oversight. Does not own: whether it may begin
 * (scheduler.ts), how a brief reads (member-brief.ts).
 */
import { isReadByModel, type HandedBound, type HandedResult, type HandedResults } from '@reeve/agent'
import { present, type FilePart, type Json } from '@reeve/core'
import { briefOf, briefValue, ownLimits, revised, tighter, type Edge } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { WorkerTask } from '@reeve/supervisor'
import { oversightOf } from '../plan/task-oversight.ts'
import type { TaskGraph, TaskEntry } from '../state/task-graph.ts'
import { assignmentOf, briefFor } from './member-brief.ts'
import type { WorkRules } from './rules.ts'
import type { Topics } from '../state/topics.ts'

/** What a member is told of. */
export interface MemberSurroundings {
  readonly graph: TaskGraph
  readonly topics: Topics
  readonly rules: Pick<WorkRules, 'passAll' | 'verbs' | 'files'>
  /** How much mail it has not read. */
  readonly unread: number
  readonly handed: HandedResults
}

/** What of its brief is above the limit of the member and is to be kept before it begins; with that limit. */
export interface Unkept extends HandedResult {
  readonly bound: HandedBound
}

/** The worker, the brief and the grant of the member that has this task, for its next attempt. Pure. */
export function memberTask(
  ctx: Context,
  edge: Edge,
  entry: TaskEntry,
  { graph, topics, rules, unread, handed }: MemberSurroundings,
): Pick<WorkerTask, 'worker' | 'brief' | 'grant' | 'after'> & { readonly unkept: readonly Unkept[] } {
  const inputs = graph.inputs(entry, rules.passAll)
  const about = { leader: ctx.place.activation, question: briefValue(edge.work.brief) }
  const assignment = assignmentOf(entry, about, inputs, rules.verbs, unread)
  const { agent, added, tools, limits, oversight: ofRole } = entry.role
  const shown = topics.shown(entry.task.consumes ?? [], assignment.inputs)
  // where role and task say nothing, what holds for the team holds
  const oversight = entry.task.mode === undefined ? ofRole : oversightOf(entry.task, edge.oversight?.policy, ofRole)
  const told = [added, entry.note === undefined ? undefined : `[${entry.note}]`].filter((each) => each !== undefined)
  const files = filesOf(entry, rules.files)
  const unseen = [...rules.files].flatMap(([handle, file]) => (entry.task.files?.includes(handle) ? [] : [file]))
  const permissions = tools === undefined ? undefined : { tools }
  // code has the whole at hand: teammate(ctx).inputs
  const limit = isReadByModel(agent)
    ? tighter(edge.bounds.limits, ownLimits(revised(edge.run.versions, agent), present({ limits })))?.resultTokens
    : undefined
  const unkept: Unkept[] = []
  const toldOf = (by: string, value: Json): Json => {
    const text = handed.told({ by, value }, { limit })
    if (text === undefined) unkept.push({ by, value, bound: { limit } })
    return text ?? value
  }
  return {
    unkept,
    worker: agent,
    brief: briefOf(briefFor(entry, assignment, agent, { topics: shown, unseen, told: toldOf })),
    grant: {
      assignment,
      ...present({
        added: told.length === 0 ? undefined : told.join('\n\n'),
        permissions,
        limits,
        oversight,
        sentBack: entry.sentBack,
        files: files.length === 0 ? undefined : files,
      }),
    },
    after: entry.after,
  }
}

const filesOf = ({ task }: TaskEntry, files: WorkRules['files']): readonly FilePart[] =>
  (task.files ?? []).flatMap((handle) => files.get(handle) ?? [])
