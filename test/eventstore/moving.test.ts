/** Creating, claiming, committing, reading: what one attempt does to its activation, and what happens to one that has lost it. */
import { expect, test } from 'vitest'
import { childActivation, rootActivation, type RunId } from '../../src/core/index.ts'
import { answer, approval, begin, begun, claim, onBothStores, settledText, started } from './hand.ts'

onBothStores((place) => {
  test('K1: a run is created once, and its feed has every entry in the order of its commits', async () => {
    const store = await place.store()
    const root = await begin(store, undefined, started({ q: 'hällo \u0000 \ud800 🙂' }))
    const again = { run: root.run, agent: 'b', version: '2', caller: undefined, limits: undefined, first: started(), at: 9 }
    expect(await store.create(again)).toBe(false)
    expect(root.claimed).toMatchObject({
      epoch: 1,
      agent: 'a',
      version: '1',
      path: ['a'],
      caller: { user: 'u' },
      settled: false,
      stuck: false,
    })
    expect(root.claimed.log.map(({ event }) => event.type)).toEqual(['activation.started'])
    await root.written({}, [begun('x'), begun('y')])
    const worker = await root.child('w')
    expect(worker.claimed).toMatchObject({ agent: 'w', path: ['a', 'w'], caller: { user: 'u' } })
    await worker.written({}, [begun('z')])
    await root.written({}, [begun('v')])
    const feed = await store.read(root.run, 0)
    expect(feed.map(({ position, activation, seq }) => [position, activation, seq])).toEqual([
      [1, root.id, 0],
      [2, root.id, 1],
      [3, root.id, 2],
      [4, worker.id, 0],
      [5, worker.id, 1],
      [6, root.id, 3],
    ])
    expect(feed[0]!.event).toMatchObject({ input: { q: 'hällo \u0000 \ud800 🙂' } })
    expect((await store.read(root.run, 4)).map(({ position }) => position)).toEqual([5, 6])
    expect(await store.first(root.run)).toMatchObject({ type: 'activation.started' })
    expect(await store.tip(root.run)).toMatchObject({ position: 6, ended: false, generation: 0 })
    expect(await store.tip('nobody' as RunId)).toBeUndefined()
    expect((await claim(store, root.id)).claimed.log.map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
  })

  test('K1: positions are gapless though many activations commit at once', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const root = await begin(one)
    const ids = Array.from({ length: 6 }, (_, i) => childActivation(root.id, `w${i}`))
    const birth = { agent: 'w', version: '1', path: ['a', 'w'], limits: undefined, first: started(), at: 1 }
    await root.written({ births: ids.map((id) => ({ ...birth, id })) })
    const workers = await Promise.all(ids.map((id, i) => claim(i % 2 === 0 ? one : two, id)))
    await Promise.all(
      workers.map(async (worker) => {
        for (let i = 0; i < 10; i++) await worker.written({}, [begun(`s${i}`), begun(`t${i}`)])
      }),
    )
    const feed = await one.read(root.run, 0)
    expect(feed.map(({ position }) => position)).toEqual(Array.from({ length: 127 }, (_, i) => i + 1))
    for (const id of ids)
      expect(feed.filter(({ activation }) => activation === id).map(({ seq }) => seq)).toEqual(Array.from({ length: 21 }, (_, i) => i))
  })

  test('K1: many entries and births in one commit keep their order', async () => {
    const store = await place.store()
    const root = await begin(store)
    const birth = { agent: 'w', version: '1', path: ['a', 'w'], limits: { turns: 1 }, first: started(), at: 1 }
    const births = Array.from({ length: 450 }, (_, i) => ({ ...birth, id: childActivation(root.id, `w${i}`) }))
    const texts = Array.from({ length: 450 }, (_, i) => begun(`s${i}`))
    await root.written({ births }, texts)
    const feed = await store.read(root.run, 0)
    expect(feed).toHaveLength(901)
    expect(feed.map(({ position }) => position)).toEqual(feed.map((_, i) => i + 1))
    expect((await claim(store, root.id)).claimed.unborn.map(({ id }) => id)).toEqual(births.map(({ id }) => id))
  })

  test('K1: a birth that is there already takes no position', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    const birth = { id: worker.id, agent: 'w', version: '1', path: ['a', 'w'], limits: undefined, first: started(), at: 1 }
    await root.written({ births: [birth] }, [begun('x')])
    await root.written({}, [begun('y')])
    expect((await store.read(root.run, 0)).map(({ position }) => position)).toEqual([1, 2, 3, 4])
  })

  test('K2: whoever claims fences whoever had it, and nothing of a fenced commit is written', async () => {
    const store = await place.store()
    const first = await begin(store)
    const second = await claim(store, first.id)
    expect(second.claimed.epoch).toBe(2)
    expect(await first.commit({ posts: [{ to: first.id, key: 'm', body: '{}', refusable: false }] }, [begun('x')])).toEqual({
      status: 'fenced',
    })
    expect(await store.pull(first.id, 1, 1_000)).toBe('fenced')
    expect([await store.holds(first.id, 1), await store.holds(first.id, 2)]).toEqual([false, true])
    expect((await second.pulled()).rows).toEqual([])
    await second.written({}, [begun('y')])
    expect((await store.read(first.run, 0)).map(({ position }) => position)).toEqual([1, 2])
  })

  test('K2: of attempts that claim and commit at the same time only the last claim writes', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const root = await begin(one)
    const attempts = await Promise.all(Array.from({ length: 8 }, (_, i) => claim(i % 2 === 0 ? one : two, root.id)))
    expect(new Set(attempts.map(({ claimed }) => claimed.epoch)).size).toBe(8)
    const results = await Promise.all(attempts.map((attempt) => attempt.commit({}, [begun('x')])))
    expect(results.filter(({ status }) => status === 'written')).toHaveLength(1)
    expect(await one.read(root.run, 0)).toHaveLength(2)
  })

  test('K2: an attempt of another generation is not given the activation', async () => {
    const store = await place.store()
    const root = await begin(store)
    expect(await store.claim(root.id, 1, 'inv', 1)).toBeUndefined()
    expect(await store.handOver(root.id, 7)).toBeUndefined()
    expect(await store.handOver(root.id, root.claimed.epoch)).toBe(1)
    expect(await store.claim(root.id, 0, 'inv', 1)).toBeUndefined()
    const next = await claim(store, root.id, 1)
    expect(next.claimed.epoch).toBe(2)
  })

  test('K2: of two invocations of one generation the first has it, until somebody buries it or it hands over', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = childActivation(root.id, 'w')
    const birth = { agent: 'w', version: '1', path: ['a', 'w'], limits: undefined, first: started(), at: 1 }
    await root.written({ births: [{ ...birth, id: worker }] })
    const taken = async (generation: number, word: string): Promise<number | undefined> =>
      (await store.claim(worker, generation, word, 1))?.epoch
    expect(await taken(0, 'inv_1#000001')).toBe(1)
    expect(await taken(0, 'inv_2#000001')).toBeUndefined()
    expect(await taken(0, 'inv_1')).toBe(2)
    expect(await taken(0, 'inv_1#000002')).toBe(3)
    expect(await store.holds(worker, 3)).toBe(true)
    expect(await store.bury(worker, 'inv_1#000002')).toBe(1)
    // It lives after all, and looks: that does not keep its successor out.
    expect(await store.pull(worker, 3, 1, 'inv_1#000003')).toMatchObject({ rows: [] })
    expect(await taken(1, 'inv_2#000001')).toBe(4)
    expect(await taken(1, 'inv_1#000004')).toBeUndefined()
    expect(await store.handOver(worker, 4)).toBe(2)
    expect(await taken(2, 'inv_3#000001')).toBe(5)
  })

  test('K2: handing over is idempotent: asked again it is the same generation, and after the successor’s claim none', async () => {
    const store = await place.store()
    const root = await begin(store)
    const { epoch } = root.claimed
    expect([await store.handOver(root.id, epoch), await store.handOver(root.id, epoch)]).toEqual([1, 1])
    expect(await store.tip(root.run)).toMatchObject({ generation: 1, begun: false })
    const next = await claim(store, root.id, 1)
    expect(await store.handOver(root.id, epoch)).toBeUndefined()
    expect(await store.handOver(root.id, next.claimed.epoch)).toBe(2)
  })

  test('K1: a commit whose first writing was not heard of is not written twice', async () => {
    const store = await place.store()
    const root = await begin(store)
    const draft = root.draft({}, [begun('x')])
    expect((await store.commit(draft)).status).toBe('written')
    expect(await store.commit(draft)).toEqual({ status: 'moved' })
    await expect(store.commit({ ...draft, entries: [{ seq: 5, at: 1, text: begun('y') }] })).rejects.toMatchObject({ code: 'journal.hole' })
    expect(await store.read(root.run, 0)).toHaveLength(2)
  })

  test('K7: after its last word an activation writes nothing, and the root’s ends the run', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    await root.written({ opened: [approval('a')] })
    await worker.written({ opened: [approval('b')], settled: 'failed' }, [settledText])
    expect(await store.questions({ run: root.run })).toHaveLength(1)
    expect(await worker.commit({}, [begun('x')])).toEqual({ status: 'moved' })
    expect((await claim(store, worker.id)).claimed).toMatchObject({ settled: true, epoch: 1 })
    expect(await store.end(root.run)).toBeUndefined()
    expect(await root.written({ now: 5_000, settled: 'completed', control: { at: 'next', reached: true } }, [settledText])).toMatchObject({
      control: undefined,
      due: undefined,
    })
    expect(await store.end(root.run)).toEqual({ outcome: { status: 'completed', output: 7 }, usage: [] })
    expect(await store.summary(root.run)).toMatchObject({ status: 'completed', endedAt: 5_000 })
    expect(await store.questions({ run: root.run })).toEqual([])
    expect(await root.commit()).toEqual({ status: 'moved' })
    expect(await store.tip(root.run)).toMatchObject({ ended: true })
    expect(await store.post(answer(root.id, 'a'))).toEqual({ result: 'closed' })
    expect((await claim(store, root.id)).claimed.settled).toBe(true)
  })

  test('K7: when the root has settled, workers that have not are over, too', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    await root.written({ settled: 'cancelled' }, [settledText])
    expect(await worker.commit({}, [begun('x')])).toEqual({ status: 'moved' })
    expect((await claim(store, worker.id)).claimed.settled).toBe(true)
    expect(await store.sentinels('', 1e15, 1_000)).not.toContainEqual(expect.objectContaining({ id: worker.id }))
    expect(await store.bury(worker.id, `inv_${worker.id}`)).toBeUndefined()
  })

  test('K2: nobody is given what is not there', async () => {
    const store = await place.store()
    const nobody = rootActivation('nobody' as RunId)
    expect(await store.claim(nobody, 0, 'inv', 1)).toBeUndefined()
    expect(await store.pull(nobody, 1, 1)).toBe('fenced')
    expect(await store.holds(nobody, 1)).toBe(false)
    const root = await begin(store)
    expect(await store.commit({ ...root.draft(), activation: nobody })).toEqual({ status: 'gone' })
    expect(await store.commit({ ...root.draft(), activation: childActivation(root.id, 'x') })).toEqual({ status: 'gone' })
    expect(await store.summary('nobody' as RunId)).toBeUndefined()
    expect(await store.read('nobody' as RunId, 0)).toEqual([])
    await expect(store.remove('nobody' as RunId)).rejects.toMatchObject({ code: 'run.unknown' })
  })

  test('K6: care finds whoever is not moved, and a dead invocation is buried once', async () => {
    const store = await place.store()
    const root = await begin(store)
    const birth = { agent: 'w', version: '1', path: ['a', 'w'], limits: undefined, first: started(), at: 500 }
    const child = childActivation(root.id, 'w')
    await root.written({ now: 2_000, births: [{ ...birth, id: child }] })
    const mine = async (before: number): Promise<unknown[]> =>
      (await store.sentinels(`act_${root.run}`.slice(0, -1), before, 10)).filter(({ id }) => id.startsWith(root.id))
    expect(await mine(2_000)).toMatchObject([{ id: child, invocation: null, generation: 0, build: null, unread: false }])
    expect((await mine(2_001)).map((each) => (each as { id: string }).id)).toEqual([root.id, child])
    expect((await store.sentinels(root.id, 2_001, 1)).map(({ id }) => id)).toEqual([child])
    expect((await claim(store, root.id)).claimed.unborn).toEqual([{ id: child, generation: 0 }])
    expect(await store.bury(root.id, 'another')).toBeUndefined()
    expect(await store.bury(root.id, null)).toBeUndefined()
    expect(await store.bury(root.id, `inv_${root.id}`)).toBe(1)
    expect(await store.bury(root.id, `inv_${root.id}`)).toBeUndefined()
    expect(await store.bury(root.id, null)).toBe(2)
    // whoever looks after it begins the same workflow: that of the build which took it
    expect(await store.bury(root.id, null, 'v1')).toBe(3)
    expect(await mine(2_001)).toContainEqual(expect.objectContaining({ id: root.id, generation: 3, build: 'v1' }))
    expect(await store.bury(root.id, null, '')).toBe(4)
    expect(await mine(2_001)).toContainEqual(expect.objectContaining({ id: root.id, generation: 4, build: null }))
    await store.post({ target: 'activation', to: root.id, key: 'msg:1', body: '{}', now: 1 })
    const again = await claim(store, root.id, 4)
    expect(again.claimed.log).toHaveLength(1)
    await store.post({ target: 'activation', to: root.id, key: 'msg:2', body: '{}', now: 1 })
    const told = { id: root.id, invocation: `inv_${root.id}`, generation: 4, build: null, unread: true }
    expect(await mine(2_001)).toContainEqual(expect.objectContaining(told))
  })
})
