/**
 * `openai`: agents as models of OpenAI's API, for `createServer({ protocols: [...] })`.
 *
 * Owns: its paths, which run a request is about. Does not own: bodies (request.ts), forms of answers (chat-completion.ts,
 * response.ts), credentials and limits (the server).
 * Holds: a model is an agent that is registered here. The same `Idempotency-Key` of the same caller is the same run.
 * Leaving a stream, or not waiting for an answer, leaves the run alone.
 */
import {
  expects,
  isObject,
  listOf,
  mustBeOptions,
  newId,
  optionProblems,
  present,
  ReeveError,
  runKey,
  refuseProblems,
  text,
  valueTyped,
  type Checks,
  type Json,
  type RunId,
  type RunKey,
} from '@reeve/core'
import { hasEnded, pagesOf, type RegisteredAgent, type Run, type RunSummary } from '@reeve/runtime'
import type { Protocol, ProtocolContext, ShownError } from '@reeve/server'
import {
  applyChange,
  ChatFeeds,
  recordedChanges,
  sseMessage,
  sseResponse,
  type ChatChange,
} from '../chat-feed/index.ts'
import { requestPath, resultAnswer, type StreamEnd } from '../protocol-run/index.ts'
import { completion, CompletionWriter, type CompletionHead } from './chat-completion.ts'
import { failedResponse, refuse, type OpenAiError } from './errors.ts'
import {
  chatAsked,
  invalidParameter,
  responseAsked,
  type ChatTask,
  type ChatAsked,
  type ResponseAnswers,
  type ResponseAsked,
} from './request.ts'
import { responseIdOf, ResponseWriter, runIdOf, type ResponseRecord, type ResponseState } from './response.ts'

/** Which agents are models, and where. */
export interface OpenAiOptions {
  /** Names of agents. Default: all that are registered. */
  readonly models?: readonly string[]
  /** The base of the API. Default `/v1`. */
  readonly path?: string
}

const optionChecks: Checks<OpenAiOptions> = {
  models: listOf(text, 'models'),
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path, such as "/v1"'),
}

/** Makes the protocol. Throws `config.invalid` for invalid options. */
export function openai(options: OpenAiOptions = {}): Protocol {
  mustBeOptions(options, 'openai', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(optionChecks, options, 'openai'))
  const { models, path = '/v1' } = options
  const api = new OpenAiApi(models)
  return {
    paths: [path],
    headers: clientHeaders,
    async handle(request, context) {
      const { searchParams } = new URL(request.url)
      const pathname = requestPath(request)
      const [what, id, action, ...more] = pathname.slice(path.length + 1).split('/')
      const place = [what, what === 'chat' ? id : id && '*', action, ...more].filter((part) => part !== undefined)
      switch (`${request.method} ${place.join(' ')}`) {
        case 'GET models':
          return Response.json({ object: 'list', data: api.models(context).map(modelForm) })
        case 'GET models *':
          return Response.json(modelForm(api.model(context, id!)))
        case 'POST chat completions':
          return api.complete(context, request, chatAsked(await context.body()))
        case 'POST responses':
          return api.respond(context, request, responseAsked(await context.body()))
        case 'GET responses *':
          if (searchParams.has('starting_after'))
            throw invalidParameter('starting_after', 'a stream of a response begins at its beginning')
          return api.retrieve(context, id!, searchParams.get('stream') === 'true')
        case 'POST responses * cancel':
          return api.cancel(context, id!)
        default:
          throw new ReeveError('request.unknown-path', `there is no ${request.method} ${JSON.stringify(pathname)}`, {
            hint: `There are ${path}/models, ${path}/chat/completions and ${path}/responses.`,
          })
      }
    },
    refuse,
  }
}

/** What the clients of OpenAI send; `x-stainless-`: about themselves. */
const clientHeaders = [
  'openai-beta',
  'openai-organization',
  'openai-project',
  'user-agent',
  ...[
    'arch',
    'custom-poll-interval',
    'helper-method',
    'lang',
    'os',
    'package-version',
    'poll-helper',
    'retry-count',
    'runtime',
    'runtime-version',
    'timeout',
  ].map((name) => `x-stainless-${name}`),
]

const modelForm = ({ name }: RegisteredAgent): Json => ({ id: name, object: 'model', created: 0, owned_by: 'reeve' })

/** How long a cancelled response is waited for, in milliseconds. */
const cancelPatience = 10_000

class OpenAiApi {
  readonly #models: readonly string[] | undefined
  readonly #followed = new ChatFeeds()

  constructor(models: readonly string[] | undefined) {
    this.#models = models
  }

