/**
 * The story of a run: recorded events and live parts in, what happens for people out.
 *
 * Owns: the one order in which agents begin, speak, call, ask and end; live text until its recorded end replaces it.
 * Does not own: which events are messages (views/transcript.ts), what was heard live (live-answers.ts), reading a run
 * (views/woven.ts, runtime/feed), how a protocol says it (its maps).
 * Holds: K1: what is recorded gives the same items whatever was heard between, but for `piece` and `withdrawn`. K9: parts
 * are never needed: a recorded text comes whole, with the live answer that it completes, if one was heard.
 */
import {
  childActivation,
  isObject,
  present,
  type ActivationId,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import type {
  ApprovalRequested,
  InterruptRaised,
  JournalEvent,
  Recorded,
  ToolCalled,
  WorkerStarted,
} from '../events/events.ts'
import type { ApprovalResolved } from '../events/facts.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type IndexedOperation } from '../views/run-index.ts'
import { newTranscriptFold, transcribeChange, type Spoken, type TranscriptFold } from '../views/transcript.ts'
import { LiveAnswers, type LivePart, type HeardPiece, type LiveAnswer } from './live-answers.ts'
import { holdsControl, ownerOf, type WorkOwner } from './speakers.ts'

/** A model's answer as its step recorded it, before middlewares. */
export interface RecordedAnswer {
  /** The scope of its turn, with the slash at its end. */
  readonly turn: string
  readonly answer: JsonObject
}

type Question = ApprovalRequested | InterruptRaised

/** One thing that happens. `agent`: the activation to which it happens. */
export type StoryItem =
  /** An activation begins. One that is placed apart is known by its leader first, then by itself. */
  | { readonly type: 'began'; readonly agent: IndexedActivation }
  /** A model is asked for the next turn. */
  | { readonly type: 'turn'; readonly agent: IndexedActivation }
  /** Live: the next piece of an answer. */
  | HeardPiece
  /** What was heard of this answer was never said: its attempt failed, or something else was said. */
  | { readonly type: 'withdrawn'; readonly answer: LiveAnswer }
  /** A model's answer is recorded. Its text is said when no middleware can change it any more. */
  | { readonly type: 'answered'; readonly agent: IndexedActivation; readonly address: string; readonly output: Json }
  | SaidItem
  /** A tool is called, or a worker is given work. */
  | { readonly type: 'called'; readonly agent: IndexedActivation; readonly event: ToolCalled | WorkerStarted }
  /** A call is refused. Its result says why. */
  | { readonly type: 'refused'; readonly agent: IndexedActivation; readonly callId: string; readonly tool: string }
  | { readonly type: 'result'; readonly spoken: Extract<Spoken, { readonly type: 'tool' }> }
  /** A person is asked. */
  | { readonly type: 'asked'; readonly agent: IndexedActivation; readonly event: Question }
  | { readonly type: 'decided'; readonly agent: IndexedActivation; readonly event: ApprovalResolved }
  /** A question is not open any more. `answer`: to it; `end`: how its activation ended, which closed it. */
  | {
      readonly type: 'closed'
      readonly agent: IndexedActivation
      readonly event: Question
      readonly answer?: Json
      readonly end?: Outcome
    }
  /** A call has no result: its activation has ended. */
  | { readonly type: 'stopped'; readonly agent: IndexedActivation; readonly event: ToolCalled; readonly end: Outcome }
  | { readonly type: 'ended'; readonly agent: IndexedActivation; readonly outcome: Outcome }

/** A text is said: an answer, a text of code, or the one with which a hook ended the work. */
export interface SaidItem {
  readonly type: 'said'
  readonly spoken: Extract<Spoken, { readonly type: 'assistant' | 'ended' }>
  readonly text: string
  /** The address of the model's answer that it is. Absent: it is none. */
  readonly address?: string
  /** What was heard of it: what is not heard live is not said yet. */
  readonly heard?: LiveAnswer
}

export class Story {
  readonly index: RunIndex
  readonly #transcript: TranscriptFold
  readonly #live = new LiveAnswers()
  /** The last answer of each activation. */
  readonly #answers = new Map<ActivationId, RecordedAnswer>()
  /** The model call whose answer is recorded and not said yet: a middleware may still change it. */
  readonly #unsaid = new Map<ActivationId, string>()
  /** The last text of each activation. */
  readonly #last = new Map<ActivationId, string>()

  /** `index`: of the same events, taken in before they are given to `takeChange`. */
  constructor(index = new RunIndex()) {
    this.index = index
    this.#transcript = newTranscriptFold(index)
  }

  /** What the next event says. One that was taken in before says nothing. */
  take(recorded: Recorded): readonly StoryItem[] {
    const change = this.index.take(recorded)
    return change === undefined ? [] : this.takeChange(recorded, change)
  }

  /** What an event says that the index has taken in. */
  takeChange(recorded: Recorded, change: IndexChange): readonly StoryItem[] {
    const { here: agent, closed } = change
    const { event } = recorded
    const words = transcribeChange(this.#transcript, recorded, change)
    if (agent === undefined) return []
    const items = this.#before(agent, event, closed)
    for (const spoken of words) items.push(...this.#said(spoken))
    // what was held back until the next turn was said before it
    if (event.type === 'model.requested' && event.purpose === undefined) items.push({ type: 'turn', agent })
    const end = event.type === 'activation.settled' ? event.outcome : undefined
    const answer =
      event.type === 'ask.settled' && event.outcome.status === 'completed' ? event.outcome.output : undefined
    for (const operation of closed) items.push(...closedItem(agent, operation, answer, end))
    if (end !== undefined) items.push(...this.#ended(agent, end))
    return items
  }

  /** What happens before something is said. */
  #before(agent: IndexedActivation, event: JournalEvent, closed: readonly IndexedOperation[]): StoryItem[] {
    switch (event.type) {
      case 'activation.started':
        return [{ type: 'began', agent }]
      case 'tool.called':
        return [{ type: 'called', agent, event }]
      case 'worker.started': {
        const outline =
          event.apart === true ? this.index.activations.get(childActivation(agent.id, event.address, true)) : undefined
        return [
          { type: 'called', agent, event },
          ...(outline?.isOutline === true ? [{ type: 'began', agent: outline } as const] : []),
        ]
      }
      case 'tool.refused':
        return event.callId === undefined ? [] : [{ type: 'refused', agent, callId: event.callId, tool: event.tool }]
      case 'approval.requested':
      case 'interrupt.raised':
        return [{ type: 'asked', agent, event }]
      case 'approval.resolved':
        return [{ type: 'decided', agent, event }]
      case 'step.settled': {
        const { address, outcome } = event
        if (outcome.status !== 'completed')
          return withdrawn(this.#live.leave(agent.id, (each) => each.address === address))
        this.#note(agent.id, address, outcome.output)
        const asked = closed[0]?.event
        if (asked?.type !== 'model.requested' || asked.purpose !== undefined) return []
        this.#unsaid.set(agent.id, address)
        return [{ type: 'answered', agent, address, output: outcome.output }]
      }
      case 'worker.settled':
        return event.apart === true
          ? this.#apart(childActivation(agent.id, event.address, true)).flatMap((each) =>
              this.#ended(each, event.outcome),
            )
          : []
      default:
        return []
    }
  }

  #note(id: ActivationId, address: string, output: Json): void {
    if (!isObject(output) || typeof output['text'] !== 'string' || !Array.isArray(output['calls'])) return
    this.#answers.set(id, { turn: address.slice(0, address.lastIndexOf('/') + 1), answer: output })
  }

  #said(spoken: Spoken): readonly StoryItem[] {
    if (spoken.type === 'tool') return [{ type: 'result', spoken }]
    const text =
      spoken.type === 'assistant'
        ? spoken.text
        : spoken.type === 'ended' && spoken.outcome.status === 'bailed'
          ? spoken.outcome.text
          : undefined
    const { activation } = spoken
    if (text === undefined || (spoken.type === 'ended' && text === this.#last.get(activation))) return []
    this.#last.set(activation, text)
    const address = this.#unsaid.get(activation)
    this.#unsaid.delete(activation)
    const heard = this.#live.of(activation, address)
    const open = this.index.activations.get(activation)?.open
    const left = this.#live.leave(activation, (each) => each === heard || open?.has(each.address) !== true)
    return [
      ...withdrawn(left.filter((each) => each !== heard)),
      {
        type: 'said',
        spoken: spoken as SaidItem['spoken'],
        text,
        ...(address === undefined ? {} : { address }),
        ...(heard === undefined ? {} : { heard }),
      },
    ]
  }

  #ended(agent: IndexedActivation, outcome: Outcome): readonly StoryItem[] {
    this.#unsaid.delete(agent.id)
    return [...withdrawn(this.#live.leave(agent.id, () => true)), { type: 'ended', agent, outcome }]
  }

  /** A worker that is placed apart, and those below it that have not ended: their leader knows the end. */
  #apart(child: ActivationId): readonly IndexedActivation[] {
    const known = this.index.activations.get(child)
    if (known === undefined || known.isOutline) return known === undefined ? [] : [known]
    return [...this.index.activations.values()].filter(
      ({ id, status }) => status === undefined && (id === child || id.startsWith(`${child}>`)),
    )
  }

  /** What a live part says. `hasRoom`: false for a reader that is given no piece now; to it, this one is missed. */
  hear(part: LivePart, hasRoom = true): readonly StoryItem[] {
    const agent = this.index.activations.get(part.activation)
    if (agent === undefined) return []
    const heard = this.#live.hear(part, agent.open, hasRoom)
    const pieces = heard.piece === undefined ? [] : [heard.piece]
    // pieces are frequent
    return heard.withdrawn.length === 0 ? pieces : [...withdrawn(heard.withdrawn), ...pieces]
  }

  /** The last answer that a step of an activation at work has recorded. */
  answerOf(id: ActivationId): RecordedAnswer | undefined {
    return this.#answers.get(id)
  }

  /** Whether an activation holds the control of the run. False for one that has not begun. */
  holdsControl(id: ActivationId): boolean {
    const here = this.index.activations.get(id)
    return here !== undefined && holdsControl(this.#find, here)
  }

  /** Of whose work an activation is a part. */
  ownerOf(id: ActivationId): WorkOwner {
    return ownerOf(this.#find, id)
  }

  readonly #find = (id: ActivationId): IndexedActivation | undefined => this.index.activations.get(id)
}

const withdrawn = (answers: readonly LiveAnswer[]): StoryItem[] =>
  answers.flatMap((answer) => (answer.blocks.length === 0 ? [] : [{ type: 'withdrawn', answer } as const]))

function closedItem(
  agent: IndexedActivation,
  { event }: IndexedOperation,
  answer: Json | undefined,
  end: Outcome | undefined,
): readonly StoryItem[] {
  if (event.type === 'approval.requested' || event.type === 'interrupt.raised')
    return [{ type: 'closed', agent, event, ...present({ answer, end }) }]
  return event.type === 'tool.called' && end !== undefined ? [{ type: 'stopped', agent, event, end }] : []
}
