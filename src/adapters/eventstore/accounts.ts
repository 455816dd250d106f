/**
 * Accounts above an activation: whether what it reserved still holds in the transaction that commits it, and the clocks for working minutes.
 *
 * Owns: applying a commit's charges to what is stored, and writing what has changed. Does not own: the arithmetic (engine/account.ts).
 * Holds: K11 (reserve and settle where they occur; spent + reserved never exceeds a limit, whoever else reserves at the same moment).
 */
import { parentOf, runOf, type ActivationId } from '../../core/index.ts'
import { Account, type AccountLimits, type AccountState } from '../../engine/index.ts'
import type { AccountOp, StoredAccount } from './port.ts'
import { rowsOf, write, type Work } from './sql.ts'

/** An activation and everybody above it, the root first. */
export function lineOf(activation: ActivationId): readonly ActivationId[] {
  const line = [activation]
  for (let above = parentOf(activation); above !== undefined; above = parentOf(above.parent)) line.unshift(above.parent)
  return line
}

export const newAccount = (activation: ActivationId, limits: AccountLimits): AccountState => new Account(activation, limits).state()

/** The accounts after these charges. Undefined: another charge has come between, and what was decided does not hold any more. */
export function charged(stored: readonly StoredAccount[], ops: readonly AccountOp[]): readonly StoredAccount[] | undefined {
  if (ops.length === 0) return stored
  const accounts = stored.map(({ activation, state }) => new Account(activation, state.limits, state))
  for (const op of ops) {
    if (op.op === 'settle') {
      for (const account of accounts) account.settle(op.reserved, op.actual)
      continue
    }
    const fits = accounts.every((account) => account.refusal(op.charge) === undefined)
    if (fits !== (op.op === 'reserve')) return undefined
    if (fits) for (const account of accounts) account.reserve(op.charge)
  }
  return stored.map((each, i) => ({ ...each, state: accounts[i]!.state() }))
}

/** Whether a clock has to be started or stopped, so that it matters who else works. */
export const isClockToMove = (stored: readonly StoredAccount[], working: boolean): boolean =>
  stored.some(({ state, since }) => state.limits.minutes !== undefined && (since === null) === working)

/** A clock runs while anybody below its account works. `others`: whoever works in the run besides this activation. */
export function clocked(
  stored: readonly StoredAccount[],
  working: boolean,
  others: readonly string[],
  now: number,
): readonly StoredAccount[] {
  return stored.map((each) => {
    const { activation, state, since } = each
    if (state.limits.minutes === undefined) return each
    const runs = working || others.some((id) => id === activation || id.startsWith(`${activation}>`))
    if (runs) return since === null ? { ...each, since: now } : each
    return since === null ? each : { activation, state: { ...state, ms: state.ms + Math.max(0, now - since) }, since: null }
  })
}

/** Whoever works in the run besides this activation. */
export function* otherWorkers(activation: ActivationId): Work<readonly string[]> {
  const others = 'SELECT id FROM activation WHERE run = $1 AND working = 1 AND id <> $2'
  return (yield* rowsOf<{ id: string }>(others, runOf(activation), activation)).map(({ id }) => id)
}

/**
 * The clocks after somebody who worked is known to be gone. Its last commit, at `touched`, is the last that is known of it: from then on nobody may have
 * worked, and time in which nobody works is not counted.
 */
export function* abandoned(activation: ActivationId, stored: readonly StoredAccount[], touched: number): Work<readonly StoredAccount[]> {
  if (!isClockToMove(stored, false)) return stored
  const after = clocked(stored, false, yield* otherWorkers(activation), touched)
  yield* writeAccounts(stored, after)
  return after
}

/** Those that are not what they were. */
export function* writeAccounts(before: readonly StoredAccount[], after: readonly StoredAccount[]): Work<void> {
  for (const [i, account] of after.entries()) {
    if (account === before[i]) continue
    const { activation, state, since } = account
    yield* write('UPDATE account SET state = $2, since = $3 WHERE act = $1', activation, JSON.stringify(state), since)
  }
}
