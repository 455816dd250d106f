/**
 * Work that a test lets end when it likes: a door that is shut until it is opened; and waiting for something to come
 * true.
 */
import { expect } from 'vitest'
import type { ModelRequest } from '@reeve/model'

/** Shut until the test opens it. Whoever waits leaves when it is stopped. */
export function door() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  return {
    open: resolve,
    /** How many have come to it. */
    get came() {
      return waiting
    },
    /** A line of a script: answers once the door is open. */
    before:
      (text: string) =>
      ({ signal }: ModelRequest): Promise<string> => {
        waiting++
        return new Promise((pass, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          promise.then(() => pass(text), reject)
        })
      },
  }
}

/** Waits until it is true. */
export async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(is, { timeout: 10_000, interval: 5 }).toBe(true)
}
