/**
 * News by LISTEN: one connection of its own while somebody listens, which comes back by itself.
 *
 * Owns: that connection. A gap in hearing is told as `all`: whoever listens looks for itself then, so nothing is lost by it.
 */
import type { Client } from 'pg'
import type { RunId } from '../../core/index.ts'
import type { News } from './sql.ts'

const soonest = 50
const latest = 5_000
/** A connection whose other end has vanished says nothing: it is asked. */
const pulse = 15_000

export class Listening {
  readonly #connect: () => Client
  readonly #channel: string
  readonly #origin: string
  readonly #hear: (news: News | 'all') => void
  #client: Client | undefined
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** `origin`: whose news is not heard here, because it has been already. */
  constructor(connect: () => Client, channel: string, origin: string, hear: (news: News | 'all') => void) {
    this.#connect = connect
    this.#channel = channel
    this.#origin = origin
    this.#hear = hear
  }

  start(): void {
    if (this.#client !== undefined || this.#timer !== undefined) return
    const client = this.#connect()
    this.#client = client
    const lost = (): void => this.#lost(client)
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload }) => {
      if (payload?.slice(1).startsWith(`${this.#origin} `) !== true) this.#hear(newsOf(payload))
    })
    this.#listen(client).catch(lost)
  }

  async #listen(client: Client): Promise<void> {
    await client.connect()
    // Who waits for news keeps the process alive, not the news.
    ;(client.connection.stream as unknown as { unref(): void }).unref()
    await client.query(`LISTEN "${this.#channel}"`)
    if (this.#client !== client) return
    this.#failures = 0
    // What was written before this moment was not heard.
    this.#hear('all')
    this.#timer = setInterval(() => void client.query('SELECT 1').catch(() => this.#lost(client)), pulse)
    this.#timer.unref()
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    clearInterval(this.#timer)
    client.end().catch(() => undefined)
    const wait = Math.min(latest, soonest * 2 ** this.#failures++)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.start()
    }, wait)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => undefined)
  }
}

/** What a payload begins with: `<mark><origin> <run>`. */
export const marks = { events: 'e', end: 'x', parts: 'p' } as const

function newsOf(payload: string | undefined): News | 'all' {
  const space = payload?.indexOf(' ') ?? -1
  if (payload === undefined || space < 0) return 'all'
  const mark = payload[0]
  return { about: mark === marks.parts ? 'parts' : mark === marks.end ? 'end' : 'events', run: payload.slice(space + 1) as RunId }
}
