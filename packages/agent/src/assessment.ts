/**
 * Assessment: what an agent reports about its own result: confidence, cost, the next action, what it cannot do (spec
 * team R-14).
 *
 * Owns: the option, the form of an assessment. Does not own: asking for one (approval/report-tool.ts), what follows from it
 * (approval/work-review.ts), the triggers (../oversight). A missing value is not 0: it is not evaluated.
 */
import type { StepIO } from '@reeve/engine'
import {
  described,
  expects,
  firstProblem,
  isObject,
  number,
  object,
  required,
  text,
  unchecked,
  type Checks,
  type Json,
} from '@reeve/core'
import type { HookReply } from './hook-call.ts'

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

const dollars = expects((given) => typeof given === 'number' && Number.isFinite(given) && given >= 0, 'US dollars')
const checks: Checks<Assessment> = {
  confidence: number((given) => given >= 0 && given <= 1, '0 to 1'),
  costUsd: dollars,
  proposedAction: object<NonNullable<Assessment['proposedAction']>>({
    name: required(text),
    input: unchecked,
    costUsd: dollars,
  }),
  cannotDo: text,
}

/** The problem of an assessment; undefined if it is valid. Pure. */
export const assessmentProblem = (given: Json): string | undefined =>
  isObject(given)
    ? firstProblem(checks, given, 'an assessment')
    : `it is ${described(given)}, expected { ${Object.keys(checks).join(', ')} }`
