/**
 * `reeve/a2a/worker`: a remote A2A 1.0 agent as an agent of Reeve. Imports nothing: a client of `@a2a-js/sdk` is handed
 * in.
 *
 * Owns: what a segment is: a message is sent, or a task is followed. Does not own: segments and questions
 * (../external-agent).
 * Holds: the id of the remote task is recorded before it is followed, so after a crash the same task is followed on, and
 * nothing is sent twice that was taken. What the remote agent says is data: its texts are bounded, its states are a
 * closed list.
 */
import type { Agent } from '../../agent/index.ts'
import { failure, FailureError, messageOf, type Json } from '../../core/index.ts'
import type { StepIO } from '../../engine/index.ts'
import {
  externalAgent,
  jsonOf,
  type ExternalAsk,
  type WorkSegment,
  type ExternalAgentOptions,
  type ExternalReply,
} from '../external-agent/index.ts'

/** A client of A2A 1.0, as far as it is needed: `Client` of `@a2a-js/sdk/client` is one. Functions are called on it. */
export interface A2AClientLike {
  sendMessage(request: never, options?: { signal?: AbortSignal }): Promise<object>
  getTask(request: never, options?: { signal?: AbortSignal }): Promise<object>
  cancelTask(request: never, options?: { signal?: AbortSignal }): Promise<object>
  resubscribeTask(request: never, options?: { signal?: AbortSignal }): AsyncGenerator<object, void, undefined>
}

/** The options of `a2aAgent`. */
export interface A2AAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** A client, or what makes one: `() => new ClientFactory().createFromUrl(url)`. Made once, when it is first needed. */
  readonly client: A2AClientLike | (() => A2AClientLike | Promise<A2AClientLike>)
  /** The tenant of the remote agent. Default: none. */
  readonly tenant?: string
  /**
   * How often a task is asked for where the remote agent cannot stream, in milliseconds; a stream that is quiet for ten
   * times as long is opened anew. Default 1,000.
   */
  readonly pollMs?: number
}

/** The states of a task, as the protocol numbers them. */
const states = {
  completed: 3,
  failed: 4,
  canceled: 5,
  inputRequired: 6,
  rejected: 7,
  authRequired: 8,
} as const

interface WireTask {
  readonly id?: string
  readonly contextId?: string
  readonly status?: { readonly state?: number; readonly message?: WireMessage; readonly timestamp?: string }
  readonly artifacts?: readonly WireArtifact[]
}
interface WireMessage {
  readonly messageId?: string
  readonly parts?: readonly WirePart[]
}
interface WireArtifact {
  readonly artifactId?: string
  readonly parts?: readonly WirePart[]
}
interface WirePart {
  readonly content?: { readonly $case?: string; readonly value?: unknown }
}
interface WireEvent {
  readonly payload?: { readonly $case?: string; readonly value?: unknown }
}

/** What is kept between segments: the remote task, and which of its questions was asked. */
interface Followed {
  readonly task: string
  readonly context: string
  readonly asked?: string
}

/** A stream in which nothing comes for so many polls is given up, and the task is asked for. */
const quietPolls = 10
/** The longest text that is taken from a remote agent, in characters. */
const mostText = 4 * 1024 * 1024

const refused = (message: string): FailureError => new FailureError(failure('agent.failed', message, 'internal'))

/**
 * A remote A2A agent as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | questions | `INPUT_REQUIRED` and `AUTH_REQUIRED`: an interrupt with its message; the answer is sent to the task |
 * | text | artifacts, as they come; the output is the text of all artifacts, or the one piece of data |
 * | cancel, time limit | the task is no longer followed, and is cancelled remotely |
 * | after a crash | the recorded task is followed on. The message itself is sent with the step's key as `messageId`: a crash between sending and recording repeats it with the same id (`effect: 'once'`: it is in doubt) |
 * | failure | `FAILED`, `REJECTED` and `CANCELED` |
 * | not honoured | approvals of exact actions, usage, permissions and budgets: the protocol has none of them |
 *
 * `effect` default `idempotent`. Throws `agent.invalid` for invalid options.
 */
