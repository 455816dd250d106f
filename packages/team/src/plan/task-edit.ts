/**
 * Task edit: a task as its approver has changed it. Pure.
 *
 * Owns: what may be changed: what is to be done, and with what. Who does it and what comes before it stay.
 */
import { described, isObject, present, type Json } from '@reeve/core'
import type { Agent } from '@reeve/agent'
import type { Subtask } from './plan.ts'

/** The task as it is carried out now, or why it cannot be. Fields that are not given stay as they are. */
export function editedTask(
  task: Subtask,
  given: Json,
  { inputSchema }: Pick<Agent, 'inputSchema'>,
): { readonly ok: true; readonly task: Subtask } | { readonly ok: false; readonly problem: string } {
  if (!isObject(given))
    return { ok: false, problem: `it is ${described(given)}, expected an object with a description` }
  const { description = task.description, toolParameters = task.toolParameters } = given
  const input = Object.hasOwn(given, 'input') ? given['input'] : task.input
  const no = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem })
  if (typeof description !== 'string' || description.trim() === '')
    return no(`description is ${described(description)}, expected what is to be done`)
  if (toolParameters !== undefined && !isObject(toolParameters))
    return no(`toolParameters is ${described(toolParameters)}, expected an object`)
  const checked = inputSchema === undefined || input === undefined ? undefined : inputSchema.check(input)
  if (checked?.ok === false) return no(`its input is not what is taken: ${checked.problem}`)
  return {
    ok: true,
    task: {
      ...task,
      description,
      ...present({ toolParameters, input }),
    },
  }
}
