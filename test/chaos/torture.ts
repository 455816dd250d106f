/**
 * The torture: kills, freezes and cuts at random moments, until it is over; then everything is brought up again.
 *
 * Owns: when and to whom. At most one node is down at a time, so that a replication of two keeps its quorum.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Dice } from '../crash/kill/random.ts'
import type { World } from '../crash/kill/world.ts'
import type { StoppablePostgres } from '../servers/postgres.ts'
import type { Downtime } from './downtime.ts'
import type { Ground } from './ground.ts'
import { peers, type Hosts } from './hosts.ts'
import type { Recorder } from './recorder.ts'
import type { Workers } from './workers.ts'

/** Mean seconds between two blows of a kind. 0: none. */
export interface Rhythm {
  readonly worker: number
  readonly node: number
  readonly freeze: number
  readonly database: number
  readonly cut: number
  readonly partition: number
}
export type Blow = keyof Rhythm

export interface Victims {
  readonly world: World
  readonly workers: Workers
  readonly ground: Ground
  /** Undefined: somebody else's, so it is not killed. */
  readonly postgres: StoppablePostgres | undefined
  readonly recorder: Recorder
  /** Undefined: all workers are on this host. */
  readonly hosts: Hosts | undefined
  /** When the database was away. */
  readonly downtime: Downtime
}

export class Torture {
  readonly blows: Record<Blow, number> = { worker: 0, node: 0, freeze: 0, database: 0, cut: 0, partition: 0 }
  /** What was done when, for whoever looks for the cause of a stall. */
  readonly events: string[] = []
  /** What could not be brought up again. */
  readonly problems: string[] = []
  /** When a node was killed last: for a while after that, an attempt may not know that it is over. */
  lastNodeKill = 0
  readonly #v: Victims
  readonly #until: number
  /** Who is cut off from what. */
  readonly #cutOff = new Set<string>()
  readonly #loops: readonly Promise<void>[]

  constructor(victims: Victims, rhythm: Rhythm, seed: number, untilMs: number) {
    this.#v = victims
    this.#until = untilMs
    const blows: Record<Blow, (dice: Dice) => Promise<boolean>> = {
      worker: (dice) => Promise.resolve(this.#killWorker(dice)),
      node: (dice) => this.#killNode(dice),
      freeze: (dice) => this.#freeze(dice),
      database: (dice) => this.#killDatabase(dice),
      cut: (dice) => this.#cut(dice),
      partition: (dice) => this.#partition(dice),
    }
    const kinds = (Object.keys(blows) as Blow[]).filter((blow) => rhythm[blow] > 0)
    this.#loops = kinds.map((blow, k) => this.#loop(blow, rhythm[blow] * 1_000, new Dice(seed + k), blows[blow]))
  }

  /** Resolves when it is over and everything is up again. */
  async over(): Promise<void> {
    await Promise.all(this.#loops)
    this.#v.workers.calm()
  }

  async #loop(blow: Blow, meanMs: number, dice: Dice, strike: (dice: Dice) => Promise<boolean>): Promise<void> {
    for (;;) {
      await sleep(Math.min(meanMs * (0.1 - Math.log(1 - dice.next())), Math.max(0, this.#until - Date.now())))
      if (Date.now() >= this.#until) return
      const begin = new Date().toISOString()
      if (!(await strike(dice))) continue
      this.blows[blow]++
      this.events.push(`${begin} … ${new Date().toISOString().slice(11)} ${blow}`)
    }
  }

  #killWorker(dice: Dice): boolean {
    const { able } = this.#v.workers
    return able[dice.between(0, able.length - 1)]?.child.kill('SIGKILL') === true
  }

  async #killNode(dice: Dice): Promise<boolean> {
    const { nodes } = this.#v.ground
    const node = nodes[dice.between(0, nodes.length - 1)]
    if (node === undefined) return false
    this.lastNodeKill = Date.now()
    await node.kill()
    await sleep(dice.between(300, 4_000))
    await this.#bringUp(node.name, () => node.start())
    this.lastNodeKill = Date.now()
    return true
  }

  async #freeze(dice: Dice): Promise<boolean> {
    const { able } = this.#v.workers
    const worker = able[dice.between(0, able.length - 1)]
    if (worker === undefined) return false
    worker.frozen = true
    this.#v.world.frozen.add(worker.child.pid!)
    worker.child.kill('SIGSTOP')
    await sleep(dice.between(1_000, 6_000))
    worker.child.kill('SIGCONT')
    worker.frozen = false
    return true
  }

  async #killDatabase(dice: Dice): Promise<boolean> {
    const { postgres, downtime } = this.#v
    if (postgres === undefined) return false
    const begin = Date.now()
    await (dice.next() < 0.5 ? postgres.kill() : postgres.stop('immediate'))
    await sleep(dice.between(100, 1_500))
    await this.#bringUp('PostgreSQL', () => postgres.start())
    downtime.add(begin, Date.now())
    return true
  }

  #cut(dice: Dice): Promise<boolean> {
    return dice.next() < 0.5 && this.#v.ground.cut(dice.next())
      ? Promise.resolve(true)
      : this.#v.recorder.cut(dice.next())
  }

  /** One host hears nothing of the store, or of the server, for a while. */
  async #partition(dice: Dice): Promise<boolean> {
    const { hosts, workers } = this.#v
    const worker = workers.able[dice.between(0, workers.able.length - 1)]
    if (hosts === undefined || worker === undefined) return false
    const peer = peers[this.#v.ground.nodes.length === 0 ? 0 : dice.between(0, 1)]!
    const place = `${worker.slot} ${peer}`
    if (this.#cutOff.has(place)) return false
    this.#cutOff.add(place)
    hosts.cutOff(worker.slot, peer)
    await sleep(dice.between(500, 9_000))
    hosts.join(worker.slot, peer)
    this.#cutOff.delete(place)
    return true
  }

  async #bringUp(what: string, start: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await start()
      } catch (thrown) {
        if (attempt === 10) return void this.problems.push(`${what} did not come back: ${String(thrown)}`)
        await sleep(500)
      }
    }
  }
}
