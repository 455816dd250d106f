/**
 * FunctionModel: a rule in the place of a language model. A brain of code and a brain of weights are interchangeable.
 *
 * Owns: turning what the function returns into a complete answer, its cost: nothing unless it says so. Does not own:
 * what a call, a file or a reason to finish may be (answer.ts, files.ts).
 */
import {
  abortOf,
  deepFreeze,
  FailureError,
  jsonProblem,
  promised,
  failure,
  unknownNames,
  visible,
  withSignalOf,
  type CallUsage,
  type Draft,
  type Failure,
  type FilePart,
  type Message,
  type NamesOf,
  type Now,
  type ToolCall,
} from '@reeve/core'
import { untilAborted } from './abort.ts'
import { readInput, readMetadata } from './answer.ts'
import { asksTheSame, madeId } from './call-ids.ts'
import { modelFailure } from './faults.ts'
import { fileOf, filesProblem } from './files.ts'
import { finishOfRule } from './finish.ts'
import type { FinishReason, Model, ModelAnswer, ModelAnswerInput, ModelFunction, ModelRequest } from './model.ts'
import { freeOfCharge } from './price.ts'
import type { SpecPart } from './spec.ts'
import { withoutThoughts } from './thoughts.ts'

const nothing: CallUsage = { input: 0, output: 0, usd: 0 }

/** A function as a `Model`. */
export function functionModel(rule: ModelFunction, id: string): Model {
  return {
    id,
    isRule: true,
    price: freeOfCharge,
    call: (asked) => promised(() => answerOf(rule, id, asked)),
  }
}

/** Asks a rule. One that answers at once costs no wait. */
function answerOf(rule: ModelFunction, id: string, asked: ModelRequest): Now<ModelAnswer> {
  const { key, emit } = asked
  const abort = abortOf(asked)
  abort.throwIfAborted()
  const request = snapshotOf(asked)
  let streamed = false
  if (emit !== undefined) {
    const noteAndEmit: Sink = (part) => {
      streamed = true
      emit(part)
    }
    request.emit = noteAndEmit
  }
  const failed = (error: unknown): never => {
    abort.throwIfAborted()
    throw new FailureError(ruleFailure(error, id), error)
  }
  const made = (answer: ModelAnswerInput | string): ModelAnswer =>
    // what the rule streamed itself is not streamed again
    completed(typeof answer === 'string' ? { text: answer } : answer, key, id, streamed ? undefined : emit)
  let answer: Now<ModelAnswerInput | string>
  try {
    const result = rule(request)
    answer = typeof result === 'object' && result !== null && 'then' in result ? untilAborted(result, abort) : result
  } catch (error) {
    return failed(error)
  }
  return answer instanceof Promise ? answer.then(made, failed) : made(answer)
}

/** Why a rule gave no answer. Of a defect it says where it is; it is tried again as any unknown error (team R-10). */
function ruleFailure(thrown: unknown, id: string): Failure {
  const failed = modelFailure(thrown, { model: id, secrets: [], begun: false })
  const isDefect = thrown instanceof TypeError || thrown instanceof ReferenceError
  if (failed.code !== 'model.failed' || failed.class !== 'unknown' || !isDefect) return failed
  const place = placeOf(thrown)
  return failure('model.failed', failed.message, failed.class, {
    hint: `Correct the function${place === undefined ? '' : ` at ${place}`}.`,
    details: { model: id, threw: thrown.name },
  })
}

/** Where it was thrown: the file and line, as the stack says it; of files of Node none. */
function placeOf({ stack = '' }: Error): string | undefined {
  const place = /^\s+at (?:.*\()?(?:file:\/\/)?((?!node:)\S.*:\d+):\d+\)?$/m.exec(stack)?.[1]
  return place !== undefined && place.length <= longestPlace ? visible(place) : undefined
}
const longestPlace = 300

/** How many messages of a growing conversation are frozen already: a call freezes what came since the one before. */
const frozenOf = new WeakMap<readonly Message[], number>()

/**
 * What a rule is shown: the conversation as it stands at this call. What the rule keeps of it does not grow, and it can
 * change nothing in it, since no journal would know.
 */
function snapshotOf(request: ModelRequest): Draft<ModelRequest> {
  const { messages, tools, settings, toolChoice, outputSchema, traceparent } = request
  const frozen = frozenOf.get(messages) ?? 0
  for (let i = frozen <= messages.length ? frozen : 0; i < messages.length; i++) deepFreeze(messages[i])
  frozenOf.set(messages, messages.length)
  const shown: Draft<ModelRequest> = withSignalOf(request, {
    messages: Object.freeze(messages.slice()),
    tools: Object.freeze(tools.slice()),
    key: request.key,
  })
  if (settings !== undefined) shown.settings = Object.freeze({ ...settings })
  if (toolChoice !== undefined) shown.toolChoice = toolChoice
  if (outputSchema !== undefined) shown.outputSchema = outputSchema
  if (traceparent !== undefined) shown.traceparent = traceparent
  return shown
}

type Sink = NonNullable<ModelRequest['emit']>

