/**
 * The accounts of a fork: as the charges in what was copied leave them.
 *
 * Owns: that fold. Does not own: the arithmetic (../replay/account.ts). Pure. K11: a charge counts where it occurred.
 */
import { isWithin, type ActivationId } from '@reeve/core'
import type { Charge, JournalEvent } from '@reeve/journal'
import { Account, type AccountState } from '../replay/account.ts'
import type { AccountLimits } from '../context.ts'
import { isKnownUse, reserveOf } from '../replay/operation.ts'

/** An entry of the fork's log. */
export interface ForkEntry {
  readonly activation: ActivationId
  readonly seq: number
  readonly at: number
  readonly event: JournalEvent
}

/**
 * One account for each activation among these that has limits. Nothing is known of the minutes that were worked: they
 * begin anew.
 */
export function accountsIn(
  entries: readonly ForkEntry[],
  limits: ReadonlyMap<ActivationId, AccountLimits>,
): { readonly activation: ActivationId; readonly state: AccountState }[] {
  if (limits.size === 0) return []
  const there = new Set(entries.map(({ activation }) => activation))
  const accounts = [...limits].flatMap(([id, each]) => (there.has(id) ? [new Account(id, each)] : []))
  const open = new Map<ActivationId, Map<string, Charge>>()
  const above = (id: ActivationId): Account[] => accounts.filter(({ activation }) => isWithin(id, activation))
  for (const { activation, event } of accounts.length === 0 ? [] : entries) {
    const reserved = open.get(activation) ?? new Map<string, Charge>()
    open.set(activation, reserved)
    const charge = 'op' in event ? reserveOf(event) : undefined
    if (charge !== undefined && 'address' in event) {
      reserved.set(event.address, charge)
      for (const account of above(activation)) account.reserve(charge)
    }
    if (event.type === 'step.attempt-failed' && event.charge !== undefined)
      for (const account of above(activation)) account.spend(event.charge, isKnownUse(event))
    for (const address of endedBy(event, reserved)) {
      const actual = event.type === 'step.settled' ? event.charge : undefined
      for (const account of above(activation)) account.settle(reserved.get(address)!, actual)
      reserved.delete(address)
    }
  }
  return accounts.map((account) => ({ activation: account.activation, state: account.state() }))
}

/** What was set aside and is not any more: of a step that has ended, or of all that were called off. */
function endedBy(event: JournalEvent, reserved: ReadonlyMap<string, Charge>): readonly string[] {
  if (event.type === 'step.settled') return reserved.has(event.address) ? [event.address] : []
  return event.type === 'activation.settled' || event.type === 'activation.restarted' ? [...reserved.keys()] : []
}
