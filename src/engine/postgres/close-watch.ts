/**
 * Whether a server still answers that a process is about to leave, so that closing ends within a bound while the server
 * is frozen or unreachable.
 *
 * Owns: asking on a connection of its own, for as long as the process closes. Does not own: what is broken off when the
 * server is silent, and what is said of it (store.ts).
 * Holds: the process stays alive until `end`. A server is silent after a number of looks without an answer, so that an
 * event loop that was blocked for a while condemns nobody.
 */
import type { Client } from 'pg'
import { hangUp } from './connection.ts'
import { isSaid } from './errors.ts'

/** How often is looked whether the server has answered. Milliseconds. */
const lookMs = 250
/** So many looks in a row without an answer: the server is silent. Five seconds. */
const patience = 20

export class CloseWatch {
  readonly #connect: () => Promise<Client>
  readonly #onSilent: () => void
  readonly #mustWait: () => boolean
  readonly #timer = setInterval(() => this.#look(), lookMs)
  #client: Client | undefined
  #looks = 0
  #isAsking = false
  #isOver = false

  /**
   * `onSilent` is called with each look while the server is silent. `mustWait`: something is under way that is yet to
   * be recorded.
   */
  constructor(connect: () => Promise<Client>, onSilent: () => void, mustWait: () => boolean) {
    this.#connect = connect
    this.#onSilent = onSilent
    this.#mustWait = mustWait
  }

  /**
   * The server has said nothing for five seconds, and nothing is worth waiting longer. False again as soon as it
   * answers.
   */
  get isSilent(): boolean {
    return this.#looks >= patience && !this.#mustWait()
  }

  #look(): void {
    this.#looks++
    if (this.isSilent) this.#onSilent()
    // Where the network has lost the connection, a new one may be answered.
    if (this.#looks % patience === 0) this.#hangUp()
    // A process that is closed at once asks nothing.
    if (this.#isAsking || this.#looks < 4) return
    this.#isAsking = true
    this.#ask().then(
      () => (this.#isAsking = false),
      () => undefined,
    )
  }

  async #ask(): Promise<void> {
    try {
      const client = (this.#client ??= await this.#connect())
      await client.query('SELECT 1')
      this.#looks = 0
    } catch (thrown) {
      // A server that refuses is there.
      if (isSaid(thrown)) this.#looks = 0
      this.#hangUp()
    }
    if (this.#isOver) this.#hangUp()
  }

  #hangUp(): void {
    if (this.#client !== undefined) hangUp(this.#client)
    this.#client = undefined
  }

  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    this.#hangUp()
  }
}
