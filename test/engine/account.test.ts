/** Accounts: what is set aside and settled, close to the arithmetic (DESIGN §3.3, K11). */
import { describe, expect, test } from 'vitest'
import { rootActivation, type RunId } from '../../src/core/index.ts'
import { Account, reserveAll, reserveFor, sliceOf } from '../../src/engine/replay/account.ts'
import type { AccountLimits } from '../../src/engine/index.ts'

const root = rootActivation('run_1' as RunId)
const account = (limits: AccountLimits): Account => new Account(root, limits)

describe('K11: a reserve', () => {
  test('counts until it is settled, then what was used counts', () => {
    const one = account({ tokens: 100 })
    one.reserve({ tokens: 60 })
    expect(one.refusal({ tokens: 41 })).toBe('tokens')
    one.settle({ tokens: 60 }, { tokens: 10 })
    expect([one.refusal({ tokens: 90 }), one.refusal({ tokens: 91 })]).toEqual([undefined, 'tokens'])
  })

  test('unreported usage is spent, and counted as unknown', () => {
    const one = account({ tokens: 100 })
    one.reserve({ tokens: 60 })
    one.settle({ tokens: 60 }, undefined)
    expect(one.state()).toMatchObject({ spent: { tokens: 60 }, reserved: { tokens: 0 }, unknown: 1 })
  })

  test('is made on all accounts or on none', () => {
    const [wide, narrow] = [account({ tokens: 100 }), account({ tokens: 10 })]
    expect(reserveAll([wide, narrow], { tokens: 20 })).toMatchObject({ limit: 'tokens' })
    expect(wide.state().reserved.tokens).toBe(0)
    expect(reserveAll([wide, narrow], { tokens: 10 })).toBeUndefined()
    expect([wide, narrow].map((each) => each.state().reserved.tokens)).toEqual([10, 10])
  })

  test('that does not fit says whether it may fit later', () => {
    const one = account({ tokens: 100 })
    one.reserve({ tokens: 60 })
    expect(reserveFor(root, [one], { tokens: 50 })).toMatchObject({ code: 'budget.exceeded', details: { later: true } })
    expect(reserveFor(root, [one], { tokens: 101 })?.details).not.toHaveProperty('later')
  })

  test('the last turn is kept for its reserved account', () => {
    const one = account({ turns: 2, keepsLast: true })
    one.reserve({ turns: 1 })
    expect([one.refusal({ turns: 1 }), one.refusal({ turns: 1, last: root })]).toEqual(['turns', undefined])
  })
})

test('the clock of minutes stands while nothing works, however many work at once', () => {
  const one = account({ minutes: 1 })
  expect(one.enter(0)).toBe(60_000)
  expect(one.enter(10_000)).toBeUndefined()
  expect([one.leave(20_000), one.leave(30_000)]).toEqual([false, true])
  expect([one.minutesLeft(90_000), one.minutesUsed(90_000)]).toEqual([0.5, false])
  expect(one.enter(100_000)).toBe(130_000)
  expect([one.minutesLeft(130_000), one.minutesUsed(130_000)]).toEqual([0, true])
})

describe('the share of a worker that is placed apart', () => {
  test('is its own limit, or a tenth of what is free where least is', () => {
    const [wide, narrow] = [account({ tokens: 1_000, turns: 100 }), account({ tokens: 200 })]
    expect(sliceOf([wide, narrow], { tokens: 60 })).toEqual({ tokens: 60, turns: 10 })
    narrow.reserve({ tokens: 100 })
    expect(sliceOf([wide, narrow], undefined)).toEqual({ tokens: 10, turns: 10 })
  })

  test('leaves room for the next one, also where its own limit would take all', () => {
    const one = account({ turns: 20 })
    const shares = Array.from({ length: 12 }, () => {
      const share = sliceOf([one], { turns: 20 })!
      expect(reserveAll([one], share)).toBeUndefined()
      return share.turns
    })
    expect(shares).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
  })

  test('is nothing where there is no limit above it', () => {
    expect(sliceOf([], { tokens: 5 })).toBeUndefined()
    expect(sliceOf([account({ minutes: 1 })], { tokens: 5 })).toBeUndefined()
  })

  test('of dollars is no whole number', () => {
    expect(sliceOf([account({ usd: 0.5 })], undefined)).toEqual({ usd: 0.05 })
  })
})
