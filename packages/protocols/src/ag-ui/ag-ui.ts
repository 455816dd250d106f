/**
 * The server side of AG-UI 1.0: runs as streams that end with what the run came to, or with what it needs.
 *
 * Owns: the protocol's value, which run a request means, where its stream begins. Does not own: the events
 * (event-translator.ts), the form of interrupts (interrupt.ts), who may call (../../server).
 * Holds: a request that comes again starts nothing and decides nothing a second time; its stream shows the same again,
 * and goes on. Replies are checked before the first of them is sent.
 */
import {
  expects,
  listOf,
  mustBeOptions,
  optionProblems,
  ReeveError,
  refuseProblems,
  rootRun,
  runKey,
  shownName,
  choice,
  isObject,
  valueTyped,
  type Checks,
  type Json,
  type RunKey,
} from '@reeve/core'
import { pagesOf, type Run, type StartOptions } from '@reeve/runtime'
import type { Protocol, ProtocolContext } from '@reeve/server'
import {
  agentName,
  agentNameCheck,
  askedBy,
  usableAmong,
  askedQuestions,
  findQuestion,
  isSettlement,
  followRun,
  requestPath,
  resultAnswer,
  needsPeople,
  reply,
  settlementOf,
  type KnownQuestion,
  type NamedAgent,
} from '../protocol-run/index.ts'
import { EventTranslator } from './event-translator.ts'
import { replyIn, type ResumeEntry } from './interrupt.ts'
import { invalid, readRunInput, type AgUiRequest } from './run-input.ts'
import type { AgUiEvent } from './wire.ts'

/** The options of `agUi`. */
export interface AgUiOptions {
  /** The agent that answers at `path`, or its name. */
  readonly agent?: NamedAgent
  /** Several agents, each at `path/<name>`. */
  readonly agents?: readonly NamedAgent[]
  /** Default `/ag-ui`. */
  readonly path?: string
  /**
   * What becomes of a run whose client leaves its stream before the end, as `abortRun()` does. `continue` (default): it
   * goes on; the same request again shows it. `cancel`: it is cancelled.
   */
  readonly onDisconnect?: 'continue' | 'cancel'
}

const checks: Checks<AgUiOptions> = {
  agent: agentNameCheck,
  agents: listOf(agentNameCheck, 'agents'),
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path such as "/ag-ui"'),
  onDisconnect: choice('continue', 'cancel'),
}

/** AG-UI for `createServer({ protocols: [...] })`. Throws `config.invalid` for invalid options. */
export function agUi(options: AgUiOptions): Protocol {
  mustBeOptions(options, 'agUi', 'config.invalid')
  refuseProblems(
    'config.invalid',
    optionProblems(checks, options, 'agUi', ({ agent, agents }, where) => [
      (agent === undefined) === (agents === undefined) && `${where}: expected either agent or agents`,
    ]),
  )
  const { agent, agents = [], path = '/ag-ui', onDisconnect = 'continue' } = options
  const served = new Map([
    ...agents.map((each) => [`${path}/${agentName(each)}`, agentName(each)] as const),
    ...(agent === undefined ? [] : [[path, agentName(agent)] as const]),
  ])
  return {
    paths: [path],
    async handle(request, context) {
      const pathname = requestPath(request)
      const name = served.get(pathname)
      const usable = usableAmong([...served.values()], context)
      if (name === undefined || !usable.includes(name)) {
        const paths = [...served].flatMap(([at, each]) => (usable.includes(each) ? [at] : []))
        throw new ReeveError('request.unknown-path', `no agent answers at "${shownName(pathname)}"`, {
          hint: `Agents answer at ${paths.join(', ')}.`,
        })
      }
      if (request.method !== 'POST')
        throw new ReeveError('request.wrong-method', `${JSON.stringify(pathname)} does not take ${request.method}`, {
          hint: 'It takes POST.',
        })
      const asked = readRunInput(await context.body())
      const answers = asked.resume.length > 0 ? asked.resume : await clientAnswers(context, name, asked)
      const meant = await (answers.length === 0
        ? startedRun(context, name, asked)
        : resumedRun(context, name, { ...asked, resume: answers }))
      const cancels = onDisconnect === 'cancel'
      return context.stream((signal) => streamed(context, meant, asked, cancels ? request.signal : undefined, signal))
    },
    refuse: ({ status, code, message }) =>
      Response.json({ type: 'RUN_ERROR', message, code } satisfies AgUiEvent, { status }),
  }
}

