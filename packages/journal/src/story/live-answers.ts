/**
 * Live answers: what was heard of answers that are not recorded yet.
 *
 * Owns: which piece follows what was heard, which answer replaces another one. Does not own: the order of pieces and
 * events (runtime/feed/merged-feed.ts), what is recorded (story.ts).
 * Holds: K9: a piece that was missed ends what is heard of its attempt; the rest comes once it is recorded. A piece costs
 * as much as it is long, whatever has come before.
 */
import { beginsAnew, isObject, type ActivationId, type Json } from '@reeve/core'
import type { StoryBlock } from './answer-text.ts'

/** An ephemeral piece of work in progress (K9), with the place it came from and the attempt it belongs to. */
export interface LivePart {
  readonly activation: ActivationId
  readonly address: string
  /** Grows when another process takes over: an effect that runs again there begins with its first attempt again. */
  readonly epoch: number
  readonly attempt: number
  /**
   * Of a piece of a text (`….delta`): how long the texts of its type were that this attempt has shown before. Who has
   * heard less has missed something.
   */
  readonly offset?: number
  readonly part: Json
}

/** Adjacent pieces of one block of a model. Grows. */
export interface HeardBlock extends StoryBlock {
  /** The model's id, to tell two blocks of one kind apart. */
  readonly id: Json
  text: string
}

/** What was heard of one attempt at an answer. Grows. */
export interface LiveAnswer {
  readonly activation: ActivationId
  readonly address: string
  readonly epoch: number
  readonly attempt: number
  readonly blocks: HeardBlock[]
  /** How many characters of a kind were heard. */
  readonly heard: Record<StoryBlock['kind'], number>
  /** A piece was missed. */
  isCut: boolean
}

/** The next piece of an answer. */
export interface HeardPiece {
  readonly type: 'piece'
  readonly answer: LiveAnswer
  readonly block: HeardBlock
  readonly text: string
}

/** A piece that was heard, if any, and the answers that are not heard of any more because of it. */
export interface AnswerChange {
  readonly withdrawn: readonly LiveAnswer[]
  readonly piece?: HeardPiece
}

const nothing: AnswerChange = { withdrawn: [] }

const kinds: Readonly<Record<string, StoryBlock['kind']>> = { 'text.delta': 'text', 'reasoning.delta': 'reasoning' }

/** The kind of a piece of an answer. Undefined: the part is another one. */
const kindOf = (part: Json): StoryBlock['kind'] | undefined =>
  isObject(part) && typeof part['type'] === 'string' && typeof part['text'] === 'string'
    ? kinds[part['type']]
    : undefined

export class LiveAnswers {
  /** By address: an agent may have several, as one that answers a worker's question during its own turn. */
  readonly #all = new Map<ActivationId, Map<string, LiveAnswer>>()

  /**
   * Takes a part in. `open`: the steps of its activation that are under way, by address. `hasRoom`: false for a reader
   * that is given no piece now; to it, this one is missed.
   */
  hear(heard: LivePart, open: ReadonlyMap<string, unknown>, hasRoom: boolean): AnswerChange {
    const { activation, address, epoch, attempt, offset, part } = heard
    const kind = kindOf(part)
    if (kind === undefined) return nothing
    const { id = '', text } = part as { readonly id?: Json; readonly text: string }
    const known = this.#all.get(activation) ?? new Map<string, LiveAnswer>()
    let answer = known.get(address)
    let withdrawn = nothing.withdrawn
    if (answer === undefined || !isOf(answer, heard, kind)) {
      if (answer !== undefined && isLate(answer, heard)) return nothing
      withdrawn = this.leave(activation, (each) => each === answer || !open.has(each.address))
      answer = { activation, address, epoch, attempt, blocks: [], heard: { text: 0, reasoning: 0 }, isCut: false }
      known.set(address, answer)
      this.#all.set(activation, known)
    }
    answer.isCut ||= !hasRoom || (offset !== undefined && offset !== answer.heard[kind])
    if (answer.isCut) return { withdrawn }
    answer.heard[kind] += text.length
    let block = answer.blocks.at(-1)
    if (block?.kind === kind && block.id === id) block.text += text
    else answer.blocks.push((block = { kind, id, text }))
    return { withdrawn, piece: { type: 'piece', answer, block, text } }
  }

  /** The answer at this address; without one, the one of the activation that began last. */
  of(activation: ActivationId, address?: string): LiveAnswer | undefined {
    const known = this.#all.get(activation)
    return address === undefined ? [...(known?.values() ?? [])].at(-1) : known?.get(address)
  }

  /** Forgets those answers of an activation, and returns them. */
  leave(activation: ActivationId, isOver: (answer: LiveAnswer) => boolean): readonly LiveAnswer[] {
    const known = this.#all.get(activation)
    if (known === undefined) return nothing.withdrawn
    const left = [...known.values()].filter(isOver)
    for (const { address } of left) known.delete(address)
    if (known.size === 0) this.#all.delete(activation)
    return left
  }
}

/** Whether a piece is of this attempt. */
const isOf = ({ epoch, attempt, heard }: LiveAnswer, part: LivePart, kind: StoryBlock['kind']): boolean =>
  epoch === part.epoch && !beginsAnew(attempt, heard[kind], part)

const isLate = (answer: LiveAnswer, { epoch, attempt }: LivePart): boolean =>
  epoch < answer.epoch || (epoch === answer.epoch && attempt < answer.attempt)

/** What was heard of a kind. */
export const heardText = ({ blocks }: LiveAnswer, of: StoryBlock['kind']): string =>
  blocks.map(({ kind, text }) => (kind === of ? text : '')).join('')
