/**
 * Extension: what an option of a model agent does at the moments of its turn loop.
 *
 * Owns: the moments, what an extension sees and may change at each. Does not own: which extensions there are and in
 * which order (model-activation.ts), when a moment comes (turn-loop.ts).
 * Holds: an extension is made for one activation and keeps its state itself. A moment that no extension has is not
 * waited for, and nothing is called.
 */
import type { Json, Outcome, Sha256 } from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'
import type { Message, ModelAnswer, ModelSettings } from '../../model/index.ts'
import type { Scored } from './completion.ts'

/** What a model is shown: the conversation as it stands, or what was made of it. */
export interface Prompt {
  readonly messages: readonly Message[]
  content(sha256: Sha256): string
  /** Estimated; counted only if a limit needs it. */
  readonly tokens: number
  /** In place of those of the definition. */
  readonly settings?: ModelSettings
}

/** What is said after a turn about the next one. Nothing: it goes on as it is. */
export interface IterationWord {
  /** Whether the model is asked again. */
  readonly continue?: boolean
  /** Told to the model, as a user's note, before it is asked again. */
  readonly feedback?: string
}

/** Why an answer is not the end. */
export interface AnswerRefusal {
  /** What the model is told. */
  readonly told: string
  /** What its workers are shown of that. */
  readonly toWorkers: string
}

/** One turn as extensions see it; what is not read-only they may set. */
export class TurnView {
  /** The scope of the turn. */
  readonly ctx: Context
  /** What the model is shown this time. Undefined: the conversation as it stands. */
  prompt: Prompt | undefined
  /** Set once the model has answered. */
  answer!: ModelAnswer
  /** Why the answer is rejected: its calls are not made, and the model is asked again. */
  again: string | undefined
  /** How the work ends, if nobody says otherwise; undefined: there is another turn. */
  end: Outcome | undefined
  /** The model has answered, by words or by a call that answers; whether it is the end or not. */
  isAnswer = false
  /** What the scorers have said of the answer. */
  scored: Scored | undefined
  /** What was said after the turn. */
  word: IterationWord | undefined

  constructor(ctx: Context) {
    this.ctx = ctx
  }
}

/** The moments of one activation. At each, extensions are asked in the order of their list. */
export interface Extension {
  /** Before each turn, also before it is known whether there is one: tells the model what has come in. */
  beforeTurn?(): void
  /** A turn has begun, and its model is about to be called. Undefined: there is nothing to wait for. */
  beforeModel?(turn: TurnView): Promise<void> | undefined
  /** The model could not be called. True: the turn is taken back, and begins again. */
  onUnanswered?(outcome: Outcome): boolean
  /** The model has answered. */
  afterModel?(turn: TurnView): Promise<void>
  /** It has called nothing. True: there is more to tell it, so this was no answer. */
  beforeAnswer?(): Promise<boolean>
  /** With this answer the work would end. The first refusal counts. */
  onAnswer?(turn: TurnView, text: string, output: Json): Promise<AnswerRefusal | undefined>
  /** The turn is over. */
  afterTurn?(turn: TurnView): Promise<void>
  /** What the end by a limit says besides. Empty: nothing. */
  unmet?(): string
  /** The loop has ended, but by an exception. */
  atEnd?(outcome: Outcome): Promise<Outcome>
}

type LoopMoment = keyof Extension
type ExtensionAt<M extends LoopMoment> = Extension & Required<Pick<Extension, M>>

/** For each moment the extensions that have it, in order. */
export type Moments = { readonly [M in LoopMoment]: readonly ExtensionAt<M>[] }

const noMoments: Moments = {
  beforeTurn: [],
  beforeModel: [],
  onUnanswered: [],
  afterModel: [],
  beforeAnswer: [],
  onAnswer: [],
  afterTurn: [],
  unmet: [],
  atEnd: [],
}

/** The extensions by moment. Without any, always the same object. */
export function momentsOf(extensions: readonly Extension[]): Moments {
  if (extensions.length === 0) return noMoments
  const moments = Object.keys(noMoments) as LoopMoment[]
  return Object.fromEntries(
    moments.map((moment) => [moment, extensions.filter((each) => each[moment] !== undefined)]),
  ) as unknown as Moments
}
