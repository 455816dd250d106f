/**
 * News told after the commits that it is of, a few milliseconds' worth at a time.
 *
 * Owns: what waits to be told. Does not own: how (postgres.ts), hearing (listening.ts).
 * A transaction that tells holds a lock of the whole database until its commit is on disk, so that with news in it no two commits of all runs are written
 * together. Told afterwards it may be lost with this process: readers look for themselves every now and then.
 */

const gatherMs = 3
/** What the server takes. */
const longest = 7_900

export class Telling {
  readonly #send: (payloads: readonly string[]) => Promise<unknown>
  #waiting = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined

  constructor(send: (payloads: readonly string[]) => Promise<unknown>) {
    this.#send = send
  }

  tell(payloads: Iterable<string>): void {
    for (const payload of payloads) if (Buffer.byteLength(payload) <= longest) this.#waiting.add(payload)
    // It keeps the process alive: whoever ends right after a commit still says so.
    if (this.#waiting.size > 0 && this.#sending === undefined) this.#timer ??= setTimeout(() => this.#flush(), gatherMs)
  }

  /** One after the other: under load more is gathered, not more connections taken. */
  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#sending !== undefined || this.#waiting.size === 0) return
    const payloads = [...this.#waiting]
    this.#waiting = new Set()
    this.#sending = this.#send(payloads)
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#sending = undefined
        this.#flush()
      })
  }

  /** What waits is told. */
  async close(): Promise<void> {
    for (this.#flush(); this.#sending !== undefined;) await this.#sending
  }
}
