/**
 * Synthesis: one answer of what came of the tasks (spec team 1.11, R-11).
 *
 * Owns: the order: one result verbatim, the synthesis task, the configured synthesis, the results one after the other.
 * Does not own: the options (options.ts), what is left out before (filters.ts), the words (material.ts).
 * Holds: K6: a synthesis is asked for once, also over a crash: a recorded step, a worker, a model's call. An answer is
 * never lost because the last of them failed, for any reason; and no synthesis is asked for without to say.
 */
import {
  asText,
  copy,
  describeOutcome,
  failure,
  oversizeText,
  present,
  type Failure,
  type Json,
  type Outcome,
  type TaskResult,
} from '@reeve/core'
import {
  askSideQuery,
  callHook,
  HandedResults,
  isAgent,
  isReadByModel,
  modelSetup,
  outputOf,
  checkOutput,
  startWorker,
  type Agent,
} from '@reeve/agent'
import { ownLimits, revised, tighter, type Checked, type Edge, type Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ResultsSynthesised, TeamRoute } from '@reeve/journal'
import { workerEnd } from '@reeve/oversight'
import type { Subtask } from '../plan/plan.ts'
import { filtered, isEmpty, looksLikeJson, type Dropped, type DropReason } from './filters.ts'
import {
  concatenated,
  maxCharactersByDefault,
  synthesisBrief,
  synthesisInput,
  synthesisInstructions,
} from './material.ts'
import type { AnswerOptions, ModelSynthesizer, SynthesisInput, SynthesisResult, Synthesizer } from './options.ts'

/** The material of an answer. */
export interface Material {
  readonly question: Json
  readonly results: readonly TaskResult[]
  /** Of the plan, and of recruits. */
  readonly subtasks: readonly Subtask[]
  /** How the plan was carried out. `simple`: the one member's output is the answer, whatever it is. */
  readonly route: TeamRoute
}

/** What synthesis has come to. */
export type SynthesizedAnswer = { readonly output: Json } | { readonly failure: Failure }

/** A running synthesis. */
interface Synthesis {
  readonly ctx: Context
  readonly edge: Edge
  readonly options: AnswerOptions
  /** What the answer must look like. */
  readonly schema: Schema | undefined
}

/** From so many characters on, the output of a synthesis task is an answer. */
const synthesisFrom = 100
const synthesisVerbs = ['synthesize', 'synthesis', 'summarize', 'summary', 'combine', 'aggregate']

/** Makes one answer, and notes of what and by whom. Rejects only with `Cancelled`. */
export async function synthesise(
  ctx: Context,
  edge: Edge,
  options: AnswerOptions,
  material: Material,
  schema?: Schema,
): Promise<SynthesizedAnswer> {
  const synthesis: Synthesis = { ctx, edge, options, schema }
  const { question, route } = material
  const all = withDescriptions(material)
  const simple = route === 'simple' ? all.find(({ status }) => status === 'succeeded') : undefined
  if (simple !== undefined) return answered(synthesis, 'verbatim', [simple], [], simple.output ?? null)
  const { usable, dropped } = filtered(all, options.synthesis)
  if (usable.length === 0) return { failure: noResults(dropped) }
  const missing = all.filter(({ status, recruited }) => status !== 'succeeded' && recruited !== true)
  const verbatim = missing.length === 0 ? verbatimOf(synthesis, all, usable) : undefined
  if (verbatim !== undefined) return answered(synthesis, 'verbatim', [verbatim], dropped, verbatim.output ?? null)
  const whole = synthesisTask(synthesis, material, all)
  if (whole !== undefined) return answered(synthesis, 'task', [whole], dropped, whole.output ?? null)
  return made(synthesis, { question, results: usable, missing }, dropped)
}

/** The results with what their tasks were. */
function withDescriptions({ results, subtasks }: Material): readonly SynthesisResult[] {
  const descriptions = new Map(subtasks.map(({ id, description }) => [id, description]))
  return results.map((result) => ({ ...result, description: descriptions.get(result.task) ?? '' }))
}

function noResults(dropped: readonly Dropped[]): Failure {
  const { message, hint } = nothingSaid(
    dropped.map(({ reason }) => reason).filter((reason) => reason !== 'not-succeeded'),
  )
  return failure('team.no-results', message, 'policy', {
    hint: `outcome.results says what became of each task.${hint}`,
    details: { dropped: dropped.map(({ task, reason }) => ({ task, reason })) },
  })
}

