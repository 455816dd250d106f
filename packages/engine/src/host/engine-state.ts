/**
 * The state of an engine in one process, as the parts of the host share it: runs, batch, clock, store.
 *
 * Owns: the interface, so that the parts need not import the driver. The driver implements it.
 */
import type { ActivationId, Clock, ReeveError, RunId, Shape, ChurnMap } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import type { Registry } from '../context.ts'
import type { Deadlines, Effects } from '../replay/effects.ts'
import type { Governor } from '../governor.ts'
import type { Digests, ActivationHost } from '../replay/activation-host.ts'
import type { Mover } from '../mover.ts'
import type { Operation, Owner } from '../replay/operation.ts'
import type { LivePart, PartAuthor, PostResult, RunEnd } from '../port.ts'
import type { Batch, NewRow, StoreLog, ValueResult, ValueWrite } from '../store.ts'
import type { ReadyList } from './delivery-turn.ts'
import type { LoadedActivation, LoadedRun } from './loaded-run.ts'
import type { Placement } from './placement.ts'

/** Where tests can let a process die (K6). */
export type CrashPoint = 'append' | 'commit.before' | 'commit.after' | 'release'

/** The options of an engine in one process. */
export interface DriverOptions {
  readonly clock: Clock
  readonly strict: boolean
  readonly parkAfterMs: number
  readonly undoWithinMs: number | undefined
  /** After this many losses in a row a run is set aside. */
  readonly lossLimit: number
  readonly deadlines: Deadlines | undefined
  /** Takes secrets out of the stored form of anything; its shape says what of it is payload. */
  readonly redact: (text: string, shape: Shape) => string
  /**
   * The same for an entry of a journal, whose shape is that of its event. `result`: what the result of the operation
   * holds that it ends; default: payload. Absent without redaction rules.
   */
  readonly redactEntry?: (text: string, event: JournalEvent, result?: Shape) => string
  readonly digests: Digests
  readonly warn: (code: string, message: string) => void
  readonly crash: ((point: CrashPoint) => boolean) | undefined
  /** Undefined: the one that all engines of this process share. */
  readonly governor: Governor | undefined
  /** Has some process take a run up. Undefined: each process looks by itself. */
  readonly mover: Mover | undefined
}

/** The command handler, as the other parts need it. */
export interface Commands extends ActivationHost {
  append(activation: Owner, event: JournalEvent, at: number, encoded?: string, result?: Shape): string
  unstick(run: LoadedRun): void
}

export interface EngineState {
  readonly options: DriverOptions
  readonly clock: Clock
  readonly store: StoreLog
  readonly effects: Effects
  readonly commands: Commands
  readonly cache: {
    load(run: LoadedRun, id: ActivationId, startedBy: Operation | undefined): LoadedActivation | undefined
    unreadable(run: LoadedRun, thrown: unknown): void
    lacksCode(id: RunId): void
  }
  readonly placement: Placement
  /** Runs in memory. */
  readonly runs: ChurnMap<RunId, LoadedRun>
  /** Activations that have something to deliver. */
  readonly ready: ReadyList
  /** Undefined: this process drives nothing. */
  readonly registry: Registry | undefined
  /** What the next commit will write. */
  readonly batch: Batch
  /** Effects that leave after the next commit. */
  readonly outbox: Operation[]
  /** Nothing has any effect any more. */
  readonly dead: boolean
  /** Nothing is woken any more. */
  readonly closing: boolean
  /** Ends of runs that are in the batch. */
  readonly ends: ChurnMap<RunId, RunEnd>
  onPart: (run: RunId, part: LivePart, author: PartAuthor) => void
  onStoreFailure: (error: ReeveError, runs: readonly RunId[]) => void
  /** Something of this run is written with the next commit, which comes soon. */
  touch(run: LoadedRun): void
  schedule(): void
  /** Calls an effect off as soon as what stops it is durable. */
  callOff(op: Operation): void
  /** A run that is dropped before it was written has not begun. */
  abandonBirth(id: RunId): void
  /** Looks for mail. */
  fetchMail(): void
  /** What is delivered now is committed only after this. It must not reject. */
  await(work: Promise<void>): void
  /** The store has failed for these runs: they are read again after a while. */
  retryLater(runs: readonly RunId[]): void
  post(row: Omit<NewRow, 'at'>): Promise<PostResult>
  writeValue(write: ValueWrite): Promise<ValueResult>
  /** The end of an effect of this key is in the batch. */
  recordStep(run: RunId, key: string): void
  /** A settled activation leaves memory after the commit; until then the store does not know that it is over. */
  forgetSettled(activation: LoadedActivation): void
  /** Asks a test whether the process dies here. True: it is dead. Absent: no test asks for it. */
  readonly crash?: (point: CrashPoint) => boolean
}
