/** A run from another one: all of it in one transaction or nothing, nothing of the origin, and what everybody in it is told who takes an activation over. */
import { expect, test } from 'vitest'
import { childActivation, newId, rootActivation, runId, type ActivationId, type RunId } from '../../src/core/index.ts'
import { planFork, runStream, type ForkOrigin, type ForkRun } from '../../src/engine/index.ts'
import { newFork } from '../../src/adapters/restate/fork.ts'
import type { EventStore } from '../../src/adapters/eventstore/index.ts'
import { encode, type JournalEvent } from '../../src/journal/index.ts'
import { approval, begin, claim, onBothStores, settledText, started, type Attempt } from './hand.ts'

const text = (event: object): string => encode(event as JournalEvent)
const done = (address: string, output: unknown = 1): string =>
  text({ type: 'step.settled', address, outcome: { status: 'completed', output } })
const once = (address: string): string => text({ type: 'step.begun', op: 'step', address, effect: 'once' })
const worker = (address: string): string => text({ type: 'worker.started', op: 'worker', address, agent: 'w' })

const forkId = (): RunId => runId(newId('run'))
const planned =
  (request: ForkRun) =>
  (origin: ForkOrigin): ReturnType<typeof newFork> =>
    newFork(planFork(request, origin, 2_000), request.run, 2_000, (each) => each)
const forked = (store: EventStore, request: ForkRun): Promise<boolean> => store.fork(request, planned(request))
const lastOf = async (store: EventStore, run: RunId): Promise<number> => (await store.read(run, 0)).at(-1)!.position
const valued = (run: RunId, key: string, value: number, version: number) =>
  ({
    stream: runStream(run),
    key,
    value,
    expected: version - 1,
    by: { run, once: `${key}${version}` },
    event: text({ type: 'value.updated', key, value, version, by: run }),
    at: 1_000,
  }) as const

/** What stands in a store of a run. */
const all = async (store: EventStore, run: RunId) => [await store.read(run, 0), await store.summary(run), await store.questions({ run })]