/** Why there is nothing to answer with, by why the results of tasks that succeeded are left out. */
function nothingSaid(succeeded: readonly DropReason[]): { readonly message: string; readonly hint: string } {
  const [first, ...others] = succeeded
  if (first === undefined) return { message: 'no task has succeeded, so there is nothing to answer with', hint: '' }
  const who =
    others.length === 0 ? 'one task has succeeded and had' : `${succeeded.length} tasks have succeeded and had`
  const empty = succeeded.includes('empty')
    ? ' Have `run` of the members return what they found: an empty text, null and undefined are no answer.'
    : ''
  const talk = succeeded.includes('uninformative')
    ? ' synthesis: { dropUninformative: false } keeps results that say there is no information.'
    : ''
  return { message: `${who} nothing to say, so there is nothing to answer with`, hint: `${empty}${talk}` }
}

/**
 * The one usable result, if it may stand as it is: a plain text; or JSON where the team's output is to be JSON and no
 * synthesis is configured. As its member gave it.
 */
function verbatimOf(
  { options, schema }: Synthesis,
  all: readonly SynthesisResult[],
  usable: readonly SynthesisResult[],
): SynthesisResult | undefined {
  const [only] = usable
  if (usable.length !== 1 || options.synthesis?.verbatim === false) return undefined
  const original = all.find(({ task }) => task === only!.task)!
  const output = original.output ?? null
  if (looksLikeJson(output) && (schema === undefined || options.synthesize !== undefined)) return undefined
  return fits(output, schema).ok ? original : undefined
}

/** The last task of the plan whose work it was to put everything together, if it has done so. */
function synthesisTask(
  { options, schema }: Synthesis,
  { subtasks }: Material,
  all: readonly SynthesisResult[],
): SynthesisResult | undefined {
  if (options.synthesis?.useSynthesisTask === false) return undefined
  const types = new Map(subtasks.map(({ id, taskType }) => [id, taskType]))
  const isCalledSo = (task: string): boolean => types.get(task)?.trim().toLowerCase() === 'synthesis'
  const isSynthesis = ({ task, description, recruited }: SynthesisResult): boolean =>
    recruited !== true &&
    (isCalledSo(task) || synthesisVerbs.some((reply) => description.toLowerCase().includes(reply)))
  const last = all.findLast(isSynthesis)
  if (last?.status !== 'succeeded' || isEmpty(last.output)) return undefined
  const output = last.output ?? null
  // a text may be a word about the answer; a value, and what fits the schema of the answer, is the answer, however
  // short it is
  const isValue = isCalledSo(last.task) && (typeof output !== 'string' || schema !== undefined)
  return (isValue || [...asText(output).trim()].length >= synthesisFrom) && fits(output, schema).ok ? last : undefined
}

/** Runs the synthesis; if it fails, or none is configured, the results stand one after the other. */
async function made(
  synthesis: Synthesis,
  input: SynthesisInput,
  dropped: readonly Dropped[],
): Promise<SynthesizedAnswer> {
  const { options, schema } = synthesis
  const { synthesize } = options
  if (synthesize === undefined) return answered(synthesis, 'concatenation', input.results, dropped, concatenated(input))
  const by = typeof synthesize === 'function' ? 'function' : isAgent(synthesize) ? 'agent' : 'model'
  const given = await synthesizedBy(synthesis, synthesize, input)
  const fallback = 'failure' in given ? given.failure : unfit(synthesis, given.output)
  if ('output' in given && fallback === undefined) return answered(synthesis, by, input.results, dropped, given.output)
  const text = concatenated(input)
  note(synthesis, 'concatenation', input.results, dropped, fallback)
  const stood = fits(text, schema)
  return stood.ok ? { output: stood.value } : { failure: fallback ?? unfit(synthesis, text, 'concatenation')! }
}

/** The output of the synthesis, or why it failed. */
function synthesizedBy(
  synthesis: Synthesis,
  synthesize: Synthesizer,
  input: SynthesisInput,
): Promise<SynthesizedAnswer> {
  if (typeof synthesize === 'function') return askFunction(synthesis, synthesize, input)
  return isAgent(synthesize) ? askAgent(synthesis, synthesize, input) : askModel(synthesis, synthesize, input)
}

async function askFunction(
  { ctx }: Synthesis,
  synthesize: Extract<Synthesizer, (...input: never[]) => unknown>,
  input: SynthesisInput,
): Promise<SynthesizedAnswer> {
  const own = copy(input as unknown as Json) as unknown as SynthesisInput
  const { reply, failure: what } = await callHook<Json>(ctx, 'synthesize', (io) => synthesize(own, io), () => undefined) // prettier-ignore
  return what === undefined ? spokenAnswer(reply) : { failure: what }
}

