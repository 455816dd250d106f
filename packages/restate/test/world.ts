/**
 * The world outside the runs of these tests: a log of effects and gates that effects wait at, in a folder that all
 * processes of a test share.
 *
 * Owns: writing down which process did what under which key, one line at a time, so that a kill -9 loses nothing that
 * was written.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StepIO } from '@reeve/engine'

/** One line of the log. `what` is `<effect>>` when it began and `<effect><` when it ended. */
export interface Deed {
  readonly pid: number
  readonly build: string
  readonly what: string
  readonly key: string
  readonly epoch: number
  readonly at: number
}

export class World {
  readonly dir: string
  readonly #build: string

  constructor(dir: string, build = '') {
    this.dir = dir
    this.#build = build
  }

  /** Writes down that something happened. */
  note(what: string, io?: Pick<StepIO, 'key' | 'epoch'>): void {
    const deed: Deed = {
      pid: process.pid,
      build: this.#build,
      what,
      key: io?.key ?? '',
      epoch: io?.epoch ?? 0,
      at: Date.now(),
    }
    appendFileSync(join(this.dir, 'log'), `${JSON.stringify(deed)}\n`)
  }

  /** An effect: begins, waits at the gate of its name, ends. */
  async does(what: string, io: StepIO): Promise<string> {
    this.note(`${what}>`, io)
    await this.pass(what, io.signal)
    this.note(`${what}<`, io)
    return `${what} is done`
  }

  /** Lets effects of this name through, from now on. */
  open(...gates: readonly string[]): void {
    for (const gate of gates) writeFileSync(join(this.dir, `gate-${gate}`), '')
  }

  async pass(gate: string, signal: AbortSignal): Promise<void> {
    while (!existsSync(join(this.dir, `gate-${gate}`))) {
      if (signal.aborted) {
        this.note(`${gate}!`)
        throw signal.reason as Error
      }
      await sleep(10)
    }
  }

  deeds(what?: string): Deed[] {
    const file = join(this.dir, 'log')
    if (!existsSync(file)) return []
    const all = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Deed)
    return what === undefined ? all : all.filter((deed) => deed.what === what)
  }

  count(what: string): number {
    return this.deeds(what).length
  }
}
