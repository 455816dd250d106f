/**
 * Telling: whether all that goes on in a run is that people are told of a question, or nothing because a human has it.
 *
 * Owns: that, from the journal. Does not own: notices (oversight/notice.ts), the status of a run (the engine: to it,
 * whoever tells is at work).
 * K1: the same events give the same answer.
 */
import type { ActivationId } from '../../core/index.ts'
import { foldRun, newRunFold, viewOf, type Recorded } from '../../journal/index.ts'

/** Follows a run from its first event on. */
export class Telling {
  readonly #fold = newRunFold()
  /** Who is being told, by whoever asks and the address there. */
  readonly #open = new Set<string>()

  /** The position up to which it has followed. */
  get position(): number {
    return this.#fold.position
  }

  take(recorded: Recorded): void {
    foldRun(this.#fold, recorded)
    const { activation, event } = recorded
    if (event.type === 'worker.started' && event.purpose === 'notice') this.#open.add(nameOf(activation, event.address))
    else if (event.type === 'worker.settled') this.#open.delete(nameOf(activation, event.address))
    else if (event.type === 'activation.settled')
      for (const each of this.#open) if (each.startsWith(nameOf(activation, ''))) this.#open.delete(each)
  }

  /** A human has the run, and nothing is in flight any more. */
  get isHeld(): boolean {
    return this.#fold.takeover !== undefined && this.#fold.pause?.reached === true
  }

  /** Somebody is being told, and nothing else goes on. */
  get only(): boolean {
    return this.#open.size > 0 && viewOf(this.#fold).status === 'waiting'
  }
}

const nameOf = (activation: ActivationId, address: string): string => `${activation} ${address}`
