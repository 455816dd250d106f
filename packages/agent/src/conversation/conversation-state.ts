/**
 * Conversation state: the conversation of one activation of a model agent. Lives in memory only; on resume the loop
 * rebuilds it from the journal (K1).
 *
 * Owns: the growing list of messages, their content for content keys, their size, the last text. Everything is
 * incremental: the cost of a turn depends on what it adds. Messages removed from the prompt (`leaveOut`) remain part of
 * the conversation that other agents see.
 * Does not own: when messages are removed, and what replaces them (../extensions/compaction.ts).
 */
import {
  asText,
  contentNamesIn,
  contentText,
  deepFreeze,
  fileHandle,
  fileLabel,
  messageFiles,
  mostFiles,
  present,
  withLabels,
  type Action,
  type HistoryEntry,
  type Json,
  type LimitedAccount,
  type LimitName,
  type ContentPart,
  type FilePart,
  type Outcome,
  type Sha256,
  type HandoffRecord,
} from '@reeve/core'
import { briefText, entriesOf, saysNothing, shownTo, type Edge, type EdgeMessage } from '@reeve/edge'
import type { Context, Place } from '@reeve/engine'
import type { Changeable } from '@reeve/journal'
import {
  callIdsOf,
  estimateTokens,
  MessagesContent,
  type Message,
  type Model,
  type ModelSettings,
  type ToolCall,
  type ToolMessage,
} from '@reeve/model'
import type { ToolResult, WorkDeferrer } from './call-result.ts'
import type { OutputCap } from './output-cap.ts'

/** The prompt of a model call: the conversation, or what a middleware made of it. */
export interface Prompt {
  readonly messages: readonly Message[]
  content(sha256: Sha256): string
  /** Estimated, and only if a limit needs it. */
  readonly tokens: number
  /** Replace the settings of the definition. */
  readonly settings?: ModelSettings
}

/** The middlewares around the work, as calls of models and tools see them. */
export interface CallMiddleware {
  /** Whether any of them wraps calls of tools. */
  readonly wrapsTools: boolean
  /** What they may change after it is recorded. */
  readonly changeable: readonly Changeable[]
  /** The prompt of a call; undefined if it is the conversation as it stands. */
  shown(ctx: Context, settings?: ModelSettings): Promise<Prompt | undefined>
  /** Runs a call through all of them. `run` does the call. */
  around<R extends ToolResult>(
    ctx: Context,
    call: ToolCall,
    run: (call: ToolCall) => Promise<R>,
  ): Promise<R | ToolResult>
}

