/**
 * Assessment: what an agent reports about its own result: confidence, cost, the next action, what it cannot do (spec
 * team R-14).
 *
 * Owns: the option, the form of an assessment. Does not own: asking for one (report-tool.ts), what follows from it
 * (work-review.ts), the triggers (../../oversight). A missing value is not 0: it is not evaluated.
 */
import { described, isObject, unknownNames, type Json, type NamesOf } from '../../core/index.ts'
import type { StepIO } from '../../engine/index.ts'
import type { HookReply } from '../extensions/hook-call.ts'

/** What an agent reports about its own result. */
export interface Assessment {
  /** How sure it is, from 0 to 1. */
  readonly confidence?: number
  /**
   * The cost of the result in US dollars. Default: the known cost of the work. A model cannot report less than that.
   */
  readonly costUsd?: number
  /**
   * What another agent or a person should do next with the result. If that is sensitive, a human sees the result first.
   */
  readonly proposedAction?: { readonly name: string; readonly input?: Json; readonly costUsd?: number }
  /** Why it cannot do the task. */
  readonly cannotDo?: string
}

/**
 * How a result is assessed: by a function of the output and the brief, or by the model itself, with its tool `report`.
 */
export type Assess = 'report' | ((output: Json, brief: Json, io: StepIO) => HookReply<Assessment>)

/** The name of the tool by which a model reports. */
export const reportTool = 'report'

const names: NamesOf<Assessment> = { confidence: true, costUsd: true, proposedAction: true, cannotDo: true }
const actionNames: NamesOf<NonNullable<Assessment['proposedAction']>> = { name: true, input: true, costUsd: true }

/** The problems of the option, one sentence each. `thinks`: the agent has a model. */
export function assessProblems(given: unknown, where: string, thinks: boolean): string[] {
  if (given === undefined || typeof given === 'function') return []
  if (given !== 'report') return [`${where}: assess is ${described(given)}, expected a function or "report"`]
  return thinks ? [] : [`${where}: assess is "report", which needs a model`]
}

const isAmount = (given: unknown): boolean => typeof given === 'number' && Number.isFinite(given) && given >= 0
const isWords = (given: unknown): boolean => typeof given === 'string' && given.trim() !== ''

/** The problem of an assessment; undefined if it is valid. Pure. */
export function assessmentProblem(given: Json): string | undefined {
  if (!isObject(given)) return `it is ${described(given)}, expected { ${Object.keys(names).join(', ')} }`
  const [unknown] = unknownNames(given, names, 'an assessment')
  if (unknown !== undefined) return unknown
  const { confidence, costUsd, proposedAction: action, cannotDo } = given
  if (confidence !== undefined && !(isAmount(confidence) && (confidence as number) <= 1))
    return `confidence is ${described(confidence)}, expected 0 to 1`
  if (costUsd !== undefined && !isAmount(costUsd)) return `costUsd is ${described(costUsd)}, expected US dollars`
  if (cannotDo !== undefined && !isWords(cannotDo)) return `cannotDo is ${described(cannotDo)}, expected a text`
  if (action === undefined) return undefined
  if (!isObject(action) || !isWords(action['name'])) return 'proposedAction has no name'
  if (action['costUsd'] !== undefined && !isAmount(action['costUsd']))
    return 'proposedAction.costUsd is no amount of US dollars'
  return unknownNames(action, actionNames, 'proposedAction')[0]
}

/** The message to a model that calls an unknown tool. */
export const noSuchTool = (name: string): string => `there is no tool "${name}"`
