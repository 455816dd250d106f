/**
 * Session: the conversation with one coding agent over ACP v1.
 *
 * Owns: how a session is opened, loaded, prompted and stopped; the text; the requests that wait for people. Does not
 * own: the process (child.ts), segments (index.ts).
 * Holds: nothing is allowed here. A permission is answered with an option that allows this once, and only by a reply to
 * exactly what is to be allowed now: a call that has changed since it was shown is asked about again.
 */
import {
  beginning,
  canonical,
  failure,
  FailureError,
  fileHandle,
  isObject,
  visibleLine,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { mostAsks, mostContent, tooMuch, type ExternalAsk, type ExternalReply } from '../external-agent/index.ts'
import { Child, notFound, type Command, type ChildRequest } from './child.ts'

/** Version 1 of the protocol, the stable one. */
const protocolVersion = 1
/** How much of calls that have not ended is kept, in characters of what was said of them. */
const mostOfCalls = 32 * 1024 * 1024

/** A request of the agent that waits for a person. */
interface HeldRequest {
  readonly ask: ExternalAsk
  readonly request: ChildRequest
  /** Of a permission: the call. */
  readonly call?: string
}

/** A call that has not ended: what is known of it, and how much was said of it. */
interface OpenCall {
  readonly content: JsonObject
  readonly size: number
}

/** How a prompt has ended, or what it waits for. */
export type PromptProgress = { readonly ended: string } | { readonly asks: readonly ExternalAsk[] }

export class Session {
  readonly #child: Child
  #id = ''
  #capabilities: JsonObject = {}
  readonly #calls = new Map<string, OpenCall>()
  #sizeOfCalls = 0
  readonly #waiting = new Map<string, HeldRequest>()
  #asked = 0
  /** Replies that were given to what a process before this one asked, by content. */
  readonly #remembered = new Map<string, ExternalReply>()
  #text = ''
  #allText = ''
  #show: ((text: string) => void) | undefined
  #isLoading = false
  /** It goes on with what a process before this one has asked. */
  #isLoaded = false
  #heardHistory = false
  #prompt: Promise<string> | undefined
  #wake: (() => void) | undefined

  constructor(command: Command) {
    this.#child = new Child(command, {
      request: (request) => this.#take(request),
      notice: (method, params) => {
        if (method === 'session/update' && isObject(params['update'])) this.#update(params['update'])
      },
    })
  }

  get id(): string {
    return this.#id
  }

  get isOver(): boolean {
    return this.#child.isOver
  }

  /** Throws where what the agent sent has ended it: it is not begun again for that. */
  throwIfRefused(): void {
    if (this.#child.end instanceof FailureError) throw this.#child.end
  }

  get hasPrompted(): boolean {
    return this.#prompt !== undefined
  }

  /** Whether it can go on with a session of a process before it. */
  get canLoad(): boolean {
    return this.#capabilities['loadSession'] === true || this.#canResume
  }

  get #canResume(): boolean {
    const { sessionCapabilities } = this.#capabilities
    return isObject(sessionCapabilities) && isObject(sessionCapabilities['resume'])
  }

  async initialize(): Promise<void> {
    const answer = await this.#child.request('initialize', {
      protocolVersion,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        elicitation: { form: {} },
      },
      clientInfo: { name: 'reeve', version: '1' },
    })
    const { protocolVersion: spoken, agentCapabilities } = isObject(answer) ? answer : {}
    if (spoken !== protocolVersion)
      throw failed(
        `the coding agent speaks version ${String(canonical(spoken ?? null))} of ACP, and not ${protocolVersion}`,
      )
    this.#capabilities = isObject(agentCapabilities) ? agentCapabilities : {}
  }

  async open(cwd: string, mcpServers: readonly Json[]): Promise<void> {
    const answer = await this.#child.request('session/new', { cwd, mcpServers: [...mcpServers] })
    const { sessionId } = isObject(answer) ? answer : {}
    if (typeof sessionId !== 'string' || sessionId === '') throw failed('the coding agent named no session')
    this.#id = sessionId
  }

  /** Goes on with a session. Resolves to whether it has a history; true where the agent does not show it. */
  async load(id: string, cwd: string, mcpServers: readonly Json[]): Promise<boolean> {
    const loads = this.#capabilities['loadSession'] === true
    this.#isLoading = true
    await this.#child.request(loads ? 'session/load' : 'session/resume', {
      sessionId: id,
      cwd,
      mcpServers: [...mcpServers],
    })
    this.#isLoading = false
    this.#isLoaded = true
    this.#id = id
    return !loads || this.#heardHistory
  }

  /** Whether it takes a file in a prompt. An address is a link, which every agent takes. */
  readonly takes = (file: FilePart): boolean => {
    if ('url' in file) return true
    const { promptCapabilities } = this.#capabilities
    const kind = fileKind(file)
    return kind !== undefined && isObject(promptCapabilities) && promptCapabilities[kind] === true
  }

  /** `files`: those that it takes. */
  prompt(text: string, key: string, files: readonly FilePart[] = []): void {
    const prompt = [{ type: 'text', text }, ...files.map(fileBlock)]
    const params = { sessionId: this.#id, prompt, _meta: { 'reeve/key': key } }
    this.#prompt = this.#child.request('session/prompt', params).then((answer) => {
      const { stopReason } = isObject(answer) ? answer : {}
      return typeof stopReason === 'string' ? stopReason : 'unknown'
    })
    this.#prompt.catch(() => {}) // heard by `progress`
  }

  /** Waits until the prompt has ended or asks. Rejects if the process ends, and if it is stopped. */
  async progress(show: (text: string) => void, signal: AbortSignal): Promise<PromptProgress> {
    this.#show = show
    const stopped = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error)
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    stopped.catch(() => {})
    const ended = this.#prompt!.then((reason): PromptProgress => ({ ended: reason }))
    try {
      for (;;) {
        const asks = [...this.#waiting.values()].map(({ ask }) => ask)
        if (asks.length > 0) return { asks }
        const { promise: asked, resolve } = Promise.withResolvers<undefined>()
        const wake = (): void => resolve(undefined)
        this.#wake = wake
        const next = await Promise.race([ended, asked, stopped])
        if (next !== undefined) return next
      }
    } finally {
      this.#show = undefined
      this.#wake = undefined
    }
  }

  /** The answer: what it has said since its last tool; all that it has said if that is nothing. */
  get answer(): string {
    return this.#text.trim() === '' ? this.#allText : this.#text
  }

  /**
   * Answers what waits here. What was asked by a process before this one is answered when it is asked again. An answer to
   * what has changed since counts for nothing: it waits as it is now, and is asked.
   */
  reply(replies: readonly { readonly content: string; readonly reply: ExternalReply }[]): void {
    for (const { content, reply } of replies) {
      const waiting = this.#waiting.get(reply.id)
      if (waiting !== undefined && contentOf(waiting.ask) === content) this.#answer(waiting, reply)
      else if (this.#isLoaded) this.#remembered.set(content, reply)
    }
  }

  #answer({ ask, request }: HeldRequest, reply: ExternalReply): void {
    this.#waiting.delete(ask.id)
    request.answer(ask.type === 'question' ? elicited(request.params, reply) : permitted(request.params, reply))
  }

  /** Tells it to stop, and ends the process with its children. */
  async close(): Promise<void> {
    if (this.#prompt !== undefined) this.#child.notify('session/cancel', { sessionId: this.#id })
    await this.#child.close()
  }

  #take(request: ChildRequest): void {
    const held = this.#heldOf(request)
    if (held === undefined) return request.answer(notFound(request.method))
    const content = contentOf(held.ask)
    const remembered = this.#remembered.get(content)
    if (remembered !== undefined) {
      this.#remembered.delete(content) // it was given for one time
      return this.#answer(held, remembered)
    }
    if (this.#waiting.size >= mostAsks) return this.#child.fail(tooMuch(`more than ${mostAsks} requests at once`))
    this.#waiting.set(held.ask.id, held)
    this.#wake?.()
  }

  #heldOf(request: ChildRequest): HeldRequest | undefined {
    const { method, params } = request
    const id = `${this.#asked++}`
    if (method === 'elicitation/create' && params['mode'] === 'form') {
      const { message, requestedSchema } = params
      const question = {
        message: message ?? '',
        ...(requestedSchema === undefined ? undefined : { schema: requestedSchema }),
      }
      return { ask: { type: 'question', id: `question:${id}`, question }, request }
    }
    if (method !== 'session/request_permission') return undefined
    const update = isObject(params['toolCall']) ? params['toolCall'] : {}
    const call = typeof update['toolCallId'] === 'string' ? update['toolCallId'] : ''
    this.#setCall(call, update)
    return { ask: this.#askFor(`permission:${id}`, call, params), request, call }
  }

  /** The permission for a call, as it is known now. */
  #askFor(id: string, call: string, { options }: JsonObject): ExternalAsk & { readonly type: 'approval' } {
    const { toolCallId: _id, status: _status, _meta: _ours, ...content } = this.#calls.get(call)?.content ?? {}
    const { name, kind, title } = content
    const allows = optionOf(options, 'allow_once')?.['name']
    return {
      type: 'approval',
      id,
      action: typeof name === 'string' && name !== '' ? name : typeof kind === 'string' ? kind : 'other',
      input: content,
      ...(typeof title === 'string' ? { description: title } : undefined),
      // the kind decides; what the agent calls it is shown
      ...(typeof allows === 'string' ? { context: { option: visibleLine(beginning(allows, 500)) } } : undefined),
    }
  }

  /** What is said of a call. A permission that waits for it is asked as the call is now. */
  #setCall(id: string, update: JsonObject): void {
    const { sessionUpdate: _kind, ...said } = update
    const before = this.#calls.get(id)
    const added = JSON.stringify(said).length
    this.#calls.set(id, { content: { ...before?.content, ...present(said) }, size: (before?.size ?? 0) + added })
    this.#sizeOfCalls += added
    if (this.#sizeOfCalls > mostOfCalls)
      return this.#child.fail(tooMuch(`more than ${mostOfCalls} characters of tool calls that have not ended`))
    const waiting = [...this.#waiting.values()].filter(({ call }) => call === id)
    for (const held of waiting)
      this.#waiting.set(held.ask.id, { ...held, ask: this.#askFor(held.ask.id, id, held.request.params) })
    const isOver = said['status'] === 'completed' || said['status'] === 'failed'
    if (!isOver || waiting.length > 0) return
    this.#sizeOfCalls -= this.#calls.get(id)!.size
    this.#calls.delete(id)
  }

  #update(update: JsonObject): void {
    const { sessionUpdate, content, toolCallId } = update
    if (this.#isLoading) this.#heardHistory = true
    if (sessionUpdate === 'tool_call' || sessionUpdate === 'tool_call_update') {
      if (typeof toolCallId === 'string') this.#setCall(toolCallId, update)
      if (sessionUpdate === 'tool_call') this.#text = ''
      return
    }
    if (sessionUpdate !== 'agent_message_chunk' || this.#isLoading || !isObject(content)) return
    if (content['type'] !== 'text' || typeof content['text'] !== 'string') return
    this.#text += content['text']
    this.#allText += content['text']
    this.#show?.(content['text'])
    if (this.#allText.length > mostContent) this.#child.fail(tooMuch(`more than ${mostContent} characters of text`))
  }
}

/** Pictures and sounds that agents and their models take in general. */
const commonMedia: ReadonlyMap<string, 'image' | 'audio'> = new Map([
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp'].map((type) => [type, 'image'] as const),
  ...['audio/wav', 'audio/mpeg'].map((type) => [type, 'audio'] as const),
])

/** The capability that a file needs; undefined for a picture or a sound that no agent promises to take. */
function fileKind({ mediaType }: FilePart): 'image' | 'audio' | 'embeddedContext' | undefined {
  const known = commonMedia.get(mediaType)
  return known ?? (/^(image|audio|video)\//.test(mediaType) ? undefined : 'embeddedContext')
}

/** A file as a block of a prompt. */
function fileBlock(file: FilePart): JsonObject {
  const { mediaType: mimeType, filename } = file
  const handle = fileHandle(file)
  if ('url' in file)
    return {
      type: 'resource_link',
      uri: file.url,
      name: filename ?? handle,
      ...(mimeType.includes('*') ? {} : { mimeType }),
    }
  const kind = fileKind(file)
  if (kind === 'image' || kind === 'audio') return { type: kind, mimeType, data: file.data }
  const content = mimeType.startsWith('text/')
    ? { text: Buffer.from(file.data, 'base64').toString() }
    : { blob: file.data }
  return { type: 'resource', resource: { uri: `reeve:${handle}`, mimeType, ...content } }
}

/** What is asked, without what another process would name in another way. */
export const contentOf = (ask: ExternalAsk): string =>
  canonical(ask.type === 'approval' ? [ask.action, ask.input] : [ask.question])

/** Members that are there: `null` in an update says nothing. */
const present = (update: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(update).filter(([, value]) => value !== null && value !== undefined))

/** The first option of a kind: what it is called decides nothing. */
const optionOf = (options: Json | undefined, kind: 'allow_once' | 'reject_once'): JsonObject | undefined =>
  (Array.isArray(options) ? (options as readonly Json[]) : []).filter(isObject).find((each) => each['kind'] === kind)

/** The option that allows, or rejects, this once. Without one it is cancelled, which allows nothing. */
function permitted({ options }: JsonObject, reply: ExternalReply): Json {
  const kind = reply.type === 'approved' && !reply.edited ? 'allow_once' : 'reject_once'
  const optionId = optionOf(options, kind)?.['optionId']
  return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
}

/** The answer to a form: an object as it is; another value for the one field of a form with one. */
function elicited({ requestedSchema }: JsonObject, reply: ExternalReply): Json {
  if (reply.type !== 'answer' || reply.value === null) return { action: 'decline' }
  if (isObject(reply.value)) return { action: 'accept', content: reply.value }
  const properties = isObject(requestedSchema) ? requestedSchema['properties'] : undefined
  const [field, ...more] = isObject(properties) ? Object.keys(properties) : []
  return field === undefined || more.length > 0
    ? { action: 'decline' }
    : { action: 'accept', content: { [field]: reply.value } }
}

export const failed = (message: string): FailureError => new FailureError(failure('agent.failed', message, 'internal'))
