/**
 * Report tool: gets the assessment of a result, from the agent's function or from its model's calls of the tool
 * `report`.
 *
 * Owns: the tool, reading its calls, the fact that records the assessment. Does not own: the option and its checks
 * (assessment.ts), what follows (work-review.ts).
 * Holds: K3, K10: a function is one recorded step with one attempt; what a model reports is part of its recorded
 * answers.
 */
import { isObject, present, type HistoryEntry, type Json } from '@reeve/core'
import type { Context, StepIO } from '@reeve/engine'
import type { ResultAssessed } from '@reeve/journal'
import type { ToolCall, ToolSpec } from '@reeve/model'
import { assessmentProblem, reportTool, type Assess, type Assessment } from '../assessment.ts'
import { callHook } from '../hook-call.ts'
import { mergedToolbox, type Binding, type Opening } from '../tool/binding.ts'
import type { CallResult } from '../conversation/call-result.ts'
import { invalidInput } from '../tool/refusal.ts'

/** An assessment, or the problem with it. Neither: there is none. */
export interface AssessmentReading {
  readonly word?: Assessment
  readonly problem?: string
}

/** Gets the assessment of a result. */
export async function assessResult(
  ctx: Context,
  assess: Assess,
  {
    agent,
    output,
    brief,
    said,
  }: { readonly agent: string; readonly output: Json; readonly brief: Json; readonly said: readonly HistoryEntry[] },
): Promise<AssessmentReading> {
  const read =
    assess === 'report' ? reportIn(said, agent) : await assessByFunction(ctx, (io) => assess(output, brief, io))
  const { word } = read
  if (word === undefined || Object.keys(word).length === 0) return present({ problem: read.problem })
  ctx.emit({ type: 'result.assessed', ...(present(word) as Omit<ResultAssessed, 'type' | 'op' | 'address'>) })
  return { word }
}

async function assessByFunction(ctx: Context, assess: (io: StepIO) => unknown): Promise<AssessmentReading> {
  const { word, why } = await callHook<Assessment>(ctx, 'assess', assess, assessmentProblem)
  return present({ word, problem: why })
}

/** The last valid report of the model. If all of its reports were refused, there is no usable one. */
function reportIn(said: readonly HistoryEntry[], agent: string): AssessmentReading {
  const calls = said.flatMap(({ agent: who, message }) =>
    who === agent && message.role === 'assistant' ? (message.calls ?? []) : [],
  )
  const reports = calls.filter(({ name }) => name === reportTool).map(({ input }) => readReport(input))
  const word = reports.findLast((each) => typeof each !== 'string')
  const problem = reports.at(-1)
  return word !== undefined ? { word } : typeof problem === 'string' ? { problem } : {}
}

/** Reads the arguments of a report; a text is the problem with them. Pure. Models write `null` for absent members. */
function readReport(input: Json): Assessment | string {
  if (!isObject(input)) return 'a report is an object'
  const { confidence, proposed_action: action, cost_usd: costUsd, cannot_do: cannotDo } = membersGiven(input)
  const { name, input: with_, cost_usd: costs } = isObject(action) ? membersGiven(action) : {}
  const read = {
    ...present({ confidence, costUsd, cannotDo }),
    ...(action === undefined ? undefined : { proposedAction: present({ name, input: with_, costUsd: costs }) }),
  } as Json
  return assessmentProblem(read) ?? (read as unknown as Assessment)
}

const membersGiven = (members: {
  readonly [name: string]: Json | undefined
}): { readonly [name: string]: Json | undefined } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''))

const spec: ToolSpec = {
  name: reportTool,
  description:
    'Reports how sure you are of your result, before you answer. Also what it costs, what should be done with it next, or why you cannot do the task. Report only what you know.',
  parameters: {
    type: 'object',
    properties: {
      confidence: {
        type: ['number', 'null'],
        minimum: 0,
        maximum: 1,
        description: 'How sure you are of your answer, 0 to 1.',
      },
      proposed_action: {
        type: ['object', 'null'],
        description: 'What another agent or a person should do next with your answer.',
        properties: {
          name: { type: 'string', description: 'The action, as one identifier.' },
          input: { type: ['object', 'null'], description: 'The input of the action.' },
          cost_usd: { type: ['number', 'null'], minimum: 0, description: 'What it would cost, in US dollars.' },
        },
        required: ['name'],
      },
      cost_usd: { type: ['number', 'null'], minimum: 0, description: 'What your result costs, in US dollars.' },
      cannot_do: { type: ['string', 'null'], description: 'Why this cannot be done with what you have.' },
    },
    additionalProperties: false,
  },
}

const report: Binding = {
  verb: true,
  spec,
  run(ctx: Context, call: ToolCall): Promise<CallResult> {
    const read = readReport(call.input)
    return Promise.resolve(typeof read === 'string' ? invalidInput(ctx, call, read) : { content: 'noted' })
  },
}

/** Adds the report tool to the opening of a model agent that reports. */
export const withReport = (opening: Opening): Opening => ({
  ...opening,
  toolbox: mergedToolbox(opening.toolbox, [report]),
})

/** The last unknown tool that this agent called; undefined if there is none. */
export function unknownToolIn(said: readonly HistoryEntry[], agent: string): string | undefined {
  const last = said.findLast(
    ({ agent: who, message, unknownTool }) => who === agent && message.role === 'tool' && unknownTool === true,
  )?.message
  return last?.role === 'tool' ? last.name : undefined
}