export function a2aAgent<const Name extends string>(options: A2AAgentOptions<Name>): Agent<Name, unknown, Json> {
  const { client, tenant = '', pollMs = 1_000, ...facts } = options
  let made: Promise<A2AClientLike> | undefined
  const connected = (): Promise<A2AClientLike> =>
    (made ??= Promise.resolve(typeof client === 'function' ? client() : client).catch((thrown: unknown) => {
      made = undefined // an agent that is away may be back later
      throw thrown
    }))
  const remote = async (): Promise<Remote> => new Remote(await connected(), tenant, pollMs)
  return externalAgent(facts, {
    effect: 'idempotent',
    proceedRetry: {},
    begin: async (prompt, io) => (await remote()).send(prompt, undefined, io),
    proceed: async (state, replies, io) => {
      const followed = state as unknown as Followed
      const [reply] = replies
      return reply === undefined ? (await remote()).follow(followed, io) : (await remote()).answer(followed, reply, io)
    },
    abandon: async (state, io) => (await remote()).cancel(state as unknown as Followed, io),
  })
}

/** The remote agent, as the segments speak with it. */
class Remote {
  readonly #client: A2AClientLike
  readonly #tenant: string
  readonly #pollMs: number

  constructor(client: A2AClientLike, tenant: string, pollMs: number) {
    this.#client = client
    this.#tenant = tenant
    this.#pollMs = pollMs
  }

  /** Sends a message, to a task or as a new one, and does not wait for what comes of it. */
  async send(content: Json, to: Followed | undefined, { key, signal }: StepIO): Promise<WorkSegment> {
    const part = typeof content === 'string' ? { $case: 'text', value: content } : { $case: 'data', value: content }
    const message = {
      messageId: key,
      role: 1,
      parts: [{ content: part, metadata: undefined, filename: '', mediaType: '' }],
      contextId: to?.context ?? '',
      taskId: to?.task ?? '',
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    }
    const configuration = {
      acceptedOutputModes: ['text/plain', 'application/json'],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
    }
    const request = { message, configuration, metadata: undefined, tenant: this.#tenant }
    const result = await this.#client.sendMessage(request as never, { signal })
    if (!('status' in result)) return { status: 'done', output: contentOf((result as WireMessage).parts ?? []) }
    return { status: 'on', state: { ...followedOf(result as WireTask) } }
  }

  /** Follows a task to its end, or to what it asks. */
  async follow(followed: Followed, io: StepIO): Promise<WorkSegment> {
    const view = new FollowedTask(io)
    for (;;) {
      view.take(await this.#task(followed, io))
      const segment = view.segment(followed)
      if (segment !== undefined) return segment
      const heard = await this.#stream(followed, view, io)
      const now = view.segment(followed)
      if (now !== undefined) return now
      if (heard === 0) await wait(this.#pollMs, io.signal)
    }
  }

  /** Sends an answer, unless the task has taken it already: then the process died before that was recorded. */
  async answer(followed: Followed, reply: ExternalReply, io: StepIO): Promise<WorkSegment> {
    const task = await this.#task(followed, io)
    const state = { task: followed.task, context: followed.context }
    if (questionId(task) !== followed.asked) return { status: 'on', state }
    const value = reply.type === 'answer' ? reply.value : reply.type === 'approved' ? reply.input : reply.feedback
    const segment = await this.send(value, followed, io)
    return segment.status === 'done' ? segment : { status: 'on', state }
  }

  /** Cancels a task. One that cannot be cancelled has ended, or is left to itself: said in the journal. */
  async cancel({ task }: Followed, { signal }: StepIO): Promise<Json> {
    try {
      await this.#client.cancelTask({ id: task, tenant: this.#tenant, metadata: undefined } as never, { signal })
      return { canceled: true }
    } catch (thrown) {
      return { canceled: false, why: messageOf(thrown) }
    }
  }

  async #task({ task }: Followed, { signal }: StepIO): Promise<WireTask> {
    return this.#client.getTask({ id: task, tenant: this.#tenant } as never, { signal })
  }

  /**
   * Hears a task until it has ended or asks, or nothing comes for a while: an event may have been missed before the
   * stream began, so its task is asked for again. Returns how many events were heard; none if the remote agent does not
   * stream.
   */
  async #stream({ task }: Followed, view: FollowedTask, { signal }: StepIO): Promise<number> {
    let heard = 0
    const quiet = new AbortController()
    const giveUp = (): NodeJS.Timeout => setTimeout(() => quiet.abort(), quietPolls * this.#pollMs)
    let timer = giveUp()
    try {
      const events = this.#client.resubscribeTask({ id: task, tenant: this.#tenant } as never, {
        signal: AbortSignal.any([signal, quiet.signal]),
      })
      for await (const event of events) {
        heard++
        view.hear(event)
        if (view.isSettled) break
        clearTimeout(timer)
        timer = giveUp()
      }
    } catch (thrown) {
      if (signal.aborted || thrown instanceof FailureError) throw thrown
    } finally {
      clearTimeout(timer)
    }
    return heard
  }
}