onBothStores((place) => {
  test('K1: everything is there in one transaction, nothing of the origin is written; the same again changes nothing', async () => {
    const store = await place.store()
    const root = await begin(store, { turns: 9 })
    await root.written({ opened: [approval('q')] }, [once('s'), done('s')])
    const run = root.run
    const [before, to] = [await all(store, run), forkId()]
    const request = { run, at: await lastOf(store, run), to }
    expect(await forked(store, request)).toBe(true)
    expect(await forked(store, request)).toBe(false)
    expect(await all(store, run)).toEqual(before)
    const feed = await store.read(to, 0)
    expect(feed.map(({ event, seq }) => [event.type, seq])).toEqual([
      ['activation.started', 0],
      ['step.begun', 1],
      ['step.settled', 2],
      ['run.forked', 3],
    ])
    expect(feed.map(({ position }) => position - feed[0]!.position)).toEqual([0, 1, 2, 3])
    const claimed = (await claim(store, rootActivation(to))).claimed
    expect(claimed.accounts).toMatchObject([{ activation: rootActivation(to), state: { limits: { turns: 9 } }, since: null }])
    expect(claimed.caller).toEqual({ user: 'u' })
    // whoever had the origin still has it
    await root.written({}, [once('t')])
  })

  test('K1: what is wrong with a fork is said, and nothing of it is there', async () => {
    const store = await place.store()
    const root = await begin(store)
    const to = forkId()
    await expect(forked(store, { run: root.run, at: 1_000_000, to })).rejects.toMatchObject({ code: 'fork.invalid' })
    await expect(forked(store, { run: forkId(), at: 1, to })).rejects.toMatchObject({ code: 'run.unknown' })
    expect(await store.summary(to)).toBeUndefined()
    expect(await forked(store, { run: root.run, at: await lastOf(store, root.run), to })).toBe(true)
  })

  test('K6: whoever takes an activation of a fork over is told what the origin has done, in others nothing; a removed fork leaves nothing behind', async () => {
    const store = await place.store()
    const root = await begin(store)
    const { run } = root
    const at = await lastOf(store, run)
    await root.written({}, [once('s'), done('s', 7)])
    await (await root.child('w')).written({}, [once('deep')])
    const request = { run, at, to: forkId() }
    await forked(store, request)
    const mine = await claim(store, rootActivation(request.to))
    const there = (id: ActivationId, address: string): string => `${id} ${address}`
    const expected = new Map([
      [there(mine.id, 's'), { run, outcome: { status: 'completed', output: 7 } }],
      [there(childActivation(mine.id, 'w'), 'deep'), { run }],
    ])
    expect(mine.claimed.doneElsewhere).toEqual(expected)
    expect((await mine.child('w')).claimed.doneElsewhere).toEqual(expected)
    expect((await claim(store, root.id)).claimed.doneElsewhere).toBeUndefined()
    await mine.written({ settled: 'completed' }, [settledText])
    await store.remove(request.to)
    await store.create({ run: request.to, agent: 'a', version: '1', caller: undefined, limits: undefined, first: started(), at: 1_000 })
    expect((await claim(store, rootActivation(request.to))).claimed.doneElsewhere).toBeUndefined()
  })

  test('K5: workers below: one that is at work goes on, one that had ended tells its leader, one that was being born is born', async () => {
    const store = await place.store()
    const root = await begin(store)
    const { run } = root
    // their births come after all of the commit that they are born with
    await root.written({}, [worker('ended'), worker('works')])
    const children: Attempt[] = []
    for (const address of ['ended', 'works']) children.push(await root.child(address))
    await children[0]!.written({ settled: 'completed' }, [settledText])
    const first = text({ type: 'activation.started', agent: 'w', version: '2', input: 'born' })
    const birth = { agent: 'w', version: '2', path: ['a', 'w'], limits: { turns: 3 }, first, at: 1_000 }
    await root.written({ births: [{ id: childActivation(root.id, 'unborn'), ...birth }] }, [worker('unborn'), worker('nobody')])
    const at = (await store.read(run, 0)).findLast(({ event }) => event.type === 'worker.started')!.position
    expect(at).toBeLessThan(await lastOf(store, run))
    const to = forkId()
    await forked(store, { run, at, to })
    const { claimed, id } = await claim(store, rootActivation(to))
    expect(claimed.unborn.map((each) => each.id)).toEqual(['works', 'unborn'].map((address) => childActivation(id, address)))
    expect(claimed.rows.map(({ key, body }) => [key, (JSON.parse(body) as { outcome: object }).outcome])).toMatchObject([
      ['end:ended', { status: 'completed', output: 7 }],
      ['end:nobody', { status: 'failed' }],
    ])
    const born = await claim(store, childActivation(id, 'unborn'))
    expect(born.claimed).toMatchObject({ version: '2', path: ['a', 'w'], accounts: [{ state: { limits: { turns: 3 } } }] })
    expect(born.claimed.log).toMatchObject([{ seq: 0, event: { type: 'activation.started', agent: 'w', input: 'born' } }])
    expect((await claim(store, childActivation(id, 'ended'))).claimed.settled).toBe(true)
    expect(await store.sentinels('', Number.MAX_SAFE_INTEGER, 1_000)).not.toContainEqual(
      expect.objectContaining({ id: childActivation(id, 'ended') }),
    )
  })

  test('K1: values are those of the fork point by what the journal says, also where the clock stands still', async () => {
    const store = await place.store()
    const root = await begin(store)
    const { run } = root
    await store.writeValue(valued(run, 'a', 1, 1))
    await root.written({}, [once('value.update:a'), done('value.update:a', 1)])
    const at = await lastOf(store, run)
    await store.writeValue(valued(run, 'a', 2, 2))
    await store.writeValue(valued(run, 'b', 3, 1))
    await root.written({}, [once('value.update:a#1'), done('value.update:a#1', 2)])
    const valuesOf = async (position: number): Promise<unknown[]> => {
      const to = forkId()
      await forked(store, { run, at: position, to })
      return [(await store.value(runStream(to), 'a')).value, (await store.value(runStream(to), 'b')).value]
    }
    expect(await valuesOf(at)).toEqual([1, null])
    expect(await valuesOf(await lastOf(store, run))).toEqual([2, null])
    expect((await store.value(runStream(run), 'b')).value).toBe(3)
  })

  test('K1: while the origin is written to: what is under way in it is in its inbox or in its log, never in neither', async () => {
    const [store, other] = [await place.store(), await place.store()]
    const root = await begin(store)
    const { run } = root
    const ids = Array.from({ length: 20 }, () => newId('msg'))
    await root.written({}, [worker('w')])
    const child = await root.child('w')
    await root.written(
      {
        posts: ids.map((id) => ({
          to: child.id,
          key: id,
          body: JSON.stringify({ type: 'message', id, from: root.id, body: id }),
          refusable: true,
        })),
      },
      ids.map((id, i) => text({ type: 'message.sent', op: 'send', address: `!send#${i}`, to: child.id, id })),
    )
    const at = await lastOf(store, run)
    const takes = (async (): Promise<void> => {
      for (const id of ids) await child.written({ taken: [id] }, [text({ type: 'message.received', id, from: root.id, body: id })])
    })()
    const forks = ids.slice(0, 8).map(() => ({ run, at, to: forkId() }))
    for (const request of forks) await forked(other, request)
    await takes
    for (const { to } of forks) {
      const { claimed, id } = await claim(other, childActivation(rootActivation(to), 'w'))
      expect(claimed.rows.map(({ key }) => key)).toEqual(ids)
      expect(JSON.parse(claimed.rows[0]!.body)).toMatchObject({ from: rootActivation(to) })
      expect(id.startsWith(rootActivation(to))).toBe(true)
    }
  })
})
