/** Accounts: what is set aside and settled, close to the arithmetic (K11). */
import { describe, expect, test } from 'vitest'
import { rootActivation, type RunId } from '@reeve/core'
import { Account, limitsApart, reserveAll, reserveFor, sliceOf } from '../src/replay/account.ts'
import type { AccountLimits } from '../src/index.ts'

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
    const [wide, narrow] = [account({ tokens: 1_000, turns: 1_000 }), account({ tokens: 200 })]
    expect(sliceOf([wide, narrow], { tokens: 60 })).toEqual({ tokens: 60, turns: 100 })
    narrow.reserve({ tokens: 100 })
    expect(sliceOf([wide, narrow], undefined)).toEqual({ tokens: 10, turns: 100 })
  })

  test('of turns it is what an agent takes in any place, as far as half goes, or as many as it was given', () => {
    const shares = (turns: number, given?: number) => sliceOf([account({ turns })], undefined, given)
    expect([1_000, 100, 19, 3, 2, 1].map((turns) => shares(turns)?.turns)).toEqual([100, 20, 9, 1, 1, 1])
    expect([4, 15, 50].map((given) => shares(19, given)?.turns)).toEqual([9, 15, 19])
  })

  test('is no limit that somebody has set', () => {
    const one = new Account(root, limitsApart({ tokens: 60 }, { tokens: 60, turns: 9 }))
    expect(one.limits).toEqual({ tokens: 60, turns: 9, shares: ['turns'] })
    expect(reserveFor(root, [one], { tokens: 61 })?.message).toBe('the limit of 60 tokens is reached (its own)')
    expect(reserveFor(root, [one], { turns: 10 })?.message).toBe(
      'the share of 9 turns that was set aside for this work apart is used up; limits: { turns: … } of the worker sets more aside',
    )
  })

  test('leaves room for the next one, also where its own limit would take all', () => {
    const one = account({ turns: 20 })
    const shares = Array.from({ length: 6 }, () => {
      const share = sliceOf([one], { turns: 20 })!
      expect(reserveAll([one], share)).toBeUndefined()
      return share.turns
    })
    expect(shares).toEqual([10, 5, 2, 1, 1, 1])
  })

  test('is nothing where there is no limit above it', () => {
    expect(sliceOf([], { tokens: 5 })).toBeUndefined()
    expect(sliceOf([account({ minutes: 1 })], { tokens: 5 })).toBeUndefined()
  })

  test('of dollars is no whole number', () => {
    expect(sliceOf([account({ usd: 0.5 })], undefined)).toEqual({ usd: 0.05 })
  })
})