/** The run of a request, and what of it the stream shows. */
interface ServedRun {
  readonly run: Run
  /** Recorded up to here: shown in an earlier stream. */
  readonly from: number
  /** Questions whose answers the run has yet to read. */
  readonly answered: readonly KnownQuestion[]
}

async function startedRun(context: ProtocolContext, agent: string, asked: AgUiRequest): Promise<ServedRun> {
  const { principal, runtime } = context
  const { threadId, runId, said } = asked
  await runtime.sessions.mustBeOf({ session: threadId, user: principal.name })
  const key = runKey('ag-ui', principal.tenant ?? '', principal.name, threadId, runId)
  const waiting = await waitingRun(context, agent, asked, key)
  if (waiting !== undefined) return waiting
  context.mustAllow('ag-ui start')
  if (said === undefined) throw invalid('the last message is not from the user')
  const options: StartOptions = {
    key,
    session: threadId,
    ...(said.files.length === 0 ? {} : { messages: [{ role: 'user', content: said.files }] }),
  }
  const run = await context.start(agent, inputFor(context, agent, said.text), options)
  return { run, from: 0, answered: [] }
}

/** An agent with an input schema is given the JSON of a text. */
function inputFor({ runtime }: ProtocolContext, agent: string, said: string): Json {
  const schema = runtime.agents().find(({ name }) => name === agent)?.inputSchema
  const json = schema === undefined ? undefined : valueTyped(said, 'the input')
  return isObject(json) ? json : said
}

/**
 * The run of a thread that waits for an answer, as after a reload: its stream has the open interrupts. Nothing else is
 * taken meanwhile. It is shown from its beginning to a client without messages. Undefined: none waits, or the request
 * came before. Throws `session.busy` where it is another agent's.
 */
async function waitingRun(
  context: ProtocolContext,
  agent: string,
  { threadId, hasMessages }: AgUiRequest,
  key: RunKey,
): Promise<ServedRun | undefined> {
  const [waiting] = await context.runtime.runs({ session: threadId, status: ['waiting'], limit: 1 })
  if (waiting?.waitsFor === undefined || (await isThere(context, key))) return undefined
  if (waiting.agent !== agent)
    throw new ReeveError('session.busy', `the thread ${JSON.stringify(threadId)} waits for an answer`, {
      hint: 'At the path of its agent its interrupts are shown. Nothing was started.',
    })
  const run = await context.run(waiting.run)
  const shown = hasMessages ? (await run.view()).position : 0
  return { run, from: shown, answered: [] }
}

/** Whether the run of a key was begun before: then its request has come again. */
const isThere = async (context: ProtocolContext, key: RunKey): Promise<boolean> =>
  (await context.keyed(key)) !== undefined

async function resumedRun(context: ProtocolContext, agent: string, asked: AgUiRequest): Promise<ServedRun> {
  const run = await runOfThread(context, agent, asked)
  const replies = await Promise.all(
    asked.resume.map(async (entry) => {
      const known = (await findQuestion(context, run, entry.interruptId)) ?? unknownInterrupt(entry)
      return { known, said: replyIn(entry, known) }
    }),
  )
  const before = (await run.view()).position
  for (const { known, said } of replies) await reply(context, run, known, said)
  const answered = replies.map(({ known }) => known)
  return { run, from: await firstAnswered(run, answered, before), answered }
}

/**
 * What the results at the end of the messages answer: calls that the newest run of the thread has put to the client.
 * Those that are open; where none is, those that were answered before, as a request that is sent again has them.
 */
