/**
 * Extension: what an option of a model agent does at the moments of its turn loop.
 *
 * Owns: the moments, what an extension sees and may change at each, and what several do together. Does not own: which
 * extensions exist and their order (../loop/model-activation.ts), when a moment comes (../loop/turn-loop.ts).
 * Holds: an extension belongs to one activation and keeps its own state. Moments without an extension cost no wait and
 * no call.
 */
import type { Json, Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ModelAnswer } from '@reeve/model'
import type { Prompt } from '../conversation/conversation-state.ts'
import type { Scored } from './completion.ts'

/** What a hook says about the next turn. Nothing: no change. */
export interface IterationWord {
  /** Whether the model is called again. */
  readonly continue?: boolean
  /** A user's note to the model before its next call. */
  readonly feedback?: string
}

/** Why an answer does not end the work. */
export interface AnswerRefusal {
  /** The message to the model. */
  readonly told: string
  /** The part that its workers see. */
  readonly toWorkers: string
}

/** One turn as extensions see it. They may set the members that are not read-only. */
export class TurnView {
  /** The scope of the turn. */
  readonly ctx: Context
  /** The prompt of this turn. Undefined: the conversation. */
  prompt: Prompt | undefined
  /** Set once the model has answered. */
  answer!: ModelAnswer
  /** Why the answer is rejected: its calls do not run, and the model is called again. */
  again: string | undefined
  /** The end of the work unless a hook decides otherwise. Undefined: another turn follows. */
  end: Outcome | undefined
  /** The model has answered, by text or by a call that answers, whether that ends the work or not. */
  isAnswer = false
  /** The scores of the answer. */
  scored: Scored | undefined
  /** What the hooks after the turn said. */
  word: IterationWord | undefined

  constructor(ctx: Context) {
    this.ctx = ctx
  }
}

/** The moments of one activation. At each, extensions are called in the order of their list (`combined`). */
export interface Extension {
  /** Before each turn, even if no turn may follow: tells the model what has arrived. */
  beforeTurn?(): void
  /** A turn has begun and its model is about to be called. Undefined: nothing to wait for. */
  beforeModel?(turn: TurnView): Promise<void> | undefined
  /** The model could not be called. True: the turn is undone and begins again. */
  onUnanswered?(outcome: Outcome): boolean
  /** The model has answered. */
  afterModel?(turn: TurnView): Promise<void>
  /** The model made no call. True: there is more to tell it, so this was not its answer. */
  beforeAnswer?(): Promise<boolean>
  /** The work would end with this answer. The first refusal counts. */
  onAnswer?(turn: TurnView, text: string, output: Json): Promise<AnswerRefusal | undefined>
  /** The turn is over. */
  afterTurn?(turn: TurnView): Promise<void>
  /** Added to the message of an end by a limit. Empty: nothing. */
  unmet?(): string
  /** The loop has ended, but not by an exception. */
  atEnd?(outcome: Outcome): Promise<Outcome>
}

type Moment = keyof Extension
type ExtensionAt<M extends Moment> = Extension & Required<Pick<Extension, M>>

/** What several extensions that have a moment do there together. */
const together: { readonly [M in Moment]: (all: readonly ExtensionAt<M>[]) => Required<Extension>[M] } = {
  beforeTurn: (all) => () => {
    for (const each of all) each.beforeTurn()
  },
  beforeModel: (all) => (turn) => beforeModelOf(all, turn),
  onUnanswered: (all) => (outcome) => all.some((each) => each.onUnanswered(outcome)),
  afterModel: (all) => async (turn) => {
    for (const each of all) await each.afterModel(turn)
  },
  beforeAnswer: (all) => async () => {
    for (const each of all) if (await each.beforeAnswer()) return true
    return false
  },
  onAnswer: (all) => async (turn, text, output) => {
    for (const each of all) {
      const refusal = await each.onAnswer(turn, text, output)
      if (refusal !== undefined) return refusal
    }
    return undefined
  },
  afterTurn: (all) => async (turn) => {
    for (const each of all) await each.afterTurn(turn)
  },
  unmet: (all) => () => all.map((each) => each.unmet()).find((said) => said !== '') ?? '',
  atEnd: (all) => async (outcome) => {
    let left = outcome
    for (const each of all) left = await each.atEnd(left)
    return left
  },
}

/** Waits only for those that have something to wait for. */
function beforeModelOf(
  all: readonly ExtensionAt<'beforeModel'>[],
  turn: TurnView,
  from = 0,
): Promise<void> | undefined {
  for (let i = from; i < all.length; i++) {
    const waiting = all[i]!.beforeModel(turn)
    if (waiting !== undefined) return waiting.then(() => beforeModelOf(all, turn, i + 1))
  }
  return undefined
}

const noExtension: Extension = {}

/** These extensions as one, which has the moments that one of them has. */
export function combined(all: readonly Extension[]): Extension {
  if (all.length < 2) return all[0] ?? noExtension
  const moments = Object.keys(together) as Moment[]
  return Object.fromEntries(
    moments.flatMap((moment) => {
      const having = all.filter((each) => each[moment] !== undefined)
      return having.length === 0 ? [] : [[moment, together[moment](having as never)]]
    }),
  )
}
