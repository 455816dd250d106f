/**
 * Watches whether the server still answers while the process closes, so that closing ends within a bound if the server
 * is frozen or unreachable.
 *
 * Owns: asking on a connection of its own, for as long as the process closes. Does not own: what is aborted when the
 * server is silent, and its error (store.ts).
 * Holds: the process stays alive until `end`. A server counts as silent after a number of looks without an answer, so
 * that a blocked event loop is not taken for a silent server.
 */
import type { Client } from 'pg'
import { hangUp } from './connection.ts'
import { isSaid } from './errors.ts'

/** How often it checks whether the server has answered. Milliseconds. */
const lookMs = 250
/** This many looks in a row without an answer make the server silent. Five seconds. */
const silentLooksMost = 20

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
   * `onSilent` is called with each look while the server is silent. `mustWait`: an effect is under way whose end has
   * yet to be recorded.
   */
  constructor(connect: () => Promise<Client>, onSilent: () => void, mustWait: () => boolean) {
    this.#connect = connect
    this.#onSilent = onSilent
    this.#mustWait = mustWait
  }

  /**
   * The server has not answered for five seconds, and no effect is worth waiting longer. False again as soon as it
   * answers.
   */
  get isSilent(): boolean {
    return this.#looks >= silentLooksMost && !this.#mustWait()
  }

  #look(): void {
    this.#looks++
    if (this.isSilent) this.#onSilent()
    // The network may have lost the connection: a new one may be answered.
    if (this.#looks % silentLooksMost === 0) this.#hangUp()
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
      // A server that refuses is alive.
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
