/**
 * `uiMessages`: the protocol of the AI SDK's `useChat`, for `createServer({ protocols: [...] })`.
 *
 * Owns: its paths, which run a request is about, who may ask for it. Does not own: the body of a request
 * (chat-request.ts), streams (message-stream.ts), credentials and limits (the server).
 * Holds: a chat is a session; it belongs to who began it. A message starts one run, however often it is sent. What a
 * client says of earlier messages counts for nothing but where it goes on reading. Leaving a stream leaves the run
 * alone.
 */
import {
  canonical,
  expects,
  listOf,
  mustBeOptions,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  runKey,
  shownName,
  text,
  type Checks,
  type Json,
  type RunKey,
} from '@reeve/core'
import { hasEnded, mayContinue, pagesOf, type Question, type Run, type RunSummary } from '@reeve/runtime'
import type { Protocol, ProtocolContext, ShownError } from '@reeve/server'
import { ChatFeeds } from '../chat-feed/index.ts'
import { requestPath, usableAmong } from '../protocol-run/index.ts'
import { chatMessages, messageKey } from './chat-history.ts'
import { chatRequest, type ChatAnswers, type ChatMessage, type ChatRequest } from './chat-request.ts'
import type { WrittenBefore } from './chunk-writer.ts'
import { messageStream } from './message-stream.ts'

/** What `useChat` talks to. */
export interface UiMessagesOptions {
  /** The name of the agent that answers. */
  readonly agent?: string
  /** Or several: the request names one as `agent` in its body; the first one is the default. */
  readonly agents?: readonly string[]
  /** The path of the chat, `api` of the client's transport. Default `/chat`. */
  readonly path?: string
}

const optionChecks: Checks<UiMessagesOptions> = {
  agent: text,
  agents: listOf(text, 'agents'),
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path, such as "/chat"'),
}

/** Makes the protocol. Throws `config.invalid` for invalid options. */
export function uiMessages(options: UiMessagesOptions): Protocol {
  mustBeOptions(options, 'uiMessages', 'config.invalid')
  refuseProblems(
    'config.invalid',
    optionProblems(optionChecks, options, 'uiMessages', ({ agent, agents }, where) => [
      (agent === undefined) === (agents === undefined || agents.length === 0) &&
        `${where}: expected either agent or agents`,
    ]),
  )
  const { agent, agents = [agent!], path = '/chat' } = options
  const chats = new Chats(agents)
  return {
    paths: [path],
    async handle(request, context) {
      const rest = requestPath(request).slice(path.length + 1)
      const [chat, what, ...more] = rest.split('/').map(decoded)
      const { method } = request
      if (rest === '' && method === 'POST') return chats.post(context, chatRequest(await context.body()))
      if (rest !== '' && more.length === 0 && what === undefined && method === 'GET')
        return chats.history(context, chat!)
      if (more.length === 0 && what === 'stream' && method === 'GET') return chats.resume(context, chat!)
      if (more.length === 0 && what === 'stop' && method === 'POST') return chats.stop(context, chat!)
      throw new ReeveError(
        'request.unknown-path',
        `there is no ${method} ${JSON.stringify(new URL(request.url).pathname)}`,
        {
          hint: `A chat has POST ${path}, GET ${path}/{id}, GET ${path}/{id}/stream and POST ${path}/{id}/stop.`,
        },
      )
    },
    refuse,
  }
}

/** An error before a stream: `useChat` has its text as the message of its error. */
const refuse = ({ status, ...error }: ShownError): Response => Response.json({ error }, { status })

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new ReeveError('input.invalid', `the path: ${JSON.stringify(part)} is not an id`, {
      hint: 'Nothing was done.',
    })
  }
}

/** Runs of a chat that are looked at. */
const runsOfChat = 100

class Chats {
  readonly #agents: readonly string[]
  readonly #followed = new ChatFeeds()

  constructor(agents: readonly string[]) {
    this.#agents = agents
  }

