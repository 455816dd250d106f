/** What comes in: answers, deadlines, messages, commands, and who is told. */
import { expect, test } from 'vitest'
import { childActivation, type ActivationId } from '../../src/core/index.ts'
import { answer, approval, begin, begun, claim, onBothStores, settledText, type Attempt } from './hand.ts'

const message = (to: ActivationId, key: string, refusable = true): { to: ActivationId; key: string; body: string; refusable: boolean } => ({
  to,
  key,
  body: JSON.stringify({ type: 'message', id: key }),
  refusable,
})
const bodies = async (attempt: Attempt, now = 1_000): Promise<unknown[]> =>
  (await attempt.pulled(now)).rows.map(({ body }) => JSON.parse(body) as unknown)

onBothStores((place) => {
  test('K2: of 20 answers at once one wins, and it is the one that is delivered', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const root = await begin(one)
    await root.written({ opened: [approval('a')], resting: true })
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : two).post(answer(root.id, 'a', `n${i}`))))
    expect(results.filter(({ result }) => result === 'accepted')).toHaveLength(1)
    expect(results.filter(({ result }) => result === 'lost')).toHaveLength(19)
    const winner = results.findIndex(({ result }) => result === 'accepted')
    expect(await bodies(root)).toEqual([{ type: 'answer', address: 'a', body: `n${winner}` }])
    // All of them tell: one that crashed in between is told for by the others.
    expect(results.every(({ wake }) => wake === `inv_${root.id}`)).toBe(true)
    await root.written({ taken: ['ask:a'], closed: ['a'] })
    expect(await one.post(answer(root.id, 'a'))).toEqual({ result: 'lost' })
    expect(await one.post(answer(root.id, 'b'))).toEqual({ result: 'closed' })
    expect(await one.post(answer(childActivation(root.id, 'nobody'), 'b'))).toEqual({ result: 'unknown' })
  })

  test('K2: an answer at the deadline counts, one after it has lost, and the deadline is what arrives', async () => {
    const store = await place.store()
    const root = await begin(store)
    await root.written({ opened: [approval('at', 2_000), approval('after', 2_000)] })
    expect(await store.post(answer(root.id, 'at', 'yes', 2_000))).toMatchObject({ result: 'accepted' })
    expect(await store.post(answer(root.id, 'after', 'yes', 2_001))).toMatchObject({ result: 'lost', wake: `inv_${root.id}` })
    expect(await bodies(root)).toEqual([
      { type: 'answer', address: 'at', body: 'yes' },
      { type: 'deadline', address: 'after' },
    ])
    expect((await root.pulled(9_000)).due).toBeUndefined()
  })

  test('K2: the clock answers what nobody has, once', async () => {
    const store = await place.store()
    const root = await begin(store)
    const timer = { ...approval('t', 2_000), kind: 'timer' as const }
    expect(await root.written({ opened: [timer, approval('a', 2_000)] })).toMatchObject({ due: 2_000 })
    expect(await root.pulled(1_999)).toMatchObject({ rows: [], due: 2_000 })
    expect(await bodies(root, 2_000)).toEqual([{ type: 'deadline', address: 't' }])
    expect(await root.written({ taken: ['ask:t'], closed: ['t'] })).toMatchObject({ due: 2_001 })
    expect(await bodies(root, 2_001)).toEqual([{ type: 'deadline', address: 'a' }])
    expect(await bodies(root, 2_002)).toHaveLength(1)
    expect(await store.post(answer(root.id, 'a'))).toMatchObject({ result: 'lost' })
    expect(await root.written()).toMatchObject({ due: undefined })
  })

  test('K2: an answer and the deadline race for one row', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const root = await begin(one)
    for (let i = 0; i < 20; i++) {
      const address = `a${i}`
      await root.written({ opened: [approval(address, 2_000)] })
      const [posted, pulled] = await Promise.all([two.post(answer(root.id, address, 'yes', 2_000)), one.pull(root.id, 1, 2_001)])
      expect(pulled).not.toBe('fenced')
      const rows = (await root.pulled(2_001)).rows.filter(({ key }) => key === `ask:${address}`)
      expect(rows).toHaveLength(1)
      expect((JSON.parse(rows[0]!.body) as { type: string }).type).toBe(posted.result === 'accepted' ? 'answer' : 'deadline')
      await root.written({ taken: [`ask:${address}`], closed: [address] })
    }
  })

  test('K2: a question is found by its kind; what diverged is found by its activation', async () => {
    const store = await place.store()
    const root = await begin(store)
    const doubt = { ...approval('s'), kind: 'in-doubt' as const, key: 'doubt:s#1' }
    const diverged = { ...approval('gone'), kind: 'diverged' as const, key: '!diverged:gone' }
    await root.written({ opened: [{ ...approval('s') }, doubt, diverged], stuck: 'replay.diverged: gone' })
    expect(await store.summary(root.run)).toMatchObject({ status: 'stuck', reason: 'replay.diverged: gone' })
    expect((await store.stuck()).map(({ id }) => id)).toContain(root.id)
    expect(await store.post({ ...answer(root.id, 's'), kinds: ['in-doubt'] })).toMatchObject({ result: 'accepted' })
    expect(await store.post({ ...answer(root.id, 'something else'), kinds: ['diverged'] })).toMatchObject({ result: 'accepted' })
    expect((await root.pulled()).rows.map(({ key }) => key)).toEqual(['doubt:s#1', '!diverged:gone'])
    expect((await store.questions({ run: root.run })).map(({ kind }) => kind)).toEqual(['approval', 'in-doubt', 'diverged'])
    expect(await store.questions({ id: doubt.id })).toEqual([
      {
        id: doubt.id,
        kind: 'in-doubt',
        run: root.run,
        activation: root.id,
        address: 's',
        askedAt: 1_000,
        answered: true,
        body: JSON.parse(doubt.body) as unknown,
      },
    ])
    expect((await claim(store, root.id)).claimed).toMatchObject({ stuck: true, asked: [expect.any(String), doubt.id, diverged.id] })
    await (await claim(store, root.id)).written({ stuck: null })
    expect(await store.summary(root.run)).not.toHaveProperty('reason')
  })

  test('K2: a command goes to a run once, until the run has ended', async () => {
    const store = await place.store()
    const root = await begin(store)
    const cancel = { target: 'run', to: root.id, key: '!cancel', body: '{"type":"cancel"}', now: 1 } as const
    expect(await store.post(cancel)).toEqual({ result: 'accepted', wake: `inv_${root.id}` })
    expect(await store.post(cancel)).toEqual({ result: 'lost', wake: `inv_${root.id}` })
    await root.written({ taken: ['!cancel'] })
    expect(await store.post(cancel)).toEqual({ result: 'lost' })
    await root.written({ settled: 'cancelled' }, [settledText])
    expect(await store.post({ ...cancel, key: '!pause' })).toEqual({ result: 'closed' })
    expect(await store.post({ ...cancel, to: 'act_nobody' as ActivationId })).toEqual({ result: 'unknown' })
  })

  test('K2: a message from outside is delivered once, however often it is sent', async () => {
    const store = await place.store()
    const root = await begin(store)
    const post = { target: 'activation', to: root.id, key: 'msg:1', body: '{"n":1}', now: 1 } as const
    await root.written({ resting: true })
    expect(await store.post(post)).toEqual({ result: 'accepted', wake: `inv_${root.id}` })
    expect(await store.post({ ...post, body: '{"n":2}' })).toMatchObject({ result: 'accepted' })
    expect(await bodies(root)).toEqual([{ n: 1 }])
    await root.written({ taken: ['msg:1'], resting: true })
    expect(await store.post(post)).toEqual({ result: 'accepted' })
    expect((await root.pulled()).rows).toEqual([])
    const worker = childActivation(root.id, 'nobody')
    expect(await store.post({ ...post, to: worker })).toEqual({ result: 'unknown' })
  })

  test('K2: a key that was used before its row came stays used', async () => {
    const store = await place.store()
    const root = await begin(store)
    await root.written({ taken: ['msg:1', 'msg:1'] })
    await store.post({ target: 'activation', to: root.id, key: 'msg:1', body: '{}', now: 1 })
    expect((await root.pulled()).rows).toEqual([])
  })

  test('K2: messages ride in the sender’s commit, in order, and tell the receiver once until it has looked', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    await worker.written({ resting: true })
    expect((await root.written({ posts: [message(worker.id, 'm1'), message(worker.id, 'm2')] })).wakes).toEqual([`inv_${worker.id}`])
    expect((await root.written({ posts: [message(worker.id, 'm3')] })).wakes).toEqual([])
    // Whoever told may have died before it did: the next attempt tells again.
    expect((await claim(store, root.id)).claimed.wakes).toEqual([`inv_${worker.id}`])
    expect((await worker.pulled()).rows.map(({ key }) => key)).toEqual(['m1', 'm2', 'm3'])
    const again = await claim(store, root.id)
    expect(again.claimed.wakes).toEqual([])
    expect((await again.written({ posts: [message(worker.id, 'm3')] })).wakes).toEqual([])
    expect((await again.written({ posts: [message(worker.id, 'm4')] })).wakes).toEqual([`inv_${worker.id}`])
  })

  test('K2: a message that nobody can take comes back to its sender in the same transaction', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    await worker.written({ settled: 'completed' }, [settledText])
    const nobody = childActivation(root.id, 'nobody')
    const written = await root.written({
      posts: [message(worker.id, 'm1'), message(nobody, 'm2'), message(nobody, 'm3', false)],
      resting: true,
    })
    expect(written.wakes).toEqual([`inv_${root.id}`])
    expect(await bodies(root)).toEqual([
      { type: 'refused', id: 'm1', reason: 'closed' },
      { type: 'refused', id: 'm2', reason: 'unknown' },
    ])
  })

  test('K2: messages reach activations of other runs, also when both send at once', async () => {
    const [one, two] = [await place.store(), await place.store()]
    const [a, b] = [await begin(one), await begin(two)]
    await Promise.all(
      Array.from({ length: 15 }, (_, i) => i).flatMap((i) => [
        one.commit(a.draft({ posts: [message(b.id, `m${i}`)] })),
        two.commit(b.draft({ posts: [message(a.id, `m${i}`)] })),
      ]),
    )
    expect([(await a.pulled()).rows.length, (await b.pulled()).rows.length]).toEqual([15, 15])
    await b.written({ settled: 'completed' }, [settledText])
    await a.written({ posts: [message(b.id, 'late')] })
    expect((await a.pulled()).rows.at(-1)).toMatchObject({ key: 'refused:late' })
  })

  test('K2: mail that comes between a look and a commit is not slept through', async () => {
    const store = await place.store()
    const root = await begin(store)
    await root.pulled()
    await store.post({ target: 'activation', to: root.id, key: 'msg:1', body: '{}', now: 1 })
    await root.written({ resting: true, opened: [approval('a')] })
    expect(await store.summary(root.run)).toMatchObject({ status: 'running' })
    expect((await root.pulled()).rows).toHaveLength(1)
    await root.written({ resting: true, taken: ['msg:1'] })
    expect(await store.summary(root.run)).toMatchObject({ status: 'waiting' })
  })

  test('K6: a commit says that there is mail it has been told of and not looked at, and care finds that at once', async () => {
    const store = await place.store()
    const root = await begin(store)
    const found = async (): Promise<unknown[]> =>
      (await store.sentinels(root.id.slice(0, -1), 1, 1_000)).filter(({ id }) => id === root.id).map(({ unread }) => unread)
    expect(await root.written({ resting: true })).toMatchObject({ unread: false })
    expect(await found()).toEqual([])
    await store.post({ target: 'activation', to: root.id, key: 'msg:1', body: '{}', now: 1 })
    expect(await root.written({ resting: true })).toMatchObject({ unread: true })
    expect(await root.written({ resting: true })).toMatchObject({ unread: true })
    expect(await found()).toEqual([true])
    await root.pulled()
    expect(await root.written({ resting: true, taken: ['msg:1'] })).toMatchObject({ unread: false })
    expect(await found()).toEqual([])
    await store.post({ target: 'activation', to: root.id, key: 'msg:2', body: '{}', now: 1 })
    expect(await root.written({ settled: 'completed' }, [settledText])).toMatchObject({ unread: false })
    expect(await found()).toEqual([])
  })

  test('K6: whoever died after its last word tells those it has posted to when it is claimed again, while the run goes on', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    await worker.written({ settled: 'completed', posts: [message(root.id, 'done')] }, [settledText])
    expect((await claim(store, worker.id)).claimed).toMatchObject({ settled: true, wakes: [`inv_${root.id}`] })
    await root.pulled()
    expect((await claim(store, worker.id)).claimed).toMatchObject({ settled: true, wakes: [] })
    await root.child('v')
    await root.written({ posts: [message(childActivation(root.id, 'v'), 'm')], settled: 'completed' }, [settledText])
    expect((await claim(store, root.id)).claimed).toMatchObject({ settled: true, wakes: [] })
  })

  test('K8: a run waits when everybody in it rests and somebody outside is asked', async () => {
    const store = await place.store()
    const root = await begin(store)
    const worker = await root.child('w')
    const status = async (): Promise<string | undefined> => (await store.summary(root.run))?.status
    await root.written({ resting: true, opened: [{ ...approval('t', 9_000), kind: 'timer' }] })
    expect(await worker.written({ resting: true })).toMatchObject({ othersRest: true })
    expect(await status()).toBe('running')
    await worker.written({ resting: true, opened: [approval('a')] })
    expect(await status()).toBe('waiting')
    expect(await worker.written({ working: true, resting: true })).toMatchObject({ othersRest: true })
    expect(await root.written({ resting: true })).toMatchObject({ othersRest: false })
    expect(await status()).toBe('running')
    await worker.written({ resting: true })
    await store.post(answer(worker.id, 'a'))
    expect(await status()).toBe('running')
    expect(await root.pulled()).toMatchObject({ othersRest: false })
  })

  test('K8: a change of the pause is told to everybody, and the root is told when all others rest', async () => {
    const store = await place.store()
    const root = await begin(store)
    const [one, two] = [await root.child('one'), await root.child('two')]
    await two.written({ working: true })
    const paused = await root.written({ control: { at: 'next', reached: false }, resting: true }, [begun('x')])
    expect(paused.control).toEqual({ at: 'next', reached: false })
    expect([...paused.wakes].sort()).toEqual([`inv_${one.id}`, `inv_${two.id}`])
    expect(await store.summary(root.run)).toMatchObject({ status: 'pausing' })
    expect((await claim(store, root.id)).claimed.control).toEqual({ at: 'next', reached: false })
    expect((await one.pulled()).control).toEqual({ at: 'next', reached: false })
    expect((await one.written({ resting: true })).wakes).toEqual([])
    // Who has not looked at it yet does not rest.
    expect((await two.written({ resting: true })).wakes).toEqual([])
    await two.pulled()
    expect(await two.written({ resting: true })).toMatchObject({ wakes: [`inv_${root.id}`], othersRest: false })
    const again = await claim(store, root.id)
    expect(await again.written({ control: { at: 'next', reached: true }, resting: true })).toMatchObject({ othersRest: true })
    expect(await store.summary(root.run)).toMatchObject({ status: 'paused' })
    expect((await two.written({ resting: true })).wakes).toEqual([])
    expect([...(await again.written({ control: null })).wakes].sort()).toEqual([`inv_${one.id}`, `inv_${two.id}`])
    expect(await store.summary(root.run)).toMatchObject({ status: 'running' })
  })
})
