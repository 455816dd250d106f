/**
 * Answers that are there at once, or come later.
 *
 * Owns: one way to go on with both, so that who can answer at once costs no turn of the event loop.
 */

/** An answer that may be there already. */
export type Now<T> = T | Promise<T>

/** Goes on with an answer: at once if it is there. What `go` throws is thrown or rejects accordingly. */
export function andThen<T, R>(answer: Now<T>, go: (answer: T) => Now<R>): Now<R> {
  return answer instanceof Promise ? answer.then(go) : go(answer)
}

/** The answer as a promise: what is thrown at once rejects. */
export function promised<T>(work: () => Now<T>): Promise<T> {
  try {
    return Promise.resolve(work())
  } catch (thrown) {
    return Promise.reject(thrown) // oxlint-disable-line typescript/prefer-promise-reject-errors -- as it was thrown
  }
}

/** Does it, and gives what goes wrong at once or later to `failed`. */
export function caught<T>(work: () => Now<T>, failed: (thrown: unknown) => Now<T>): Now<T> {
  try {
    const answer = work()
    return answer instanceof Promise ? answer.catch(failed) : answer
  } catch (thrown) {
    return failed(thrown)
  }
}

/** Starts work that no caller waits for. `failed` receives what goes wrong; it must not throw. */
export function detached(work: () => Now<unknown>, failed: (thrown: unknown) => void): void {
  try {
    const answer = work()
    if (answer instanceof Promise) answer.catch(failed)
  } catch (thrown) {
    failed(thrown)
  }
}

/**
 * Work that is done one at a time: asked for while it is under way, it is done once more after that. The answer is
 * there when nothing of it is under way any more. `failed` hears what goes wrong; it must not throw.
 */
export function oneAtATime(work: () => Now<unknown>, failed: (thrown: unknown) => void): () => Now<void> {
  let isUnderWay = false
  let again = false
  let last: Now<void>
  const pass = (): Now<void> =>
    andThen(caught(work, failed), () => {
      if (!again) {
        isUnderWay = false
        return
      }
      again = false
      return pass()
    })
  return () => {
    if (isUnderWay) again = true
    else {
      isUnderWay = true
      last = undefined
      last = pass()
    }
    return last
  }
}
