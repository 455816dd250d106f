/**
 * Abort: waiting, inside an effect, for something that may not listen to its signal.
 */
import type { AbortState } from '@reeve/core'

/**
 * Settles as the promise does, or rejects with the signal's reason as soon as it is aborted; the promise's own end is
 * then ignored.
 */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortState): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason!)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
    promise.then(
      (value) => {
        signal.removeEventListener('abort', stop)
        resolve(value)
      },
      (thrown: Error) => {
        signal.removeEventListener('abort', stop)
        reject(thrown)
      },
    )
  })
}
