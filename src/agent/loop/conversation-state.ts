/**
 * The conversation state: what one activation of a model agent has in front of it. Lives in memory only; on resume the
 * loop makes it again from the journal (K1).
 *
 * Owns: the growing list of messages, what they put into content keys, its size, the text so far. Everything here is
 * incremental: a turn costs what it adds, never what was there before. What is left out of the prompt (`leaveOut`)
 * stays said: others are shown it as if it were still there.
 * Does not own: when something is left out, and what stands in its place (compaction.ts).
 */
import {
  asText,
  deepFreeze,
  present,
  type Action,
  type HistoryEntry,
  type Json,
  type LimitedAccount,
  type LimitName,
  type Outcome,
  type Sha256,
  type Trail,
} from '../../core/index.ts'
import { briefText, entriesOf, saysNothing, shownTo, type Edge, type EdgeMessage } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { estimateTokens, MessagesContent, type Message, type ToolMessage } from '../../model/index.ts'
import type { WorkDeferrer } from '../tool/call-result.ts'
import type { MiddlewareChain } from '../extensions/middleware-chain.ts'

export class ConversationState {
  readonly agent: string
  readonly ctx: Context
  readonly edge: Edge
  /** What the model is shown; grows in place and is never copied, so whoever keeps a reference sees it grow. */
  readonly messages: Message[] = []
  /** What stands around the work; undefined if nothing does. */
  hooks: MiddlewareChain | undefined
  /** What goes on while its model does something else; undefined where nothing may. */
  background: WorkDeferrer | undefined
  /** Turns begun so far; the number of the one under way, counted from 1. */
  turn = 0
  /** Calls of the model besides those of turns: they count as turns where turns are limited. */
  besides = 0
  /** Corrections of the output that were asked for so far. */
  repairs = 0
  /** Tokens of all messages that the model is shown, estimated; counted only if somebody needs it. */
  tokens = 0
  /** What becomes of control when it ends. */
  action: Action | undefined
  /** A call has asked the nearest loop to end. */
  breaks = false
  /** The message that is its answer. */
  answer: Message | undefined
  /** How it ends in place of asking its model once more. */
  ending: Exclude<Outcome, { readonly status: 'completed' }> | undefined
  /** Notes that later runs of the session are shown, too. */
  readonly feedback: string[] = []
  /** The last text the model wrote: the partial answer if a limit ends the work. */
  text = ''
  /** The scopes of the calls of the turn under way that may be stopped. */
  readonly calls = new Set<Context>()
  #content = new MessagesContent()
  /** What others are shown in the place of a message; the conversation itself stays as it was said. */
  readonly #instead = new Map<Message, Message>()
  readonly #notes = new WeakSet<Message>()
  /** What of a note crosses to workers. */
  readonly #forWorkers = new WeakMap<Message, string>()
  readonly #later: (string | (() => string | undefined))[] = []
  /** Where its own part begins. */
  #begun = 0
  /** Everything that was said, once something of it is left out of the prompt. */
  #whole: Message[] | undefined
  /** What stands in the prompt for what was left out. */
  #stand: readonly Message[] = []
  readonly #counts: boolean
  readonly #measures: boolean

  /** `measures`: somebody wants to know its size, even if no limit does. */
  constructor(agent: string, ctx: Context, edge: Edge, measures = false) {
    this.agent = agent
    this.ctx = ctx
    this.edge = edge
    const { limits } = edge.bounds
    this.#counts = limits !== undefined && (limits.tokens !== undefined || limits.usd !== undefined)
    this.#measures = this.#counts || measures
  }

  /** Everything that was said, whether the model is still shown it or not. */
  get whole(): readonly Message[] {
    return this.#whole ?? this.messages
  }

  /** What was said apart from instructions, for users' code: a list of its own, of messages that nobody can change. */
  conversation(): readonly Message[] {
    return this.whole.filter(({ role }) => role !== 'system').map(deepFreeze)
  }

  /** Calls of the model so far, the one under way included. */
  get asked(): number {
    return this.turn + this.besides
  }

  /** Whether a limit on tokens or US dollars holds here, so that calls reserve them. */
  get counts(): boolean {
    return this.#counts
  }

  /** What all messages that the model is shown put into its content key. */
  content(sha256: Sha256): string {
    return this.#content.of(this.messages, sha256)
  }

