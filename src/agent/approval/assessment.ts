/**
 * Assessment: what an agent says of its own result: how sure it is, what it costs, what is to be done with it next,
 * what it cannot do (spec team R-14).
 *
 * Owns: the option, what an assessment is. Does not own: asking for one (report-tool.ts), what follows from it
 * (work-review.ts), the triggers (../oversight). Missing is not 0: what nobody says is not looked at.
 */
import { described, isObject, unknownNames, type Json, type NamesOf } from '../../core/index.ts'
import type { StepIO } from '../../engine/index.ts'
import type { HookReply } from '../extensions/hook-call.ts'

/** What an agent says of its own result. */
export interface Assessment {
  /** How sure it is, 0 to 1. */
  readonly confidence?: number
  /**
   * What the result costs, in US dollars. Default: what the work has cost, as far as that is known. A model that
   * reports less than that changes nothing.
   */
  readonly costUsd?: number
  /** What is to be done with it next, by somebody else: if that is sensitive, a human sees the result before. */
  readonly proposedAction?: { readonly name: string; readonly input?: Json; readonly costUsd?: number }
  /** Why it cannot be done here. */
  readonly cannotDo?: string
}

/**
 * How a result is assessed: by a function of the output and the brief, or, where a model works, by its own tool
 * `report`.
 */
export type Assess = 'report' | ((output: Json, brief: Json, io: StepIO) => HookReply<Assessment>)

/** The tool by which a model reports. */
export const reportTool = 'report'

const names: NamesOf<Assessment> = { confidence: true, costUsd: true, proposedAction: true, cannotDo: true }
const actionNames: NamesOf<NonNullable<Assessment['proposedAction']>> = { name: true, input: true, costUsd: true }

/** What is wrong with the option, one sentence each. `thinks`: there is a model. */
export function assessProblems(given: unknown, where: string, thinks: boolean): string[] {
  if (given === undefined || typeof given === 'function') return []
  if (given !== 'report') return [`${where}: assess is ${described(given)}, expected a function or "report"`]
  return thinks ? [] : [`${where}: assess is "report", which needs a model`]
}

const isAmount = (given: unknown): boolean => typeof given === 'number' && Number.isFinite(given) && given >= 0
const isWords = (given: unknown): boolean => typeof given === 'string' && given.trim() !== ''

/** What is wrong with an assessment; undefined if nothing. Pure. */
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

/** What a model is told that calls what is not there. */
export const noSuchTool = (name: string): string => `there is no tool "${name}"`