/**
 * The answer of a rule is whole, so there are no parts to fold; what an answer holds is read as the fold reads it
 * (answer.ts). Its thoughts are left out: a rule has none that a provider wants back.
 */
function completed(answer: ModelAnswerInput, key: string, id: string, emit: Sink | undefined): ModelAnswer {
  const problem = problemOf(answer)
  if (problem !== undefined) throw notAnAnswer(id, problem)
  const text = typeof answer.text === 'string' ? withoutThoughts(answer.text) : ''
  if (text !== '' && emit !== undefined) tellText(text, emit)
  const calls = answer.calls === undefined || answer.calls.length === 0 ? noCalls : callsOf(answer.calls, key)
  const files = answer.files?.flatMap((file) => fileOf(partOfFile(file)) ?? []) ?? noFiles
  const usage = answer.usage === 'unknown' ? undefined : (answer.usage ?? nothing)
  const finish = finishOf(answer, calls, id)
  const made: Draft<ModelAnswer> =
    files.length === 0 ? { text, calls, finish, model: id } : { text, calls, files, finish, model: id }
  const metadata = answer.providerMetadata && readMetadata(answer.providerMetadata)
  if (metadata !== undefined) made.providerMetadata = metadata
  if (usage !== undefined) made.usage = usage
  return made
}

const noCalls: readonly ToolCall[] = []
const noFiles: readonly FilePart[] = []

const notAnAnswer = (id: string, problem: string, cause?: unknown): FailureError =>
  new FailureError(
    failure(
      'model.answer-invalid',
      `the model function ${id} returned something that is not an answer: ${problem}`,
      'validation',
    ),
    cause,
  )

/** A text at once, as the parts that a stream of it has. A sink that throws is given no more. */
function tellText(text: string, emit: Sink): void {
  try {
    emit({ type: 'text.start', id: '0' })
    emit({ type: 'text.delta', id: '0', text })
    emit({ type: 'text.end', id: '0' })
  } catch {
    // parts are never needed for correctness
  }
}

function callsOf(given: NonNullable<ModelAnswerInput['calls']>, key: string): readonly ToolCall[] {
  const calls: ToolCall[] = []
  const byId = new Map<string, readonly ToolCall[]>()
  for (const { id = '', name, input } of given) {
    // a text is an input itself, not the JSON text of one
    const asked = { name: String(name), ...(typeof input === 'string' ? { input } : readInput(input)) }
    const same = id === '' ? [] : (byId.get(id) ?? [])
    if (same.some((call) => asksTheSame(call, asked))) continue
    const call: ToolCall = { id: isFreeId(id, calls) ? id : madeId(key, calls.length), ...asked }
    calls.push(call)
    byId.set(id, [...same, call])
  }
  return calls
}

/** Whether a call may have this id: there is one, and no call before has it. */
const isFreeId = (id: string | undefined, before: readonly ToolCall[]): id is string =>
  typeof id === 'string' && id !== '' && !before.some((call) => call.id === id)

function finishOf({ finish }: ModelAnswerInput, calls: readonly ToolCall[], id: string): FinishReason {
  if (finish === undefined) return calls.length > 0 ? 'tool-calls' : 'stop'
  const reason = finishOfRule(finish)
  if (reason === undefined) throw notAnAnswer(id, `it finished with "${String(finish)}"`)
  return reason
}

const partOfFile = ({ mediaType, filename, metadata, ...file }: FilePart): SpecPart => ({
  type: 'file',
  mediaType,
  filename,
  data: 'url' in file ? { type: 'url', url: file.url } : file.data,
  providerMetadata: metadata,
})

function problemOf(answer: ModelAnswerInput): string | undefined {
  if (typeof answer !== 'object' || answer === null) return 'answer is neither a text nor an object'
  return (
    unknownNames(answer, answerNames, 'answer', meantByAnswer)[0] ??
    jsonProblem(answer, 'answer') ??
    callsProblem(answer.calls) ??
    filesProblem(answer.files)
  )
}

/** A call with an unknown member would be a call without its arguments, again and again. */
function callsProblem(calls: unknown): string | undefined {
  if (!Array.isArray(calls)) return calls === undefined ? undefined : 'answer.calls is not a list of { name, input }'
  for (let i = 0; i < calls.length; i++) {
    const [problem] = unknownNames(calls[i], callNames, `answer.calls[${i}]`, meantByCall)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Those of a complete answer, too: a function may ask another model and return what that answered. */
const answerNames: NamesOf<ModelAnswerInput & ModelAnswer> = {
  text: true,
  calls: true,
  files: true,
  usage: true,
  finish: true,
  stopReason: true,
  model: true,
  reasoning: true,
  ran: true,
  sources: true,
  response: true,
  warnings: true,
  providerMetadata: true,
}
const callNames: NamesOf<ToolCall> = { id: true, name: true, input: true, invalid: true }

/** What people who know other tools mean by other names. */
const meantByAnswer = { content: 'text', toolCalls: 'calls', tool_calls: 'calls', finishReason: 'finish' }
const meantByCall = { args: 'input', arguments: 'input', toolName: 'name', tool: 'name', toolCallId: 'id' }
