/**
 * The operations of A2A 1.0 over runs: send, stream, get, list, cancel, subscribe.
 *
 * Owns: which run a message means, what of a run a stream shows. Does not own: bindings (server.ts), the objects
 * (task.ts, message.ts), who may call (../../server).
 * Holds: a message that comes again starts nothing and decides nothing a second time. Replies are checked before the
 * first of them is sent. The first message of every stream is the task.
 */
import {
  canonical,
  derivedId,
  runKey,
  isObject,
  own,
  present,
  ReeveError,
  valueTyped,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { cursorIn, cursorOf, hasEnded, type Run, type RunStatus, type RunSummary } from '@reeve/runtime'
import type { ProtocolContext } from '@reeve/server'
import {
  askedBy,
  askedQuestions,
  findQuestion,
  followRun,
  isSettled,
  needsPeople,
  reply,
  settlementOf,
  type KnownQuestion,
  type Reply,
} from '../protocol-run/index.ts'
import { countIn, mustHaveNoTenant, readMessage, repliesIn, textIn, type SentMessage } from './message.ts'
import { A2aRefusal } from './protocol-error.ts'
import { changedAt, messageIdKey, rowTask, stateOf, taskNow, TaskProjection, timeText } from './task.ts'
import type { A2aTask, StreamResponse, TaskPage, TaskState } from './wire.ts'

/** A request to an agent. */
export interface AgentRequest {
  readonly context: ProtocolContext
  /** The agent that is asked. */
  readonly agent: string
}

/** What a message has begun or resumed. */
interface Sent {
  readonly run: Run
  /** It began with this message, and not before. */
  readonly created: boolean
  /** Questions whose answers the run has yet to read. */
  readonly answered: readonly KnownQuestion[]
}

/** `SendMessage`: the task once it rests, or at once. */
export async function sendMessage(request: AgentRequest, params: JsonObject): Promise<JsonObject> {
  const message = readMessage(params)
  const { context } = request
  const { run, answered } = await send(request, message)
  if (!message.returnImmediately) await rested(context, run, answered)
  const { fold, status } = await taskNow(run, context.runtime)
  return { task: fold.task(status, message.historyLength) as unknown as Json }
}

/** `SendStreamingMessage`: the task, then what becomes of it until it rests. */
export async function streamMessage(
  request: AgentRequest,
  params: JsonObject,
): Promise<(signal: AbortSignal) => AsyncIterable<StreamResponse>> {
  const message = readMessage(params)
  const sent = await send(request, message)
  return (signal) => streamed(request.context, sent, signal, message.historyLength)
}

/** `SubscribeToTask`: as a stream of a message. A task that waits for input is followed until it goes on. */
export async function subscribe(
  request: AgentRequest,
  params: JsonObject,
): Promise<(signal: AbortSignal) => AsyncIterable<StreamResponse>> {
  const run = await ownTask(request, params)
  const { status } = await run.summary()
  if (hasEnded(status))
    throw new A2aRefusal('UNSUPPORTED_OPERATION', `the task ${JSON.stringify(run.id)} has ended: ${status}`)
  return (signal) => streamed(request.context, { run, created: false, answered: [] }, signal, undefined, true)
}

/** `GetTask`. */
export async function getTask(request: AgentRequest, params: JsonObject): Promise<A2aTask> {
  const run = await ownTask(request, params)
  const { fold, status } = await taskNow(run, request.context.runtime)
  return fold.task(status, countIn(params, 'historyLength'))
}

/** `CancelTask`: the task once its run has ended. */
export async function cancelTask(request: AgentRequest, params: JsonObject): Promise<A2aTask> {
  const { context } = request
  context.mustAllow('a2a cancel')
  const run = await ownTask(request, params)
  const { status } = await run.summary()
  if (hasEnded(status) && status !== 'cancelled')
    throw new A2aRefusal('TASK_NOT_CANCELABLE', `the task ${JSON.stringify(run.id)} has ended: ${status}`)
  if (status !== 'cancelled') {
    await run.control.cancel('cancelled over A2A', context.principal.name)
    for await (const _event of run.events({ from: Number.MAX_SAFE_INTEGER, signal: context.signal })) void _event
  }
  const now = await taskNow(run, context.runtime)
  return now.fold.task(now.status)
}

const mostTasks = 100
const defaultTasks = 50
/** So many runs are looked through for one page, and counted, at most. */
const looksThrough = 1_000

/** `ListTasks`: newest first. */
export async function listTasks({ context, agent }: AgentRequest, params: JsonObject): Promise<TaskPage> {
  mustHaveNoTenant(params)
  const { runtime } = context
  const pageSize = countIn(params, 'pageSize') ?? defaultTasks
  if (pageSize < 1 || pageSize > mostTasks) throw invalid(`pageSize is not from 1 to ${mostTasks}`)
  const session = textIn(params, 'contextId')
  const state = stateIn(params)
  const since = timeIn(params)
  const token = textIn(params, 'pageToken')
  const after = token === undefined ? undefined : cursorIn(token)
  if (token !== undefined && after === undefined) throw invalid('pageToken is none that was given')
  const historyLength = countIn(params, 'historyLength') ?? 0
  const includeArtifacts = flagIn(params, 'includeArtifacts')
  const filter = { agent, ...present({ session, status: state && statusesOf[state] }) }
  const fits = (each: RunSummary): boolean =>
    (state === undefined || stateOf(each) === state) && (since === undefined || changedAt(each) >= since)
  const all = await runtime.runs({ ...filter, limit: looksThrough })
  const found = await runtime.runs({ ...filter, ...present({ after }), limit: looksThrough })
  const fitting = found.filter(fits)
  const page = fitting.slice(0, pageSize)
  const last = fitting.length > pageSize ? page.at(-1) : found.length === looksThrough ? found.at(-1) : undefined
  const tasks: A2aTask[] = []
  for (const each of page) {
    if (historyLength === 0 && !includeArtifacts) tasks.push(rowTask(each))
    else {
      const { fold, status } = await taskNow(runtime.handle(each.run), runtime)
      const { artifacts, ...task } = fold.task(status, historyLength)
      tasks.push(includeArtifacts && artifacts !== undefined ? { ...task, artifacts } : task)
    }
  }
  return {
    tasks,
    nextPageToken: last === undefined ? '' : cursorOf(last),
    pageSize,
    totalSize: all.filter(fits).length,
  }
}

/** The statuses of runs that may be in a state. */
const statusesOf: Readonly<Record<TaskState, readonly RunStatus[]>> = {
  TASK_STATE_SUBMITTED: ['queued', 'running'],
  TASK_STATE_WORKING: ['running', 'waiting', 'paused', 'human_control', 'stuck'],
  TASK_STATE_INPUT_REQUIRED: ['waiting'],
  TASK_STATE_COMPLETED: ['completed', 'bailed'],
  TASK_STATE_FAILED: ['failed', 'limited', 'timed-out'],
  TASK_STATE_CANCELED: ['cancelled'],
  TASK_STATE_REJECTED: ['failed'],
}

function stateIn(params: JsonObject): TaskState | undefined {
  const given = textIn(params, 'status')
  if (given === undefined || given === 'TASK_STATE_UNSPECIFIED') return undefined
  if (Object.hasOwn(statusesOf, given)) return given as TaskState
  throw invalid('status is not a state of a task')
}

function timeIn(params: JsonObject): number | undefined {
  const given = textIn(params, 'statusTimestampAfter')
  if (given === undefined) return undefined
  const at = Date.parse(given)
  if (Number.isFinite(at)) return at
  throw invalid('statusTimestampAfter is not a time of ISO 8601')
}

function flagIn(params: JsonObject, name: string): boolean {
  const given = own(params, name) ?? false
  if (given === true || given === 'true') return true
  if (given === false || given === 'false' || given === '') return false
  throw invalid(`${name} is not true or false`)
}

const invalid = (problem: string): A2aRefusal => new A2aRefusal('INVALID_PARAMS', problem)

/** The task that the parameters name, if it is one of the agent's. Throws `run.unknown`. */
async function ownTask(request: AgentRequest, params: JsonObject): Promise<Run> {
  mustHaveNoTenant(params)
  const id = textIn(params, 'id')
  if (id === undefined) throw invalid('id is missing')
  return taskOf(request, id)
}

async function taskOf({ context, agent }: AgentRequest, id: string): Promise<Run> {
  const run = await context.run(id)
  if ((await run.summary()).agent === agent) return run
  throw new ReeveError('run.unknown', `unknown run ${JSON.stringify(id)}`, { hint: 'Another agent has it.' })
}

/** Begins a run, or answers its questions. */
function send(request: AgentRequest, message: SentMessage): Promise<Sent> {
  return message.taskId === undefined ? begin(request, message) : answer(request, message.taskId, message)
}

async function begin({ context, agent }: AgentRequest, message: SentMessage): Promise<Sent> {
  const { principal, mustAllow } = context
  mustAllow('a2a start')
  const { messageId, files } = message
  const key = [principal.tenant ?? '', principal.name, agent, messageId]
  const session = message.contextId ?? derivedId('ctx', 'a2a', ...key)
  const run = await context.start(agent, inputOf(context, agent, message), {
    key: runKey('a2a', ...key),
    session,
    metadata: { [messageIdKey]: messageId },
    ...(files.length === 0 ? {} : { messages: [{ role: 'user', content: files }] }),
  })
  return { run, created: run.created === true, answered: [] }
}

/** One data part alone is the input as it is; an agent with an input schema is given the JSON of a text. */
function inputOf({ runtime }: ProtocolContext, agent: string, { texts, data }: SentMessage): Json {
  const [only] = data
  if (only !== undefined && data.length === 1 && texts.length === 0) return only
  const text = [...texts, ...data.map(canonical)].join('\n')
  const schema = runtime.agents().find(({ name }) => name === agent)?.inputSchema
  const json = schema === undefined ? undefined : valueTyped(text, 'the input')
  return isObject(json) ? json : text
}

async function answer(request: AgentRequest, taskId: string, message: SentMessage): Promise<Sent> {
  const { context } = request
  const run = await taskOf(request, taskId)
  const { status, caller } = await run.summary()
  if (message.contextId !== undefined && message.contextId !== (caller.session ?? run.id))
    throw invalid('message.contextId is not that of the task')
  const open = askedQuestions(await context.runtime.questions({ run: run.id }), context.runtime)
  const latest = open.length === 0 ? await latestSettled(run) : undefined
  if (open.length === 0 && latest === undefined)
    throw new A2aRefusal('UNSUPPORTED_OPERATION', `the task takes no message: it has asked nothing (${status})`)
  const replies: { readonly known: KnownQuestion; readonly given: Reply }[] = []
  for (const { id, reply: given } of repliesIn(message, (open[0] ?? latest)?.kind)) {
    if (id === undefined && open.length > 1)
      throw invalid(`the task waits for ${open.length} answers: name the question by its id`)
    const named = id ?? open[0]?.id
    const known = named === undefined ? latest : await findQuestion(context, run, named)
    if (known === undefined) throw invalid(`the task has not asked ${JSON.stringify(named)}`)
    if (replies.some((each) => each.known.id === known.id))
      throw invalid(`${JSON.stringify(known.id)} is answered twice`)
    replies.push({ known, given })
  }
  // without a name, only the reply that counts already may come again
  for (const { known, given } of replies)
    if (known === latest && !(await isSettled(context, run, known, given)))
      throw new A2aRefusal('UNSUPPORTED_OPERATION', `the task takes no message: it waits for nothing (${status})`)
  for (const { known, given } of replies) await reply(context, run, known, given)
  return { run, created: false, answered: replies.map(({ known }) => known) }
}

/** The question that was answered last. */
async function latestSettled(run: Run): Promise<KnownQuestion | undefined> {
  const { approvals, interrupts } = await run.view()
  const all = [
    ...approvals.map((each) => ({ ...each, kind: 'approval' as const })),
    ...interrupts.map((each) => ({ ...each, kind: 'interrupt' as const })),
  ]
  const [last] = all.toSorted((a, b) => (b.resolvedAt ?? b.askedAt) - (a.resolvedAt ?? a.askedAt))
  if (last === undefined) return undefined
  const { id, kind, activation, address, resolvedAt } = last
  return { id, kind, activation, address, ...present({ resolvedAt }) }
}

/** Resolves when the run rests, or no one waits any more. */
async function rested(context: ProtocolContext, run: Run, answered: readonly KnownQuestion[]): Promise<void> {
  const { signal } = context
  for await (const item of followRun(run, { signal, ready: allRead(context, signal, answered), endsWith: needsPeople }))
    void item
}

const allRead = (
  { runtime }: ProtocolContext,
  signal: AbortSignal,
  answered: readonly KnownQuestion[],
): Promise<unknown> => Promise.all(answered.map((known) => settlementOf({ runtime, signal }, known)))

async function* streamed(
  context: ProtocolContext,
  { run, created, answered }: Sent,
  signal: AbortSignal,
  historyLength: number | undefined,
  waitsForMore = false,
): AsyncGenerator<StreamResponse> {
  const { runtime } = context
  const now = created ? await freshTask(run) : await taskNow(run, runtime)
  const { fold, status, isOver } = now
  yield { task: fold.task(status, historyLength) }
  if (isOver) return
  if (status.state === 'TASK_STATE_SUBMITTED') yield fold.update(fold.working())
  const goesOn = Promise.withResolvers<void>()
  const waits = waitsForMore && status.state === 'TASK_STATE_INPUT_REQUIRED'
  const ready = Promise.all([allRead(context, signal, answered), waits ? goesOn.promise : undefined])
  for await (const item of followRun(run, { signal, ready, endsWith: needsPeople })) {
    if (item.type === 'event') {
      const known = fold.position
      yield* fold.take(item.event)
      if (fold.position > known) goesOn.resolve()
    } else if (item.type === 'end') {
      const { end } = item
      const questions = end.type === 'waiting' ? askedQuestions(askedBy(end.waiting), runtime) : []
      yield fold.update(fold.end(end, questions))
    }
  }
}

/** A task that has begun with this message: submitted, whatever its run has done since. */
async function freshTask(run: Run): Promise<Awaited<ReturnType<typeof taskNow>>> {
  const summary = await run.summary()
  const fold = new TaskProjection(summary)
  for (const recorded of await run.journal({ limit: 1 })) fold.take(recorded)
  return {
    fold,
    status: { state: 'TASK_STATE_SUBMITTED', timestamp: timeText(summary.createdAt) },
    isOver: false,
  }
}
