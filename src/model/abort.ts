/**
 * Abort: waiting, inside an effect, for something that may not listen to its signal.
 */

/** Settles as the promise does, or rejects with the signal's reason as soon as it is aborted; the promise's own end is then ignored. */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const stop = (): void => aborted.reject(signal.reason as Error)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([aborted.promise, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
