/**
 * Rounds: one activation of a round table: a member is chosen and speaks, the others hear it, and the next one is
 * chosen.
 *
 * Owns: the order of a round, how a conversation ends, its handoff record. Does not own: the definition
 * (roundtable.ts), which member speaks (speaker-choice.ts, ledger.ts), what crosses to a member and back (../../flow:
 * members work under the same edge as in every flow).
 * Holds: K3, K4 (a scope for every round). Lives in memory; replay rebuilds it from recorded ends (K1).
 */
import {
  asText,
  completed,
  failed,
  failure,
  handoffOf,
  present,
  withHandoff,
  withoutHandoff,
  type HistoryEntry,
  type Json,
  type Outcome,
} from '@reeve/core'
import { isAgent, outputAs, type Agent } from '@reeve/agent'
import { formatWorkerResult, type Edge, type Schema } from '@reeve/edge'
import type { Context, StepIO } from '@reeve/engine'
import { FlowConversation, edgeOf, runMember, type EdgeOptions } from '@reeve/flow'
import { askHook } from '../delegation/delegation-hooks.ts'
import {
  tableAsk,
  unknownSpeaker,
  tableView,
  type Chair,
  type Floor,
  type Speaker,
  type SpeakerDecision,
  type Table,
} from './speaker-choice.ts'

/** The options of a round table that its rounds need. */
export interface RoundRules {
  readonly name: string
  readonly speaker: Speaker
  readonly maxRounds?: number
  readonly until?: (table: Table, io: StepIO) => boolean | Promise<boolean>
  readonly onFailure?: 'tell' | 'end'
  readonly summary?: Agent | ((table: Table, io: StepIO) => Json | Promise<Json>)
  readonly edge?: EdgeOptions
  readonly output?: Schema
}

/** Whether an answer is empty. Then the answer before it stands. */
const isEmptyAnswer = (output: Json): boolean => output === null || asText(output).trim() === ''

/** The default number of rounds. */
const defaultRounds = 10

/** Why it ended. */
type EndReason = 'rounds' | 'until' | 'speaker' | 'break' | 'exit' | 'failure'

interface TableEnd {
  readonly outcome: Outcome
  readonly why: EndReason
  /** The outcome is final: no summary is made of it. */
  readonly final?: true
}

/** One activation of a round table. */
export class Rounds implements Floor {
  readonly name: string
  readonly ask: Floor['ask']
  readonly members: readonly Agent[]
  readonly output?: Schema
  readonly #rules: RoundRules
  readonly #chair: Chair
  readonly #most: number
  readonly #ctx: Context
  readonly #edge: Edge
  /** The conversation as members and the chair see it, and the full one for later agents. */
  #visible: FlowConversation
  readonly #whole: FlowConversation
  readonly #begunAt: number
  #hops: number
  #round = 0
  #last: string | undefined
  /** The last answer of a member that is not empty; null only if all were empty. */
  #answer: Json | undefined
  /** The last outcome that was not a completion, and how many of them there were in a row. */
  #bad: Outcome | undefined
  #badInARow = 0

  constructor(rules: RoundRules, members: readonly Agent[], ctx: Context, edge: Edge) {
    const { name, speaker, maxRounds = speaker.rounds ?? defaultRounds } = rules
    this.name = name
    this.members = members
    this.#rules = rules
    this.#most = maxRounds
    this.#ctx = ctx
    this.#edge = edge
    this.#visible = FlowConversation.of(edge)
    this.#whole = FlowConversation.of(edge)
    this.#hops = this.#begunAt = edge.flow?.hops ?? 0
    const limit = edge.bounds.limits?.resultTokens
    this.ask = tableAsk(name, edge, (at) => this.#visible.within(limit, name, this.#entries, () => at))
    if (rules.output !== undefined) this.output = rules.output
    this.#chair = speaker.open(this)
  }

  async hold(): Promise<Outcome> {
    const end = await this.#rounds()
    const { outcome, why, final } = end
    this.#ctx.emit({ type: 'fact.noted', name: 'roundtable.ended', data: { why, rounds: this.#round } })
    return this.#withRecord(
      outcome.status !== 'completed' || final === true ? outcome : await this.#summarized(outcome),
    )
  }

