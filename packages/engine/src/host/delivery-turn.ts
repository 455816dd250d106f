/**
 * Turns: which of the activations that are ready are given an arrival next.
 *
 * Owns: the list of those that are ready, each once.
 * Holds: K3: where a part of a run has a past to go through, the other parts hear nothing new until it has. Else what
 * comes in together, after a run was read again, would be heard in an order that depends on what was in memory (team
 * C18).
 */
import type { LoadedActivation } from './loaded-run.ts'

export class ReadyList {
  #list: LoadedActivation[] = []
  /** How many of them may have a past to go through. */
  #read = 0
  /** How many there are. */
  size = 0

  add(activation: LoadedActivation): void {
    if (activation.isReady) return
    activation.isReady = true
    this.size = this.#list.push(activation)
    if (activation.run.past !== undefined) this.#read++
  }

  /** Takes those whose turn it is, and, where none of them was read again, so many at most; the others stay. */
  takeTurn(most = Infinity): readonly LoadedActivation[] {
    const isPart = this.#read === 0 && this.size > most
    const all = isPart ? this.#list.splice(0, most) : this.#list
    if (!isPart) this.#list = []
    this.size = this.#list.length
    for (const each of all) each.isReady = false
    return this.#read === 0 ? all : this.#withoutLater(all)
  }

  #withoutLater(all: readonly LoadedActivation[]): readonly LoadedActivation[] {
    this.#read = 0
    const behind = new Set(all.flatMap(({ run, replaying }) => (replaying ? [run] : [])))
    const isLater = (each: LoadedActivation): boolean => !each.replaying && behind.has(each.run)
    for (const each of all) if (isLater(each)) this.add(each)
    return all.filter((each) => !isLater(each))
  }
}
