/**
 * The brief of a member: its task, what the plan says of tools, what came of the tasks before it, and for models what
 * the whole is about. A text for workers that take texts; the plan's value for a typed input.
 */
import { asText, fileLabel, present, type ActivationId, type FilePart, type Json } from '@reeve/core'
import type { Agent } from '@reeve/agent'
import type { Assignment, TaskInput, TeamVerb } from '@reeve/edge'
import type { TaskEntry } from '../state/task-graph.ts'
import type { ShownTopic } from '../state/topics.ts'

/** The brief of the member that begins a task now. `inputs`: copies. `unread`: how much mail is there. Pure. */
export const assignmentOf = (
  { id, member, role, task, begun, rework }: TaskEntry,
  { leader, question }: { readonly leader: ActivationId; readonly question: Json },
  inputs: Assignment['inputs'],
  verbs: readonly TeamVerb[],
  unread: number,
): Assignment => ({
  leader,
  member,
  role: role.role,
  task: id,
  description: task.description,
  question,
  attempt: begun + 1,
  inputs,
  verbs,
  ...(rework === undefined ? undefined : { feedback: rework.feedback }),
  ...(unread === 0 ? undefined : { unread }),
  ...present({ produces: task.produces, tools: task.tools, toolParameters: task.toolParameters }),
})

/** What a member reads of an answer of others. `by`: the task that it comes from. */
export type ToldResult = (by: string, value: Json) => Json

/** What a member reads besides its task. */
export interface BriefParts {
  /** Those it consumes. */
  readonly topics?: readonly ShownTopic[]
  /** Files of the request that it is not given. */
  readonly unseen?: readonly FilePart[]
  /** Default: the whole. */
  readonly told?: ToldResult
}

/** What a member is asked to do. Pure but for `told`. */
export function briefFor(
  { task, rework }: Pick<TaskEntry, 'task'> & Partial<Pick<TaskEntry, 'rework'>>,
  assignment: Assignment,
  agent: Pick<Agent, 'inputSchema' | 'model'>,
  { topics = [], unseen = [], told = (_by, value) => value }: BriefParts = {},
): Json {
  if (agent.inputSchema !== undefined && task.input !== undefined) return task.input
  const { tools, toolParameters, inputs, question } = assignment
  const asked = asText(question)
  return [
    task.description,
    ...(tools === undefined || tools.length === 0 ? [] : [`Tools that may help: ${tools.join(', ')}.`]),
    ...(toolParameters === undefined || Object.keys(toolParameters).length === 0
      ? []
      : [`With these parameters: ${JSON.stringify(toolParameters)}`]),
    ...Object.entries(inputs).map(([id, input]) => `${heading(id, input)}\n${inputText(id, input, told)}`),
    ...topics.flatMap(({ topic, entries, missing }) => [
      ...entries.map(({ task: by, entry }) => `## Topic: ${topic} (${by})\n${asText(told(by, entry))}`),
      ...(missing
        ? [`## Missing: topic ${topic}\nNobody has added anything to this topic. Go on without it, and say so.`]
        : []),
    ]),
    ...(rework?.before === undefined
      ? []
      : [`## What you made of it before\n${asText(told(assignment.task, rework.before))}`]),
    ...(rework === undefined ? [] : [`## What is to be different this time\n${rework.feedback}`]),
    // code has it at hand: teammate(ctx).question
    ...(agent.model === undefined || task.description.includes(asked)
      ? []
      : [`## What your team was asked\n${asked}\nDo your task only.`]),
    ...(unseen.length === 0
      ? []
      : [`## Files of your team that are not shown to you\n${unseen.map((file) => fileLabel(file)).join('\n')}`]),
  ].join('\n\n')
}

const heading = (id: string, { status }: TaskInput): string =>
  `## ${status === 'missing' ? 'Missing' : 'Result'}: ${id}`
const inputText = (id: string, { output, failure, status }: TaskInput, told: ToldResult): string =>
  status === 'missing'
    ? `There is no result of this task${failure === undefined ? '' : `: ${failure.message}`}. Go on without it, and say so.`
    : asText(told(id, output ?? null))