export class ConversationState {
  readonly agent: string
  readonly ctx: Context
  /** Where it works. */
  readonly place: Place
  readonly edge: Edge
  /** Whether a limit on tokens or US dollars holds, so that calls reserve them. */
  readonly counts: boolean
  /** The prompt. It grows in place and is never copied, so every holder of a reference sees it grow. */
  readonly messages: Message[] = []
  /** The middlewares around the work, if any. */
  hooks: CallMiddleware | undefined
  /** Takes work into the background; undefined where that is not allowed. */
  background: WorkDeferrer | undefined
  /** Files that it was shown or has made, by their handles, in the order in which they came. */
  readonly files = new Map<string, FilePart>()
  /** The number of turns begun, which is the number of the current turn. */
  turn = 0
  /** Model calls so far, including the current one; those besides turns count as turns against limits. */
  asked = 0
  /** Corrections of the output so far. */
  repairs = 0
  /** Estimated tokens of the prompt; counted only if needed. */
  tokens = 0
  /** The names of kept results that it was given, in the order in which they first stood in it. */
  readonly references = new Set<string>()
  /** Where control goes when it ends. */
  action: Action | undefined
  /** A call has asked the nearest loop to end. */
  breaks = false
  /** The message that holds its answer. */
  answer: Message | undefined
  /** How it ends instead of calling its model again. */
  ending: Exclude<Outcome, { readonly status: 'completed' }> | undefined
  /** Notes that later runs of the session see, too. */
  readonly feedback: string[] = []
  /** Of chains of models: which one answered last. */
  readonly answering = new Map<Model, number>()
  /** The last text of the model: the partial answer if a limit ends the work. */
  text = ''
  /** What its model calls used so far, as far as that is known: for the caps of the next ones. */
  spent: { readonly tokens: number; readonly usd: number } = { tokens: 0, usd: 0 }
  /** The output cap of the last model call. */
  cap: OutputCap = {}
  #content = new MessagesContent()
  /** The scopes of calls of the current turn that may be stopped. Made when there is one, as all that follows. */
  #calls: Set<Context> | undefined
  /** What other agents see in place of a message; the conversation itself keeps the original. */
  #instead: Map<Message, Message> | undefined
  /** Ids of the calls of unknown tools. */
  #unknownTools: Set<string> | undefined
  #notes: WeakSet<Message> | undefined
  /** Ids of all calls that were ever said. */
  #callIds: Set<string> | undefined
  /** The part of a note that crosses to workers. */
  #forWorkers: WeakMap<Message, string> | undefined
  #later: (string | (() => string | undefined))[] | undefined
  /** Where its own part begins. */
  #ownStart = 0
  /** The full conversation, once some of it has left the prompt. */
  #whole: Message[] | undefined
  /** The notes in the prompt that replace removed messages. */
  #replacements: readonly Message[] = []
  readonly #measures: boolean

  /** `measures`: count tokens even without a limit. */
  constructor(agent: string, ctx: Context, edge: Edge, measures = false) {
    this.agent = agent
    this.ctx = ctx
    this.place = ctx.place
    this.edge = edge
    const { limits } = edge.bounds
    this.counts = limits !== undefined && (limits.tokens !== undefined || limits.usd !== undefined)
    this.#measures = this.counts || measures
  }

  /** The full conversation, whether still in the prompt or not. */
  get whole(): readonly Message[] {
    return this.#whole ?? this.messages
  }

  /** The conversation without instructions, for users' code: a new list, frozen with its messages. */
  conversation(): readonly Message[] {
    return Object.freeze(this.whole.filter(({ role }) => role !== 'system').map(deepFreeze))
  }

  /** The conversation before the answer with this call, without instructions: a new list, frozen with its messages. */
  beforeCall(id: string): readonly Message[] {
    const at = this.whole.findLastIndex(
      ({ role, ...message }) =>
        role === 'assistant' && 'calls' in message && message.calls?.some((call) => call.id === id),
    )
    return Object.freeze(
      (at < 0 ? this.whole : this.whole.slice(0, at)).filter(({ role }) => role !== 'system').map(deepFreeze),
    )
  }

  /** The texts that the model was given, and may quote. */
  quotable(): readonly string[] {
    return this.whole.flatMap(({ role, content }) => {
      if (role !== 'user' && role !== 'tool') return []
      if (typeof content === 'string') return [content]
      if (role === 'tool') return [asText(content)]
      const parts = Array.isArray(content) ? (content as readonly ContentPart[]) : []
      return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    })
  }

  /** The prompt as it is now, for users' code: a new list, frozen with its messages. */
  shown(): readonly Message[] {
    return Object.freeze(this.messages.map(deepFreeze))
  }

  /** The content of the prompt for its content key. */
  content(sha256: Sha256): string {
    return this.#content.of(this.messages, sha256)
  }