async function askAgent(
  { ctx, edge, options }: Synthesis,
  synthesizer: Agent,
  input: SynthesisInput,
): Promise<SynthesizedAnswer> {
  const brief =
    synthesizer.inputSchema === undefined
      ? {
          instructions: synthesisBrief(input, {
            most: mostOf(options),
            told: await toldTo(ctx, edge, options, synthesizer, input),
          }),
        }
      : { input: synthesisInput(input) }
  const started = startWorker(ctx, edge, synthesizer, brief, undefined)
  return typeof started === 'string' ? ended((await workerEnd(ctx, started)).outcome) : { failure: started }
}

async function askModel(
  { ctx, edge, options, schema }: Synthesis,
  { model, instructions }: ModelSynthesizer,
  input: SynthesisInput,
): Promise<SynthesizedAnswer> {
  const { name } = options
  const access = modelSetup(name, { model }, undefined, undefined)
  // it has no tools with which it could read on, so nothing is kept for it
  const question = synthesisBrief(input, { most: mostOf(options), tokens: edge.bounds.limits?.resultTokens })
  return ended(
    await askSideQuery(access, ctx, edge, {
      system: instructions ?? synthesisInstructions,
      said: [],
      question,
      output: schema,
    }),
  )
}

/** The beginnings of those results that are above the limit of the synthesizer, each kept; by their tasks. */
async function toldTo(
  ctx: Context,
  edge: Edge,
  options: AnswerOptions,
  synthesizer: Agent,
  { results }: SynthesisInput,
): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>()
  const limit = isReadByModel(synthesizer)
    ? tighter(edge.bounds.limits, ownLimits(revised(edge.run.versions, synthesizer), undefined))?.resultTokens
    : undefined
  if (limit === undefined) return told
  const handed = new HandedResults()
  // no character has less than a quarter of a token
  const shown = Math.min(limit, Math.ceil(mostOf(options) / 4))
  for (const { task, output = null } of results)
    if (oversizeText(output, limit) !== undefined)
      told.set(task, asText(await handed.keep(ctx, { by: task, value: output }, { limit, shown })))
  return told
}

const mostOf = ({ synthesis }: AnswerOptions): number => synthesis?.maxCharacters ?? maxCharactersByDefault

function ended(outcome: Outcome): SynthesizedAnswer {
  if (outcome.status === 'completed') return spokenAnswer(outcome.output)
  return {
    failure:
      outcome.status === 'failed' ? outcome.failure : failure('worker.failed', describeOutcome(outcome), 'policy'),
  }
}

const spokenAnswer = (output: Json | undefined): SynthesizedAnswer =>
  isEmpty(output)
    ? { failure: failure('output.invalid', 'the synthesis gave an empty answer', 'validation') }
    : { output: output! }

/** The answer, if it looks as it must. A text may be the JSON that is wanted. */
const fits = (output: Json, schema: Schema | undefined): Checked<Json> =>
  typeof output === 'string' ? outputOf(output, schema) : checkOutput(output, schema)

function unfit({ options, schema }: Synthesis, output: Json, by?: ResultsSynthesised['by']): Failure | undefined {
  const checked = fits(output, schema)
  if (checked.ok) return undefined
  const what = by === 'concatenation' ? 'the answer, which is the results one after the other,' : 'the answer'
  return failure(
    'output.invalid',
    `${what} does not fit the output schema of "${options.name}": ${checked.problem}`,
    'validation',
    {
      ...(by === 'concatenation' ? { hint: concatenationHint } : undefined),
    },
  )
}

const concatenationHint =
  'Give the team `synthesize`: a function, an agent or a model that makes one answer of the results. Or plan a task with taskType "synthesis" whose output fits.'

function note(
  { ctx }: Synthesis,
  by: ResultsSynthesised['by'],
  used: readonly SynthesisResult[],
  dropped: readonly Dropped[],
  fallback?: Failure,
): void {
  ctx.emit({
    type: 'results.synthesised',
    by,
    used: used.map(({ task }) => task),
    dropped,
    ...present({ fallback }),
  })
}

function answered(
  synthesis: Synthesis,
  by: ResultsSynthesised['by'],
  used: readonly SynthesisResult[],
  dropped: readonly Dropped[],
  output: Json,
): SynthesizedAnswer {
  note(synthesis, by, used, dropped)
  const checked = fits(output, synthesis.schema)
  return checked.ok ? { output: checked.value } : { failure: unfit(synthesis, output, by)! }
}
