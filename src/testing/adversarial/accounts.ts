/** Accounts as a fold of the journals below them: nothing of them is stored but their limits and the time that was worked. */
import type { RunId } from '../../core/index.ts'
import type { Charge, JournalEvent } from '../../journal/index.ts'
import { Account } from '../../engine/index.ts'
import type { AdversarialStore } from './store.ts'

export function accountsOf(store: AdversarialStore, run: RunId): Account[] {
  const boxes = store.boxesOf(run)
  return boxes.flatMap(({ id, limits, ms }) => {
    if (limits === undefined || Object.keys(limits).length === 0) return []
    const zero = { turns: 0, tokens: 0, usd: 0 }
    const account = new Account(id, limits, { limits, spent: zero, reserved: zero, ms, unknown: 0 })
    for (const box of boxes)
      if (box.id === id || box.id.startsWith(`${id}>`))
        charge(
          account,
          [...store.events(box)].map(({ event }) => event),
        )
    return [account]
  })
}

function charge(account: Account, events: readonly JournalEvent[]): void {
  const open = new Map<string, Charge>()
  for (const event of events) {
    if ('op' in event && event.op === 'step' && event.reserve !== undefined && event.refused === undefined) {
      account.reserve(event.reserve)
      open.set(event.address, event.reserve)
    } else if (event.type === 'step.settled') {
      const reserved = open.get(event.address)
      if (reserved !== undefined) account.settle(reserved, event.charge)
      open.delete(event.address)
    } else if (event.type === 'activation.settled' || event.type === 'activation.restarted') {
      // a worker or question reserves nothing: whatever is open here was a step, and was stopped
      for (const reserved of open.values()) account.settle(reserved, undefined)
      open.clear()
    }
  }
}
