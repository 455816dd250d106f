/**
 * The feed of a run as events of AG-UI.
 *
 * Owns: which events stand for what, their ids, whose they are (the agent of the run, or a subagent), the order that
 * strict clients ask for. Does not own: reading the feed (../protocol-run), what was said (../../journal).
 * Holds: K1, K9: what is recorded decides. Live pieces come early, and the record completes them: a text is sent once,
 * whoever reads it and whenever. Of a stream that begins later, what came before `from` is known and not sent.
 */
import {
  asText,
  describeOutcome,
  fileLabel,
  present,
  totalUsage,
  addUsage,
  visibleLine,
  withLines,
  withoutHandoff,
  type ActivationId,
  type Json,
  type JsonObject,
  type Outcome,
  type Usage,
} from '@reeve/core'
import {
  foldChange,
  foldState,
  heardText,
  newRunFold,
  Story,
  teamViewsOf,
  thoughtsIn,
  type IndexedActivation,
  type LiveAnswer,
  type Recorded,
  type SaidItem,
  type Spoken,
  type StoryItem,
} from '@reeve/journal'
import type { RunPart } from '@reeve/runtime'
import { askedBy, type AskedQuestion, type StreamEnd } from '../protocol-run/index.ts'
import { interruptOf } from './interrupt.ts'
import { protocolVersion, type AgUiEvent, type AgUiTokenUsage } from './wire.ts'

/** Which stream is made. */
export interface StreamPlace {
  readonly threadId: string
  readonly runId: string
  /** The run of Reeve. */
  readonly run: string
  /** What was recorded up to this position was sent in an earlier stream. */
  readonly from: number
}

/** Whose an event is. Undefined: what is said is shown to no one, as that of a scorer. */
type Owner = { readonly subagentRunId?: string } | undefined

/** The messages of an answer. */
interface Answering {
  readonly id: string
  /** What was heard of it live. */
  readonly heard: LiveAnswer | undefined
  isTextOpen: boolean
  /** The id of the reasoning message that is open. */
  reasoningOpen: string | undefined
  reasonings: number
}

export class EventTranslator {
  readonly #place: StreamPlace
  readonly #fold = newRunFold()
  readonly #story = new Story(this.#fold.index)
  readonly #answering = new Map<ActivationId, Answering>()
  /** Attempts at an answer that were seen, by the answer. */
  readonly #attempts = new Map<string, number>()
  /** Ids of calls in this stream, by the activation and the model's own id. */
  readonly #calls = new Map<ActivationId, Map<string, string>>()
  /** Calls without a result. */
  readonly #unanswered = new Map<string, Owner>()
  /** Subagents that were announced and have not ended, in the order in which they began. */
  readonly #subagents = new Map<ActivationId, IndexedActivation>()
  readonly #plans = new Map<ActivationId, string>()
  #announced = false
  #usage: Usage = []

  constructor(place: StreamPlace) {
    this.#place = place
  }

  /** The first event of every stream. */
  begin(): AgUiEvent {
    const { threadId, runId, run } = this.#place
    return { type: 'RUN_STARTED', threadId, runId, protocolVersion, metadata: { reeve: { run } } }
  }

