/**
 * A connection to an MCP server: made when it is needed, and made again when it was lost.
 *
 * Owns: connecting, the list of the server's tools as it is now, calls in flight and those that wait for a person, which
 * errors say that nothing was done. Does not own: which tools agents get (client-tools.ts), asking people (tool-call.ts).
 * Holds: one client at a time. A question of a server of the revision 2025-11-25 is put to a person only where it is
 * certain which call it belongs to.
 */
import type { Client, Transport } from '@modelcontextprotocol/client'
import {
  asText,
  beginning,
  detached,
  failure,
  FailureError,
  isObject,
  messageOf,
  own,
  ReeveError,
  systemClock,
  visibleLine,
  present,
  type Failure,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { elicitationDigest, elicitationIn, type Elicitation, type ElicitationAnswer } from './elicitation.ts'
import { clientPackage, implementation } from './packages.ts'
import { tooLargeCode } from './read-bound.ts'
import { errorText, shownContent } from './result-content.ts'
import { definitionDigest, definitionIn, mostTools, type McpDefinition } from './tool-definition.ts'

/** How a server is reached. */
export interface ConnectionSettings {
  /** The name of the server, for people. */
  readonly server: string
  /** Makes a transport that has not begun. */
  readonly transport: () => Promise<MadeTransport>
  /** Milliseconds for connecting, and for listing tools. */
  readonly connectMs: number
  /** How much of a result is kept, in bytes of JSON. */
  readonly maxResultBytes: number
}

/** A transport, and of a program what it has said on its standard error last. */
export interface MadeTransport {
  readonly transport: Transport
  readonly lastOutput?: () => string
}

/** A definition as it is now, with its digest. */
export interface CurrentDefinition {
  readonly definition: McpDefinition
  readonly digest: string
}

/** A call of a tool, or how one goes on that has asked something. */
export interface ServerCall {
  /** Names the call in this process: one at a time. */
  readonly id: string
  readonly definition: McpDefinition
  readonly args: JsonObject
  /** It must not be made twice. */
  readonly once: boolean
  /** What was asked so far, and answered. Oldest first. */
  readonly answers: readonly AnsweredElicitation[]
  /** Of a server of 2026-07-28 that asked: what it wants to be given back. */
  readonly state?: string
  /** The keys under which the server of 2026-07-28 asked last. */
  readonly keys?: readonly string[]
}

/** A question of a server with its answer. */
export interface AnsweredElicitation {
  readonly digest: string
  readonly answer: ElicitationAnswer
}

/** What came of a call so far. JSON: it is recorded. */
export type ServerReply =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** The server has answered with an error. */
  | { readonly kind: 'error'; readonly message: string }
  /** A result that is too large to be kept: its size as JSON in bytes, and its beginning as text. It is done. */
  | { readonly kind: 'cut'; readonly size: number; readonly beginning: string }
  /** The server has answered, and not in the form of the protocol, or with too much: what it did is done. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** It was not called: the server defines the tool in another way now. */
  | { readonly kind: 'changed' }
  /** People are asked. `state`, `keys`: of a server that keeps nothing meanwhile. */
  | {
      readonly kind: 'asks'
      readonly questions: readonly Elicitation[]
      readonly keys?: readonly string[]
      readonly state?: string
    }

/** The longest a client waits for an answer itself: deadlines are those of the step. */
const never = 2_147_483_647
/** A list of tools is looked at again after so long. Milliseconds. */
const listHoldsMs = 60_000
/** How many calls may wait for people in this process. */
const mostSuspended = 256
const longestError = 4_000

/** A client that has connected. */
interface OpenClient {
  readonly client: Client
  definitions: ReadonlyMap<string, CurrentDefinition>
  listedAt: number
  isStale: boolean
  isLost: boolean
}

export class McpConnection {
  readonly #settings: ConnectionSettings
  /** Calls in flight, and those that wait for a person, by their id. */
  readonly #calls = new Map<string, LiveCall>()
  #open: Promise<OpenClient> | undefined
  #isClosed = false

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  get server(): string {
    return this.#settings.server
  }

  get maxResultBytes(): number {
    return this.#settings.maxResultBytes
  }

  /** All tools of the server as they are now, in its order. Rejects with a retryable FailureError if it is away. */
  async definitions(): Promise<readonly McpDefinition[]> {
    const open = await this.#connected()
    return [...open.definitions.values()].map(({ definition }) => definition)
  }

  /** A tool as the server defines it now; undefined if it has gone. Rejects as `definitions` does. */
  async definition(name: string): Promise<CurrentDefinition | undefined> {
    const open = await this.#connected()
    const isOld = open.isStale || systemClock.now() - open.listedAt > listHoldsMs
    if (!isOld && open.definitions.has(name)) return open.definitions.get(name)
    try {
      await this.#list(open)
      return open.definitions.get(name)
    } catch (thrown) {
      if (thrown instanceof ReeveError) throw thrown
      // a session that has ended, or a server that was restarted: connecting lists the tools
      this.#lose(open)
      return (await this.#connected()).definitions.get(name)
    }
  }

  /**
   * Calls a tool, or goes on with a call that has asked something. Rejects with a FailureError that says whether trying
   * again may help, and if `signal` aborts.
   */
  async call(request: ServerCall, signal: AbortSignal, emit: (part: Json) => void): Promise<ServerReply> {
    signal.throwIfAborted()
    const before = this.#calls.get(request.id)
    const last = request.answers.at(-1)
    const isSuspended = before?.isSuspended === true && last !== undefined && request.state === undefined
    if (!isSuspended) before?.leave('another attempt')
    if (!isSuspended && last !== undefined && request.keys === undefined && request.once)
      throw new FailureError(lostMidway(this.server, request.definition.name))
    const live = isSuspended ? before : await this.#begun(request)
    live.emit = emit
    const abort = (): void => live.leave(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (isSuspended) live.resume(last.answer)
      const reply = await live.next()
      if (reply.kind !== 'asks' || reply.keys !== undefined) this.#calls.delete(request.id)
      return reply
    } catch (thrown) {
      this.#calls.delete(request.id)
      signal.throwIfAborted()
      throw thrown
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Leaves a call that waits for a person, and tells the server. Idempotent. */
  drop(id: string): void {
    this.#calls.get(id)?.leave('the call was cancelled')
    this.#calls.delete(id)
  }

  /** Ends the connection; later calls are refused. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const id of this.#calls.keys()) this.drop(id)
    const open = await this.#open?.catch(() => undefined)
    this.#open = undefined
    await open?.client.close().catch(() => undefined)
  }

  async #begun(request: ServerCall): Promise<LiveCall> {
    const open = await this.#connected()
    for (const [id, each] of this.#calls) if (this.#calls.size >= mostSuspended && each.isSuspended) this.drop(id)
    const live = new LiveCall(open, request, (signal, emit) => this.#send(open, request, signal, emit))
    this.#calls.set(request.id, live)
    return live
  }

  /** Sends the call; once more on a new connection where the server has forgotten the session and did nothing. */
  async #send(
    open: OpenClient,
    request: ServerCall,
    signal: AbortSignal,
    emit: (part: Json) => void,
  ): Promise<ServerReply> {
    try {
      return await this.#sendOn(open, request, signal, emit)
    } catch (thrown) {
      if (signal.aborted) throw thrown
      if (!(await isForgottenSession(thrown))) throw await this.#explained(open, request, thrown)
      this.#lose(open)
      const again = await this.#connected()
      try {
        return await this.#sendOn(again, request, signal, emit)
      } catch (later) {
        throw await this.#explained(again, request, later)
      }
    }
  }

  async #sendOn(
    { client, definitions }: OpenClient,
    { definition, args, once, state, keys, answers }: ServerCall,
    signal: AbortSignal,
    emit: (part: Json) => void,
  ): Promise<ServerReply> {
    if (definitions.get(definition.name)?.digest !== definitionDigest(definition)) return { kind: 'changed' }
    const { outputSchema: _checkedByUs, ...toolDefinition } = definition
    const given = keys?.map((key, at) => [key, answers.at(at - keys.length)?.answer] as const)
    const params = {
      name: definition.name,
      arguments: args as Record<string, unknown>,
      ...(given === undefined ? undefined : { inputResponses: Object.fromEntries(given) }),
      ...present({ requestState: state }),
    }
    const { ProtocolError, SdkError, SdkErrorCode } = await clientPackage()
    try {
      const result: unknown = await client.callTool(params, {
        signal,
        timeout: never,
        allowInputRequired: true,
        toolDefinition: toolDefinition as never,
        onprogress: ({ progress, total, message }) =>
          emit({
            type: 'tool.progress',
            value: {
              progress,
              ...present({ total, message }),
            },
          }),
      })
      return keptReply(JSON.stringify(result), this.#settings.maxResultBytes)
    } catch (thrown) {
      const code = SdkError.isInstance(thrown) ? thrown.code : undefined
      if (once && (code === SdkErrorCode.InvalidResult || code === SdkErrorCode.UnsupportedResultType))
        return {
          kind: 'unreadable',
          why: `it is not in the form of the protocol (${beginning(visibleLine(messageOf(thrown)), longestWhy)})`,
        }
      if (!ProtocolError.isInstance(thrown)) throw thrown
      if (thrown.code === tooLargeCode) return { kind: 'unreadable', why: messageOf(thrown) }
      return { kind: 'error', message: beginning(visibleLine(messageOf(thrown)), longestError) }
    }
  }

  /** Why a call has failed, and whether it may be made again. */
  async #explained(open: OpenClient, request: ServerCall, thrown: unknown): Promise<unknown> {
    const { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = await clientPackage()
    if (thrown instanceof FailureError || (thrown instanceof Error && thrown.name === 'AbortError')) return thrown
    const { server } = this
    const { name } = request.definition
    const why = reasonOf(thrown)
    const code = SdkError.isInstance(thrown) ? thrown.code : undefined
    const isRefused =
      UnauthorizedError.isInstance(thrown) ||
      code === SdkErrorCode.ClientHttpAuthentication ||
      code === SdkErrorCode.ClientHttpForbidden
    if (isRefused)
      return failed(
        `MCP server "${server}" refuses the credential: ${why}`,
        'policy',
        'Check headers, or authProvider.',
      )
    if (code === SdkErrorCode.InvalidResult)
      return failed(
        `MCP server "${server}" answered the call of "${name}" with an invalid result: ${why}`,
        'validation',
      )
    const status = SdkHttpError.isInstance(thrown) ? thrown.status : 0
    if (status >= 400 && status < 500 && !isAtWork.has(status))
      return failed(
        `MCP server "${server}" refuses the call of "${name}": ${why}. Nothing was done.`,
        status === 429 ? 'rate-limit' : 'validation',
      )
    this.#lose(open)
    if (isUnsent(thrown))
      return failed(`MCP server "${server}" cannot be reached: ${why}. Nothing was done.`, 'transport')
    return new FailureError(
      request.once
        ? lostMidway(server, name)
        : failure('tool.failed', `the connection to MCP server "${server}" broke: ${why}`, 'transport'),
    )
  }

  /** The client, connected; one attempt for all who wait. */
  async #connected(): Promise<OpenClient> {
    if (this.#isClosed)
      throw new FailureError(failure('tool.failed', `the tools of "${this.server}" were closed`, 'policy'))
    for (;;) {
      const last = this.#open
      const known = await last?.catch(() => undefined)
      if (known !== undefined && !known.isLost) return known
      // another caller may have begun meanwhile
      if (this.#open === last) return (this.#open = this.#connect())
    }
  }

  async #connect(): Promise<OpenClient> {
    const { server, transport, connectMs } = this.#settings
    const { Client: Made } = await clientPackage()
    const client = new Made(implementation, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
      listMaxPages: 16,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (open.isStale = true) } },
    })
    const open: OpenClient = { client, definitions: new Map(), listedAt: 0, isStale: true, isLost: false }
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => ({ ...(await this.#asked(open, params)) }) as never,
    )
    const noteLost = (): void => void (open.isLost = true)
    client.onclose = noteLost
    let made: MadeTransport | undefined
    try {
      made = await transport()
      await client.connect(made.transport, { timeout: connectMs })
      await this.#list(open)
    } catch (thrown) {
      await client.close().catch(() => undefined)
      if (thrown instanceof ReeveError) throw thrown
      const said = visibleLine(made?.lastOutput?.() ?? '')
      const why = said === '' ? reasonOf(thrown) : `${reasonOf(thrown)}. It said: ${said}`
      throw new FailureError(
        failure('server.unreachable', `MCP server "${server}" cannot be used: ${why}`, 'transport', {
          hint: 'Start the server, or check its url, command and credentials; then try again.',
        }),
        thrown,
      )
    }
    return open
  }

  async #list(open: OpenClient): Promise<void> {
    const { server, connectMs } = this.#settings
    open.isStale = false
    const { tools } = await open.client.listTools(undefined, { timeout: connectMs, cacheMode: 'refresh' })
    if (tools.length > mostTools)
      throw new ReeveError(
        'tool.invalid',
        `MCP server "${server}" lists ${tools.length} tools; at most ${mostTools} are taken`,
      )
    const definitions = tools.map((tool) => definitionIn(tool, server))
    open.definitions = new Map(
      definitions.map((definition) => [definition.name, { definition, digest: definitionDigest(definition) }]),
    )
    open.listedAt = systemClock.now()
  }

  /** The next call makes a new connection. */
  #lose(open: OpenClient): void {
    open.isLost = true
    detached(
      () => open.client.close(),
      () => undefined,
    )
  }

  /**
   * A question of a server of 2025-11-25, which does not say to which call it belongs. Where several could have asked,
   * nobody is asked: a person would answer for another run.
   */
  async #asked(open: OpenClient, params: unknown): Promise<ElicitationAnswer> {
    const asked = elicitationIn(params)
    const candidates = [...this.#calls.values()].filter((call) => call.open === open && !call.isSuspended)
    const [call] = candidates
    if (asked === undefined || call === undefined || candidates.length > 1) return { action: 'cancel' }
    return call.ask(asked)
  }
}

