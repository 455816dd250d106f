/**
 * The mover contract: who sees to it that some process takes a run up. An engine is a store, which records, and a
 * mover, which wakes.
 *
 * Owns: the words between the host (host/) and a mover (`restate`, `temporal`). Does not own: what
 * there is to do, which is read from the store; who holds a run, which the store's lease says (K2). So a mover may be
 * late, wake twice or lose a wake-up: each second every process that drives looks for runs that no process holds, wakes
 * them again, and takes them up itself if none has after a few seconds. Without a mover the processes that share a
 * store hear of runs by its news, and take them up themselves.
 */
import type { RunId } from '@reeve/core'

/**
 * What became of a run that a process was told to move:
 * - `ended`: it has ended; nothing is left to do;
 * - `parked`: it waits for a person, or for the clock, and has left memory; its answer wakes it, as does the process
 *   that notices its deadline;
 * - `elsewhere`: another process holds it, or this one cannot drive it (its agent is unknown here, or this process is
 *   closing);
 * - `moving`: the signal was aborted; this process holds it still, and goes on.
 */
export type Moved = 'ended' | 'parked' | 'elsewhere' | 'moving'

/** A process that takes runs up. */
export interface WorkerProcess {
  /**
   * Takes a run up, and answers when it has left memory. Never rejects; idempotent: a run that is here already is
   * waited for.
   */
  move(run: RunId, signal?: AbortSignal): Promise<Moved>
}

/** Wakes runs, in this process or in others. */
export interface Mover {
  /** What an engine with it is called. Default: as one without a mover on this store. */
  readonly name?: string
  /**
   * From now on this process takes runs up. Called once, by a process that drives; rejects with a `ReeveError` where
   * that is not possible.
   */
  open(process: WorkerProcess): Promise<void>
  /**
   * True: a wake-up that has been sent is kept until a process has moved the run, so a second one would be wasted.
   * Default: a run that is still ready is woken once more.
   */
  readonly keepsWakeUps?: boolean
  /**
   * Has some process move these runs soon. Never throws, may be lost; what it cannot do now it leaves to the next look
   * of the host.
   */
  wake(runs: readonly RunId[]): void
  /**
   * This process is about to end: it takes no more runs up, and moves that are under way are still answered. Never
   * throws; idempotent.
   */
  retire?(): void
  /**
   * Takes no more runs up, wakes those that this process has just let go of (`left`), and lets go of what it has
   * opened. Never rejects; idempotent. Moves that were under way have been answered.
   */
  close(left: readonly RunId[]): Promise<void>
}
