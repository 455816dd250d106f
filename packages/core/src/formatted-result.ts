/**
 * Formatted result: the end of a worker or a tool, formatted for the model of its leader. Never empty, never an
 * exception, never a provider's own words.
 *
 * Owns: the words. They are part of prompts, so changing them changes what models do; they are not part of the
 * journal's format. The transcript of a run shows the same words (../journal/views/transcript.ts).
 */
import { failureFrom, type Failure } from './failure.ts'
import { asText, own, type Json } from './json.ts'
import type { KeptResult } from './kept-result.ts'
import type { FilePart } from './message.ts'
import { doneBefore, withoutOwnWork, type Outcome, type PlanResults, type WorkDone } from './outcome.ts'
import { isContentRef } from './content-ref.ts'
import { referenceText } from './result-bound.ts'
import { contentShown } from './shown-result.ts'
import { cut } from './visible.ts'

/** The result of a call, as the model that made it reads it. */
export interface FormattedResult {
  readonly content: Json
  readonly isError?: boolean
  /** What is recorded of the result, for code, where the content says that it is not all. Absent: the content. */
  readonly output?: Json
  /** The content is a beginning, with a note that says so, as it is recorded. */
  readonly isHead?: true
  /** Pictures, sounds and documents that the model is shown beside the content. */
  readonly files?: readonly FilePart[]
}

/**
 * A result with what Reeve says of its call: that a person has changed it, and why. Every reader of the call is shown
 * the same.
 */
export const withNote = (note: string | undefined, content: Json): Json =>
  note === undefined ? content : `[${note}]\n${asText(content)}`

/** The end of a worker, as its leader's model reads it: its output as it is, or a marker that says what happened. */
export function formatWorkerResult(worker: string, outcome: Outcome): FormattedResult {
  switch (outcome.status) {
    case 'completed': {
      const { output, kept, results, reviewed } = outcome
      const content = isEmpty(output)
        ? `[worker "${worker}" finished without an answer]`
        : isContentRef(output)
          ? referenceText(output)
          : withMissing(withKept(`worker "${worker}"`, output, kept), results)
      return { content: withNote(reviewed, content) }
    }
    case 'failed': {
      const told = `[worker "${worker}" failed${placeText(worker, outcome.failure)}: ${failureText(outcome.failure)}]`
      return { content: withDone(withPartial(told, partialOf(outcome.failure)), outcome), isError: true }
    }
    default:
      return formatStopped(`worker "${worker}"`, outcome)
  }
}

/**
 * With what was done before it ended so: what happened is never told as not done. Names, arguments and results are JSON,
 * so none of their lines begins where ours do.
 */
function withDone(told: string, outcome: Outcome): string {
  const { done, more } = doneBefore(outcome)
  return withDeeds(told, done, more)
}

/** A text that says how work ended, and what it had done before that; `more`: how many deeds are not listed. */
export function withDeeds(told: string, done: readonly WorkDone[], more = 0): string {
  if (done.length === 0) return told
  const lines = done.map(({ name, agent, state, input, result }) => {
    const call = `- ${state === 'in-doubt' ? 'perhaps, or undone since: ' : ''}${name}${input === undefined ? '' : ` ${inputLine(input)}`} (by "${agent}")`
    return result === undefined ? call : `${call}: ${inputLine(result)}`
  })
  const rest = more > 0 ? [`- and ${more} more`] : []
  return `${told}\nWhat it had done before that:\n${[...lines, ...rest].join('\n')}`
}

const inputLine = (value: Json): string => cut(JSON.stringify(value), shownDeed)

/** How much of the arguments and of the result of something done is shown, in characters. */
const shownDeed = 600

/** What a model had said of an answer that it did not end, for the model of a leader. */
function partialOf({ code, details }: Failure): string | undefined {
  const partial = code.startsWith('model.') || code === 'budget.answer-cut' ? details?.['partial'] : undefined
  return typeof partial === 'string' ? cut(partial, shownPartial) : undefined
}

/** How much of an unfinished answer a leader's model is shown, in characters. The journal has more. */
const shownPartial = 4_000

/** How work was stopped, or ended early. `who`: a worker or a tool, with its name. */
function formatStopped(
  who: string,
  outcome: Exclude<Outcome, { readonly status: 'completed' | 'failed' }>,
): FormattedResult {
  switch (outcome.status) {
    case 'limited': {
      const stopped = `[${who} stopped at its limit of ${outcome.limit}: ${outcome.message}]`
      return { content: withDone(withPartial(stopped, outcome.partial), outcome), isError: true }
    }
    case 'timed-out':
      return { content: withDone(`[${who} ran out of time: ${outcome.message}]`, outcome), isError: true }
    case 'cancelled':
      return { content: withDone(`[${who} was cancelled: ${outcome.reason}]`, outcome), isError: true }
    case 'bailed':
      return { content: withDone(withText(`[${who} was ended early: ${outcome.message}]`, outcome.text), outcome) }
  }
}

/** The end of a tool call, as the model that made it reads it. */
export function formatToolResult(tool: string, outcome: Outcome): FormattedResult {
  switch (outcome.status) {
    case 'completed':
      return outcome.kept === undefined
        ? contentShown(outcome.output)
        : { content: withKept(`tool "${tool}"`, outcome.output, outcome.kept), output: outcome.output }
    case 'failed':
      return {
        content: withDone(withPartial(failedTool(tool, outcome.failure), partialOf(outcome.failure)), outcome),
        isError: true,
      }
    default:
      return formatStopped(`tool "${tool}"`, outcome)
  }
}