  models({ runtime }: ProtocolContext): readonly RegisteredAgent[] {
    return runtime.agents().filter(({ name }) => this.#models?.includes(name) ?? true)
  }

  model(context: ProtocolContext, name: string): RegisteredAgent {
    const found = this.models(context).find((each) => each.name === name)
    if (found !== undefined) return found
    throw new ReeveError('agent.not-registered', `model: there is no model ${JSON.stringify(name)}`, {
      hint: 'GET /v1/models lists them. Nothing was started.',
    })
  }

  async complete(context: ProtocolContext, request: Request, asked: ChatAsked): Promise<Response> {
    const run = await this.#start(context, asked, keyOf(context, request, 'chat'))
    const { createdAt } = await run.summary()
    const head: CompletionHead = { run: run.id, model: asked.agent, created: Math.floor(createdAt / 1000) }
    if (!asked.isStream) {
      const found = await this.#atEnd(context, run)
      if (found === undefined) return refuse(givenUp)
      const answer = completion(head, found.changes, found.end)
      return isError(answer) ? failedResponse(answer.error) : Response.json(answer)
    }
    const writer = new CompletionWriter(head, asked.includesUsage)
    return this.#stream(context, run, [writer.begin()], (change) =>
      change.type === 'show' || change.type === 'withdraw'
        ? writer.take(change)
        : [...writer.end(change), sseMessage('[DONE]')],
    )
  }

  async respond(context: ProtocolContext, request: Request, asked: ResponseAsked): Promise<Response> {
    const run =
      asked.answered === undefined
        ? await this.#begun(context, request, asked)
        : await this.#answered(context, asked.previous!, asked.answered)
    if (asked.isStream) return this.#events(context, run)
    if (asked.isBackground) return Response.json(await this.#now(context, run))
    const found = await this.#atEnd(context, run)
    if (found === undefined) return refuse(givenUp)
    return Response.json(responseOf(await run.summary(), found.changes, found.end))
  }

  async retrieve(context: ProtocolContext, id: string, isStream: boolean): Promise<Response> {
    const run = await responseRun(context, id)
    return isStream ? this.#events(context, run) : Response.json(await this.#now(context, run))
  }

  async cancel(context: ProtocolContext, id: string): Promise<Response> {
    context.mustAllow('openai cancel')
    const run = await responseRun(context, id)
    if (!hasEnded((await run.summary()).status)) {
      await run.control.cancel('cancelled by a client', context.principal.name)
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(cancelPatience)])
      for await (const _event of run.events({ from: Number.MAX_SAFE_INTEGER, signal })) void _event
    }
    return Response.json(await this.#now(context, run))
  }

  /** A response goes on with the session of the one before it, or begins a session of its own. */
  async #begun(
    context: ProtocolContext,
    request: Request,
    { asked, previous, isBackground, metadata }: ResponseAsked,
  ): Promise<Run> {
    const key = keyOf(context, request, 'responses')
    const session = previous === undefined ? key.id : await sessionAfter(context, previous, key.id)
    const record: ResponseRecord = { background: isBackground, previous: previous ?? null, metadata }
    return this.#start(context, asked!, key, { session, metadata: { openai: record as unknown as Json } })
  }

  async #answered(context: ProtocolContext, previous: string, { approvals, answers }: ResponseAnswers): Promise<Run> {
    context.mustAllow('openai answer')
    const run = await responseRun(context, previous)
    const { name } = context.principal
    const open = await context.runtime.questions({ run: run.id })
    // all of them are open, or nothing is decided
    const isOpen = (id: string): boolean => open.some((each) => each.id === id)
    const first = [...approvals.filter(({ id }) => !isOpen(id)), ...approvals.filter(({ id }) => isOpen(id))]
    for (const { id, value } of answers) if (!isOpen(id)) await run.answer({ interruptId: id, value, by: name })
    for (const { id, approved, reason } of first) {
      const decision = approved ? 'approve' : 'reject'
      await run.decide({ approvalId: id, decision, approver: name, ...present({ comment: reason }) })
    }
    for (const { id, value } of answers) {
      const body = open.find((each) => each.id === id)?.body
      const result = resultAnswer({ content: value }, body as Json)
      if (result !== undefined) {
        // through the runtime of the caller, which knows who may run what for whom
        await context.runtime.answer({ interruptId: id, value: result, by: name })
        continue
      }
      const schema = isObject(body) ? body['schema'] : undefined
      const isTyped = isObject(schema) && schema['type'] !== 'string'
      await run.answer({ interruptId: id, value: isTyped ? valueTyped(value, 'the answer') : value, by: name })
    }
    return run
  }

  async #events(context: ProtocolContext, run: Run): Promise<Response> {
    const summary = await run.summary()
    const writer = new ResponseWriter(summary)
    return this.#stream(context, run, writer.begin(), (change) =>
      change.type === 'show' || change.type === 'withdraw' ? writer.take(change) : writer.end(change),
    )
  }

  /** The response as it is now: nothing is waited for. */
  async #now(context: ProtocolContext, run: Run): Promise<Json> {
    const summary = await run.summary()
    const changes = await recordedChanges(pagesOf(run))
    return responseOf(summary, changes, await stateOf(context, run, summary))
  }

  async #start(
    context: ProtocolContext,
    { agent, text: said, messages }: ChatTask,
    key: RunKey,
    more: { readonly session?: string; readonly metadata?: { readonly openai: Json } } = {},
  ): Promise<Run> {
    context.mustAllow('openai start')
    const { inputSchema } = this.model(context, agent)
    const input = inputSchema === undefined ? said : valueTyped(said, 'the input')
    const run = await context.start(agent, input, {
      key,
      ...(messages.length === 0 ? undefined : { messages }),
      ...more,
    })
    // at once: its first words are shown as well
    this.#followed.follow(run)
    return run
  }

  /** What is shown until the run has ended or needs a person; undefined if no one waits for it any more. */
  async #atEnd(
    { signal }: ProtocolContext,
    run: Run,
  ): Promise<{ readonly changes: readonly ChatChange[]; readonly end: StreamEnd } | undefined> {
    const changes: ChatChange[] = []
    for await (const change of this.#followed.follow(run).read(signal)) {
      if (change.type !== 'show' && change.type !== 'withdraw') return { changes, end: change }
      applyChange(changes, change)
    }
    return undefined
  }

  #stream(context: ProtocolContext, run: Run, begin: readonly string[], write: Write): Response {
    const { signal, heartbeatMs, readerTimeoutMs } = context
    const followed = this.#followed.follow(run)
    return sseResponse({ signal, heartbeatMs, readerTimeoutMs }, (left) => written(begin, followed.read(left), write))
  }
}

