/**
 * Synthesis: one answer of what came of the tasks (spec team 1.11, R-11).
 *
 * Owns: the options, the ladder: verbatim, the task whose work it was, whoever is to do it, one after the other. Does not own: what is left out before (filters.ts).
 */
import { asText, failure, type Failure, type Json, type TaskResult } from '../../core/index.ts'
import type { Agent } from '../../agent/index.ts'
import type { Edge } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { TeamRoute } from '../../journal/index.ts'
import type { ModelRef } from '../../model/index.ts'

/** What an answer is made of: tasks that succeeded and have something to say, in the order of the plan. */
export interface SynthesisInput {
  readonly question: Json
  readonly results: readonly TaskResult[]
}

/** Who makes the answer: a function, which is a recorded step; an agent; a model. */
export type Synthesizer =
  ((input: SynthesisInput) => Json | Promise<Json>) | Agent | { readonly model: ModelRef; readonly instructions?: string }

/** What is left out, and when nobody has to make an answer. */
export interface SynthesisOptions {
  /** One plain result is the answer. Default true. */
  readonly verbatim?: boolean
  /** Of results that say the same, one is used. Default true. */
  readonly dedupe?: boolean
  /** Results whose words are this much the same (0 to 1) say the same. Default 0.92; 1: only the same words. */
  readonly similarAbove?: number
  /** Lines that say that there is no information are left out. Default true. */
  readonly dropUninformative?: boolean
  /** The output of a task that was to put everything together is the answer. Default true. */
  readonly useSynthesisTask?: boolean
}

/** What a team says of its answer. */
export interface AnswerOptions {
  readonly name: string
  readonly synthesize?: Synthesizer
  readonly synthesis?: SynthesisOptions
}

/** What synthesis has come to. */
export type Answer = { readonly output: Json } | { readonly failure: Failure }

/** Makes one answer. Never asks anybody where there is nothing to say. */
export async function synthesise(
  ctx: Context,
  _edge: Edge,
  _options: AnswerOptions,
  { results }: SynthesisInput,
  route: TeamRoute,
): Promise<Answer> {
  const good = results.filter(({ status, output }) => status === 'succeeded' && output !== undefined)
  const [only] = good
  if (only === undefined)
    return { failure: failure('team.no-results', 'no task has succeeded, so there is nothing to answer with', 'policy') }
  const by = good.length === 1 && route === 'simple' ? 'verbatim' : 'concatenation'
  ctx.emit({ type: 'results.synthesised', by, used: good.map(({ task }) => task), dropped: [] })
  if (by === 'verbatim') return { output: only.output ?? null }
  return { output: good.map(({ task, output }) => `## ${task}\n\n${asText(output ?? null)}`).join('\n\n') }
}