/** A call that the server works at, or in which it waits for an answer. */
class LiveCall {
  readonly open: OpenClient
  /** Shows progress in the step that waits for the call now. */
  emit: (part: Json) => void = () => undefined
  readonly #abort = new AbortController()
  readonly #end: Promise<ServerReply>
  readonly #known: AnsweredElicitation[]
  #asked = Promise.withResolvers<ServerReply>()
  #answer: ((answer: ElicitationAnswer) => void) | undefined

  constructor(
    open: OpenClient,
    { answers, keys }: ServerCall,
    send: (signal: AbortSignal, emit: (part: Json) => void) => Promise<ServerReply>,
  ) {
    this.open = open
    this.#known = keys === undefined ? [...answers] : []
    this.#end = send(this.#abort.signal, (part) => this.emit(part))
    // heard by `next`, which may come later
    this.#end.catch(() => undefined)
  }

  get isSuspended(): boolean {
    return this.#answer !== undefined
  }

  /** A question of the server. What was answered before, in a call that was lost, is answered again. */
  ask(asked: Elicitation): Promise<ElicitationAnswer> {
    const digest = elicitationDigest(asked)
    const at = this.#known.findIndex((each) => each.digest === digest)
    if (at !== -1) return Promise.resolve(this.#known.splice(at, 1)[0]!.answer)
    return new Promise((resolve) => {
      this.#answer = resolve
      this.#asked.resolve({ kind: 'asks', questions: [asked] })
    })
  }

  /** The end of the call, or its next question. */
  next(): Promise<ServerReply> {
    return Promise.race([this.#end, this.#asked.promise])
  }

  resume(answer: ElicitationAnswer): void {
    this.#asked = Promise.withResolvers()
    this.#answer?.(answer)
    this.#answer = undefined
  }

  leave(reason: unknown): void {
    this.#answer?.({ action: 'cancel' })
    this.#answer = undefined
    this.#abort.abort(reason)
  }
}

/** What the server has answered, as much as is kept of it. */
function keptReply(text: string, most: number): ServerReply {
  const size = Buffer.byteLength(text)
  const result = JSON.parse(text) as Json
  if (size <= most) return replyIn(result)
  if (isObject(result) && own(result, 'resultType') === 'input_required')
    return { kind: 'error', message: `it asks with more than ${most} bytes` }
  const whole = isObject(result) ? result : {}
  if (own(whole, 'isError') === true) return { kind: 'error', message: beginning(errorText(whole), longestError) }
  return { kind: 'cut', size, beginning: firstBytes(asText(shownContent(whole)), most) }
}

/** The first bytes of a text, never half of a character. */
const firstBytes = (text: string, most: number): string =>
  Buffer.byteLength(text) <= most
    ? text
    : beginning(
        Buffer.from(text)
          .subarray(0, most)
          .toString()
          .replace(/\ufffd+$/u, ''),
        most,
      )

/** What the server has answered: the end, or questions. */
function replyIn(result: Json): ServerReply {
  if (!isObject(result) || own(result, 'resultType') !== 'input_required') {
    const { _meta, ...rest } = isObject(result) ? result : {}
    return { kind: 'result', result: rest }
  }
  const [requests, state] = [own(result, 'inputRequests'), own(result, 'requestState')]
  const asked = Object.entries(isObject(requests) ? requests : {}).map(([key, request]) => {
    const isForm = isObject(request) && own(request, 'method') === 'elicitation/create'
    return [key, isForm ? elicitationIn(own(request, 'params')) : undefined] as const
  })
  const other = asked.find(([, question]) => question === undefined)
  if (other !== undefined)
    return { kind: 'error', message: `it asks for something that Reeve does not offer: ${visibleLine(other[0])}` }
  return {
    kind: 'asks',
    questions: asked.map(([, question]) => question!),
    keys: asked.map(([key]) => key),
    ...(typeof state === 'string' ? { state } : undefined),
  }
}

/** What gateways say while the server is at work: it took too long (408), or they stopped waiting (499 of nginx). */
const isAtWork: ReadonlySet<number> = new Set([408, 499])

/** How much is told of what a library finds wrong with a result. Characters. */
const longestWhy = 500

const failed = (message: string, of: Failure['class'], hint?: string): FailureError =>
  new FailureError(failure('tool.failed', message, of, hint === undefined ? {} : { hint }))

const lostMidway = (server: string, tool: string): Failure =>
  failure(
    'tool.failed',
    `the connection to MCP server "${server}" broke while "${tool}" was at work: whether it was done is not known. Find that out before you call it again.`,
    'unknown',
    { retryable: false },
  )

/** The session has ended at the server, so it refused the call before it did anything. */
async function isForgottenSession(thrown: unknown): Promise<boolean> {
  const { SdkHttpError } = await clientPackage()
  // 404 says the protocol; servers are known that answer 400
  return SdkHttpError.isInstance(thrown) && (thrown.status === 404 || thrown.status === 400)
}

const unsent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENOENT'])

/** Whether the error says that nothing has left this process. */
function isUnsent(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return unsent.has((thrown as NodeJS.ErrnoException).code) || isUnsent(thrown.cause)
}

/** The messages of an error and of what caused it, on one line. */
function reasonOf(thrown: unknown): string {
  const said: string[] = []
  for (let at: unknown = thrown; at !== undefined && said.length < 5; at = at instanceof Error ? at.cause : undefined) {
    const { code } = at as { readonly code?: unknown }
    const message = at instanceof Error && at.message === '' && typeof code === 'string' ? code : messageOf(at)
    if (!said.some((each) => each.includes(message))) said.push(message)
  }
  return beginning(visibleLine(said.join(': ')), 500)
}