  /** Adds the next message. */
  say(message: Message): void {
    this.messages.push(message)
    this.#whole?.push(message)
    for (const file of messageFiles(message)) this.files.set(fileHandle(file), file)
    this.#noteReferences(message)
    if (message.role === 'tool' || (message.role === 'assistant' && message.calls !== undefined))
      for (const id of callIdsOf(message)) (this.#callIds ??= new Set()).add(id)
    if (this.#measures) this.tokens += estimateTokens([message])
  }

  /** Whether it holds the name of a kept result. */
  get hasReference(): boolean {
    return this.references.size > 0
  }

  /** A model that names what it was not given learns nothing by it. */
  #noteReferences(message: Message): void {
    if (message.role === 'assistant' || this.edge.bounds.limits?.resultTokens === undefined) return
    const text = message.role === 'user' ? contentText(message.content) : asText(message.content)
    for (const name of contentNamesIn(text)) this.references.add(name)
  }

  /** Whether a call has this id: in the conversation, or in the prompt that a hook has made of it. */
  hasCall(id: string, prompt: readonly Message[]): boolean {
    if (this.#callIds?.has(id) === true) return true
    return prompt !== this.messages && prompt.some((message) => callIdsOf(message).includes(id))
  }

  /**
   * Adds a user's note of Reeve itself. The model answers to it; other agents never see it. A blank answer before it is
   * removed. `workers`: the part that workers see whose context has the conversation. Default: nothing.
   */
  note(content: string, workers?: string): Message {
    this.#removeBlankAnswer()
    const message: Message = { role: 'user', content }
    this.#noteIs(message)
    if (workers !== undefined) (this.#forWorkers ??= new WeakMap()).set(message, workers)
    this.say(message)
    return message
  }

  /** Takes messages back: others stand in their place. */
  withdraw(messages: readonly Message[]): void {
    if (messages.length === 0) return
    for (const list of this.#whole === undefined ? [this.messages] : [this.messages, this.#whole])
      for (const message of messages) {
        const at = list.lastIndexOf(message)
        if (at !== -1) list.splice(at, 1)
      }
    this.#recount()
  }

  #noteIs(message: Message): void {
    ;(this.#notes ??= new WeakSet()).add(message)
  }

  #isNote(message: Message): boolean {
    return this.#notes?.has(message) === true
  }

  /** Removes a blank last answer, which providers refuse in a prompt. */
  #removeBlankAnswer(): void {
    const last = this.messages.at(-1)
    if (last?.role !== 'assistant' || !saysNothing(last)) return
    this.messages.pop()
    this.#whole?.pop()
    this.#recount()
  }

  /**
   * Adds a note before the next model call. Not before: the results of the current turn must follow their calls
   * directly. `kept`: later runs of the session see it, too.
   */
  tell(content: string, kept?: 'kept'): void {
    if (kept !== undefined) this.feedback.push(content)
    ;(this.#later ??= []).push(content)
  }

  /** The same for a note that may be obsolete by then: it is made just before the model call, and may be nothing. */
  tellIfStill(content: () => string | undefined): void {
    ;(this.#later ??= []).push(content)
  }

  /** Runs work of the current turn that may be stopped: `ctx` is its scope. */
  async stoppable<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
    const calls = (this.#calls ??= new Set())
    calls.add(ctx)
    try {
      return await work()
    } finally {
      calls.delete(ctx)
    }
  }

  /** Stops pending calls of users' tools and withdraws their approvals, because a call of this turn ends the work. */
  stopCalls(why: string): void {
    for (const ctx of this.#calls ?? []) ctx.stopAll(why)
  }

  /** Adds the pending notes. Called before each turn. */
  sayLater(): void {
    const notes = this.#later
    if (notes === undefined) return
    this.#later = undefined
    for (const later of notes) {
      const content = typeof later === 'string' ? later : later()
      if (content !== undefined) this.note(content)
    }
  }

  /** There is no tool that this call names. */
  noteUnknownTool(callId: string): void {
    ;(this.#unknownTools ??= new Set()).add(callId)
  }

  /**
   * Replaces a message for good: later prompts have the other one. False: the message is no longer in the prompt, so
   * the model must be told otherwise.
   */
  replace(message: Message, instead: Message): boolean {
    const said = this.#whole?.lastIndexOf(message) ?? -1
    if (said !== -1) this.#whole![said] = instead
    this.#noteReferences(instead)
    const at = this.messages.lastIndexOf(message)
    if (at === -1) return false
    this.messages[at] = deepFreeze(instead)
    for (const file of messageFiles(instead)) this.files.set(fileHandle(file), file)
    this.#recount()
    return true
  }

  /**
   * Where to cut the prompt so that about the last `keep` messages stay: not between a call and its results, and not
   * before a note about earlier messages. Undefined if the cut would remove nothing.
   */
  cut(keep: number): number | undefined {
    let at = Math.max(0, this.messages.length - keep)
    for (; at > 0 && at < this.messages.length; at--) {
      const message = this.messages[at]!
      if (message.role !== 'tool' && !this.#isNote(message)) break
    }
    return this.before(at).length === 0 ? undefined : at
  }

  /** The messages that a cut there would remove. */
  before(cut: number): readonly Message[] {
    const stays = this.#permanentMessages()
    return this.messages.slice(0, cut).filter((message) => !stays(message) && !this.#replacements.includes(message))
  }

  /**
   * Removes all messages before the cut from the prompt, except instructions and the brief, and puts notes in their
   * place.
   */
  leaveOut(cut: number, notes: readonly string[]): void {
    const { messages } = this
    const stays = this.#permanentMessages()
    const head = messages.slice(0, cut).filter((message) => stays(message))
    const tail = messages.slice(cut)
    this.#whole ??= [...messages]
    const gone = this.#filesNotIn([...head, ...tail])
    this.#replacements = [...notes, ...gone].map((content) => ({ role: 'user', content }))
    for (const note of this.#replacements) this.#noteIs(note)
    messages.length = 0
    for (const part of [head, this.#replacements, tail]) for (const message of part) messages.push(message)
    this.#recount()
  }

  /** A note that names the files which are in none of these messages; nothing if there are none. */
  #filesNotIn(messages: readonly Message[]): readonly string[] {
    const shown = new Set(messages.flatMap(messageFiles).map(fileHandle))
    const gone = [...this.files].flatMap(([handle, file]) => (shown.has(handle) ? [] : [fileLabel(file)]))
    return gone.length === 0
      ? []
      : [`Files of earlier messages, not shown any more:\n${gone.slice(-mostFiles).join('\n')}`]
  }

  /** Replaces the notes that stand for removed messages. */
  restate(notes: readonly string[]): void {
    const last = this.#replacements.at(-1)
    if (last !== undefined) this.leaveOut(this.messages.lastIndexOf(last) + 1, notes)
  }

  /** The messages that always stay: instructions, the brief (or the closest to it) and the task of a flow. */
  #permanentMessages(): (message: Message) => boolean {
    const before = this.whole.slice(0, this.#ownStart)
    const brief = briefText(this.edge.work.brief)
    const briefMessage =
      before.findLast((message) => message.role === 'user' && contentText(message.content) === brief) ??
      before.find(({ role }) => role === 'user')
    const task = this.edge.flow?.task === undefined ? undefined : before.at(-1)
    return (message) => message.role === 'system' || message === briefMessage || message === task
  }

  #recount(): void {
    this.#content = new MessagesContent()
    if (this.#measures) this.tokens = estimateTokens(this.messages)
  }

  /**
   * Begins the conversation: instructions, history, task. If its own words are the last message, a note follows them.
   * `labelsFiles`: its model may name files, so each has its label.
   */
  begin(system: string | undefined, labelsFiles = false): void {
    if (system !== undefined && system !== '') this.say({ role: 'system', content: system })
    const entries = entriesOf(this.edge)
    for (const entry of entries) {
      const message = shownTo(this.agent, entry)
      if (message === undefined) continue
      if (entry.for !== undefined) this.#noteIs(message)
      this.say(
        labelsFiles && message.role === 'user' && typeof message.content !== 'string'
          ? { role: 'user', content: withLabels(message.content) }
          : message,
      )
    }
    const task = this.edge.flow?.task
    if (task !== undefined) this.say({ role: 'user', content: task })
    // messages from outside, or from a rewriter, get no note
    else if (this.messages.at(-1)?.role === 'assistant' && entries.at(-1)?.agent !== undefined) this.note(yourTurn)
    this.#ownStart = this.messages.length
  }

  /** Other agents see this output as the answer, in place of the message that was the answer; a call keeps a result. */
  leave(output: Json): void {
    const content = output === null ? '' : asText(output)
    const words: Message = { role: 'assistant', content }
    this.answer ??= this.#rejectedAnswer()
    if (this.answer !== undefined)
      this.passOn(this.answer, this.answer.role === 'tool' ? { ...this.answer, content: output } : words)
    else if (content !== '') this.say((this.answer = words))
  }

  /** Other agents see `instead` in place of `message`. */
  passOn(message: Message, instead: Message): void {
    ;(this.#instead ??= new Map()).set(message, instead)
  }

  /** A last message meant as an answer that did not have the required form. */
  #rejectedAnswer(): Message | undefined {
    const { whole } = this
    const last = whole.at(-1)
    const isIt = whole.length > this.#ownStart && last?.role === 'assistant' && (last.calls ?? []).length === 0
    return isIt ? last : undefined
  }

  /** The handoff record for the next agents. */
  handoff(): HandoffRecord {
    return {
      said: this.#ownEntries(),
      ...(this.action === undefined ? undefined : { action: this.action }),
      ...(this.breaks ? { breaks: this.agent } : undefined),
      ...(this.feedback.length === 0 ? undefined : { feedback: [...this.feedback] }),
    }
  }

  /** Its own messages and calls, without corrected answers. */
  #ownEntries(): readonly HistoryEntry[] {
    const { agent, whole } = this
    return whole.slice(this.#ownStart).flatMap((message, i, all) => {
      const corrected = message.role === 'assistant' && message !== this.answer && all[i + 1]?.role === 'user'
      if (message.role === 'user' || corrected) return []
      const shown = this.#instead?.get(message) ?? message
      const isUnknown = message.role === 'tool' && this.#unknownTools?.has(message.callId) === true
      return [
        {
          agent,
          message: shown,
          ...(message === this.answer ? { answer: true } : undefined),
          ...(isUnknown ? { unknownTool: true } : undefined),
        },
      ]
    })
  }

  /**
   * The conversation as a view that may cross an edge: without system text, calls and results. `answerTo` may replace a
   * result by the words of the worker that was called.
   */
  view(answerTo: (call: ToolMessage) => EdgeMessage | undefined): EdgeMessage[] {
    const view: EdgeMessage[] = []
    for (const message of this.whole) {
      const crosses = this.#forWorkers?.get(message)
      if (crosses !== undefined) view.push({ role: 'user', text: crosses })
      if (this.#isNote(message)) continue
      const files = messageFiles(message)
      const sent = files.length === 0 ? undefined : files
      if (message.role === 'user')
        view.push({ role: 'user', text: contentText(message.content), ...present({ files: sent }) })
      else if (message.role === 'assistant' && (message.content !== '' || sent !== undefined))
        view.push({ role: 'assistant', text: message.content, agent: this.agent, ...present({ files: sent }) })
      else if (message.role === 'tool') {
        const answer = answerTo(message)
        if (answer !== undefined) view.push(answer)
      }
    }
    return view
  }

  /** The end by a limit, with the last text. `account`: that of the leader whose limit it is, if it is not its own. */
  limited(limit: LimitName, message: string, account?: LimitedAccount): Outcome<never> {
    return {
      status: 'limited',
      limit,
      message,
      ...(this.text === '' ? undefined : { partial: this.text }),
      ...present({ account }),
    }
  }
}

/**
 * The note to a model that spoke last. Many providers refuse a prompt that ends with the model's own words, or continue
 * them as its answer.
 */
const yourTurn = 'It is your turn again. Go on from here.'