  async #rounds(): Promise<TableEnd> {
    for (;;) {
      const round = this.#ctx.scope('round')
      const isOver = this.#round >= this.#most
      const decision = await this.#decide(round.scope('speaker'), isOver)
      if (decision.type !== 'speaks') return this.#endOf(decision, isOver ? 'rounds' : 'speaker')
      const member = this.members.find(({ name }) => name === decision.speaker)
      if (member === undefined)
        return { outcome: failed(unknownSpeaker(this.name, decision.speaker, this.members)), why: 'failure' }
      this.#round++
      const end = await this.#playRound(round, member, decision)
      if (end !== undefined) return end
    }
  }

  async #decide(ctx: Context, isOver: boolean): Promise<SpeakerDecision> {
    if (!isOver) return this.#chair.next(ctx, this.#table(this.#round + 1))
    return (await this.#chair.over?.(ctx, this.#table(this.#round))) ?? { type: 'done' }
  }

  #endOf(decision: Exclude<SpeakerDecision, { type: 'speaks' }>, why: EndReason): TableEnd {
    if (decision.type === 'ends')
      return {
        outcome: this.#withText(decision.outcome),
        why: decision.outcome.status === 'completed' ? why : 'failure',
      }
    if (decision.answer !== undefined) return { outcome: completed(decision.answer), why }
    if (this.#answer !== undefined) return { outcome: completed(this.#answer), why }
    if (this.#bad !== undefined) return { outcome: this.#bad, why: 'failure' }
    const message = `no member of "${this.name}" has answered`
    return { outcome: failed(failure('agent.failed', message, 'internal', { retryable: false })), why: 'failure' }
  }

  /** Keeps the text so far if the chair could not continue. */
  #withText(outcome: Outcome): Outcome {
    const { text } = this.#table(this.#round)
    return outcome.status === 'limited' && outcome.partial === undefined && text !== ''
      ? { ...outcome, partial: text }
      : outcome
  }

  /** One round. Returns an end if it was the last. */
  async #playRound(
    ctx: Context,
    member: Agent,
    decision: Extract<SpeakerDecision, { type: 'speaks' }>,
  ): Promise<TableEnd | undefined> {
    const { instruction, by = this.#rules.speaker.name } = decision
    const { name } = member
    const task = instruction === undefined || instruction.trim() === '' ? undefined : instruction
    ctx.emit({
      type: 'speaker.chosen',
      speaker: name,
      round: this.#round,
      by,
      ...present({ instruction: task }),
    })
    const policy = edgeOf(this.#rules.edge ?? {}, name)
    const path = [...this.#ctx.place.path, name]
    const outcome = await runMember(ctx, this.#edge, member, {
      path,
      policy,
      conversation: this.#visible,
      hops: this.#hops,
      task,
    })
    if (task !== undefined)
      this.#say(this.name, [{ agent: this.name, message: { role: 'assistant', content: `${name}: ${task}` } }])
    const { said, action, breaks, hops = 0 } = handoffOf(outcome)
    for (const conversation of [this.#visible, this.#whole]) conversation.add(name, said, policy.shares, outcome)
    this.#hops += hops
    this.#last = name
    if (action !== undefined) return { outcome, why: 'exit', final: true }
    if (outcome.status !== 'completed') return this.#noteFailure(name, outcome)
    this.#badInARow = 0
    if (this.#answer === undefined || !isEmptyAnswer(outcome.output)) this.#answer = outcome.output
    if (breaks !== undefined) {
      ctx.emit({ type: 'loop.broken', from: breaks, iteration: this.#round - 1 })
      return { outcome: completed(this.#answer), why: 'break' }
    }
    return this.#checkUntil(ctx)
  }

  /** The other members are told of a failure, unless too many fail in a row. */
  #noteFailure(name: string, outcome: Outcome): TableEnd | undefined {
    const { onFailure = 'tell' } = this.#rules
    this.#bad = withoutHandoff(outcome)
    this.#badInARow++
    if (onFailure === 'end' || this.#badInARow >= Math.max(2, this.members.length)) return { outcome, why: 'failure' }
    const { content } = formatWorkerResult(name, outcome)
    this.#say(name, [{ agent: name, message: { role: 'user', content: content as string } }])
    return undefined
  }

  async #checkUntil(ctx: Context): Promise<TableEnd | undefined> {
    const { until } = this.#rules
    if (until === undefined) return undefined
    const table = this.#table(this.#round)
    const { reply: decision, failure: wrong } = await askHook<boolean>(
      ctx,
      { hook: 'until' },
      (io) => until(table, io),
      (said) => (typeof said === 'boolean' ? undefined : 'it returned neither true nor false'),
    )
    if (wrong !== undefined) return { outcome: failed(wrong), why: 'failure' }
    return decision === true ? { outcome: completed(this.#answer!), why: 'until' } : undefined
  }

  /** The answer as the summary makes it. */
  async #summarized(outcome: Outcome): Promise<Outcome> {
    const { summary } = this.#rules
    if (summary === undefined) return outcome
    const ctx = this.#ctx.scope('summary')
    if (isAgent(summary)) {
      const policy = edgeOf(this.#rules.edge ?? {}, summary.name)
      const path = [...this.#ctx.place.path, summary.name]
      const made = await runMember(ctx, this.#edge, summary, {
        path,
        policy,
        conversation: this.#visible,
        hops: this.#hops,
      })
      for (const conversation of [this.#visible, this.#whole])
        conversation.add(summary.name, handoffOf(made).said, policy.shares, made)
      if (made.status === 'completed') this.#answer = made.output
      return made
    }
    const table = this.#table(this.#round)
    const { reply: decision = this.#answer ?? null, failure: wrong } = await askHook<Json>(
      ctx,
      { hook: 'summary' },
      (io) => summary(table, io),
      () => undefined,
    )
    return wrong === undefined ? completed(decision) : failed(wrong)
  }

  /** The outcome with its handoff record. */
  #withRecord(outcome: Outcome): Outcome {
    const { action } = handoffOf(outcome)
    // an exit of the work under the nearest leader ends this table and goes no further
    const passed = action?.type === 'exit' && action.scope === 'supervisor' ? undefined : action
    const left = passed === undefined ? this.#checked(withoutHandoff(outcome)) : withoutHandoff(outcome)
    this.#sayAnswer(left)
    return withHandoff(left, {
      said: this.#whole.said,
      ...present({ action: passed }),
      ...(this.#hops === this.#begunAt ? undefined : { hops: this.#hops - this.#begunAt }),
    })
  }

  /** An answer that no member gave is the table's own. Later agents see it, too. */
  #sayAnswer(outcome: Outcome): void {
    const text = outcome.status !== 'completed' || outcome.output === null ? '' : asText(outcome.output)
    if (text !== '' && text !== asText(this.#answer ?? null))
      this.#whole.add(this.name, [{ agent: this.name, message: { role: 'assistant', content: text }, answer: true }])
  }

  #checked(outcome: Outcome): Outcome {
    const { output: schema } = this.#rules
    if (outcome.status !== 'completed' || schema === undefined) return outcome
    const { output } = outcome
    const fits = outputAs(output, schema)
    if (fits.ok) return completed(fits.value)
    return failed(
      failure('output.invalid', `the answer of "${this.name}" does not fit its schema: ${fits.problem}`, 'validation'),
    )
  }

  tell(text: string): void {
    this.#say(this.name, [{ agent: this.name, message: { role: 'user', content: text } }])
  }

  reset(): void {
    this.#visible = FlowConversation.of(this.#edge)
  }

  #say(by: string, said: readonly HistoryEntry[]): void {
    this.#visible.add(by, said)
    this.#whole.add(by, said)
  }

  /** The conversation as the chair sees it. */
  get #entries(): readonly HistoryEntry[] {
    return this.#visible.whole(this.name)
  }

  #table(round: number): Table {
    const facts = {
      name: this.name,
      round,
      ...(this.#most === Infinity ? undefined : { maxRounds: this.#most }),
      members: this.members.map(({ name, description }) => ({ name, description })),
      ...(this.#last === undefined ? undefined : { last: this.#last }),
    }
    return tableView(facts, () => this.#entries, this.#answer)
  }
}