  /** Adds the next message. */
  say(message: Message): void {
    this.messages.push(message)
    this.#whole?.push(message)
    if (this.#measures) this.tokens += estimateTokens([message])
  }

  /**
   * Tells the model something that nobody said: as a user, so that it answers to it, and never seen by others. An
   * answer without a word before it is not shown any more. `workers`: what its workers are shown of it, whose context
   * has the conversation. Default: nothing.
   */
  note(content: string, workers?: string): void {
    this.#forgetNothing()
    const message: Message = { role: 'user', content }
    this.#notes.add(message)
    if (workers !== undefined) this.#forWorkers.set(message, workers)
    this.say(message)
  }

  /** Takes an answer without a word back, which providers refuse to be shown again. */
  #forgetNothing(): void {
    const last = this.messages.at(-1)
    if (last?.role !== 'assistant' || !saysNothing(last)) return
    this.messages.pop()
    this.#whole?.pop()
    this.#measure()
  }

  /**
   * What the model is to be told before it is asked again, as a note. After the results of the turn under way: those
   * must stand next to their calls. `kept`: later runs of the session are shown it, too.
   */
  readonly tell = (content: string, kept?: 'kept'): void => {
    if (kept !== undefined) this.feedback.push(content)
    this.#later.push(content)
  }

  /**
   * The same for what may be no news any more by then: it is asked for only before the model is asked again, and may be
   * nothing.
   */
  readonly tellIfStill = (content: () => string | undefined): void => {
    this.#later.push(content)
  }

  /**
   * Stops what users' tools are doing, and withdraws what their approvals ask: one of the calls of this turn ends the
   * work.
   */
  stopCalls(why: string): void {
    for (const ctx of this.calls) ctx.stopAll(why)
  }

  /** Says what was to be told. Called before each turn. */
  sayLater(): void {
    for (const later of this.#later.splice(0)) {
      const content = typeof later === 'string' ? later : later()
      if (content !== undefined) this.note(content)
    }
  }

  /**
   * Puts another message in the place of one that was said, for good: the prompts from now on have it there. False: the
   * model is not shown that one any more, and so is to be told.
   */
  replace(message: Message, instead: Message): boolean {
    const said = this.#whole?.lastIndexOf(message) ?? -1
    if (said !== -1) this.#whole![said] = instead
    const at = this.messages.lastIndexOf(message)
    if (at === -1) return false
    this.messages[at] = deepFreeze(instead)
    this.#measure()
    return true
  }

