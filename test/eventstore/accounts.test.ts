/** Accounts under concurrent commits, and the clocks for working minutes. */
import { expect, test } from 'vitest'
import type { AccountOp, EventStore, StoredAccount } from '../../src/adapters/eventstore/index.ts'
import { begin, begun, claim, onBothStores, settledText, type Attempt } from './hand.ts'

const reserve = (turns: number): AccountOp => ({ op: 'reserve', charge: { turns } })
const settle = (turns: number, actual: number | undefined): AccountOp => ({
  op: 'settle',
  reserved: { turns },
  actual: actual === undefined ? undefined : { turns: actual },
})
const refused = (turns: number): AccountOp => ({ op: 'refused', charge: { turns } })
const accounts = async (attempt: Attempt): Promise<readonly StoredAccount[]> => (await attempt.pulled()).accounts

onBothStores((place) => {
  test('K11: a charge counts on every account above, and an unknown one settles at its reserve', async () => {
    const store = await place.store()
    const root = await begin(store, { turns: 10 })
    const middle = await root.child('m')
    const worker = await middle.child('w', { turns: 4, usd: 0.5 })
    expect(worker.claimed.accounts.map(({ activation }) => activation)).toEqual([root.id, worker.id])
    const written = await worker.written({ accounts: [reserve(2), reserve(1), settle(2, undefined), settle(1, 3)] }, [begun('x')])
    expect(written.accounts.map(({ state }) => state)).toMatchObject([
      { limits: { turns: 10 }, spent: { turns: 5 }, reserved: { turns: 0 }, unknown: 1 },
      { limits: { turns: 4, usd: 0.5 }, spent: { turns: 5 }, reserved: { turns: 0 }, unknown: 1 },
    ])
    expect(await accounts(worker)).toEqual(written.accounts)
    expect(await accounts(root)).toEqual([written.accounts[0]])
  })

  test('K11: a reserve that does not fit any more, and a refusal that would, are not written', async () => {
    const store = await place.store()
    const root = await begin(store, { turns: 3 })
    const [one, two] = [await root.child('one'), await root.child('two')]
    await one.written({ accounts: [reserve(2)] }, [begun('x')])
    expect(await two.commit({ accounts: [reserve(2)] }, [begun('x')])).toEqual({ status: 'moved' })
    await two.written({ accounts: [refused(2)] }, [begun('x')])
    await one.written({ accounts: [settle(2, 0)] }, [begun('y')])
    expect(await two.commit({ accounts: [refused(2)] }, [begun('y')])).toEqual({ status: 'moved' })
    expect(await two.commit({ accounts: [reserve(3), reserve(1)] }, [begun('y')])).toEqual({ status: 'moved' })
    await two.written({ accounts: [reserve(3), settle(3, 1), reserve(2)] }, [begun('y')])
    expect((await store.read(root.run, 0)).map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('K11: however many reserve at once, the limit holds at every moment', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const limit = 17
    const root = await begin(one, { turns: limit })
    const ids = Array.from({ length: 5 }, (_, i) => `w${i}`)
    const workers: Attempt[] = []
    for (const id of ids) workers.push(await root.child(id, { turns: 9 }))
    let outside = false
    const sums: number[] = []
    const work = async (worker: Attempt, store: EventStore, turns: number): Promise<void> => {
      let attempt = await claim(store, worker.id)
      let known = attempt.claimed.accounts
      let held = 0
      for (let i = 0; i < 12; i++) {
        const fits = known.every(({ state }) => state.spent.turns + state.reserved.turns + turns <= state.limits.turns!)
        const ops = held > 0 ? [settle(turns, i % 3 === 0 ? 1 : 0)] : [fits ? reserve(turns) : refused(turns)]
        const result = await attempt.commit({ accounts: ops }, [begun(`s${i}`)])
        if (result.status !== 'written') {
          attempt = await claim(store, worker.id)
          known = attempt.claimed.accounts
          continue
        }
        known = result.accounts
        held = ops[0]!.op === 'reserve' ? turns : 0
        for (const { state } of known) {
          sums.push(state.spent.turns + state.reserved.turns)
          outside ||= state.spent.turns + state.reserved.turns > state.limits.turns! || state.reserved.turns < 0
        }
      }
      if (held > 0) await attempt.written({ accounts: [settle(held, 0)] }, [begun('end')])
    }
    await Promise.all(workers.map((worker, i) => work(worker, i % 2 === 0 ? one : two, 1 + (i % 4))))
    expect(outside).toBe(false)
    expect(Math.max(...sums)).toBeGreaterThan(limit / 2)
    expect((await accounts(root))[0]!.state.reserved.turns).toBe(0)
  })

  test('K11: a clock runs while anybody below its account works', async () => {
    const store = await place.store()
    const root = await begin(store, { minutes: 1 })
    const one = await root.child('one', { minutes: 5 })
    const two = await root.child('two')
    const clock = async (): Promise<unknown[]> => (await accounts(one)).map(({ state, since }) => [state.ms, since])
    expect(await clock()).toEqual([
      [0, null],
      [0, null],
    ])
    await one.written({ working: true, now: 1_000 })
    await two.written({ working: true, now: 1_500 })
    expect(await clock()).toEqual([
      [0, 1_000],
      [0, 1_000],
    ])
    expect((await one.written({ working: false, now: 2_000 })).accounts.map(({ state, since }) => [state.ms, since])).toEqual([
      [0, 1_000],
      [1_000, null],
    ])
    // An attempt that is taken over is known to have worked until its last commit, at 1_500.
    const again = await claim(store, two.id)
    await again.written({ working: true, now: 3_000 })
    await again.written({ settled: 'completed', working: true, now: 4_000 }, [settledText])
    expect(await clock()).toEqual([
      [1_500, null],
      [1_000, null],
    ])
    await root.written({ working: true, now: 10_000 })
    await one.written({ working: true, now: 10_100 })
    await one.written({ working: false, now: 10_200 })
    expect(await clock()).toEqual([
      [1_500, 10_000],
      [1_100, null],
    ])
    await root.written({ working: false, now: 10_500 })
    expect(await clock()).toEqual([
      [2_000, null],
      [1_100, null],
    ])
  })

  test('K11: minutes in which nobody worked are not counted: a clock whose worker has gone stands from its last commit on', async () => {
    const store = await place.store()
    const root = await begin(store, { minutes: 60 })
    const one = await root.child('one', { minutes: 60 })
    const two = await root.child('two')
    const clock = ({ accounts: all }: { accounts: readonly StoredAccount[] }): unknown[] => all.map(({ state, since }) => [state.ms, since])
    await one.written({ working: true, now: 2_000 })
    await one.written({ working: true, now: 5_000 })
    await two.written({ working: true, now: 6_000 })
    // Somebody else below the root still works.
    const next = (await store.claim(one.id, 0, `inv_${one.id}`, 900_000))!
    expect(clock(next)).toEqual([
      [0, 2_000],
      [3_000, null],
    ])
    const last = (await store.claim(two.id, 0, `inv_${two.id}`, 950_000))!
    expect(clock(last)).toEqual([[4_000, null]])
    expect(clock(await root.pulled())).toEqual([[4_000, null]])
    expect(clock((await store.claim(two.id, 0, `inv_${two.id}`, 960_000))!)).toEqual([[4_000, null]])
    expect(clock(await (await claim(store, one.id)).written({ working: true, now: 970_000 }))).toEqual([
      [4_000, 970_000],
      [3_000, 970_000],
    ])
  })
})
