/**
 * Plan sources, one for each kind of planner: a fixed plan, a function, an agent, a model.
 *
 * Owns: how each is asked, and what of its answer is the plan. Does not own: whether the plan makes sense, and what is
 * done about it (planner.ts).
 * Holds: K6: each is asked once for each plan, also over a crash: a recorded step, a worker, a model's turn. K11: what
 * that used counts like all work.
 */
import {
  copy,
  failure,
  FailureError,
  failureFrom,
  fileHandle,
  present,
  type Failure,
  type FilePart,
  type HistoryEntry,
  type Json,
  type Outcome,
} from '@reeve/core'
import { writtenPlan } from '@reeve/journal'
import { askSideQuery, delegate, isAgent, modelSetup, step, type Agent } from '@reeve/agent'
import { briefText, entriesOf, withFileParts, type Edge, type EdgeMessage, type Schema } from '@reeve/edge'
import { isLeaving, type Context, type StepIO } from '@reeve/engine'
import type { ModelRef } from '@reeve/model'
import { endOfAttempt } from '../attempt-end.ts'
import { defaultRepairs, type PlannerLike, type PlanQuestion } from './options.ts'
import { recordable } from './plan.ts'
import { planIn, planningRules, planSchemaFor, toldProblems, toldQuestion } from './planner-prompt.ts'
import type { RequestFiles } from './plan-parser.ts'

/** What a source has given, not parsed yet. */
export type Drafted = { readonly ok: true; readonly plan: unknown } | { readonly ok: false; readonly failure: Failure }

/** A source of plans. */
export interface PlanSource {
  /** How often it may mend an impossible plan. */
  readonly repairs: number
  /** It may be asked again. A fixed plan is what it is. */
  readonly canBeAsked: boolean
  /** It writes plans as models do: small slips are mended without asking. */
  readonly writes: boolean
  /** `before`: the plan that had the problems of the question. */
  ask(ctx: Context, question: PlanQuestion, before: unknown): Promise<Drafted>
}

/** The source behind the options of a team. `files`: those of the request, which agents and models see. */
export function sourceOf(
  { name, planner, model }: { readonly name: string; readonly planner?: PlannerLike; readonly model?: ModelRef },
  edge: Edge,
  files: RequestFiles,
): PlanSource | undefined {
  if (typeof planner === 'function')
    return { repairs: defaultRepairs, canBeAsked: true, writes: false, ask: askFunction(planner) }
  if (isAgent(planner))
    return { repairs: defaultRepairs, canBeAsked: true, writes: true, ask: askAgent(name, planner, edge, files) }
  if (planner !== undefined && 'subtasks' in planner)
    return { repairs: 0, canBeAsked: false, writes: false, ask: async () => ({ ok: true, plan: planner }) }
  const { model: own = model, instructions, repairs = defaultRepairs } = planner ?? {}
  if (own === undefined) return undefined
  return { repairs, canBeAsked: true, writes: true, ask: askModel(name, own, instructions, edge, files) }
}

/** A recorded step, tried once: a planner that throws has made no plan. */
const askFunction =
  (planner: (question: PlanQuestion, io: StepIO) => unknown): PlanSource['ask'] =>
  async (ctx, question) => {
    try {
      const shown = copy(question as unknown as Json) as unknown as PlanQuestion
      return {
        ok: true,
        plan: await step(ctx, 'plan', async (io) => written(await planner(shown, io)), {
          retry: { attempts: 1 },
          isFunction: true,
          holds: writtenPlan,
        }),
      }
    } catch (thrown) {
      if (isLeaving(thrown)) throw thrown
      return { ok: false, failure: failureFrom(thrown, 'plan.failed') }
    }
  }

function written(plan: unknown): Json {
  try {
    return recordable(plan)
  } catch (thrown) {
    const why = 'the plan cannot be recorded: it holds what JSON cannot hold, or itself'
    throw new FailureError(failure('input.not-json', why, 'validation'), thrown)
  }
}

