/** Store contract: opening and closing, the clock, what is said of failures. */
import assert from 'node:assert/strict'
import { ReeveError, systemClock } from '@reeve/core'
import { until } from '../engine/stage.ts'
import { root, run, started, type StorePlay } from './stage.ts'

const one = run('r1')

export const openCases: readonly StorePlay[] = [
  {
    invariant: 'K1',
    name: 'a new store is empty, has a name, and is still the one that was opened',
    async play(stage) {
      const { store } = await stage.open()
      assert.deepEqual(
        [await store.queries.summaries(), await store.queries.questions(), await store.changed()],
        [[], [], undefined],
      )
      assert.ok(store.name.length > 0)
      store.mustHaveRules()
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'a store has one id for all processes, for ever',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      const id = await a.store.id()
      assert.match(id, /^sto_/)
      assert.equal(await b.store.id(), id)
      await stage.close(a)
      await stage.close(b)
      assert.equal(await (await stage.open()).store.id(), id)
    },
  },
  {
    invariant: 'K1',
    shared: true,
    name: 'what was written is there when it is opened again',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).ask(root(one), 'q').message(root(one), 'm'))
      await stage.close(a)
      const b = await stage.open()
      const { past, mail, questions } = await b.take(one)
      assert.deepEqual([past.lastEvent(root(one)), mail.length, questions], [started(), 1, 1])
    },
  },
  {
    invariant: 'K1',
    name: 'a store that is closed takes and gives nothing, and says so as a store',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await stage.close(a)
      for (const work of [
        () => a.commit((draft) => draft.begin(run('r2'))),
        () => a.claim(one),
        () => a.store.unread(new Map()),
        () => a.store.reader.run(one),
        () => a.store.reader.feed(one, 0),
        () => a.store.lease.beat(),
        () => a.store.remove(one),
      ])
        assert.match((await a.fails(async () => work())).code, /^store\./)
    },
  },
  {
    invariant: 'K1',
    name: 'every thrown error becomes a store error; a ReeveError stays what it is',
    async play(stage) {
      const { store } = await stage.open()
      const own = new ReeveError('store.full', 'full')
      assert.equal(store.errorOf(own), own)
      const other = store.errorOf(new Error('something'))
      assert.deepEqual(
        [other.code, other.retryable, store.isRefusal(new Error('something'))],
        ['store.unavailable', true, false],
      )
      assert.ok(other.message.includes('something') && other.message.includes(store.name))
      const refused = store.refusedBy(new Error('too long'), undefined)
      assert.deepEqual([refused.code, refused.retryable], ['store.refused', false])
    },
  },
  {
    invariant: 'K10',
    shared: true,
    name: 'a store that one process redacts is never written by one without rules, in either order',
    async play(stage) {
      const before = await stage.open()
      before.store.mustHaveRules()
      const a = await stage.open({ redact: { values: ['s3cret'] } })
      a.store.mustHaveRules()
      for (const { store } of [before, await stage.open()]) {
        await until('it knows that the store is redacted', async () => {
          await store.changed()
          try {
            store.mustHaveRules()
            return false
          } catch (thrown) {
            return ReeveError.is(thrown, 'store.redacted')
          }
        })
      }
    },
  },
  {
    invariant: 'K3',
    name: 'where there is a clock that is not the system’s it is the time',
    async play(stage) {
      const own = await stage.open()
      assert.equal(own.store.time(), stage.clock.now())
      stage.clock.advance(5_000)
      assert.equal(own.store.time(), stage.clock.now())
    },
  },
  {
    invariant: 'K3',
    shared: true,
    name: 'the time of a process on the system’s clock is the system’s',
    async play(stage) {
      const { store } = await stage.open({ clock: systemClock })
      assert.ok(Math.abs(store.time() - systemClock.now()) < 5_000)
    },
  },
]