const followedOf = ({ id, contextId }: WireTask): Followed => {
  if (typeof id !== 'string' || id === '') throw refused('the remote agent named no task')
  return { task: id, context: contextId ?? '' }
}

/** Which of its questions a task waits with; undefined if with none. */
function questionId({ status }: WireTask): string | undefined {
  const { state, message, timestamp } = status ?? {}
  if (state !== states.inputRequired && state !== states.authRequired) return undefined
  return message?.messageId ?? timestamp ?? 'question'
}

/** What is known of a task: from it itself, and from its events. Shows the text of its artifacts as it comes. */
class FollowedTask {
  readonly #io: StepIO
  #status: WireTask['status']
  readonly #artifacts = new Map<string, readonly WirePart[]>()
  #shown = 0

  constructor(io: StepIO) {
    this.#io = io
  }

  take({ status, artifacts = [] }: WireTask): void {
    this.#status = status
    for (const artifact of artifacts) this.#artifacts.set(artifact.artifactId ?? '', artifact.parts ?? [])
    this.#show()
  }

  hear({ payload }: WireEvent): void {
    const value: unknown = payload?.value
    if (typeof value !== 'object' || value === null) return
    if (payload?.$case === 'task') this.take(value)
    else if (payload?.$case === 'statusUpdate') this.#status = (value as WireTask).status
    else if (payload?.$case === 'artifactUpdate') {
      const { artifact, append } = value as { readonly artifact?: WireArtifact; readonly append?: boolean }
      const id = artifact?.artifactId ?? ''
      const before = append === true ? (this.#artifacts.get(id) ?? []) : []
      this.#artifacts.set(id, [...before, ...(artifact?.parts ?? [])])
      this.#show()
    }
  }

  get #parts(): readonly WirePart[] {
    return [...this.#artifacts.values()].flat()
  }

  /** Shows what has come since. A text that was replaced by a shorter one is shown no further. */
  #show(): void {
    const text = textIn(this.#parts)
    if (text.length > mostText) throw refused(`the remote agent says more than ${mostText} characters`)
    if (text.length > this.#shown) this.#io.emit({ type: 'text.delta', id: '0', text: text.slice(this.#shown) })
    this.#shown = Math.max(this.#shown, text.length)
  }

  /** Whether it has ended, or asks. */
  get isSettled(): boolean {
    return (Object.values(states) as readonly (number | undefined)[]).includes(this.#status?.state)
  }

  /** The segment, if the task has ended or asks. Throws the failure of a task that has failed. */
  segment(followed: Followed): WorkSegment | undefined {
    const { state, message } = this.#status ?? {}
    const said = message?.parts ?? []
    if (state === states.completed) {
      const parts = this.#parts
      return { status: 'done', output: contentOf(parts.length > 0 ? parts : said) }
    }
    const ended = (['failed', 'rejected', 'canceled'] as const).find((name) => states[name] === state)
    if (ended !== undefined) throw refused(textIn(said) || `the remote task was ${ended}`)
    const id = questionId({ ...(this.#status === undefined ? undefined : { status: this.#status }) })
    if (id === undefined) return undefined
    const ask: ExternalAsk = { type: 'question', id, question: questionOf(said, state === states.authRequired) }
    return { status: 'asks', state: { task: followed.task, context: followed.context, asked: id }, asks: [ask] }
  }
}

/** A question as a person is shown it. */
function questionOf(parts: readonly WirePart[], authentication: boolean): Json {
  const data = dataIn(parts)
  const text = textIn(parts)
  if (data.length === 0 && !authentication) return text
  return { text, ...(data.length === 0 ? undefined : { data }), ...(authentication ? { authentication } : undefined) }
}

const textIn = (parts: readonly WirePart[]): string =>
  parts
    .map(({ content }) => (content?.$case === 'text' && typeof content.value === 'string' ? content.value : ''))
    .join('')

const dataIn = (parts: readonly WirePart[]): readonly Json[] =>
  parts.flatMap(({ content }) => (content?.$case === 'data' ? [jsonOf(content.value)] : []))

/** The content of an answer: its text; without one, its data. */
function contentOf(parts: readonly WirePart[]): Json {
  const data = dataIn(parts)
  const text = textIn(parts)
  return text === '' && data.length > 0 ? (data.length === 1 ? data[0]! : data) : text
}

/** Waits in real time: a remote agent knows no other. */
const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stopped = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stopped)
      resolve()
    }, ms)
    signal.addEventListener('abort', stopped, { once: true })
  })