/**
 * A worker of its own: an agent that takes text is told everything, one with an input schema is given the question as
 * it is.
 */
const askAgent =
  (team: string, planner: Agent, edge: Edge, files: RequestFiles): PlanSource['ask'] =>
  async (ctx, question, before) => {
    const { problems } = question
    const told = [
      planningRules(team, question.roles),
      `The form of the plan: ${JSON.stringify(formFor(edge, files).json)}`,
      `## The question\n\n${toldQuestion(question)}`,
      ...(problems === undefined
        ? []
        : [`## Your last plan\n\n${JSON.stringify(before)}\n\n${toldProblems(problems)}`]),
    ].join('\n\n')
    const brief = planner.inputSchema === undefined ? told : copy(question as unknown as Json)
    const context = edge.work.history ?? edge.work.context
    const outcome = await delegate(ctx.scope('plan'), planner, brief, {
      ...present({ context }),
      ...(files.size > 0 && { files: unshown(files, context ?? []) }),
    })
    return drafted(endOfAttempt(outcome as Outcome), question)
  }

/** The files that do not stand in these messages. */
const unshown = (files: RequestFiles, messages: readonly EdgeMessage[]): readonly FilePart[] => {
  const shown = new Set(messages.flatMap((message) => message.files ?? []).map(fileHandle))
  return [...files].flatMap(([handle, file]) => (shown.has(handle) ? [] : [file]))
}

const formFor = ({ oversight }: Edge, { size }: RequestFiles): Schema =>
  planSchemaFor(oversight !== undefined, size > 0)

/** A turn of its own, aside: what was said before the question is shown, so that it may refer to it. */
const askModel =
  (team: string, ref: ModelRef, instructions: string | undefined, edge: Edge, files: RequestFiles): PlanSource['ask'] =>
  async (ctx, question, before) => {
    const { model, settings, retry } = modelSetup(team, { model: ref }, undefined, undefined)
    const rules = planningRules(team, question.roles)
    const put = toldQuestion(question)
    const { problems } = question
    const first: HistoryEntry = { message: { role: 'user', content: put } }
    const last: HistoryEntry = { agent: team, message: { role: 'assistant', content: JSON.stringify(before) } }
    const outcome = await askSideQuery({ agent: team, model, settings, retry }, ctx.scope('plan'), edge, {
      system: instructions === undefined || instructions.trim() === '' ? rules : `${instructions}\n\n${rules}`,
      said: problems === undefined ? saidBefore(edge) : [...saidBefore(edge), first, last],
      question: problems === undefined ? put : toldProblems(problems),
      output: formFor(edge, files),
      purpose: 'choice',
    })
    return drafted(endOfAttempt(outcome), question)
  }

/** The conversation without the question, which is put in other words. Its files stay. */
function saidBefore(edge: Edge): readonly HistoryEntry[] {
  const { entries, brief, files } = edge.work
  if (entries !== undefined) return entries
  const all = entriesOf(edge)
  if (files !== undefined)
    return [...all.slice(0, -1), { message: { role: 'user', content: withFileParts('', files) } }]
  return briefText(brief) === '' && all.length > 1 ? all : all.slice(0, -1)
}

const drafted = (end: ReturnType<typeof endOfAttempt>, { question }: PlanQuestion): Drafted =>
  end.type === 'done' ? { ok: true, plan: planIn(end.output, question) } : { ok: false, failure: end.failure }

/** Planning failed for this reason. Retryable if the cause is. */
export const planFailed = ({ code, message, class: of, retryable, retryAfterMs, hint, details }: Failure): Failure =>
  failure('plan.failed', `planning failed: ${message}`, of, {
    retryable,
    ...present({ retryAfterMs, hint }),
    details: { ...details, cause: code },
  })

/** The failure of a team without a planner. */
export const noPlanner = failure('plan.failed', 'there is neither a planner nor a model', 'validation', {
  hint: 'Give the team a planner or a model; or say `fallback: true`, and the whole question is one task.',
})
