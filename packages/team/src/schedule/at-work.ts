/**
 * Who of a team is at work now, on what, and who of them holds a slot. Pure but for being written to.
 *
 * Owns: finding a member by activation, task or name; counting slots. Does not own: beginnings and ends (scheduler.ts).
 */
import { parentOf, type ActivationId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Entry } from '../state/task-graph.ts'

/** A working member. */
export interface AtWork {
  readonly entry: Entry
  readonly activation: ActivationId
  readonly ctx: Context
  waitsForHuman: boolean
  /** It waits for mail: it holds no slot. */
  waitsForMail: boolean
  /** It was told to leave before it was done: what becomes of its task then. */
  recalled: (() => void) | undefined
}

/** All working members, in the order in which they began. */
export class Staffed {
  readonly #byActivation = new Map<ActivationId, AtWork>()
  readonly #byEntry = new Map<Entry, AtWork>()
  readonly #everBegun = new Set<ActivationId>()

  begin(entry: Entry, activation: ActivationId, ctx: Context): AtWork {
    const at: AtWork = { entry, activation, ctx, waitsForHuman: false, waitsForMail: false, recalled: undefined }
    this.#everBegun.add(activation)
    this.#byActivation.set(activation, at)
    this.#byEntry.set(entry, at)
    return at
  }

  end({ entry, activation }: AtWork): void {
    this.#byActivation.delete(activation)
    this.#byEntry.delete(entry)
  }

  get all(): readonly AtWork[] {
    return [...this.#byActivation.values()]
  }

  get size(): number {
    return this.#byActivation.size
  }

  /**
   * How many slots are held. A member that waits for a human or for mail holds none, and has it again at once: for a
   * moment there may be more at work than slots.
   */
  get slots(): number {
    let slots = 0
    for (const { waitsForHuman, waitsForMail } of this.#byActivation.values())
      if (!waitsForHuman && !waitsForMail) slots++
    return slots
  }

  of(entry: Entry): AtWork | undefined {
    return this.#byEntry.get(entry)
  }

  /** The member working in this activation, or above it. */
  at(activation: ActivationId): AtWork | undefined {
    const own = this.#byActivation.get(activation)
    if (own !== undefined) return own
    for (const at of this.#byActivation.values()) if (activation.startsWith(`${at.activation}>`)) return at
    return undefined
  }

  /** Whether it works, or has worked, in this activation, or in one above it. */
  hasBegun(activation: ActivationId): boolean {
    if (this.#everBegun.has(activation)) return true
    const above = parentOf(activation)?.parent
    return above !== undefined && this.hasBegun(above)
  }

  /** As an operator may call them: by activation, member or task. */
  named(name: string): AtWork | undefined {
    return this.all.find(({ activation, entry }) => activation === name || entry.member === name || entry.id === name)
  }
}