async function clientAnswers(
  context: ProtocolContext,
  agent: string,
  { threadId, results }: AgUiRequest,
): Promise<readonly ResumeEntry[]> {
  if (results.length === 0) return []
  const [newest] = await context.runtime.runs({ session: threadId, agent, limit: 1 })
  if (newest === undefined) return []
  const { interrupts } = await (await context.run(newest.run)).view()
  const found = interrupts.flatMap((each) => {
    const { id, activation, callId, open } = each
    const result =
      each.tool === undefined || callId === undefined
        ? undefined
        : results.find(({ toolCallId }) => toolCallId.startsWith(`${activation}:`) && toolCallId.endsWith(`/${callId}`))
    if (result === undefined) return []
    return [
      {
        open,
        entry: {
          interruptId: id,
          status: 'resolved',
          payload: resultAnswer(result, each as unknown as Json)!,
        } as const,
      },
    ]
  })
  const open = found.filter((each) => each.open)
  return (open.length > 0 ? open : found).map(({ entry }) => entry)
}

function unknownInterrupt({ interruptId }: ResumeEntry): never {
  throw new ReeveError('interrupt.unknown', `no run of this thread has asked ${JSON.stringify(interruptId)}`, {
    hint: 'The interrupts of the last RUN_FINISHED have the ids.',
  })
}

/** So many of the newest runs of a thread are looked at. */
const newestRuns = 20

/** The run of the thread that has asked what the request answers. Throws `interrupt.unknown`. */
async function runOfThread(context: ProtocolContext, agent: string, { threadId, resume }: AgUiRequest): Promise<Run> {
  const [first] = resume as readonly [ResumeEntry, ...ResumeEntry[]]
  const [open] = await context.runtime.questions({ id: first.interruptId })
  const candidates =
    open === undefined
      ? (await context.runtime.runs({ session: threadId, agent, limit: newestRuns })).map(({ run }) => run)
      : [rootRun(open.run)]
  for (const id of candidates) {
    const run = await context.run(id)
    const { caller, agent: root } = await run.summary()
    if (caller.session !== threadId || root !== agent) continue
    if ((await findQuestion(context, run, first.interruptId)) !== undefined) return run
  }
  return unknownInterrupt(first)
}

/** The position before which the answers were not read: there the stream of a resumed run begins. */
async function firstAnswered(run: Run, answered: readonly KnownQuestion[], before: number): Promise<number> {
  const settled = new Map<KnownQuestion, number>()
  // a question of a child run was settled there: what was recorded later than that comes after it
  const later = new Map<KnownQuestion, number>()
  for await (const page of pagesOf(run))
    for (const { activation: of, event, at, position } of page)
      for (const question of answered) {
        const { activation, address, resolvedAt } = question
        if (of === activation && isSettlement(event, address) && !settled.has(question)) settled.set(question, position)
        if (resolvedAt !== undefined && at >= resolvedAt && !later.has(question)) later.set(question, position)
      }
  const found = answered.flatMap((question) => settled.get(question) ?? later.get(question) ?? [])
  return Math.min(before, ...found.map((position) => position - 1))
}

async function* streamed(
  context: ProtocolContext,
  { run, from, answered }: ServedRun,
  { threadId, runId }: AgUiRequest,
  cancelsWith: AbortSignal | undefined,
  signal: AbortSignal,
): AsyncGenerator<AgUiEvent> {
  const translator = new EventTranslator({ threadId, runId, run: run.id, from })
  yield translator.begin()
  const { runtime } = context
  const ready = Promise.all(answered.map((known) => settlementOf({ runtime, signal }, known)))
  let hasEnded = false
  const left = (): void => {
    // the server that closes leaves its runs alone
    if (!hasEnded && cancelsWith?.aborted === true)
      run.control.cancel('its client has left', context.principal.name).catch(() => undefined)
  }
  signal.addEventListener('abort', left)
  try {
    for await (const item of followRun(run, { signal, ready, endsWith: needsPeople })) {
      if (item.type === 'event') yield* translator.event(item.event)
      else if (item.type === 'part') yield* translator.part(item.part)
      else {
        hasEnded = true
        const { end } = item
        const questions = end.type === 'waiting' ? askedQuestions(askedBy(end.waiting), runtime) : []
        yield* translator.end(end, questions)
      }
    }
  } finally {
    signal.removeEventListener('abort', left)
  }
}