/** A tool that nobody has answered for has not failed: it may have been run. */
const failedTool = (tool: string, what: Failure): string =>
  what.code === 'tool.unanswered' ? `[${what.message}]` : `[tool "${tool}" failed: ${failureText(what)}]`

/** The end of an agent as a tool, as the model that called it reads it. An answer is that of any other worker. */
export const formatAgentToolResult = (tool: string, agent: string, outcome: Outcome): FormattedResult =>
  outcome.status !== 'completed'
    ? formatToolResult(tool, outcome)
    : outcome.output === null
      ? { content: `[${tool}: no event returned]`, isError: true }
      : formatWorkerResult(agent, outcome)

/** A delegation that did not become a worker, as the model that asked for it reads it. */
export const formatRefusedDelegation = ({ message }: Failure): FormattedResult => ({
  content: `[not delegated: ${message}]`,
  isError: true,
})

/** A call that did not run, as the model that made it reads it, unless the refusal has other words. */
export const formatRefusedCall = ({ message }: Failure): string => `[${message}]`

/**
 * A failure's message. Of a model's failure the kind, in Reeve's words, and of an exception of code only that there was
 * one: providers and libraries put any text into theirs.
 */
export function failureText(what: Failure): string {
  if (what.code.startsWith('model.')) return modelFailureText(what)
  if (thrown.has(what.code) && (what.class === 'internal' || what.class === 'unknown')) return 'its code failed'
  return what.message === '' ? what.code : what.message
}

/** What kind of failure it was that kept a model from answering. */
function modelFailureText({ code, class: kind }: Failure): string {
  const why =
    code === 'model.rate-limited' && kind === 'policy' ? 'its account has no credit left' : own(modelFailures, code)
  return why === undefined ? 'its model could not answer' : `its model could not answer: ${why}`
}

const modelFailures: { readonly [code: string]: string } = {
  'model.calls-missing': 'it announced calls of tools and made none',
  'model.context-full': 'what it was to read is too long for it',
  'model.cut-off': 'the connection broke off before the end of the answer',
  'model.empty': 'its answer was empty',
  'model.filtered': 'a content filter stopped the answer',
  'model.length': 'the answer was cut off at its output limit',
  'model.not-authorized': 'its provider refused the credentials',
  'model.paused': 'its provider paused the answer and did not end it',
  'model.prompt-blocked': 'a content filter blocked what it was to read',
  'model.rate-limited': 'its provider limits the rate of calls at the moment',
  'model.refused': 'it declined to answer',
  'model.silent': 'it was silent for too long',
  'model.unavailable': 'its provider cannot be reached at the moment',
  'model.unsupported': 'its model does not take what it was to be sent: a file or a setting',
}

/**
 * The text of something thrown, for a model: of a FailureError its author's message, of any other exception only that
 * there was one.
 */
export const thrownText = (what: unknown): string => failureText(failureFrom(what, 'agent.failed'))

/**
 * Failures that say in the words of an exception what code has thrown; those that an author made say it by their class.
 */
const thrown: ReadonlySet<string> = new Set(['orchestration.threw', 'agent.failed', 'middleware.failed'])

/** The agent below a worker that failed, where it is known. */
function placeText(worker: string, { details }: Failure): string {
  const agent = details?.['agent']
  return typeof agent === 'string' && agent !== worker ? ` in "${agent}"` : ''
}

/** An output that says nothing: it is no answer. */
export const isEmpty = (output: Json): boolean =>
  output === null || (typeof output === 'string' && output.trim() === '')

const withText = (marker: string, text: string): string => (text === '' ? marker : `${marker}\n${text}`)

const withPartial = (marker: string, partial: string | undefined): string =>
  partial === undefined || partial === '' ? marker : `${marker}\nIts answer so far:\n${partial}`

/** A result of which not everything could be recorded: that the work is done comes first. */
const withKept = (who: string, output: Json, kept: KeptResult | undefined): Json =>
  kept === undefined
    ? output
    : `[${who} is done. Its result is recorded ${kept.as === 'form' ? 'in another form' : 'in part'}: ${kept.why}. What is recorded:]\n${asText(output)}`

/** An answer, and how much of the plan behind it is not in it. */
function withMissing(output: Json, results: PlanResults | undefined): Json {
  if (results?.partial !== true) return output
  const { coverage, tasks } = results
  const missing = tasks
    .filter(({ status, recruited }) => status !== 'succeeded' && recruited !== true)
    .map(({ task }) => task)
  const rest = missing.length > mostMissing ? [`${missing.length - mostMissing} more`] : []
  const names = [...missing.slice(0, mostMissing), ...rest].join(', ')
  return `${asText(output)}\n[partial: ${coverage.succeeded} of ${coverage.planned} parts; missing: ${names}]`
}

/** Tasks that are named; of those beyond only how many. */
const mostMissing = 10

/**
 * The outcome of a member as a flow may take it for its own: its failure says where it happened, the innermost place;
 * what it says of the member's own work is left out.
 */
export function labelled(outcome: Outcome, agent: string, path: readonly string[]): Outcome {
  if (outcome.status === 'completed') return withoutOwnWork(outcome)
  if (outcome.status !== 'failed' || outcome.failure.details?.['agent'] !== undefined) return outcome
  const details = { ...outcome.failure.details, agent, path: [...path] }
  return { ...outcome, failure: { ...outcome.failure, details } }
}
