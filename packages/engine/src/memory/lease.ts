/**
 * The lease of the one process that has a store in memory (K2): nobody can take its runs, but it may have stood still.
 *
 * Owns: its id, how long it counts as fresh, runs that name an owner who is not there. No thread keeps it: nobody looks.
 */
import { hostname } from 'node:os'
import { newId, type Clock, type RunId } from '@reeve/core'
import type { StoredProcess } from '../port.ts'
import type { ReleasedOwners, StoreLease } from '../store.ts'
import type { MemoryTables, RunRecord } from './tables.ts'

export class MemoryLease implements StoreLease {
  readonly id = newId('prc')
  readonly #open: () => MemoryTables
  readonly #clock: Clock
  readonly #leaseMs: number
  #until = 0
  #stoodStill = false

  constructor(open: () => MemoryTables, clock: Clock, leaseMs: number) {
    this.#open = open
    this.#clock = clock
    this.#leaseMs = leaseMs
  }

  get #tables(): MemoryTables {
    return this.#open()
  }

  get fresh(): boolean {
    return !this.#stoodStill && this.#clock.now() < this.#until
  }
  get heartbeatDue(): boolean {
    return this.#clock.now() > this.#until - (this.#leaseMs * 2) / 3
  }
  beat(): void {
    this.#open()
    const now = this.#clock.now()
    if (this.#until !== 0 && now >= this.#until) this.#stoodStill = true
    this.#until = now + this.#leaseMs
  }
  guard(): void {
    if (this.heartbeatDue) this.beat()
  }
  moved(): void {
    // nobody else asks whether it does
  }
  stretch(): void {
    // nobody else waits for it to end
  }
  reclaim(runs: Iterable<[RunId, number]>): Set<RunId> {
    this.beat()
    this.#stoodStill = false
    return new Set(
      [...runs].flatMap(([id, epoch]) => {
        const run = this.#tables.runs.get(id)
        return run?.owner === this.id && run.epoch === epoch ? [id] : []
      }),
    )
  }
  resetLosses(runs: readonly RunId[]): void {
    for (const id of runs) {
      const run = this.#tables.runs.get(id)
      if (run?.owner === this.id) run.losses = 0
    }
  }
  /** Frees the runs of owners that are not there: no other process was here, and none can have died. */
  releaseDead(): ReleasedOwners {
    const strays = [...this.#tables.strays].filter((run) => run.owner !== this.id && run.owner !== null)
    this.#tables.strays.clear()
    for (const run of strays) this.#free(run)
    return { owners: strays.length, aside: [] }
  }
  abandon(): void {
    this.#until = 0
  }
  /** Lets everything go. */
  end(): void {
    if (this.#until === 0) return
    this.#until = 0
    for (const run of this.#tables.working)
      if (run.owner === this.id) {
        run.losses = 0
        this.#free(run)
      }
  }

  /** This process, with what it drives; nobody before its first heartbeat. */
  process(most: number): StoredProcess[] {
    if (this.#until === 0) return []
    const held = [...this.#tables.working].filter(({ owner }) => owner === this.id)
    const drives = [...Map.groupBy(held.slice(0, most + 1), ({ agent, version }) => JSON.stringify([agent, version]))]
      .map(([, [first, ...rest]]) => ({ agent: first!.agent, version: first!.version, runs: rest.length + 1 }))
      .toSorted((a, b) => order(a.agent, b.agent) || order(a.version, b.version))
    return [
      {
        id: this.id,
        host: hostname(),
        pid: process.pid,
        isAlive: true,
        drives,
        ...(held.length > most ? { isMore: true as const } : {}),
      },
    ]
  }

  #free(run: RunRecord): void {
    run.owner = null
    this.#tables.place(run)
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
