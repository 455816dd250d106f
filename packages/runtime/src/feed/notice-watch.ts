/**
 * Notice watch: whether a run only sends notices, or is held by a takeover.
 *
 * Owns: deriving that from the journal. Does not own: notices (oversight/notice.ts), the status of a run (to the
 * engine, a notice is work).
 * Holds: K1: the same events give the same answer.
 */
import { foldRun, newRunFold, viewOf, type IndexedActivation, type Recorded } from '@reeve/journal'

/** Follows a run from its first event on. */
export class NoticeWatch {
  readonly #fold = newRunFold()

  /** The position of the last event. */
  get position(): number {
    return this.#fold.index.position
  }

  take(recorded: Recorded): void {
    foldRun(this.#fold, recorded)
  }

  /** The run is taken over, and no step is in flight. */
  get isHeld(): boolean {
    return this.#fold.takeover !== undefined && this.#fold.pause?.reached === true
  }

  /** The run only sends notices. */
  get only(): boolean {
    return [...this.#fold.index.activations.values()].some(sendsNotice) && viewOf(this.#fold).status === 'waiting'
  }
}

const sendsNotice = ({ open }: IndexedActivation): boolean =>
  open.size > 0 && [...open.values()].some(({ event }) => event.op === 'worker' && event.purpose === 'notice')
