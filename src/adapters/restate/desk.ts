/**
 * The desk: what an activation's seat shares with those who work on it, and what a seat needs of the process that it is in. The seam between them.
 *
 * Owns: the shapes only. The seat (seat.ts) is the desk, the place (place.ts) the surroundings.
 */
import type { ActivationId, Clock, Json, Shape, Redaction } from '../../core/index.ts'
import type { Caller, DoneElsewhere } from '../../journal/index.ts'
import type { Account, Activation, Deadlines, Digests, Effects, Governor, Host, Mail, Operation, Registry } from '../../engine/index.ts'
import type { Control, EventStore, StoredAccount } from '../eventstore/index.ts'
import type { Draft } from './draft.ts'

/** One attempt of an activation's workflow, as Restate gives it. */
export interface Attempt {
  readonly generation: number
  readonly invocation: string
  /** How often it has been called: the next call comes under this number. */
  calls: number
  /** Aborted when Restate does not want this attempt any more: it is suspended, has failed, or goes on elsewhere. */
  readonly signal: AbortSignal
}

/** What an activation is told of the engine's options. */
export interface PlaceOptions {
  readonly clock: Clock
  readonly strict: boolean
  /** The build of this worker's code; undefined: builds are not told apart. */
  readonly build: string | undefined
  readonly undoWithinMs: number | undefined
  readonly deadlines: Deadlines | undefined
  readonly rules: Redaction | undefined
  /** They take anything out. */
  readonly redacts: boolean
  readonly digests: Digests
  readonly redact: (text: string, shape: Shape) => string
  readonly redactJson: (value: Json, shape: Shape) => Json
  readonly warn: (code: string, message: string) => void
  /** For tests: true lets the process "die" at this point. */
  readonly crash: ((point: 'commit.before' | 'commit.after') => boolean) | undefined
  /** Undefined: the one of everybody in this process. */
  readonly governor: Governor | undefined
}

/** The process, as a seat sees it. */
export interface Surroundings {
  readonly options: PlaceOptions
  readonly clock: Clock
  readonly effects: Effects
  readonly registry: Registry | undefined
  /** It closes: nothing leaves any more. */
  readonly leaving: boolean
  /** Asks the store until it answers or nobody wants to know any more. */
  persist<T>(work: (store: EventStore) => Promise<T>, signal?: AbortSignal): Promise<T>
  warnOnce(about: string, code: string, message: string): void
  /** It is to be looked at again then. */
  alarm(id: ActivationId, attempt: Attempt, due: number): void
  /** It is to look again soon. */
  poke(attempt: Attempt): void
  die(): Promise<never>
}

/** What the host of activations can do besides: for mail and the clock. */
export interface Keeping extends Host {
  post(to: ActivationId, key: string, mail: Mail, refusable?: boolean): void
}

/** Effects on their way out and back, as others see them. */
export interface Leaving {
  readonly out: ReadonlySet<Operation>
  letOut(op: Operation): void
  abort(op: Operation): void
  controlled(control: Control | undefined): void
  dismiss(): void
}

/** An activation's seat, as those see it who work on it. */
export interface Desk {
  readonly id: ActivationId
  readonly place: Surroundings
  readonly keeping: Keeping
  readonly outlet: Leaving
  readonly activation: Activation
  readonly isRoot: boolean
  readonly caller: Caller
  readonly draft: Draft
  readonly accounts: readonly Account[]
  readonly stored: readonly StoredAccount[]
  readonly control: Control | undefined
  /** When a pause runs out of patience. */
  escalateAt: { readonly at: number; readonly reason?: string; readonly by?: string } | undefined
  /** Keys of rows that this memory has been given. */
  readonly handed: Set<string>
  /** Answers to "did this happen?" that came before the code had asked. */
  readonly doubts: Map<string, () => void>
  /** Ids of questions that are open already. */
  readonly asked: ReadonlySet<string>
  /** Accounts whose owners have been told that their minutes are used up. */
  readonly exhausted: Set<ActivationId>
  readonly wasStuck: boolean
  /** Of a forked run: what its origin has done, by activation and address. */
  readonly doneElsewhere: ReadonlyMap<string, DoneElsewhere> | undefined
  /** When the store last said that it is ours. */
  readonly heardAt: number
  /** Something is to be delivered. */
  ready: boolean
  /** To be read again from the store after the next commit. */
  reload: boolean
  lacksCode: boolean
  /** Its last word is in the draft or in the log. */
  over: boolean
  /** Something is to be written, by whoever passes next. */
  touched(): void
  /** Something was noted while nobody waits for a pass. */
  note(): void
  persist<T>(work: (store: EventStore) => Promise<T>): Promise<T>
  /** Whether the store still says that this attempt holds it. */
  stillMine(): Promise<boolean>
  /** Sets the run's pause. `own`: by a word to this activation, so it is to be recorded. */
  setControl(control: Control | undefined, own?: boolean): void
}
