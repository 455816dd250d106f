/**
 * The brief of a member: its task, what the plan says of tools, what came of the tasks before it. A text for whoever takes texts; what the plan gives for whoever takes a typed input.
 */
import { asText, type Json } from '../../core/index.ts'
import type { Agent } from '../../agent/index.ts'
import type { Assignment, TaskInput } from '../../edge/index.ts'
import type { Entry } from './book.ts'

/** What a member is asked to do. Pure. */
export function briefFor({ task }: Pick<Entry, 'task'>, assignment: Assignment, agent: Agent): Json {
  if (agent.inputSchema !== undefined && task.input !== undefined) return task.input
  const { tools, toolParameters, inputs } = assignment
  return [
    task.description,
    ...(tools === undefined || tools.length === 0 ? [] : [`Tools that may help: ${tools.join(', ')}.`]),
    ...(toolParameters === undefined || Object.keys(toolParameters).length === 0
      ? []
      : [`With these parameters: ${JSON.stringify(toolParameters)}`]),
    ...Object.entries(inputs).map(([id, input]) => `${heading(id, input)}\n${told(input)}`),
  ].join('\n\n')
}

const heading = (id: string, { status }: TaskInput): string => `## ${status === 'missing' ? 'Missing' : 'Result'}: ${id}`
const told = ({ output, failure, status }: TaskInput): string =>
  status === 'missing'
    ? `There is no result of this task${failure === undefined ? '' : `: ${failure.message}`}. Go on without it, and say so.`
    : asText(output ?? null)