  /** What an event of the journal says. */
  event(recorded: Recorded): readonly AgUiEvent[] {
    const isNew = recorded.position > this.#place.from
    const events: AgUiEvent[] = isNew ? [...this.#announce()] : []
    const change = this.#fold.index.take(recorded)
    if (change === undefined) return []
    foldChange(this.#fold, recorded, change)
    for (const item of this.#story.takeChange(recorded, change)) events.push(...this.#happens(item))
    if (change.here !== undefined) events.push(...this.#plan(change.here))
    if (!isNew) return []
    this.#count(recorded)
    return events.map((event) => ({ ...event, timestamp: recorded.at }))
  }

  /** Subagents that are at work when a later stream begins are announced again. */
  #announce(): readonly AgUiEvent[] {
    if (this.#announced) return []
    this.#announced = true
    return [...this.#subagents.values()].map((each) => this.#started(each))
  }

  #count({ event }: Recorded): void {
    if (event.type === 'step.settled' || (event.type === 'worker.settled' && event.apart === true))
      this.#usage = addUsage(this.#usage, event.usage ?? [])
  }

  #happens(item: StoryItem): readonly AgUiEvent[] {
    switch (item.type) {
      case 'began':
        return this.#begun(item.agent)
      case 'piece':
        return this.#piece(item)
      case 'withdrawn':
        return this.#answering.get(item.answer.activation)?.heard === item.answer
          ? this.#givenUp(item.answer.activation)
          : []
      case 'answered':
        return this.#answered(item.agent.id, item.address, item.output)
      case 'said':
        return this.#said(item)
      case 'result': {
        const { activation, callId, content, isError, files = [] } = item.spoken
        const toolCallId = callId === undefined ? undefined : this.#calls.get(activation)?.get(callId)
        const owner = this.#ownerOf(activation)
        return toolCallId === undefined || owner === undefined
          ? []
          : [
              this.#result(
                toolCallId,
                owner,
                asText(
                  withLines(
                    content,
                    files.map((file) => fileLabel(file)),
                  ),
                ),
                isError,
              ),
            ]
      }
      case 'ended':
        return this.#settled(item.agent, item.outcome)
      default:
        // questions end the stream; a call is a part of its answer
        return []
    }
  }

  #ownerOf(id: ActivationId): Owner {
    const owner = this.#story.ownerOf(id)
    if (owner.type === 'none') return undefined
    return owner.type === 'run' ? {} : { subagentRunId: owner.id }
  }

  #isSubagent = ({ id }: IndexedActivation): boolean => this.#ownerOf(id)?.subagentRunId === id

  #begun(here: IndexedActivation): readonly AgUiEvent[] {
    if (!this.#isSubagent(here)) return []
    this.#subagents.set(here.id, here)
    return [this.#started(here)]
  }

  #started({ id, agent, parent, begunBy }: IndexedActivation): AgUiEvent {
    const above = parent === undefined ? undefined : this.#ownerOf(parent)?.subagentRunId
    const callId = begunBy?.callId
    return {
      type: 'SUBAGENT_STARTED',
      subagentRunId: id,
      name: agent,
      ...present({
        parentSubagentRunId: above !== undefined && this.#subagents.has(above as ActivationId) ? above : undefined,
        parentToolCallId:
          callId === undefined || parent === undefined ? undefined : this.#calls.get(parent)?.get(callId),
      }),
    }
  }

  #settled({ id }: IndexedActivation, outcome: Outcome): readonly AgUiEvent[] {
    const events = this.#givenUp(id)
    if (!this.#subagents.delete(id)) return events
    return [...events, subagentEnd(id, outcome)]
  }

  /** A live piece of work. */
  part(part: RunPart): readonly AgUiEvent[] {
    // what was sent in an earlier stream is still read: the text comes with the record
    const isEarly = this.#fold.index.position < this.#place.from
    const items = this.#story.hear(part, !isEarly)
    if (items.length === 0 || this.#ownerOf(part.activation) === undefined) return []
    const events = isEarly ? [] : [...this.#announce()]
    for (const item of items) {
      const said = this.#happens(item)
      if (!isEarly) events.push(...said)
    }
    return events
  }

  #piece({ answer: heard, block: { kind }, text }: Extract<StoryItem, { type: 'piece' }>): readonly AgUiEvent[] {
    const { activation, address } = heard
    const known = this.#answering.get(activation)
    const ended = known === undefined || known.heard === heard ? [] : this.#givenUp(activation)
    const answer = known?.heard === heard ? known : this.#newAnswer(activation, address, heard)
    return [
      ...ended,
      ...(kind === 'text' ? this.#text(activation, answer, text) : this.#thought(activation, answer, text)),
    ]
  }

  #newAnswer(activation: ActivationId, address: string, heard?: LiveAnswer): Answering {
    const base = `${activation}:${address}`
    const nth = (this.#attempts.get(base) ?? 0) + 1
    this.#attempts.set(base, nth)
    const answer = newAnswering(nth === 1 ? base : `${base}~${nth}`, heard)
    this.#answering.set(activation, answer)
    return answer
  }

  #text(activation: ActivationId, answer: Answering, delta: string): readonly AgUiEvent[] {
    const owner = this.#ownerOf(activation)
    const name = this.#fold.index.activations.get(activation)?.agent
    const { id: messageId } = answer
    const events: AgUiEvent[] = [...thoughtEnd(answer, owner)]
    if (!answer.isTextOpen)
      events.push({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...present({ name }), ...owner })
    answer.isTextOpen = true
    if (delta !== '') events.push({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta, ...owner })
    return events
  }

  #thought(activation: ActivationId, answer: Answering, delta: string): readonly AgUiEvent[] {
    const owner = this.#ownerOf(activation)
    const events: AgUiEvent[] = []
    let messageId = answer.reasoningOpen
    if (messageId === undefined) {
      answer.reasonings++
      messageId = `${answer.id}/reasoning${answer.reasonings === 1 ? '' : answer.reasonings}`
      answer.reasoningOpen = messageId
      events.push({ type: 'REASONING_START', messageId, ...owner })
      events.push({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...owner })
    }
    events.push({ type: 'REASONING_MESSAGE_CONTENT', messageId, delta, ...owner })
    return events
  }

  /** An attempt at an answer has failed, or its agent has ended: what was sent of it stays, and is closed. */
  #givenUp(activation: ActivationId): readonly AgUiEvent[] {
    const answer = this.#answering.get(activation)
    if (answer === undefined) return []
    const owner = this.#ownerOf(activation)
    const metadata = { reeve: { discarded: true } }
    const events = [...thoughtEnd(answer, owner), ...textEnd(answer, owner)]
    this.#answering.delete(activation)
    return events.map((event) => ({ ...event, metadata }))
  }

