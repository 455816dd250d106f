/**
 * The worker processes: each is started again whenever it has been killed, until the end. Owns: processes. Does not
 * own: when they are tortured (torture.ts).
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Dice } from '../crash/kill/random.ts'
import type { World } from '../crash/kill/world.ts'
import type { Downtime } from './downtime.ts'

const childFile = fileURLToPath(new URL('./child.ts', import.meta.url))

/** How often is looked whether any worker is up. Milliseconds. */
const lookMs = 50

/** A process that is there. */
export interface Worker {
  readonly child: ChildProcess
  readonly slot: number
  /** It serves. */
  up: boolean
  frozen: boolean
}

export interface WorkersOptions {
  readonly count: number
  readonly socket: string
  /** Options of the engine as JSON, for the worker in this slot. */
  readonly options: (slot: number) => string
  /** What the command of the worker in this slot is begun with. */
  readonly on: (slot: number) => readonly string[]
  /** How the names of the workers begin. */
  readonly name: string
  /** The file that they all write their warnings to. */
  readonly log: string
  readonly world: World
  readonly dice: Dice
  /** When no worker was able to do anything. */
  readonly downtime: Downtime
}

export class Workers {
  /** Who ended though nobody killed it. */
  readonly problems: string[] = []
  readonly pids = new Set<number>()
  readonly #o: WorkersOptions
  readonly #now: (Worker | undefined)[] = []
  readonly #slots: Promise<void>[]
  readonly #watch: ReturnType<typeof setInterval>
  readonly #leave: () => void
  #restMs = 2_500
  #over = false

  constructor(options: WorkersOptions) {
    this.#o = options
    const onUp = (pid: number): void => {
      for (const worker of this.#now) if (worker?.child.pid === pid) worker.up = true
    }
    this.#leave = options.world.join({ recorded: () => undefined, onUp })
    let last: { readonly at: number; readonly isDown: boolean } = { at: Date.now(), isDown: true }
    this.#watch = setInterval(() => {
      const now = { at: Date.now(), isDown: this.able.length === 0 }
      // a look that is late stands for all the time since the one before
      if (last.isDown && now.isDown) options.downtime.add(last.at, now.at)
      last = now
    }, lookMs)
    this.#slots = Array.from({ length: options.count }, (_, slot) => this.#slot(slot))
  }

  /** Those that serve and do not stand still. */
  get able(): readonly Worker[] {
    return this.#now.filter((worker) => worker?.up === true && !worker.frozen) as Worker[]
  }

  async #slot(slot: number): Promise<void> {
    const { socket, options, on, name, log, dice } = this.#o
    while (!this.#over) {
      const [command, ...args] = [
        ...on(slot),
        process.execPath,
        '--no-warnings',
        childFile,
        socket,
        options(slot),
        `${name}${slot}`,
      ]
      const child = spawn(command, args, { stdio: ['ignore', 'ignore', openSync(log, 'a')] })
      const gone = once(child, 'exit')
      if (child.pid !== undefined) this.pids.add(child.pid)
      this.#now[slot] = { child, slot, up: false, frozen: false }
      const [code] = (await gone) as [number | null]
      this.#now[slot] = undefined
      if (code !== null) this.problems.push(`a worker ended by itself with code ${code}, see ${log}`)
      if (code !== null || this.#restMs > 0) await sleep(dice.between(0, Math.max(this.#restMs, 200)))
    }
  }

  /** From now on a process that has ended is started again at once. */
  calm(): void {
    this.#restMs = 0
  }

  async close(): Promise<void> {
    this.#over = true
    clearInterval(this.#watch)
    for (const worker of this.#now) worker?.child.kill('SIGKILL')
    await Promise.all(this.#slots)
    this.#leave()
  }
}
