/**
 * Bounds on what an external agent says, whatever it is: how fast, how much, and for how long it is listened to.
 *
 * Owns: reading a stream until its end or until the work is stopped; the bounds, and the failure of an agent that goes
 * over them. Does not own: what is read (the adapter of each framework).
 * Holds: no loop outlives the signal of its step, also where a client ignores that signal.
 */
import { failure, FailureError, systemClock } from '@reeve/core'

/** The most content that is kept of the work of one agent, in characters: of its text, of its data as JSON. */
export const mostContent = 4 * 1024 * 1024
/** How much may be asked at once. */
export const mostAsks = 100
/** How many events may come at once, and how many a second in the long run. */
const burst = 50_000
const perSecond = 2_000
/** After so many events in a row others are served. */
const stretch = 256

/** The failure of an agent that says more than is taken. `what`: what there is too much of, with the bound. */
export const tooMuch = (what: string): FailureError =>
  new FailureError(
    failure('agent.too-much', `the external agent sent ${what}`, 'policy', {
      hint: 'It is the fault of the external agent: let it answer with less, or with references to what it made.',
    }),
  )

/** A bucket of tokens: so many at once, and so many a second in the long run. */
export class Allowance {
  readonly #burst: number
  readonly #perSecond: number
  #left: number
  #at = systemClock.now()

  constructor(atOnce: number, aSecond: number) {
    this.#burst = this.#left = atOnce
    this.#perSecond = aSecond
  }

  /** Takes so many; false: there are not so many left. */
  take(count: number): boolean {
    const now = systemClock.now()
    const passed = Math.max(0, now - this.#at) / 1_000
    this.#left = Math.min(this.#burst, this.#left + passed * this.#perSecond) - count
    this.#at = now
    return this.#left >= 0
  }
}

/** What a promise resolves to; rejects with the reason of the signal as soon as that aborts. */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    Promise.resolve(work)
      .finally(() => signal.removeEventListener('abort', stop))
      .then(resolve, reject)
  })
}

/**
 * What a stream says, until it ends. Throws the reason of `signal` as soon as that aborts, and `agent.too-much` for more
 * events than are taken. The stream is told that it is left, and not waited for.
 */
export async function* heardFrom<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const events = source[Symbol.asyncIterator]()
  const allowed = new Allowance(burst, perSecond)
  let isOver = false
  try {
    for (let heard = 1; ; heard++) {
      const next = await orAborted(events.next(), signal)
      if (next.done === true) {
        isOver = true
        return
      }
      if (!allowed.take(1)) throw tooMuch(`more than ${burst} events at once, and more than ${perSecond} a second`)
      yield next.value
      if (heard % stretch === 0) await new Promise(setImmediate)
    }
  } finally {
    // a stream that does not listen may never answer
    if (!isOver) Promise.resolve(events.return?.()).catch(() => {})
  }
}