  async post(context: ProtocolContext, { chat, agent, said }: ChatRequest): Promise<Response> {
    if (said.type === 'answers') return this.#answer(context, chat, said)
    const usable = usableAmong(this.#agents, context)
    const name = agent ?? usable[0] ?? ''
    if (!usable.includes(name))
      throw new ReeveError('agent.not-registered', `the agent "${shownName(name)}" does not answer here`, {
        hint: `Those that do: ${usable.join(', ')}. Nothing was started.`,
      })
    return this.#stream(context, await this.#started(context, chat, name, said))
  }

  /** The run of a message: begun now, or before. */
  async #started(context: ProtocolContext, chat: string, agent: string, said: ChatMessage): Promise<Run> {
    context.mustAllow('chat start')
    const { runtime, principal } = context
    const runs = await runsOf(context, chat)
    const keyOf = (attempt: number): RunKey => runKey('chat', principal.tenant ?? '', chat, said.id, String(attempt))
    let known = 0
    let last: RunSummary | undefined
    for (let run; (run = await context.keyed(keyOf(known))) !== undefined; known++) last = await run.summary()
    const isNew = last === undefined || (said.again && hasEnded(last.status))
    if (isNew) mustBeFree(runs)
    const { files } = said
    // the same message again is the same start; a new answer is the caller's own, or of an admin for its user
    const user = isNew && !principal.roles.includes('admin') ? principal.name : (last?.caller.user ?? principal.name)
    const options = {
      key: keyOf(isNew ? known : known - 1),
      session: chat,
      user,
      metadata: { [messageKey]: said.id },
      ...present({ messages: files.length === 0 ? undefined : [{ role: 'user', content: files } as const] }),
    }
    const run = await context.start(agent, said.text, options)
    // at once: its first words are shown as well
    this.#followed.follow(run, (id) => runtime.handle(id))
    return run
  }

  async #answer(context: ProtocolContext, chat: string, said: ChatAnswers): Promise<Response> {
    context.mustAllow('chat answer')
    const { principal } = context
    const known = (await runsOf(context, chat)).some(({ run }) => run === said.run)
    if (!known)
      throw new ReeveError('run.unknown', `the message ${JSON.stringify(said.run)} is of no run of this chat`, {
        hint: 'Resume the stream of the chat, and answer what it asks. Nothing was decided.',
      })
    const run = await context.run(said.run)
    const open = await context.runtime.questions({ run: run.id })
    const isRepeated = await this.#mustBeAnswerable(run, open, said, principal.name)
    const from = said.position ?? (await askedAt(run, said))
    for (const { id, approved, reason } of said.approvals) {
      if (isRepeated.has(id)) continue
      const decision = approved ? 'approve' : 'reject'
      await run.decide({ approvalId: id, decision, approver: principal.name, ...present({ comment: reason }) })
    }
    // through the runtime of the caller, which knows who may run what for whom
    for (const { id, value } of [...said.answers, ...said.results])
      if (!isRepeated.has(id)) await context.runtime.answer({ interruptId: id, value, by: principal.name })
    const decided = said.approvals.flatMap(({ id, approved }) => {
      const question = open.find((each) => each.id === id)
      return question === undefined ? [] : [{ question, approved }]
    })
    const answered = said.results.flatMap(({ id, value }) => {
      const question = open.find((each) => each.id === id)
      return question === undefined ? [] : [{ question, value }]
    })
    const before = { from, answered: said.results.map(({ id }) => id), known: said.running }
    return this.#stream(context, run, before, decided, answered)
  }

  /**
   * What is asked here is open; or it was decided in the same way by the same person, as a request that was sent twice
   * says it. Returns those. Throws as `decide` does for the others, before anything is decided.
   */
  async #mustBeAnswerable(
    run: Run,
    open: readonly Question[],
    { approvals, answers, results }: ChatAnswers,
    approver: string,
  ): Promise<ReadonlySet<string>> {
    const repeated = new Set<string>()
    for (const { id, approved } of approvals) {
      if (open.some((each) => each.id === id && each.kind === 'approval')) continue
      const found = (await run.view()).approvals.find((each) => each.id === id)
      const isSame = found?.resolution === (approved ? 'approved' : 'rejected') && found.approver === approver
      // of a run that rests there is nothing more to be shown: it would be sent for ever
      const isAtRest = (await run.summary()).status === 'waiting'
      if (isSame && !isAtRest) repeated.add(id)
      else await run.decide({ approvalId: id, decision: approved ? 'approve' : 'reject', approver })
    }
    for (const { id, value } of answers)
      if (!open.some((each) => each.id === id && each.kind === 'interrupt'))
        await run.answer({ interruptId: id, value, by: approver })
    for (const { id, value } of results) {
      if (open.some((each) => each.id === id && each.kind === 'interrupt')) continue
      const { outcome } = (await run.view()).interrupts.find((each) => each.id === id) ?? {}
      const isSame =
        outcome?.status === 'completed' && outcome.by === approver && canonical(outcome.output) === canonical(value)
      if (isSame) repeated.add(id)
      else await run.answer({ interruptId: id, value, by: approver })
    }
    return repeated
  }

  async resume(context: ProtocolContext, chat: string): Promise<Response> {
    const newest = (await runsOf(context, chat)).find(({ status }) => !hasEnded(status))
    if (newest === undefined) return new Response(null, { status: 204 })
    return this.#stream(context, await context.run(newest.run))
  }

  async history(context: ProtocolContext, chat: string): Promise<Response> {
    const runs = await runsOf(context, chat)
    const messages = await chatMessages([...runs].reverse(), (id) => context.runtime.handle(id), context.signal)
    return Response.json({ id: chat, messages })
  }

  async stop(context: ProtocolContext, chat: string): Promise<Response> {
    context.mustAllow('chat stop')
    const { principal } = context
    for (const { run, status } of await runsOf(context, chat))
      if (!hasEnded(status)) await (await context.run(run)).control.cancel('stopped in the chat', principal.name)
    return new Response(null, { status: 204 })
  }

  async #stream(
    { runtime, signal, heartbeatMs, readerTimeoutMs }: ProtocolContext,
    run: Run,
    before: WrittenBefore = {},
    decided: readonly { readonly question: Question; readonly approved: boolean }[] = [],
    answered: readonly { readonly question: Question; readonly value: Json }[] = [],
  ): Promise<Response> {
    const { agent } = await run.summary()
    const followed = this.#followed.follow(run, (id) => runtime.handle(id))
    for (const { question, approved } of decided) followed.noteDecision(question, approved)
    for (const { question, value } of answered) followed.noteAnswer(question, value)
    return messageStream(followed, agent, before, { signal, heartbeatMs, readerTimeoutMs })
  }
}

