/** The road between Restate and the workers: a TCP proxy before their shared port, so that connections can be cut. Owns: connections, never what is said on them. */
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Road {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#server = createServer((from) => {
      const to = connect(target)
      const pair = [from, to] as const
      this.#pairs.add(pair)
      const end = (): void => {
        this.#pairs.delete(pair)
        from.destroy()
        to.destroy()
      }
      for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end)
      from.pipe(to)
      to.pipe(from)
    })
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  /** Cuts one connection; `luck` in [0, 1) says which. False if there is none. */
  cut(luck: number): boolean {
    const pair = [...this.#pairs][Math.floor(luck * this.#pairs.size)]
    pair?.[0].destroy()
    return pair !== undefined
  }

  close(): void {
    this.#server.close()
    for (const pair of this.#pairs) pair[0].destroy()
  }
}
