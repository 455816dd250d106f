/** The road between workers and the server that moves runs: a TCP proxy before whichever of them is called, so that connections can be cut. Owns: connections, never what is said on them. */
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Road {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()

  /** Open when it resolves. */
  static async to(target: { readonly host: string; readonly port: number }, port: number): Promise<Road> {
    const road = new Road(target)
    await new Promise<void>((resolve) => road.#server.listen(port, resolve))
    return road
  }

  private constructor(target: { readonly host: string; readonly port: number }) {
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
