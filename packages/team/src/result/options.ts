/**
 * Options of the answer of a planned team: who makes it, what it is made of, and the problems of these options.
 *
 * Owns: the types, their defaults, their check. Does not own: what any of them does (filters.ts, synthesis.ts).
 */
import {
  either,
  expects,
  flag,
  fraction,
  object,
  objectOr,
  string,
  wholeNumber,
  type Checks,
  type Json,
  type TaskResult,
} from '@reeve/core'
import { isAgent, type Agent } from '@reeve/agent'
import type { StepIO } from '@reeve/engine'
import { modelCheck, resolveModel, type ModelRef } from '@reeve/model'

/** A result with the description of its task. */
export interface SynthesisResult extends TaskResult {
  readonly description: string
}

/** The input of a synthesis. Copies. */
export interface SynthesisInput {
  readonly question: Json
  /**
   * Tasks with a useful result: in the order of the plan, then recruits. Uninformative lines are removed; the rest is
   * whole.
   */
  readonly results: readonly SynthesisResult[]
  /** Tasks of the plan that did not succeed. */
  readonly missing: readonly SynthesisResult[]
}

/** A model that makes the answer. */
export interface ModelSynthesizer {
  readonly model: ModelRef
  /** Its system text. Default: make one answer of the team's results, and say what is missing. */
  readonly instructions?: string
}

/**
 * Who makes the answer: a function, which is a recorded step that is tried once; an agent, as a worker: with an `input`
 * schema it gets a `SynthesisInput`, else a text; a model. A failure, an empty answer or one that does not fit the
 * team's `output` is replaced by the results one after the other.
 */
export type Synthesizer = ((input: SynthesisInput, io: StepIO) => Json | Promise<Json>) | Agent | ModelSynthesizer

/** What is filtered before the synthesis, and when none is needed. */
export interface SynthesisOptions {
  /** A single plain result is the answer itself. Default true. */
  readonly verbatim?: boolean
  /** Of equal results only one is used. Default true. */
  readonly dedupe?: boolean
  /**
   * The word similarity (0 to 1) above which results are equal. Default 0.92; 1: only identical texts. Unused without
   * `dedupe`.
   */
  readonly similarAbove?: number
  /** Lines without information are left out. Default true. */
  readonly dropUninformative?: boolean
  /**
   * The output of the plan's synthesis task is the answer, if it has at least 100 characters. Default true.
   */
  readonly useSynthesisTask?: boolean
  /** How many characters of each result an agent or a model sees. Default 4,000. */
  readonly maxCharacters?: number
}

/** The answer options of a team. */
export interface AnswerOptions {
  readonly name: string
  readonly synthesize?: Synthesizer
  readonly synthesis?: SynthesisOptions
}

/** The checks of these options. */
export const answerChecks: Checks<Omit<AnswerOptions, 'name'>> = {
  synthesize: either(
    (given) => typeof given === 'function' || isAgent(given),
    objectOr(
      object<ModelSynthesizer>({ model: modelCheck, instructions: string }, ({ model }, where) => [
        model === undefined && `${where} has no model`,
      ]),
      expects(() => false, 'a function, an agent or { model }'),
    ),
  ),
  synthesis: object<SynthesisOptions>({
    verbatim: flag,
    dedupe: flag,
    similarAbove: fraction,
    dropUninformative: flag,
    useSynthesisTask: flag,
    maxCharacters: wholeNumber(1),
  }),
}

/** What of it is data, for the team's version. */
export function answerData({ synthesize, synthesis = {} }: AnswerOptions): Json {
  return { by: synthesize === undefined ? null : synthesizerData(synthesize), of: { ...synthesis } as Json }
}

function synthesizerData(given: Synthesizer): Json {
  if (typeof given === 'function') return 'function'
  return isAgent(given)
    ? { agent: given.name }
    : { model: resolveModel(given.model).id, instructions: given.instructions ?? null }
}