/** The answer to a client that has gone, or to those who wait when the server closes. No error of the server. */
const givenUp: ShownError = {
  status: 503,
  code: 'engine.closed',
  message: 'the request was given up; the run goes on',
  retryable: true,
}

type Write = (change: ChatChange | StreamEnd) => readonly string[]

async function* written(
  begin: readonly string[],
  changes: AsyncIterable<ChatChange | StreamEnd>,
  write: Write,
): AsyncGenerator<string, undefined> {
  yield* begin
  try {
    for await (const change of changes) yield* write(change)
  } catch (thrown) {
    // the run goes on: only this stream cannot
    yield sseMessage({ error: streamError(thrown) })
  }
  return undefined
}

const isError = (answer: Json | { readonly error: OpenAiError }): answer is { readonly error: OpenAiError } =>
  isObject(answer) && 'error' in answer

/** The key of a request with an idempotency key, another caller's is another run; else one of its own. */
function keyOf({ principal }: ProtocolContext, request: Request, kind: string): RunKey {
  const key = request.headers.get('Idempotency-Key')
  return key === null || key === ''
    ? { id: newId('run') as RunId }
    : runKey('openai', kind, principal.tenant ?? '', principal.name, key)
}

const unknownResponse = (id: string): ReeveError =>
  new ReeveError('run.unknown', `there is no response ${JSON.stringify(id)}`, { hint: 'Nothing was done.' })

/** The run of a response, if it is there for the caller: their own, or of an admin's choice. */
async function responseRun(context: ProtocolContext, id: string): Promise<Run> {
  const { principal } = context
  const runId = runIdOf(id)
  if (runId === undefined) throw unknownResponse(id)
  try {
    const run = await context.run(runId)
    const { user } = (await run.summary()).caller
    if (user === principal.name || principal.roles.includes('admin')) return run
  } catch (thrown) {
    if (!ReeveError.is(thrown, 'run.unknown') && !ReeveError.is(thrown, 'run.invalid-id')) throw thrown
  }
  throw unknownResponse(id)
}

/** The session that a response is in, for the next one: it has to be the last of it, and not to wait for a person. */
async function sessionAfter(context: ProtocolContext, previous: string, next: string): Promise<string> {
  const run = await responseRun(context, previous)
  const { caller } = await run.summary()
  const { session } = caller
  if (session === undefined) throw invalidParameter('previous_response_id', 'that response is of no conversation')
  const runs = (await context.runtime.runs({ session, limit: 10 })).filter(({ run: id }) => id !== next)
  const newest = runs.find(({ caller: { tenant } }) => tenant === caller.tenant)
  if (newest !== undefined && newest.run !== run.id && newest.run !== next)
    throw invalidParameter(
      'previous_response_id',
      `${previous} is not the last response of its conversation, which is ${responseIdOf(newest.run)}`,
    )
  if (newest?.waitsFor !== undefined && !hasEnded(newest.status))
    throw new ReeveError('session.busy', `previous_response_id: ${previous} waits for a person`, {
      hint: 'Answer what it asks, or cancel it. Nothing was started.',
    })
  return session
}

async function stateOf(context: ProtocolContext, run: Run, { status, waitsFor }: RunSummary): Promise<ResponseState> {
  if (hasEnded(status)) return { type: 'ended', position: 0, outcome: await run.outcome() }
  if (waitsFor === undefined) return { type: 'running' }
  const questions = await context.runtime.questions({ run: run.id })
  if (questions.length === 0) return { type: 'running' }
  return { type: 'waiting', position: 0, waiting: { status: 'waiting', waiting: [], questions } }
}

function responseOf(summary: RunSummary, changes: readonly ChatChange[], state: ResponseState): Json {
  const writer = new ResponseWriter(summary)
  for (const change of changes) writer.take(change)
  return writer.response(state)
}

/** Nothing internal is told of what the caller did not do. */
const streamError = (thrown: unknown): OpenAiError => ({
  message: 'the stream was cut; the run goes on',
  type: 'server_error',
  param: null,
  code: ReeveError.is(thrown) ? thrown.code : 'request.failed',
})
