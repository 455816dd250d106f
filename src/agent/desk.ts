/**
 * Desk: what one activation of a mind has in front of it. Lives in memory only; on resume the loop makes it again from the journal (K1).
 *
 * Owns: the growing list of messages, its running hash and size, the text so far. Everything here is incremental: a turn costs what it adds, never
 * what was there before.
 */
import { asText, type Action, type HistoryEntry, type Json, type LimitName, type Outcome, type Trail } from '../core/index.ts'
import { entriesOf, shownTo, type Edge, type EdgeMessage } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import { estimateTokens, PromptHash, type Message, type ToolMessage } from '../model/index.ts'
import type { Hooks } from './hooks.ts'

export class Desk {
  readonly agent: string
  readonly ctx: Context
  readonly edge: Edge
  /** The conversation; grows in place and is never copied, so whoever keeps a reference sees it grow. */
  readonly messages: Message[] = []
  /** What stands around the work; undefined if nothing does. */
  hooks: Hooks | undefined
  /** Turns begun so far; the number of the one under way, counted from 1. */
  turn = 0
  /** Corrections of the output that were asked for so far. */
  repairs = 0
  /** Tokens of all messages, estimated; counted only if a limit needs it. */
  tokens = 0
  /** What becomes of control when it ends. */
  action: Action | undefined
  /** A call has asked the nearest loop to end. */
  breaks = false
  /** The message that is its answer. */
  answer: Message | undefined
  /** The last text the model wrote: the partial answer if a limit ends the work. */
  text = ''
  readonly #hash = new PromptHash()
  /** What others are shown in the place of a message; the conversation itself stays as it was said. */
  readonly #instead = new Map<Message, Message>()
  /** Where its own part begins. */
  #begun = 0
  readonly #counts: boolean

  constructor(agent: string, ctx: Context, edge: Edge) {
    this.agent = agent
    this.ctx = ctx
    this.edge = edge
    this.#counts = edge.limits !== undefined && (edge.limits.tokens !== undefined || edge.limits.usd !== undefined)
  }

  /** Whether a limit on tokens or US dollars holds here, so that calls reserve them. */
  get counts(): boolean {
    return this.#counts
  }

  /** The hash of all messages. */
  get hash(): string {
    return this.#hash.toString()
  }

  /** Adds the next message. */
  say(message: Message): void {
    this.messages.push(message)
    this.#hash.add(message)
    if (this.#counts) this.tokens += estimateTokens([message])
  }

  /** The beginning of the conversation: own instructions, what was said before, what is to be done. */
  begin(system: string | undefined): void {
    if (system !== undefined && system !== '') this.say({ role: 'system', content: system })
    for (const message of shownTo(this.agent, entriesOf(this.edge))) this.say(message)
    const task = this.edge.flow?.task
    if (task !== undefined) this.say({ role: 'user', content: task })
    this.#begun = this.messages.length
  }

  /** Others are shown this output as its answer, in the place of the message that was it; a call keeps a result. */
  leave(output: Json): void {
    const content = output === null ? '' : asText(output)
    const words: Message = { role: 'assistant', content }
    this.answer ??= this.#unaccepted()
    if (this.answer !== undefined) this.passOn(this.answer, this.answer.role === 'tool' ? { ...this.answer, content: output } : words)
    else if (content !== '') this.say((this.answer = words))
  }

  /** Others are shown `instead` where it said `message`. */
  passOn(message: Message, instead: Message): void {
    this.#instead.set(message, instead)
  }

  /** Last words that were meant as an answer and are none: those that did not have the required form. */
  #unaccepted(): Message | undefined {
    const last = this.messages.at(-1)
    const isIt = this.messages.length > this.#begun && last?.role === 'assistant' && (last.calls ?? []).length === 0
    return isIt ? last : undefined
  }

  /** What it leaves to those who come after it. */
  trail(): Trail {
    return {
      said: this.#said(),
      ...(this.action === undefined ? undefined : { action: this.action }),
      ...(this.breaks ? { breaks: this.agent } : undefined),
    }
  }

  /** Its own words and deeds; without answers that it had to correct. */
  #said(): readonly HistoryEntry[] {
    const { agent, messages } = this
    return messages.slice(this.#begun).flatMap((message, i, all) => {
      const corrected = message.role === 'assistant' && all[i + 1]?.role === 'user'
      if (message.role === 'user' || corrected) return []
      const shown = this.#instead.get(message) ?? message
      return [message === this.answer ? { agent, message: shown, answer: true } : { agent, message: shown }]
    })
  }

  /**
   * What was said so far, as a view that may cross an edge: no system text, no calls, no results of tools. `answerTo` may put words in the place
   * of a result: those of a worker who was called.
   */
  view(answerTo: (call: ToolMessage) => EdgeMessage | undefined): EdgeMessage[] {
    const view: EdgeMessage[] = []
    for (const message of this.messages) {
      if (message.role === 'user' && typeof message.content === 'string') view.push({ role: 'user', text: message.content })
      else if (message.role === 'assistant' && message.content !== '')
        view.push({ role: 'assistant', text: message.content, agent: this.agent })
      else if (message.role === 'tool') {
        const answer = answerTo(message)
        if (answer !== undefined) view.push(answer)
      }
    }
    return view
  }

  /** The end by a limit, with the text so far. */
  limited(limit: LimitName, message: string): Outcome<never> {
    return { status: 'limited', limit, message, ...(this.text === '' ? undefined : { partial: this.text }) }
  }
}