  /** The answer of a model is recorded: its thoughts are complete. Its text is said by what follows. */
  #answered(activation: ActivationId, address: string, output: Json): readonly AgUiEvent[] {
    const owner = this.#ownerOf(activation)
    if (owner === undefined) return []
    const reasoning = thoughtsIn(output).join('')
    if (reasoning === '') return []
    const answer = this.#answering.get(activation) ?? this.#newAnswer(activation, address)
    const heard = heardIn(answer, 'reasoning')
    if (heard === reasoning || !reasoning.startsWith(heard)) return thoughtEnd(answer, owner)
    return [...this.#thought(activation, answer, reasoning.slice(heard.length)), ...thoughtEnd(answer, owner)]
  }

  #said({ spoken, text, address }: SaidItem): readonly AgUiEvent[] {
    const { activation } = spoken
    const owner = this.#ownerOf(activation)
    if (owner === undefined) return []
    if (address === undefined) return this.#whole(spoken, text)
    const answer = this.#answering.get(activation) ?? this.#newAnswer(activation, address)
    const events: AgUiEvent[] = [...thoughtEnd(answer, owner)]
    const heard = heardIn(answer, 'text')
    if (text.startsWith(heard)) {
      const rest = text.slice(heard.length)
      if (rest !== '') events.push(...this.#text(activation, answer, rest))
      events.push(...textEnd(answer, owner))
    } else events.push(...textEnd(answer, owner), ...this.#whole(spoken, text))
    this.#answering.delete(activation)
    // calls in the background have their results after later answers
    const open = [...(this.#calls.get(activation) ?? [])].filter(([, id]) => this.#unanswered.has(id))
    const known = new Map(open)
    this.#calls.set(activation, known)
    const { calls = [], ran = [] } = spoken.type === 'assistant' ? spoken : {}
    for (const [i, { tool, input, isError, summary = '' }] of ran.entries()) {
      const toolCallId = `${answer.id}/ran-${i}`
      events.push(
        { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, parentMessageId: answer.id, ...owner },
        { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input), ...owner },
        { type: 'TOOL_CALL_END', toolCallId, ...owner },
        this.#result(toolCallId, owner, summary, isError),
      )
    }
    for (const call of calls) {
      const toolCallId = `${answer.id}/${call.id}`
      known.set(call.id, toolCallId)
      this.#unanswered.set(toolCallId, owner)
      events.push(
        { type: 'TOOL_CALL_START', toolCallId, toolCallName: call.name, parentMessageId: answer.id, ...owner },
        { type: 'TOOL_CALL_ARGS', toolCallId, delta: call.invalid ?? JSON.stringify(call.input), ...owner },
        { type: 'TOOL_CALL_END', toolCallId, ...owner },
      )
    }
    return events
  }

  /** A text that no model call is known for: of code, of a hook, or the output of an agent. */
  #whole({ activation, position }: Spoken, text: string): readonly AgUiEvent[] {
    if (text === '') return []
    const answer = newAnswering(`${activation}:@${position}`)
    return [...this.#text(activation, answer, text), ...textEnd(answer, this.#ownerOf(activation))]
  }

  #result(toolCallId: string, owner: Owner, content: string, isError?: true): AgUiEvent {
    this.#unanswered.delete(toolCallId)
    return {
      type: 'TOOL_CALL_RESULT',
      messageId: `${toolCallId}/result`,
      toolCallId,
      content,
      role: 'tool',
      ...owner,
      ...(isError === true ? { metadata: { reeve: { isError: true } } } : {}),
    }
  }

  /** The plan of a team, where an event of its leader or of a member has changed it. */
  #plan({ id, parent }: IndexedActivation): readonly AgUiEvent[] {
    if (this.#fold.index.teams.size === 0) return []
    const touched = [...this.#fold.index.teams].filter((team) => team.id === id || team.id === parent)
    if (touched.length === 0) return []
    const views = teamViewsOf(this.#fold, foldState(this.#fold))
    return touched.flatMap((team) => {
      const view = views.find(({ activation }) => activation === team.id)
      const owner = this.#ownerOf(team.id)
      if (view === undefined || owner === undefined) return []
      const tasks = (view.plan?.tasks ?? []).map(({ task, description, member, role, status, dependencies }) => ({
        task,
        description,
        member,
        role,
        status,
        dependencies,
      }))
      const content = { tasks } as unknown as JsonObject
      const json = JSON.stringify(content)
      if (this.#plans.get(team.id) === json) return []
      this.#plans.set(team.id, json)
      const messageId = `${team.id}/plan`
      return [{ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'PLAN', content, replace: true, ...owner } as const]
    })
  }

  /** The last events of a stream. `questions`: those that a waiting run asks people. */
  end(end: StreamEnd, questions: readonly AskedQuestion[]): readonly AgUiEvent[] {
    const events: AgUiEvent[] = [...this.#announce()]
    for (const activation of this.#answering.keys()) events.push(...this.#givenUp(activation))
    if (end.type === 'waiting' && askedBy(end.waiting).length > 0) return [...events, ...this.#suspended(questions)]
    const how = end.type === 'ended' ? withoutHandoff(end.outcome) : undefined
    const why = how === undefined ? 'the run is stuck' : describeOutcome(how)
    for (const [id, owner] of this.#unanswered) events.push(this.#result(id, owner, `[no result: ${why}]`))
    for (const id of [...this.#subagents.keys()].reverse())
      events.push({ type: 'SUBAGENT_ERROR', subagentRunId: id, message: visibleLine(why) })
    this.#subagents.clear()
    return [...events, this.#last(end)]
  }

  #suspended(questions: readonly AskedQuestion[]): readonly AgUiEvent[] {
    const { threadId, runId } = this.#place
    const events: AgUiEvent[] = []
    const asking = questions.map((question) => ({ question, owner: this.#ownerOf(question.activation) }))
    for (const id of [...this.#subagents.keys()].reverse()) {
      const own = asking.filter(({ owner }) => owner?.subagentRunId === id).map(({ question }) => question.id)
      const interruptIds = own.length === 0 ? {} : { interruptIds: own }
      events.push({ type: 'SUBAGENT_FINISHED', subagentRunId: id, outcome: { type: 'suspended', ...interruptIds } })
    }
    const interrupts = asking.map(({ question, owner }) => {
      const callId = question.approval?.callId ?? question.call?.callId
      const toolCallId = callId === undefined ? undefined : this.#calls.get(question.activation)?.get(callId)
      const subagentRunId = owner?.subagentRunId
      const isShown = subagentRunId !== undefined && this.#subagents.has(subagentRunId as ActivationId)
      return interruptOf(question, present({ toolCallId, subagentRunId: isShown ? subagentRunId : undefined }))
    })
    events.push({ type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'interrupt', interrupts }, ...this.#used() })
    return events
  }

  #last(end: StreamEnd): AgUiEvent {
    const { threadId, runId } = this.#place
    const usage = this.#used()
    if (end.type === 'waiting') {
      const { failure, reason = 'an operator must see to it' } = end.waiting
      const message = `the run is stuck: ${failure?.message ?? reason}`
      return { type: 'RUN_ERROR', message: visibleLine(message), code: failure?.code ?? 'replay.diverged', ...usage }
    }
    const { outcome } = end
    const finished = { type: 'RUN_FINISHED', threadId, runId } as const
    switch (outcome.status) {
      case 'completed':
        return { ...finished, result: outcome.output, outcome: { type: 'success' }, ...usage }
      case 'bailed':
        return { ...finished, result: outcome.text, outcome: { type: 'success' }, ...usage }
      case 'cancelled':
        return { ...finished, outcome: { type: 'cancelled' }, ...usage }
      default:
        return { type: 'RUN_ERROR', message: visibleLine(describeOutcome(outcome)), code: codeOf(outcome), ...usage }
    }
  }

  #used(): { readonly usage?: readonly AgUiTokenUsage[] } {
    return this.#usage.length === 0 ? {} : { usage: usageOf(this.#usage) }
  }
}

const newAnswering = (id: string, heard?: LiveAnswer): Answering => ({
  id,
  heard,
  isTextOpen: false,
  reasoningOpen: undefined,
  reasonings: 0,
})

const heardIn = ({ heard }: Answering, kind: 'text' | 'reasoning'): string =>
  heard === undefined ? '' : heardText(heard, kind)

function thoughtEnd(answer: Answering, owner: Owner): readonly AgUiEvent[] {
  const { reasoningOpen: messageId } = answer
  if (messageId === undefined) return []
  answer.reasoningOpen = undefined
  return [
    { type: 'REASONING_MESSAGE_END', messageId, ...owner },
    { type: 'REASONING_END', messageId, ...owner },
  ]
}

function textEnd(answer: Answering, owner: Owner): readonly AgUiEvent[] {
  if (!answer.isTextOpen) return []
  answer.isTextOpen = false
  return [{ type: 'TEXT_MESSAGE_END', messageId: answer.id, ...owner }]
}

function subagentEnd(subagentRunId: string, outcome: Outcome): AgUiEvent {
  const finished = { type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'success' } } as const
  if (outcome.status === 'completed') return { ...finished, result: outcome.output }
  if (outcome.status === 'bailed') return { ...finished, result: outcome.text }
  return {
    type: 'SUBAGENT_ERROR',
    subagentRunId,
    message: visibleLine(describeOutcome(outcome)),
    code: codeOf(outcome),
  }
}

/** A code of Reeve for work that did not complete. */
function codeOf(outcome: Outcome): string {
  if (outcome.status === 'failed') return outcome.failure.code
  return outcome.status === 'limited'
    ? 'limit.reached'
    : outcome.status === 'timed-out'
      ? 'effect.timed-out'
      : outcome.status
}

/** One entry for each model. A model is `provider/model`. */
function usageOf(usage: Usage): readonly AgUiTokenUsage[] {
  const models = Map.groupBy(usage, ({ model }) => model)
  return [...models].map(([id, rows]) => {
    const { input, output, cached, reasoning, calls, unknown } = totalUsage(rows)
    const slash = id.indexOf('/')
    return {
      ...(slash > 0 ? { provider: id.slice(0, slash), model: id.slice(slash + 1) } : { model: id }),
      // what no provider has said is not known, and no 0
      ...(unknown === calls && calls > 0
        ? {}
        : {
            inputTokens: input,
            outputTokens: output,
            totalTokens: input + output,
            cachedInputTokens: cached,
            ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
          }),
    }
  })
}
