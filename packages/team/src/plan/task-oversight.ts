/**
 * Task oversight: what a task of a plan says of its own review: its action, its risk, whether an approver has to see it
 * (spec team 1.2, 1.14 to 1.17).
 *
 * Owns: reading these fields, what among them makes a plan impossible, the oversight that holds for one task. Does not
 * own: gates (../schedule/task-reviews.ts), triggers (../../oversight). Pure.
 */
import {
  choice,
  described,
  isObject,
  object,
  oversightModes,
  present,
  redactedMark,
  type JsonObject,
  type OversightMode,
  riskLevels,
  type RiskLevel,
} from '@reeve/core'
import { stricter, type Oversight } from '@reeve/edge'
import { approvalProblems, approvalTimeoutCheck, gateOf, type GateDecision, type Subject } from '@reeve/oversight'
import { fieldOf } from './fields.ts'
import type { Subtask, TaskApproval } from './plan.ts'

/** These fields of a task. */
type Overseen = Pick<Subtask, 'action' | 'risk' | 'required' | 'requiresApproval' | 'mode' | 'review' | 'approval'>

const approvalCheck = object<TaskApproval>({
  timeoutMs: approvalTimeoutCheck,
  onTimeout: choice('reject', 'approve', 'escalate'),
})

/** Reads them. Adds to the problems; what is wrong is left out. */
export function overseenOf(task: JsonObject, where: string, problems: string[]): Overseen {
  const flag = (name: 'required' | 'requiresApproval' | 'review'): boolean | undefined => {
    const given = fieldOf(task, name)
    if (given === undefined || typeof given === 'boolean') return given
    problems.push(`${where}: ${name} is ${described(given)}, expected true or false`)
    return undefined
  }
  const word = <Word extends string>(name: 'risk' | 'mode', words: readonly Word[]): Word | undefined => {
    const given = fieldOf(task, name)
    if (given === undefined) return undefined
    const said = typeof given === 'string' ? words.find((each) => each === given.trim().toLowerCase()) : undefined
    if (said === undefined)
      problems.push(`${where}: ${name} is ${described(given)}, expected ${words.map((each) => `"${each}"`).join(', ')}`)
    return said
  }
  const action = fieldOf(task, 'action')
  if (action !== undefined && typeof action !== 'string')
    problems.push(`${where}: action is ${described(action)}, expected a text`)
  const risk = word<RiskLevel>('risk', riskLevels)
  const mode = word<OversightMode>('mode', oversightModes)
  const approval = approvalOf(fieldOf(task, 'approval'), where, problems)
  // a field whose name redaction has changed may have been one of these
  const isHidden = Object.keys(task).some((name) => name.includes(redactedMark))
  return {
    ...(typeof action === 'string' && action.trim() !== '' ? { action: action.trim() } : undefined),
    ...present({ risk }),
    ...(flag('required') === false ? { required: false } : undefined),
    ...(flag('requiresApproval') === true || isHidden ? { requiresApproval: true } : undefined),
    ...present({ mode }),
    ...(flag('review') === true ? { review: true } : undefined),
    ...present({ approval }),
  }
}

function approvalOf(given: unknown, where: string, problems: string[]): TaskApproval | undefined {
  if (given === undefined) return undefined
  const wrong = approvalCheck(given, `${where}: approval`)
  problems.push(...wrong)
  return wrong.length > 0 || !isObject(given) ? undefined : given
}

/**
 * A task as a model may say it: what it writes makes humans look more closely, never less. How a human is asked
 * (`approval`) is for the team to say; a risk below the usual one, which could spare a second pair of eyes, is as good
 * as none.
 */
export function onlyStricter(task: Subtask, where: string, warnings: string[]): Subtask {
  const { approval, risk, ...kept } = task
  if (approval !== undefined)
    warnings.push(`${where}: approval is ignored: a model does not decide how humans are asked`)
  return { ...kept, ...(risk === undefined || risk === 'low' ? undefined : { risk }) }
}

/** What several tasks say of it that are done as one: of each the strictest. */
export function overseenTogether(tasks: readonly Subtask[]): Overseen {
  const actions = [...new Set(tasks.flatMap(({ action }) => action ?? []))]
  const strictest = <Word>(words: readonly Word[], said: readonly (Word | undefined)[]): Word | undefined =>
    words.findLast((each) => said.includes(each))
  const risk = strictest(riskLevels, tasks.map((each) => each.risk)) // prettier-ignore
  const mode = strictest(oversightModes, tasks.map((each) => each.mode)) // prettier-ignore
  return {
    ...(actions.length === 0 ? undefined : { action: actions.join('+') }),
    ...present({ risk, mode }),
    ...(tasks.some(({ requiresApproval }) => requiresApproval === true) ? { requiresApproval: true } : undefined),
    ...(tasks.some(({ review }) => review === true) ? { review: true } : undefined),
  }
}

/** What a gate looks at before a task begins. */
export const subjectOf = ({ action, description, risk, requiresApproval, estimate }: Subtask): Subject => ({
  ...present({ action }),
  description,
  ...present({ risk }),
  ...(requiresApproval === true ? { always: true } : undefined),
  ...(estimate?.usd === undefined ? undefined : { costUsd: estimate.usd }),
})

/**
 * What holds for a task: that of its team, of its role, its own mode, the strictest of them. The mode of a task is a
 * mode and nothing else: it leaves words and thresholds as they are.
 */
export function oversightOf(
  { mode }: Subtask,
  team: Oversight | undefined,
  role: Oversight | undefined,
): Oversight | undefined {
  const both = stricter(team, role)
  return mode === undefined ? both : { ...both, ...present({ mode: stricter(both, { mode })!.mode }) }
}

/** What is known of a task before it begins: whether it is sensitive, and its risk. */
export const gateOfTask = (task: Subtask, oversight: Oversight | undefined): GateDecision =>
  gateOf(oversight, subjectOf(task))

/** What is wrong with how a task is to be approved, one sentence each. */
export function taskApprovalProblems(
  task: Subtask,
  oversight: Oversight | undefined,
  where: string,
): readonly string[] {
  if (task.approval === undefined) return []
  const { sensitive, risk } = gateOfTask(task, oversight ?? {})
  const problems = approvalProblems(
    { ...task.approval, risk, sensitive: sensitive || task.requiresApproval === true },
    where,
  )
  if (task.approval.timeoutMs === 'never' && risk !== 'critical')
    problems.push(`${where}: only an approval of critical risk may wait without a deadline (timeoutMs: 'never')`)
  return problems
}
