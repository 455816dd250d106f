/** Store contract: values are compared and set; a run writes once under its key. */
import assert from 'node:assert/strict'
import type { SessionId } from '@reeve/core'
import { runStream, streamOf } from '@reeve/engine'
import { root, run, stepped, type StorePlay, type StoreProcess } from './stage.ts'

const one = run('r1')
const stream = 'reg_x'

export const valueCases: readonly StorePlay[] = [
  {
    invariant: 'K1',
    name: 'a value that was never written has version 0 and is null; each write counts one on',
    async play(stage) {
      const a = await stage.open()
      assert.deepEqual(await a.store.reader.value(stream, 'k'), { version: 0, value: null })
      assert.deepEqual((await a.commit((draft) => draft.value(stream, 'k', 0, { n: 1 }))).values, [
        { status: 'written' },
      ])
      assert.deepEqual((await a.commit((draft) => draft.value(stream, 'k', 1, null))).values, [{ status: 'written' }])
      assert.deepEqual(await a.store.reader.value(stream, 'k'), { version: 2, value: null })
      assert.deepEqual(await a.store.reader.value('reg_y', 'k'), { version: 0, value: null })
    },
  },
  {
    invariant: 'K1',
    name: 'a write that expects another version changes nothing, also when both are in one commit',
    async play(stage) {
      const a = await stage.open()
      const { values } = await a.commit((draft) =>
        draft.value(stream, 'k', 0, 1).value(stream, 'k', 0, 2).value(stream, 'k', 1, 3).value(stream, 'k', 9, 4),
      )
      assert.deepEqual(
        values.map(({ status }) => status),
        ['written', 'moved', 'written', 'moved'],
      )
      assert.deepEqual(await a.store.reader.value(stream, 'k'), { version: 2, value: 3 })
    },
  },
  {
    invariant: 'K1',
    shared: true,
    name: 'of processes that write the same version at once one does; a hundred increments lose nothing',
    async play(stage) {
      const all = [await stage.open(), await stage.open(), await stage.open()]
      const add = async (a: StoreProcess): Promise<void> => {
        for (;;) {
          const { version, value } = await a.store.reader.value(stream, 'n')
          const { values } = await a.commit((draft) =>
            draft.value(stream, 'n', version, ((value as number | null) ?? 0) + 1),
          )
          if (values[0]?.status === 'written') return
        }
      }
      await Promise.all(
        all.map(async (each) => {
          for (let i = 0; i < 34; i++) await add(each)
        }),
      )
      assert.deepEqual(await all[0]!.store.reader.value(stream, 'n'), { version: 102, value: 102 })
    },
  },
  {
    invariant: 'K6',
    name: 'a run writes once under its key: a repeat returns the first value and its place',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(run('r2')))
      const by = { run: one, once: 'update:1' }
      assert.deepEqual((await a.commit((draft) => draft.holds(one).value(stream, 'k', 0, 'first', by))).values, [
        { status: 'written' },
      ])
      await a.commit((draft) => draft.value(stream, 'k', 1, 'other'))
      const [again] = (await a.commit((draft) => draft.holds(one).value(stream, 'k', 2, 'second', by))).values
      assert.ok(again?.status === 'repeated')
      assert.equal(await a.store.reader.written(stream, again.seq), 'first')
      assert.deepEqual(await a.store.reader.value(stream, 'k'), { version: 2, value: 'other' })
      const { values } = await a.commit((draft) =>
        draft
          .holds(one)
          .holds(run('r2'))
          .value(stream, 'k', 2, 'third', { run: one, once: 'update:2' })
          .value(stream, 'k', 3, 'fourth', { run: run('r2'), once: 'update:1' })
          .value('reg_y', 'k', 0, 'fifth', by),
      )
      assert.deepEqual(
        values.map(({ status }) => status),
        ['written', 'written', 'written'],
      )
    },
  },
  {
    invariant: 'K2',
    name: 'what a run writes that is another’s now is lost',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await a.take(one)
      const { values } = await a.commit((draft) =>
        draft.holds(one, 1).value(stream, 'k', 0, 1, { run: one, once: 'x' }),
      )
      assert.deepEqual(
        [values, await a.store.reader.value(stream, 'k')],
        [[{ status: 'lost' }], { version: 0, value: null }],
      )
    },
  },
  {
    invariant: 'K1',
    name: 'the keys of a stream are those that were written',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) =>
        draft.value(stream, 'b', 0, 1).value(stream, 'é', 0, 2).value(stream, 'a', 0, null).value('reg_xy', 'z', 0, 1),
      )
      assert.deepEqual([...(await a.store.reader.valueKeys(stream))].sort(), ['a', 'b', 'é'])
      assert.deepEqual(await a.store.reader.valueKeys('reg_none'), [])
    },
  },
  {
    invariant: 'K1',
    name: 'the values of a run go with it when it is removed, and those of its session stay',
    async play(stage) {
      const a = await stage.open()
      const caller = { session: 'ses_1' as SessionId }
      const session = streamOf(caller, one)
      await a.begin(one, { caller })
      await a.commit((draft) =>
        draft
          .holds(one)
          .value(runStream(one), 'k', 0, 1, { run: one, once: 'x' })
          .value(session, 'k', 0, 2, { run: one, once: 'x' })
          .end(one, 1),
      )
      await a.store.remove(one)
      assert.deepEqual(await a.store.reader.value(runStream(one), 'k'), { version: 0, value: null })
      assert.deepEqual(await a.store.reader.value(session, 'k'), { version: 1, value: 2 })
      // begun again it writes its own
      await a.begin(one, { caller })
      const { values } = await a.commit((draft) => draft.holds(one).value(session, 'k', 1, 3, { run: one, once: 'x' }))
      assert.deepEqual(values, [{ status: 'written' }])
    },
  },
  {
    invariant: 'K1',
    name: 'a fork is given its origin’s values as they were at a position of its feed',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      const mine = runStream(one)
      const by = (once: string): { run: typeof one; once: string } => ({ run: one, once })
      // as a run does: it writes, then its step has ended
      await a.commit((draft) =>
        draft.holds(one).value(mine, 'k', 0, 'early', by('1')).value(mine, 'l', 0, 'early', by('2')),
      )
      const { position } = await a.commit((draft) =>
        draft.holds(one).log(root(one), 1, stepped('value.update:k')).log(root(one), 2, stepped('value.update:l')),
      )
      await a.commit((draft) =>
        draft.holds(one).value(mine, 'k', 1, 'late', by('3')).value(mine, 'm', 0, 'late', by('4')),
      )
      await a.commit((draft) =>
        draft.holds(one).log(root(one), 3, stepped('value.update:k#1')).log(root(one), 4, stepped('value.update:m')),
      )
      const then = await a.store.reader.origin(one, position, (caller) => streamOf(caller, one))
      assert.deepEqual(Object.fromEntries(then!.values), { k: 'early', l: 'early' })
      const now = await a.store.reader.origin(one, Number.MAX_SAFE_INTEGER, (caller) => streamOf(caller, one))
      assert.deepEqual(Object.fromEntries(now!.values), { k: 'late', l: 'early', m: 'late' })
    },
  },
]
