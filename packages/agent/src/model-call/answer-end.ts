/**
 * Answer end: what follows an answer, by why its model stopped.
 *
 * Owns: the one rule for everyone who asks a model: the turns of agents and leaders, typed output, plans, choices,
 * verdicts, side queries, summaries. Does not own: the reasons (model/finish.ts), asking again (turn-loop.ts), what is
 * no answer at all (the step tries that again).
 * Holds: K3: it is a function of what was recorded. An answer is complete only if the model ended it.
 */
import { cut, failure, type Failure, type FailureClass, type Json, type JsonObject } from '@reeve/core'
import { isWhole, tooLongHint, type FinishReason, type ModelAnswer } from '@reeve/model'
import type { OutputCap } from '../conversation/output-cap.ts'

/**
 * What an agent does with a text that was cut off at the output limit. `continue`: the model is asked to go on where it
 * stopped, at most twice, and the pieces are one answer. `fail`: the agent fails (`model.length`).
 */
export type OnCut = 'continue' | 'fail'

/** How often a text that was cut off is continued. */
const mostContinued = 2
/** How often in a row calls that were cut off are asked for again. */
const mostCutCalls = 2
/** How often a pause of the provider is followed by another request. */
const mostPauses = 10

/** The parts of one answer so far. */
export interface AnswerParts {
  readonly continued: number
  readonly pauses: number
  /** Answers in a row whose calls were cut off. */
  readonly cutCalls: number
  /** What was said in the parts before this one. */
  readonly text: string
}

export const noParts: AnswerParts = { continued: 0, pauses: 0, cutCalls: 0, text: '' }

/** For what a model was asked. */
export interface AskedFor {
  readonly agent: string
  /** A text for people or models: no typed output, choice, verdict or summary. */
  readonly isText: boolean
  readonly onCut: OnCut
  readonly cap: OutputCap
}

/** What follows an answer. */
export type AnswerEnd =
  /** It is complete: its calls run, or it is the answer. */
  | { readonly next: 'whole' }
  /** The same again, with what it said so far. `note`: what the model is told. */
  | { readonly next: 'go-on'; readonly parts: AnswerParts; readonly note?: string }
  /** Its calls do not run, and the model is told why. */
  | { readonly next: 'calls-again'; readonly parts: AnswerParts; readonly failure: Failure; readonly told: string }
  | { readonly next: 'fail'; readonly failure: Failure }

const whole: AnswerEnd = { next: 'whole' }

/** The note to a model whose text was cut off. */
export const goOnWhere =
  'Your answer was cut off at its output limit. Go on exactly where it stopped. Do not repeat any of it, and do not comment on this.'

/** What follows an answer. Pure. */
export function answerEnd(answer: ModelAnswer, parts: AnswerParts, asked: AskedFor): AnswerEnd {
  const { finish, calls, text } = answer
  if (isWhole(finish)) return whole
  if (finish === 'paused') {
    if (calls.length > 0) return whole
    if (parts.pauses < mostPauses)
      return { next: 'go-on', parts: { ...parts, pauses: parts.pauses + 1, text: parts.text + text } }
  }
  if (finish === 'length') {
    // a provider does not say which of the calls are whole, so none of them runs
    if (calls.length > 0 && parts.cutCalls < mostCutCalls) {
      const failure = failureOf(answer, parts, asked)
      const message = `[not made: your answer was cut off at its output limit${limitOf(asked.cap)}, so none of its calls was made. Make them again with less in their arguments, one call at a time.]`
      return { next: 'calls-again', parts: { ...parts, cutCalls: parts.cutCalls + 1 }, failure, told: message }
    }
    const mayContinue = calls.length === 0 && asked.isText && asked.onCut === 'continue'
    if (mayContinue && asked.cap.byBudget !== true && text.trim() !== '' && parts.continued < mostContinued)
      return {
        next: 'go-on',
        parts: { ...parts, continued: parts.continued + 1, text: parts.text + text },
        note: goOnWhere,
      }
  }
  return { next: 'fail', failure: failureOf(answer, parts, asked) }
}

/** The failure of an answer that is not whole, for those who use whole ones only. Undefined: it is whole. */
export function answerProblem(answer: ModelAnswer, asked: Pick<AskedFor, 'agent' | 'cap'>): Failure | undefined {
  return isWhole(answer.finish) || (answer.finish === 'paused' && answer.calls.length > 0)
    ? undefined
    : failureOf(answer, noParts, asked)
}

type Unfinished = Exclude<FinishReason, 'stop' | 'tool-calls' | 'other'>

interface EndKind {
  readonly code: Failure['code']
  readonly class: FailureClass
  readonly what: string
  readonly hint?: string
}

const kinds: { readonly [reason in Unfinished]: EndKind } = {
  length: {
    code: 'model.length',
    class: 'validation',
    what: 'was cut off at its output limit',
    hint: 'Raise settings.maxOutputTokens, ask for less at once, or use a model with a larger output limit.',
  },
  refusal: { code: 'model.refused', class: 'policy', what: 'is a refusal: the model declined' },
  'content-filter': {
    code: 'model.filtered',
    class: 'policy',
    what: 'was stopped by a content filter of the provider',
  },
  'prompt-blocked': {
    code: 'model.prompt-blocked',
    class: 'policy',
    what: 'is missing: a content filter of the provider blocked what the model was sent',
  },
  'context-full': {
    code: 'model.context-full',
    class: 'validation',
    what: 'ended where the context window of the model was full',
    hint: tooLongHint,
  },
  paused: { code: 'model.paused', class: 'unknown', what: 'was paused by the provider and not ended' },
}

const byBudget: EndKind = {
  code: 'budget.answer-cut',
  class: 'budget',
  what: 'was cut off by the budget',
  hint: 'Raise the limit in tokens or dollars, or ask for less.',
}

/** How much is kept of what was said, and of the calls that were not made, in characters. */
export const keptText = 8_000
const keptInput = 1_000
const keptCalls = 20

function failureOf(answer: ModelAnswer, parts: AnswerParts, { agent, cap }: Pick<AskedFor, 'agent' | 'cap'>): Failure {
  const { finish, calls, model, stopReason, usage } = answer
  const kind = finish === 'length' && cap.byBudget === true ? byBudget : kinds[finish as Unfinished]
  const text = parts.text + answer.text
  const thoughts = finish === 'length' && text.trim() === '' && calls.length === 0
  const details: JsonObject = {
    model,
    finish,
    ...(stopReason !== undefined && { stopReason }),
    ...(finish === 'length' && cap.tokens !== undefined && { maxOutputTokens: cap.tokens }),
    ...(usage?.output !== undefined && { outputTokens: usage.output }),
    ...(text.trim() !== '' && { partial: cut(text, keptText) }),
    ...(calls.length > 0 && { calls: calls.slice(0, keptCalls).map(keptCall), callCount: calls.length }),
  }
  const limit = finish === 'length' ? limitOf(cap) : ''
  const spent = thoughts ? ', before it had said a word' : ''
  const what = `the answer of "${agent}" (${model}) ${kind.what}${limit}${spent}`
  return failure(kind.code, what, kind.class, { details, ...(kind.hint !== undefined && { hint: kind.hint }) })
}

const keptCall = ({ name, input, invalid }: ModelAnswer['calls'][number]): Json => ({
  name,
  input: cut(invalid ?? JSON.stringify(input), keptInput),
})

const limitOf = ({ tokens }: OutputCap): string => (tokens === undefined ? '' : ` of ${tokens} tokens`)
