/**
 * The stall watch of a torture: asks the stall detector of the product, as an operator's process does, and keeps what it
 * says.
 *
 * Owns: which stalls were seen, for how long. Does not own: what counts as one (packages/engine/src/host/stalls.ts).
 */
import type { Engine, EngineStatus, StalledRun } from '@reeve/engine'

/** Between two questions. Milliseconds. */
const askEveryMs = 1_000

interface Seen {
  readonly stall: StalledRun
  readonly holder: EngineStatus['processes'][number] | undefined
  /** The processes that counted as alive when it was last seen. */
  living: string
  /** Looks in a row that have shown it. */
  looks: number
  lastMs: number
}

const livingIn = (processes: EngineStatus['processes'], now: number): string =>
  processes
    .filter(({ isAlive }) => isAlive === true)
    .map(({ id, report, drives }) => {
      const held = drives.reduce((sum, { runs }) => sum + runs, 0)
      const ago = (at: number): string => `${((now - at) / 1_000).toFixed(1)} s ago`
      return report === undefined
        ? `${id} (${held} runs, has said nothing)`
        : `${id} (${held} runs, began ${ago(report.begun)}, moved ${ago(report.at)}, ${report.delayMs} ms late)`
    })
    .join(', ')

export class StallWatch {
  readonly #ask: () => Promise<EngineStatus>
  readonly #seen = new Map<string, Seen>()
  #lastAsked = -Infinity
  /** The largest delay that a process has reported, in milliseconds, and the most takeovers. */
  mostLateMs = 0
  mostFlapping = 0

  constructor(ask: () => Promise<EngineStatus>) {
    this.#ask = ask
  }

  static of(engine: Pick<Engine, 'status'>): StallWatch {
    return new StallWatch(() => engine.status(1_000))
  }

  /** Asks, if that is due. */
  async look(): Promise<void> {
    const now = performance.now()
    if (now - this.#lastAsked < askEveryMs) return
    this.#lastAsked = now
    const { stalled = [], processes, backlog } = await this.#ask()
    const time = Date.now()
    this.mostFlapping = Math.max(this.mostFlapping, backlog.flapping ?? 0)
    for (const { report } of processes) this.mostLateMs = Math.max(this.mostLateMs, report?.delayMs ?? 0)
    for (const stall of stalled) {
      const key = `${stall.run} ${stall.waitsFor} ${stall.holder ?? ''}`
      const seen = this.#seen.get(key)
      const lastMs = time - stall.since
      const living = livingIn(processes, time)
      if (seen === undefined)
        this.#seen.set(key, {
          stall,
          holder: processes.find(({ id }) => id === stall.holder),
          living,
          looks: 1,
          lastMs,
        })
      else {
        seen.looks++
        seen.living = living
        seen.lastMs = Math.max(seen.lastMs, lastMs)
      }
    }
  }

  /** What was seen, the longest first: one line each. */
  get lines(): readonly string[] {
    return [...this.#seen.values()]
      .toSorted((a, b) => b.lastMs - a.lastMs)
      .map(({ stall, holder, living, looks, lastMs }) => {
        const { run, waitsFor, since } = stall
        const held =
          stall.holder === undefined
            ? ''
            : `, held by ${stall.holder}${holder?.pid === undefined ? '' : ` (pid ${holder.pid})`}, ${holder?.report?.delayMs ?? 'unknown'} ms late`
        return `${run} stalled for ${(lastMs / 1_000).toFixed(1)} s since ${new Date(since).toISOString()}: waits for ${waitsFor}${held}; seen ${looks} times; alive: ${living}`
      })
  }
}
