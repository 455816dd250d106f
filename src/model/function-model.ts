/**
 * FunctionModel: a rule in the place of a language model. A brain of code and a brain of weights are interchangeable.
 *
 * Owns: turning what the function returns into a complete answer (through the same fold as any model's), its cost:
 * nothing unless it says so.
 */
import {
  deepFreeze,
  FailureError,
  jsonProblem,
  messageOf,
  failure,
  unknownNames,
  type CallUsage,
  type Message,
  type NamesOf,
  type ToolCall,
} from '../core/index.ts'
import { untilAborted } from './abort.ts'
import { AnswerFold } from './answer.ts'
import { modelFailure } from './faults.ts'
import { filesProblem } from './files.ts'
import type { Model, ModelAnswer, ModelAnswerInput, ModelFunction, ModelRequest } from './model.ts'
import { freeOfCharge } from './price.ts'
import type { SpecPart } from './spec.ts'

const nothing: CallUsage = { input: 0, output: 0, usd: 0 }

/** A function as a `Model`. */
export function functionModel(rule: ModelFunction, id: string): Model {
  return {
    id,
    price: freeOfCharge,
    async call(asked) {
      asked.signal.throwIfAborted()
      const request = snapshotOf(asked)
      const { emit } = request
      if (emit === undefined) return completed(await returned(rule, request, id), request.key, id, undefined)
      let streamed = false
      const watched: Sink = (part) => {
        streamed = true
        emit(part)
      }
      const answer = await returned(rule, { ...request, emit: watched }, id)
      return completed(answer, request.key, id, streamed ? undefined : emit) // what the rule streamed itself is not streamed again
    },
  }
}

/** How many messages of a growing conversation are frozen already: a call freezes what came since the one before. */
const frozenOf = new WeakMap<readonly Message[], number>()

/**
 * What a rule is shown: the conversation as it stands at this call. What the rule keeps of it does not grow, and it can
 * change nothing in it, since no journal would know.
 */
function snapshotOf(request: ModelRequest): ModelRequest {
  const { messages, tools, settings } = request
  const frozen = frozenOf.get(messages) ?? 0
  for (let i = frozen <= messages.length ? frozen : 0; i < messages.length; i++) deepFreeze(messages[i])
  frozenOf.set(messages, messages.length)
  return {
    ...request,
    messages: Object.freeze(messages.slice()),
    tools: Object.freeze(tools.slice()),
    ...(settings === undefined ? undefined : { settings: Object.freeze({ ...settings }) }),
  }
}

type Sink = NonNullable<ModelRequest['emit']>

async function returned(rule: ModelFunction, request: ModelRequest, id: string): Promise<ModelAnswerInput> {
  try {
    const result = rule(request)
    const answer = typeof result === 'object' && 'then' in result ? await untilAborted(result, request.signal) : result
    return typeof answer === 'string' ? { text: answer } : answer
  } catch (error) {
    request.signal.throwIfAborted()
    throw new FailureError(modelFailure(error, { model: id, secrets: [], begun: false }), error)
  }
}

function completed(answer: ModelAnswerInput, key: string, id: string, emit: Sink | undefined): ModelAnswer {
  const problem = problemOf(answer)
  if (problem !== undefined) {
    throw new FailureError(
      failure(
        'model.answer-invalid',
        `the model function ${id} returned something that is not an answer: ${problem}`,
        'validation',
      ),
    )
  }
  const fold = new AnswerFold({
    model: id,
    identity: id,
    key,
    version: 'v4',
    streamed: false,
    emit,
    cost: () => undefined,
  })
  try {
    for (const part of partsOfAnswer(answer)) fold.add(part)
    const usage = answer.usage === 'unknown' ? undefined : (answer.usage ?? nothing)
    const { reasoning: _, ...made } = fold.answer() // a rule has no thoughts that a provider wants back
    return { ...made, ...(usage !== undefined && { usage }) }
  } catch (error) {
    throw new FailureError(
      failure(
        'model.answer-invalid',
        `the model function ${id} returned something that is not an answer: ${messageOf(error)}`,
        'validation',
      ),
      error,
    )
  }
}

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
  return calls.flatMap((call: unknown, i) => unknownNames(call, callNames, `answer.calls[${i}]`, meantByCall))[0]
}

/** Those of a complete answer, too: a function may ask another model and return what that answered. */
const answerNames: NamesOf<ModelAnswerInput & ModelAnswer> = {
  text: true,
  calls: true,
  files: true,
  usage: true,
  finish: true,
  model: true,
  reasoning: true,
  response: true,
  warnings: true,
  providerMetadata: true,
}
const callNames: NamesOf<ToolCall> = { id: true, name: true, input: true, invalid: true }

/** What people who know other tools mean by other names. */
const meantByAnswer = { content: 'text', toolCalls: 'calls', tool_calls: 'calls', finishReason: 'finish' }
const meantByCall = { args: 'input', arguments: 'input', toolName: 'name', tool: 'name', toolCallId: 'id' }

/** Text is read as the JSON text of arguments, so a text that is itself the input is quoted. */
const given = (input: unknown): unknown => (typeof input === 'string' ? JSON.stringify(input) : input)

function* partsOfAnswer(answer: ModelAnswerInput): Generator<SpecPart> {
  const { text = '', calls = [], files = [] } = answer
  if (text !== '') {
    yield { type: 'text-start', id: '0' }
    yield { type: 'text-delta', id: '0', delta: text }
    yield { type: 'text-end', id: '0' }
  }
  for (const { mediaType, filename, metadata, ...file } of files) {
    const data = 'url' in file ? { type: 'url', url: file.url } : file.data
    yield { type: 'file', mediaType, filename, data, providerMetadata: metadata }
  }
  for (const call of calls)
    yield { type: 'tool-call', toolCallId: call.id, toolName: call.name, input: given(call.input) }
  yield {
    type: 'finish',
    finishReason: answer.finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    providerMetadata: answer.providerMetadata,
  }
}
