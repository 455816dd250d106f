/**
 * `reeve/a2a/worker`: a remote A2A 1.0 agent as an agent of Reeve. Imports nothing: a client of `@a2a-js/sdk` is handed
 * in.
 *
 * Owns: what a segment is: a message is sent, or a task is followed. Does not own: segments and questions
 * (../external-agent).
 * Holds: the id of the remote task is recorded before it is followed, so after a crash the same task is followed on, and
 * nothing is sent twice that was taken. What the remote agent says is data: all that it sends is bounded, its states are
 * a closed list. It is never a way to ask a person for a credential.
 */
import type { Agent } from '@reeve/agent'
import {
  beginning,
  failure,
  FailureError,
  isObject,
  messageOf,
  own,
  systemClock,
  visibleLine,
  type FilePart,
  type Json,
} from '@reeve/core'
import type { StepIO } from '@reeve/engine'
import {
  Allowance,
  externalAgent,
  heardFrom,
  jsonOf,
  mostContent,
  orAborted,
  tooMuch,
  withSentFiles,
  type ExternalAsk,
  type WorkSegment,
  type ExternalAgentOptions,
  type ExternalReply,
} from '@reeve/workers/external-agent'

/** A client of A2A 1.0, as far as it is needed: `Client` of `@a2a-js/sdk/client` is one. Functions are called on it. */
export interface A2AClientLike {
  sendMessage(request: never, options?: { signal?: AbortSignal }): Promise<object>
  getTask(request: never, options?: { signal?: AbortSignal }): Promise<object>
  cancelTask(request: never, options?: { signal?: AbortSignal }): Promise<object>
  resubscribeTask(request: never, options?: { signal?: AbortSignal }): AsyncGenerator<object, void, undefined>
  /** The card of the remote agent: files of the types in `defaultInputModes` are sent. Without it, none are. */
  getAgentCard?(options?: { signal?: AbortSignal }): Promise<object>
}

/** The options of `a2aAgent`. */
export interface A2AAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** A client, or what makes one: `() => new ClientFactory().createFromUrl(url)`. Made once, when it is first needed. */
  readonly client: A2AClientLike | (() => A2AClientLike | Promise<A2AClientLike>)
  /** The tenant of the remote agent. Default: none. */
  readonly tenant?: string
  /**
   * How often a task is asked for where the remote agent cannot stream, or where its stream has ended, in milliseconds;
   * a stream that is quiet for ten times as long is opened anew. A stream that ends early is opened again after this,
   * and each time after twice as long, up to sixty times this. Default 1,000.
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
/** A stream that ended early is opened again after at most so many polls. */
const mostPolls = 60
/** How much the events of a task may be at once, and a second in the long run, in characters of JSON. */
const eventBurst = 64 * 1024 * 1024
const eventPerSecond = 1024 * 1024
/** What a part, and an artifact, takes in memory besides what is in it, in characters. */
const overhead = 64

/** How many input modes of a card are read. */
const mostModes = 1_000
const notListed = 'the remote agent does not say that it takes this type'

/** Whether a list of types and of `type/*` has this one. */
const isTaken = (mediaType: string, modes: readonly string[]): boolean =>
  modes.some((mode) =>
    mode.endsWith('/*') ? mode === '*/*' || mediaType.startsWith(mode.slice(0, -1)) : mode === mediaType,
  )

const wireFile = (file: FilePart): object => ({
  content:
    'url' in file ? { $case: 'url', value: file.url } : { $case: 'raw', value: Buffer.from(file.data, 'base64') },
  metadata: undefined,
  filename: file.filename ?? '',
  mediaType: file.mediaType,
})

const refused = (message: string): FailureError => new FailureError(failure('agent.failed', message, 'internal'))

