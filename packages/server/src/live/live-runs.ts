/**
 * Live runs: which runs are watched now.
 *
 * Owns: one `WatchedRun` per run that somebody looks at, shared by all; how long one is kept after that, and how many.
 * Does not own: what is read of one (watched-run.ts), who may look (the routes).
 * Holds: runs that are looked at live are never dropped; of the others at most `kept` are in memory.
 */
import { systemClock, type RunId } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'
import { AllChanges } from './all-changes.ts'
import { WatchedRun } from './watched-run.ts'

/** How long a run stays in memory after the last look at it, in milliseconds. */
const lingerMs = 20_000
/** Runs that nobody looks at live, and that are kept for the next look. */
const kept = 8

interface HeldRun {
  readonly watched: WatchedRun
  lookedAt: number
}

export class LiveRuns {
  /** What changed, over all runs. */
  readonly changes: AllChanges
  readonly #runtime: Runtime
  /** The one that was looked at last comes last. */
  readonly #held = new Map<RunId, HeldRun>()
  #callOff: (() => void) | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.changes = new AllChanges(runtime)
  }

  /** The run, folded up to now. Rejects with `run.unknown`. */
  async look(id: RunId): Promise<WatchedRun> {
    const held = this.#held.get(id)
    const watched = held === undefined || held.watched.isClosed ? new WatchedRun(this.#runtime, id) : held.watched
    this.#held.delete(id)
    this.#held.set(id, { watched, lookedAt: systemClock.now() })
    this.#tidy()
    await watched.opened
    return watched
  }

  /** How many runs are in memory. */
  get size(): number {
    return this.#held.size
  }

  #tidy(): void {
    const now = systemClock.now()
    for (const held of this.#held.values()) if (held.watched.isRead) held.lookedAt = now
    const idle = [...this.#held].filter(([, { watched }]) => !watched.isRead)
    for (const [i, [id, { watched, lookedAt }]] of idle.entries()) {
      if (now - lookedAt < lingerMs && i >= idle.length - kept && !watched.isClosed) continue
      watched.close()
      this.#held.delete(id)
    }
    this.#callOff?.()
    this.#callOff =
      this.#held.size === 0 ? undefined : systemClock.timer(systemClock.now() + lingerMs / 4, () => this.#tidy())
  }

  /** Stops watching all runs. Idempotent. */
  close(): void {
    this.#callOff?.()
    this.changes.close()
    for (const { watched } of this.#held.values()) watched.close()
    this.#held.clear()
  }
}
