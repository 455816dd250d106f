/**
 * Ending a thread that has a connection of its own: it is asked to, closes its connection and ends by itself. A thread
 * that is ended from outside in the middle of a statement has been seen to take its process along.
 */
import type { Worker } from 'node:worker_threads'

/** What the thread is asked by. */
const stopMessage = 'stop'

/**
 * So long a thread may be at its last statement, in milliseconds: longer than the lock of another process is waited
 * for.
 */
const patienceMs = 10_000

/** Resolves when the thread has ended. */
export function stopThread(thread: Worker | undefined): Promise<void> {
  if (thread === undefined || thread.threadId === -1) return Promise.resolve()
  // the process that waits for it is kept alive by it
  thread.ref()
  return new Promise((resolve) => {
    const force = setTimeout(() => void thread.terminate(), patienceMs)
    thread.once('exit', () => {
      clearTimeout(force)
      resolve()
    })
    thread.postMessage(stopMessage)
  })
}
