/**
 * A wire to PostgreSQL that can be cut: a TCP proxy on a free port.
 *
 * Owns: what passes and what does not. `mute`: answers are kept back, what is asked goes through. `hold`: what is asked
 * is kept back. `cut`: every connection of now is over; what was kept back of what was asked can still be let through
 * to the server (`deliver`), as a network does that has it in its buffers.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly kept: Buffer[]
}

export class Wire implements AsyncDisposable {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #left = new Set<Pair>()
  /** Only these connections, by what was sent on them. */
  #mutes = (_: Buffer): boolean => false
  #holds = (_: Buffer): boolean => false
  #closed = false
  #target: URL
  readonly #awaited = new Map<string, () => void>()
  /** Connections are refused. */
  isDown = false
  readonly url: string

  private constructor(server: Server, url: string, target: URL) {
    this.#server = server
    this.url = url
    this.#target = target
  }

  /** From now on new connections are led to where this address is. */
  lead(address: string): void {
    this.#target = new URL(address)
  }

  /** A wire to where this address is. */
  static async to(address: string): Promise<Wire> {
    const target = new URL(address)
    const server = createServer()
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const url = new URL(address)
    url.host = `127.0.0.1:${(server.address() as { port: number }).port}`
    const wire = new Wire(server, url.href, target)
    server.on('connection', (client) => wire.#join(client, wire.#target))
    return wire
  }

  #join(client: Socket, target: URL): void {
    if (this.isDown) return void client.destroy()
    const server = connect(Number(target.port || 5432), target.hostname)
    const pair: Pair = { client, server, kept: [] }
    this.#pairs.add(pair)
    let muted = false
    let held = false
    client.on('data', (data) => {
      for (const [text, resolve] of this.#awaited) if (data.includes(text)) resolve()
      muted ||= this.#mutes(data)
      held ||= this.#holds(data)
      if (held) pair.kept.push(data)
      else server.write(data)
    })
    server.on('data', (data) => {
      if (!muted) client.write(data)
    })
    const over = (): void => {
      if (this.#left.has(pair)) return
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      socket.on('error', over)
      socket.on('close', over)
    }
  }

  /** From now on the answers are lost on connections on which this is asked. */
  mute(text: string): void {
    this.#mutes = (data) => data.includes(text)
  }
  /** From now on what is asked is kept back on connections on which this is asked. */
  hold(text: string): void {
    this.#holds = (data) => data.includes(text)
  }

  /** Resolves when this is asked. */
  asked(text: string): Promise<void> {
    return new Promise((resolve) => this.#awaited.set(text, resolve))
  }

  /** Every connection of now is over for its client. The server hears of it, unless something was kept back for it. */
  cut(): void {
    this.#mutes = this.#holds = () => false
    for (const pair of this.#pairs) {
      if (pair.kept.length > 0) this.#left.add(pair)
      else pair.server.destroy()
      this.#pairs.delete(pair)
      pair.client.destroy()
    }
  }

  /** What was kept back arrives after all; resolves when the server has ended these connections. */
  async deliver(): Promise<void> {
    const pairs = [...this.#left]
    this.#left.clear()
    await Promise.all(
      pairs.map(({ server, kept }) => {
        const over = new Promise<void>((done) => server.once('close', () => done()))
        for (const data of kept) server.write(data)
        server.end()
        return over
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.cut()
    for (const { server } of this.#left) server.destroy()
    await new Promise((done) => this.#server.close(done))
  }
}