  /**
   * Where the prompt may be cut so that about the last `keep` messages stay: not between a call and its results, nor
   * before a note on what stands before it. Undefined if nothing would be left out.
   */
  cut(keep: number): number | undefined {
    let at = Math.max(0, this.messages.length - keep)
    for (; at > 0 && at < this.messages.length; at--) {
      const message = this.messages[at]!
      if (message.role !== 'tool' && !this.#notes.has(message)) break
    }
    return this.before(at).length === 0 ? undefined : at
  }

  /** What would be left out by a cut there. */
  before(cut: number): readonly Message[] {
    const stays = this.#staying()
    return this.messages.slice(0, cut).filter((message) => !stays(message) && !this.#stand.includes(message))
  }

  /**
   * Leaves everything before the cut out of the prompt, but for instructions and what it was asked to do, and puts
   * notes there in its place.
   */
  leaveOut(cut: number, notes: readonly string[]): void {
    const { messages } = this
    const stays = this.#staying()
    const head = messages.slice(0, cut).filter((message) => stays(message))
    const tail = messages.slice(cut)
    this.#whole ??= [...messages]
    this.#stand = notes.map((content) => ({ role: 'user', content }))
    for (const note of this.#stand) this.#notes.add(note)
    messages.length = 0
    for (const part of [head, this.#stand, tail]) for (const message of part) messages.push(message)
    this.#measure()
  }

  /** Puts other notes in the place of those that stand for what was left out. */
  restate(notes: readonly string[]): void {
    const last = this.#stand.at(-1)
    if (last !== undefined) this.leaveOut(this.messages.lastIndexOf(last) + 1, notes)
  }

  /** Instructions, and what it was asked to do: the brief, or what comes nearest to it, and the task of a flow. */
  #staying(): (message: Message) => boolean {
    const before = this.whole.slice(0, this.#begun)
    const brief = briefText(this.edge.work.brief)
    const asked =
      before.findLast(({ role, content }) => role === 'user' && content === brief) ??
      before.find(({ role }) => role === 'user')
    const task = this.edge.flow?.task === undefined ? undefined : before.at(-1)
    return (message) => message.role === 'system' || message === asked || message === task
  }

  #measure(): void {
    this.#content = new MessagesContent()
    if (this.#measures) this.tokens = estimateTokens(this.messages)
  }

  /**
   * The beginning of the conversation: own instructions, what was said before, what is to be done. Nobody is asked to
   * go on from words of its own: they are followed by a note.
   */
  begin(system: string | undefined): void {
    if (system !== undefined && system !== '') this.say({ role: 'system', content: system })
    const entries = entriesOf(this.edge)
    for (const entry of entries)
      for (const message of shownTo(this.agent, [entry])) {
        if (entry.for !== undefined) this.#notes.add(message)
        this.say(message)
      }
    const task = this.edge.flow?.task
    if (task !== undefined) this.say({ role: 'user', content: task })
    // what comes from outside, or from a rewriter, is as it is
    else if (this.messages.at(-1)?.role === 'assistant' && entries.at(-1)?.agent !== undefined) this.note(yourTurn)
    this.#begun = this.messages.length
  }

  /** Others are shown this output as its answer, in the place of the message that was it; a call keeps a result. */
  leave(output: Json): void {
    const content = output === null ? '' : asText(output)
    const words: Message = { role: 'assistant', content }
    this.answer ??= this.#unaccepted()
    if (this.answer !== undefined)
      this.passOn(this.answer, this.answer.role === 'tool' ? { ...this.answer, content: output } : words)
    else if (content !== '') this.say((this.answer = words))
  }

  /** Others are shown `instead` where it said `message`. */
  passOn(message: Message, instead: Message): void {
    this.#instead.set(message, instead)
  }

  /** Last words that were meant as an answer and are none: those that did not have the required form. */
  #unaccepted(): Message | undefined {
    const { whole } = this
    const last = whole.at(-1)
    const isIt = whole.length > this.#begun && last?.role === 'assistant' && (last.calls ?? []).length === 0
    return isIt ? last : undefined
  }

  /** What it leaves to those who come after it. */
  trail(): Trail {
    return {
      said: this.#said(),
      ...(this.action === undefined ? undefined : { action: this.action }),
      ...(this.breaks ? { breaks: this.agent } : undefined),
      ...(this.feedback.length === 0 ? undefined : { feedback: [...this.feedback] }),
    }
  }

  /** Its own words and deeds; without answers that it had to correct. */
  #said(): readonly HistoryEntry[] {
    const { agent, whole } = this
    return whole.slice(this.#begun).flatMap((message, i, all) => {
      const corrected = message.role === 'assistant' && message !== this.answer && all[i + 1]?.role === 'user'
      if (message.role === 'user' || corrected) return []
      const shown = this.#instead.get(message) ?? message
      return [message === this.answer ? { agent, message: shown, answer: true } : { agent, message: shown }]
    })
  }

  /**
   * What was said so far, as a view that may cross an edge: no system text, no calls, no results of tools. `answerTo`
   * may put words in the place of a result: those of a worker who was called.
   */
  view(answerTo: (call: ToolMessage) => EdgeMessage | undefined): EdgeMessage[] {
    const view: EdgeMessage[] = []
    for (const message of this.whole) {
      const crosses = this.#forWorkers.get(message)
      if (crosses !== undefined) view.push({ role: 'user', text: crosses })
      if (this.#notes.has(message)) continue
      if (message.role === 'user' && typeof message.content === 'string')
        view.push({ role: 'user', text: message.content })
      else if (message.role === 'assistant' && message.content !== '')
        view.push({ role: 'assistant', text: message.content, agent: this.agent })
      else if (message.role === 'tool') {
        const answer = answerTo(message)
        if (answer !== undefined) view.push(answer)
      }
    }
    return view
  }

  /** The end by a limit, with the text so far. `account`: the leader's, where the limit is not its own. */
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
 * What a model is told that spoke last: many providers refuse a prompt that ends with its own words, or take them for
 * the beginning of its answer.
 */
const yourTurn = 'It is your turn again. Go on from here.'