/**
 * The runs of a chat, newest first. Throws `request.forbidden` for a chat of another, which only an admin is shown
 * besides whom it is shared with.
 */
async function runsOf({ runtime, principal }: ProtocolContext, chat: string): Promise<readonly RunSummary[]> {
  const access = await runtime.sessions.access({ session: chat })
  if (!mayContinue(access, principal.name) && !principal.roles.includes('admin'))
    throw new ReeveError('request.forbidden', `the chat ${JSON.stringify(chat)} is of another user`, {
      hint: 'Nothing was done.',
    })
  const found = await runtime.runs({ session: chat, limit: runsOfChat })
  return found.filter(({ caller }) => caller.tenant === principal.tenant)
}

/** A message behind a run that waits for a person would wait for that person, too, and say nothing. */
function mustBeFree(runs: readonly RunSummary[]): void {
  const waiting = runs.find(({ status, waitsFor }) => !hasEnded(status) && waitsFor !== undefined)
  if (waiting === undefined) return
  throw new ReeveError('session.busy', `run ${waiting.run} of this chat waits for an answer of a person`, {
    hint: 'Answer what it asks, or stop it. Nothing was started.',
  })
}

/** Where the run asked last of what is answered: whoever answers it has seen the run up to there. */
async function askedAt(run: Run, { approvals, answers, results }: ChatAnswers): Promise<number> {
  const ids = new Set([...approvals, ...answers, ...results].map(({ id }) => id))
  let last = 0
  for await (const page of pagesOf(run))
    for (const { event, position } of page)
      if ((event.type === 'approval.requested' || event.type === 'interrupt.raised') && ids.has(event.id))
        last = position
  return last
}
