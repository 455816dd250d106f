/**
 * The road between workers and the server that moves runs: a TCP proxy before whichever of them is called, so that
 * connections can be cut. Owns: connections, never what is said on them.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Where a road leads. `localAddress`: the address under which this machine is seen there. */
export interface RoadEnd {
  readonly host: string
  readonly port: number
  readonly localAddress?: string
}

export class Road {
  readonly #server: Server
  readonly #ends: readonly RoadEnd[]
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #next = 0

  /**
   * Open when it resolves. With several ends it is a load balancer: each connection leads to the next end that takes
   * it.
   */
  static async to(ends: RoadEnd | readonly RoadEnd[], port: number): Promise<Road> {
    const road = new Road('host' in ends ? [ends] : ends)
    await new Promise<void>((resolve) => road.#server.listen(port, resolve))
    return road
  }

  private constructor(ends: readonly RoadEnd[]) {
    this.#ends = ends
    this.#server = createServer((from) => this.#lead(from.setNoDelay(true), ends.length))
  }

  /** Joins a connection to an end, or to another one if nobody listens there. */
  #lead(from: Socket, tries: number): void {
    const to = connect(this.#ends[this.#next++ % this.#ends.length]!).setNoDelay(true)
    const pair = [from, to] as const
    this.#pairs.add(pair)
    const end = (): void => {
      this.#pairs.delete(pair)
      from.destroy()
      to.destroy()
    }
    const refused = (): void => {
      if (tries === 1) return end()
      this.#pairs.delete(pair)
      from.off('error', end).off('close', end)
      this.#lead(from, tries - 1)
    }
    from.on('error', end).on('close', end)
    to.once('error', refused).once('connect', () => {
      to.off('error', refused).on('error', end).on('close', end)
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
