/**
 * The text of a run for a reader over HTTP: deltas while it is written, and the rest once it is recorded.
 *
 * Owns: which agents are read, and giving each recorded answer once. Does not own: the stream (remote-run.ts), what was
 * seen of an answer (../core/seen-text.ts). A reader in code has the story of the run (../runtime/feed/run-text.ts), which
 * also knows what middlewares make of results; it is larger than all of the client may be.
 * Holds: the state of one reader; it may be fed over several connections.
 */
import type { ActivationId, Json } from '@reeve/core'
// not through the door: the client needs nothing else of it
import {
  isChange,
  PlainText,
  SeenText,
  type RunTextChange,
  type SaidChange,
  type TextChange,
} from '@reeve/core/seen-text'
import { streamPartOf } from '@reeve/core/stream-part'
import type { FeedMessage, PartMessage } from '@reeve/server/wire'

/** The filter of parts and text; all given conditions must hold. */
export interface RemoteParts {
  /** Agents' names from the root: agents at this path, and those whose path goes on from it. */
  readonly path?: readonly string[]
  /** An agent's name. */
  readonly agent?: string
}

/** Whether an agent is one of those that are asked for. */
export const isWanted = (
  { agent, path }: Pick<PartMessage, 'agent' | 'path'>,
  { agent: name, path: from }: RemoteParts,
): boolean =>
  (name === undefined || agent === name || agent.startsWith(`${name}.`)) &&
  (from === undefined || from.every((each, at) => path[at] === each))

type RunEvent = Extract<FeedMessage, { readonly type: 'event' }>['event']

/** An activation that is read. */
interface TextSpeaker {
  readonly wanted: boolean
  readonly path: readonly string[]
  /** The root, and agents that control was handed to. */
  readonly holds: boolean
  /** Calls of its model in flight: what middlewares may still change of their answers. */
  readonly asked: Map<string, readonly string[]>
  /** The deltas of answers that are not recorded yet. */
  readonly seen: SeenText
  /** A recorded answer that a middleware may still change. */
  held: string | undefined
  last: string | undefined
  handedOn: boolean
}

const record = (value: unknown): Readonly<Record<string, Json>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, Json>) : undefined

/** Gives the text of one run. */
export class RunTextReader {
  readonly #filter: RemoteParts
  readonly #speakers = new Map<ActivationId, TextSpeaker>()
  readonly #plain = new PlainText()

  constructor(filter: RemoteParts) {
    this.#filter = filter
  }

  /** What a message of the feed changes in the text. */
  take(message: FeedMessage): readonly RunTextChange[] {
    return this.#changes(message).flatMap(({ activation, withdrawn, text }) =>
      isChange({ withdrawn, text }) ? [{ activation, withdrawn, text }] : [],
    )
  }

  /** The piece of plain text that a message of the feed brings. */
  piece(message: FeedMessage): string {
    return this.#changes(message)
      .map((change) => this.#plain.piece(change))
      .join('')
  }

  #changes(message: FeedMessage): readonly SaidChange[] {
    if (message.type === 'event') return this.#event(message.event)
    return message.type === 'part' ? this.#part(message.part) : []
  }

  #part(message: PartMessage): readonly SaidChange[] {
    const { activation, address, attempt, offset } = message
    const part = streamPartOf(message)
    const speaker = this.#speakers.get(activation)
    if (part.type !== 'text.delta' || speaker?.wanted !== true) return []
    const change = speaker.seen.show({ address, attempt: String(attempt), text: part.text, offset })
    return [{ activation, ...change, isRecorded: false }]
  }

  #event({ activation, event }: RunEvent): readonly SaidChange[] {
    if (event.type === 'activation.started') {
      this.#begin(activation, event.agent, event.path)
      return []
    }
    const speaker = this.#speakers.get(activation)
    if (speaker?.wanted !== true) return []
    const released = this.#released(speaker, event)
    const over =
      event.type === 'step.settled'
        ? speaker.seen.ended(event.address, event.outcome.status === 'completed')
        : undefined
    const said = this.#said(speaker, event)
    return [
      ...(released === undefined ? [] : [{ activation, ...released, isRecorded: true }]),
      ...(over === undefined ? [] : [{ activation, ...over, isRecorded: false }]),
      ...(said === undefined ? [] : [{ activation, ...said, isRecorded: true }]),
    ]
  }

  #begin(id: ActivationId, agent: string, given: readonly string[] | undefined): void {
    const cut = id.lastIndexOf('>')
    const apart = id[cut - 1] === '>'
    const above = cut < 0 ? undefined : this.#speakers.get(id.slice(0, apart ? cut - 1 : cut) as ActivationId)
    const path = given ?? [...(above?.path ?? []), agent]
    const holds = above === undefined || (given !== undefined && above.holds)
    const { path: from, agent: name } = this.#filter
    const wanted = from === undefined && name === undefined ? holds : isWanted({ agent, path }, this.#filter)
    if (above !== undefined && given !== undefined) above.handedOn = true
    this.#speakers.set(id, {
      wanted,
      path,
      holds,
      asked: new Map(),
      seen: new SeenText(),
      held: undefined,
      last: undefined,
      handedOn: false,
    })
  }

  /** A held answer, once nothing can change it; or what a middleware made of it. */
  #released(speaker: TextSpeaker, event: RunEvent['event']): TextChange | undefined {
    if (speaker.held === undefined) return undefined
    const { held } = speaker
    if (event.type === 'fact.noted') {
      const data = event.name === 'middleware.changed' ? record(event.data) : undefined
      if (data?.['hook'] === 'afterModel') speaker.held = typeof data['text'] === 'string' ? data['text'] : undefined
      return undefined
    }
    if (event.type === 'activation.settled') {
      speaker.held = undefined
      const { outcome } = event
      const isReplaced = outcome.status === 'completed' && typeof outcome.output === 'string' && outcome.output !== held
      return isReplaced ? undefined : this.#give(speaker, held)
    }
    if (event.type !== 'model.requested' && event.type !== 'tool.called' && event.type !== 'worker.started')
      return undefined
    speaker.held = undefined
    return this.#give(speaker, held)
  }

  #said(speaker: TextSpeaker, event: RunEvent['event']): TextChange | undefined {
    switch (event.type) {
      case 'model.requested':
        speaker.seen.asked(event.address)
        if (event.purpose === undefined) speaker.asked.set(event.address, event.changeable ?? [])
        return undefined
      case 'step.settled': {
        const changeable = speaker.asked.get(event.address)
        speaker.asked.delete(event.address)
        if (changeable === undefined || event.outcome.status !== 'completed') return undefined
        const answer = record(event.outcome.output)
        const text = answer?.['text']
        if (typeof text !== 'string') return undefined
        const calls = answer!['calls']
        const isLast = !Array.isArray(calls) || calls.length === 0
        if (!changeable.includes('answer') && !(isLast && changeable.includes('end'))) return this.#give(speaker, text)
        speaker.held = text
        return undefined
      }
      case 'text.said':
        return this.#give(speaker, event.text)
      case 'activation.settled': {
        const { outcome } = event
        const text =
          outcome.status === 'bailed' ? outcome.text : outcome.status === 'completed' ? outcome.output : undefined
        // a flow that passes on the end of an agent says nothing of its own
        return typeof text !== 'string' || speaker.handedOn || text === speaker.last
          ? undefined
          : this.#give(speaker, text)
      }
      default:
        return undefined
    }
  }

  /** What the reader has not had of a recorded text. */
  #give(speaker: TextSpeaker, text: string): TextChange {
    speaker.last = text
    return speaker.seen.restOf(text)
  }
}