/**
 * A remote A2A agent as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | questions | `INPUT_REQUIRED`: an interrupt with its message; the answer is sent to the task |
 * | credentials | `AUTH_REQUIRED` is a failure, `agent.needs-credentials`: no person is asked. Credentials are the client's |
 * | text | artifacts, as they come; the output is the text of all artifacts, or the one piece of data |
 * | cancel, time limit | the task is no longer followed, and is cancelled remotely |
 * | after a crash | the recorded task is followed on. The message itself is sent with the step's key as `messageId`: a crash between sending and recording repeats it with the same id (`effect: 'once'`: it is in doubt) |
 * | failure | `FAILED`, `REJECTED` and `CANCELED` |
 * | files | those of its conversation are sent with the message, if the card lists their type in `defaultInputModes`; the others are named. Files of its answer (`raw`, `url`) are left out |
 * | bounds | 4 MiB of text and data; events at a bounded rate. Beyond: `agent.too-much` |
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
    takesFiles: true,
    begin: async (prompt, io, _place, files) => (await remote()).begin(prompt, files, io),
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

  /** Sends the first message, with the files that the remote agent takes. */
  async begin(prompt: string, files: readonly FilePart[], io: StepIO): Promise<WorkSegment> {
    const modes = files.length === 0 ? [] : await this.#inputModes(io.signal)
    const { text, sent } = withSentFiles(prompt, files, ({ mediaType }) => isTaken(mediaType, modes), notListed)
    return this.send(text, undefined, io, sent)
  }

  /** The types that the remote agent says it takes; none where it says nothing that can be read. */
  async #inputModes(signal: AbortSignal): Promise<readonly string[]> {
    const client = this.#client
    if (client.getAgentCard === undefined) return []
    const card: unknown = await orAborted(client.getAgentCard({ signal }), signal).catch(() => undefined)
    signal.throwIfAborted()
    const modes = isObject(card) ? own(card, 'defaultInputModes') : undefined
    return (Array.isArray(modes) ? (modes as readonly unknown[]) : [])
      .slice(0, mostModes)
      .flatMap((mode) => (typeof mode === 'string' ? [mode.split(';', 1)[0]!.trim().toLowerCase()] : []))
  }

  /** Sends a message, to a task or as a new one, and does not wait for what comes of it. */
  async send(
    content: Json,
    to: Followed | undefined,
    { key, signal }: StepIO,
    files: readonly FilePart[] = [],
  ): Promise<WorkSegment> {
    const part = typeof content === 'string' ? { $case: 'text', value: content } : { $case: 'data', value: content }
    const message = {
      messageId: key,
      role: 1,
      parts: [{ content: part, metadata: undefined, filename: '', mediaType: '' }, ...files.map(wireFile)],
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
    const result = await orAborted(this.#client.sendMessage(request as never, { signal }), signal)
    if (!('status' in result)) return { status: 'done', output: contentOf(takenParts((result as WireMessage).parts)) }
    return { status: 'on', state: { ...followedOf(result as WireTask) } }
  }

  /** Follows a task to its end, or to what it asks. It is asked for at each poll; its stream is opened between polls. */
  async follow(followed: Followed, io: StepIO): Promise<WorkSegment> {
    const view = new FollowedTask(io)
    let [polls, pause] = [0, 1]
    for (;;) {
      view.take(await this.#task(followed, io))
      const segment = view.segment(followed)
      if (segment !== undefined) return segment
      if (polls-- <= 0) {
        const since = systemClock.now()
        await this.#stream(followed, view, io)
        const now = view.segment(followed)
        if (now !== undefined) return now
        const isEarly = systemClock.now() - since < quietPolls * this.#pollMs
        pause = isEarly ? Math.min(2 * pause, mostPolls) : 1
        polls = pause - 1
      }
      await wait(this.#pollMs, io.signal)
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
      const request = { id: task, tenant: this.#tenant, metadata: undefined }
      await orAborted(this.#client.cancelTask(request as never, { signal }), signal)
      return { canceled: true }
    } catch (thrown) {
      return { canceled: false, why: messageOf(thrown) }
    }
  }

  async #task({ task }: Followed, { signal }: StepIO): Promise<WireTask> {
    return orAborted(this.#client.getTask({ id: task, tenant: this.#tenant } as never, { signal }), signal)
  }

  /**
   * Hears a task until it has ended or asks, its stream has ended, or nothing comes for a while: an event may have been
   * missed before the stream began, so its task is asked for again. A remote agent that does not stream is not heard.
   */
  async #stream({ task }: Followed, view: FollowedTask, { signal }: StepIO): Promise<void> {
    const quiet = new AbortController()
    const giveUp = (): NodeJS.Timeout => setTimeout(() => quiet.abort(), quietPolls * this.#pollMs)
    let timer = giveUp()
    try {
      const either = AbortSignal.any([signal, quiet.signal])
      const request = { id: task, tenant: this.#tenant }
      const events = this.#client.resubscribeTask(request as never, { signal: either })
      for await (const event of heardFrom(events, either)) {
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
  }
}

const followedOf = ({ id, contextId }: WireTask): Followed => {
  if (typeof id !== 'string' || id === '') throw refused('the remote agent named no task')
  return { task: id, context: contextId ?? '' }
}

/** Which of its questions a task waits with; undefined if with none. */
function questionId({ status }: WireTask): string | undefined {
  const { state, message, timestamp } = status ?? {}
  if (state !== states.inputRequired) return undefined
  return message?.messageId ?? timestamp ?? 'question'
}

/** A part, as far as it is taken. */
type TakenPart = { readonly text: string } | { readonly data: Json }

interface TakenArtifact {
  readonly parts: TakenPart[]
  size: number
}

/**
 * What is known of a task: from it itself, and from its events. Shows the text of its artifacts as it comes, as long as
 * it comes in order: what is changed further up is in the output alone.
 */
class FollowedTask {
  readonly #io: StepIO
  readonly #allowed = new Allowance(eventBurst, eventPerSecond)
  #status: WireTask['status']
  #artifacts = new Map<string, TakenArtifact>()
  #last = ''
  #size = 0
  /** How much of the text was shown, and whether all that came since is in order after it. */
  #shown = 0
  #isInOrder = true

  constructor(io: StepIO) {
    this.#io = io
  }

  /** Takes a task as it is now. */
  take({ status, artifacts }: WireTask): void {
    this.#setStatus(status)
    this.#artifacts = new Map()
    this.#size = 0
    for (const { artifactId = '', parts } of listOf<WireArtifact>(artifacts)) this.#put(artifactId, parts, false)
    this.#last = [...this.#artifacts.keys()].at(-1) ?? ''
    const text = this.#parts.map(textOf).join('')
    // a task that has less than was shown has changed it
    this.#isInOrder = text.length >= this.#shown
    if (this.#isInOrder) this.#show(text.slice(this.#shown))
  }

  hear(event: WireEvent): void {
    if (!this.#allowed.take(sizeOf(event))) throw tooMuch(`more than ${eventBurst} characters of events at once`)
    const { payload } = event
    const value: unknown = payload?.value
    if (typeof value !== 'object' || value === null) return
    if (payload?.$case === 'task') this.take(value)
    else if (payload?.$case === 'statusUpdate') this.#setStatus((value as WireTask).status)
    else if (payload?.$case === 'artifactUpdate') {
      const { artifact, append } = value as { readonly artifact?: WireArtifact; readonly append?: boolean }
      const id = artifact?.artifactId ?? ''
      const isNew = !this.#artifacts.has(id)
      const added = this.#put(id, artifact?.parts, append === true)
      this.#isInOrder &&= isNew || (append === true && id === this.#last)
      if (isNew) this.#last = id
      if (this.#isInOrder) this.#show(added.map(textOf).join(''))
    }
  }

  #setStatus(status: WireTask['status']): void {
    if (sizeOf(status) > mostContent) throw tooMuch(`a status of more than ${mostContent} characters`)
    this.#status = status
  }

  /** Puts parts into an artifact, or in the place of those that it had. Returns them. */
  #put(id: string, given: WireArtifact['parts'], appends: boolean): readonly TakenPart[] {
    const parts = takenParts(given)
    const added = parts.reduce((sum, part) => sum + sizeOf(part) + overhead, overhead)
    const before = this.#artifacts.get(id)
    if (appends && before !== undefined) {
      for (const part of parts) before.parts.push(part)
      before.size += added
    } else {
      this.#size += id.length - (before?.size ?? 0)
      this.#artifacts.set(id, { parts: [...parts], size: id.length + added })
    }
    this.#size += added
    if (this.#size > mostContent) throw tooMuch(`more than ${mostContent} characters of text and data`)
    return parts
  }

  get #parts(): readonly TakenPart[] {
    return [...this.#artifacts.values()].flatMap(({ parts }) => parts)
  }

  #show(text: string): void {
    if (text !== '') this.#io.emit({ type: 'text.delta', id: '0', text })
    this.#shown += text.length
  }

  /** Whether it has ended, or asks. */
  get isSettled(): boolean {
    return (Object.values(states) as readonly (number | undefined)[]).includes(this.#status?.state)
  }

  /** The segment, if the task has ended or asks. Throws the failure of a task that has failed. */
  segment(followed: Followed): WorkSegment | undefined {
    const { state, message } = this.#status ?? {}
    const said = takenParts(message?.parts)
    if (state === states.completed) {
      const parts = this.#parts
      return { status: 'done', output: contentOf(parts.length > 0 ? parts : said) }
    }
    if (state === states.authRequired) throw needsCredentials(said)
    const ended = (['failed', 'rejected', 'canceled'] as const).find((name) => states[name] === state)
    if (ended !== undefined) throw refused(textOfParts(said) || `the remote task was ${ended}`)
    const id = questionId({ ...(this.#status === undefined ? undefined : { status: this.#status }) })
    if (id === undefined) return undefined
    const ask: ExternalAsk = { type: 'question', id, question: questionOf(said) }
    return { status: 'asks', state: { task: followed.task, context: followed.context, asked: id }, asks: [ask] }
  }
}

/** How much of what a remote agent says of its failure is told. Characters. */
const longestText = 20_000
const textOfParts = (parts: readonly TakenPart[]): string => beginning(parts.map(textOf).join(''), longestText)

/** A credential is given to the client by the operator, and never asked of a person: an answer is recorded, and sent. */
function needsCredentials(said: readonly TakenPart[]): FailureError {
  const words = visibleLine(beginning(textOfParts(said), 500))
  return new FailureError(
    failure(
      'agent.needs-credentials',
      `the remote agent needs credentials${words === '' ? '' : `; it says: ${JSON.stringify(words)}`}`,
      'policy',
      {
        hint: 'Give its client the credentials where it is made, and start the work again. Nobody was asked for them.',
      },
    ),
  )
}

/** A question as a person is shown it. */
function questionOf(parts: readonly TakenPart[]): Json {
  const data = dataIn(parts)
  const text = parts.map(textOf).join('')
  return data.length === 0 ? text : { text, data }
}

/** A list from outside; empty if it is none. */
const listOf = <T>(given: unknown): readonly T[] => (Array.isArray(given) ? (given as readonly T[]) : [])

/** The parts of a message or artifact: their text and their data. Files are left out. */
const takenParts = (parts: unknown): readonly TakenPart[] =>
  listOf<WirePart | undefined>(parts).flatMap((part): readonly TakenPart[] => {
    const { $case: kind, value } = part?.content ?? {}
    if (kind === 'text' && typeof value === 'string') return [{ text: value }]
    return kind === 'data' ? [{ data: jsonOf(value) }] : []
  })

const textOf = (part: TakenPart): string => ('text' in part ? part.text : '')
const dataIn = (parts: readonly TakenPart[]): readonly Json[] =>
  parts.flatMap((part) => ('data' in part ? [part.data] : []))

/** Characters of JSON; of what is no JSON none. */
function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return 0
  }
}

/** The content of an answer: its text; without one, its data. */
function contentOf(parts: readonly TakenPart[]): Json {
  const data = dataIn(parts)
  const text = parts.map(textOf).join('')
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
