/**
 * What a journal must look like after all its runs have ended: gapless logs, every operation begun and ended once, one
 * end for each activation, and values that come from calls that were made. It shares no code with the engines but the
 * codec of entries, so that a mistake is not made twice.
 */
import { decode } from '@reeve/journal'
import type { Done } from './world.ts'

/** An entry as a store keeps it. */
export interface Row {
  readonly position: number
  readonly id: string
  readonly seq: number
  readonly body: string
}
export interface Entry {
  readonly type: string
  readonly address?: string
  readonly op?: string
  readonly outcome?: { readonly status: string; readonly output?: unknown }
}

/** Hears of every step's end that names the call it came from. */
export type OnStep = (row: Row, entry: Entry, call: Done) => void

export class Journal {
  /** Steps whose ends are recorded. */
  settled = 0
  /** Outcomes of the roots by run, as JSON. */
  readonly outcomes = new Map<string, string>()
  readonly #problems: string[]
  readonly #done: readonly Done[]
  readonly #next = new Map<string, number>()
  readonly #seen = new Set<string>()
  readonly #ended = new Map<string, string>()
  readonly #born = new Set<string>()
  readonly #onStep: OnStep

  constructor(problems: string[], done: readonly Done[], onStep: OnStep) {
    this.#problems = problems
    this.#done = done
    this.#onStep = onStep
  }

  take(row: Row): void {
    const { id, seq, body } = row
    const entry = decode(body) as Entry
    const next = this.#next.get(id) ?? 0
    if (seq !== next) this.#problems.push(`${id}: entry ${seq} where ${next} was due`)
    this.#next.set(id, seq + 1)
    if (!id.startsWith('act_')) return
    if (this.#ended.has(id)) this.#problems.push(`${id}: ${entry.type} after its end`)
    if (entry.type === 'activation.started') this.#born.add(id)
    if (entry.type === 'activation.settled') this.#end(id, entry)
    if (entry.address === undefined) return
    const what = entry.op !== undefined ? 'begun' : entry.type.endsWith('.settled') ? 'ended' : undefined
    if (what === undefined) return
    const key = `${id}:${entry.address} ${what}`
    if (this.#seen.has(key)) this.#problems.push(`recorded twice: ${key}`)
    this.#seen.add(key)
    if (what === 'ended' && !this.#seen.has(`${id}:${entry.address} begun`))
      this.#problems.push(`${key}, but never begun`)
    if (entry.type === 'step.settled') this.#step(row, entry)
  }

  #end(id: string, entry: Entry): void {
    this.#ended.set(id, entry.outcome?.status ?? '?')
    if (!id.includes('>')) this.outcomes.set(id.slice(4), JSON.stringify(entry.outcome))
  }

  /** A step's recorded value names the call it came from. */
  #step(row: Row, entry: Entry): void {
    const { id } = row
    this.settled++
    const nonce = /~(\d+)"$/.exec(JSON.stringify(entry.outcome?.output ?? null))?.[1]
    if (nonce === undefined) return
    const call = this.#done[Number(nonce)]
    if (call === undefined) return void this.#problems.push(`${id}: records a call that nobody made`)
    if (call.key !== `${id}:${entry.address}`) this.#problems.push(`${id}: records the value of ${call.key}`)
    this.#onStep(row, entry, call)
  }

  end(): void {
    for (const id of this.#born) if (!this.#ended.has(id)) this.#problems.push(`${id} has no end`)
    for (const id of this.#ended.keys()) if (!this.#born.has(id)) this.#problems.push(`${id} has no beginning`)
  }

  /** How a run ended, by its root's last word. */
  ended(run: string): string | undefined {
    return this.#ended.get(`act_${run}`)
  }
}
