/**
 * The notice watch: whether all that goes on in a run is that people are told of a question, or nothing because a human
 * has it.
 *
 * Owns: that, from the journal. Does not own: notices (oversight/notice.ts), the status of a run (to the engine, a
 * notice is work).
 * K1: the same events give the same answer.
 */
import { foldRun, newRunFold, viewOf, type IndexedActivation, type Recorded } from '../../journal/index.ts'

/** Follows a run from its first event on. */
export class NoticeWatch {
  readonly #fold = newRunFold()

  /** The position up to which it has followed. */
  get position(): number {
    return this.#fold.index.position
  }

  take(recorded: Recorded): void {
    foldRun(this.#fold, recorded)
  }

  /** A human has the run, and nothing is in flight any more. */
  get isHeld(): boolean {
    return this.#fold.takeover !== undefined && this.#fold.pause?.reached === true
  }

  /** A notice is being sent, and nothing else goes on. */
  get only(): boolean {
    return [...this.#fold.index.activations.values()].some(sendsNotice) && viewOf(this.#fold).status === 'waiting'
  }
}

const sendsNotice = ({ open }: IndexedActivation): boolean =>
  open.size > 0 && [...open.values()].some(({ event }) => event.op === 'worker' && event.purpose === 'notice')
