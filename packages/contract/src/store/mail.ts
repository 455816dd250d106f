/** Store contract: mail is told in order, each row once for each claim; a run parks only if it was given everything. */
import assert from 'node:assert/strict'
import { until } from '../engine/stage.ts'
import { below, keysOf, lastOf, root, run, settled, stepped, type StorePlay } from './stage.ts'

const [one, two, ten] = [run('r1'), run('r2'), run('r10')] as const
const act = root(one)

export const mailCases: readonly StorePlay[] = [
  {
    invariant: 'K2',
    name: 'a claim gives what is unread, in the order in which it came in, also what is for those below',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) => draft.begin(one).activation(w).message(w, 'm1').message(act, 'm2'))
      await a.commit((draft) => draft.message(act, 'm3').command(one, '!cancel'))
      await a.commit((draft) => draft.holds(one).batch.taken.push({ act, key: 'm2' }))
      const { mail } = await a.take(one)
      assert.deepEqual(
        mail.map(({ act: to, key }) => [to, key]),
        [
          [w, 'm1'],
          [act, 'm3'],
          [act, '!cancel'],
        ],
      )
      for (const [i, { position }] of mail.entries()) assert.ok(position > (mail[i - 1]?.position ?? 0))
    },
  },
  {
    invariant: 'K2',
    name: 'what comes in after a claim is told once, in order, each run its own',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two).message(act, 'm1'))
      const held = { [one]: lastOf(await a.take(one)), [two]: lastOf(await a.take(two)) }
      // between the claim and the first question
      await a.commit((draft) => draft.message(act, 'm2').message(root(two), 'n1').message(act, 'm3'))
      const first = await a.store.unread(
        new Map([
          [one, { lastRow: held[one]! }],
          [two, { lastRow: held[two]! }],
        ]),
      )
      assert.deepEqual(keysOf(first.rows.filter(({ act: to }) => to === act)), ['m2', 'm3'])
      assert.deepEqual(keysOf(first.rows.filter(({ act: to }) => to !== act)), ['n1'])
      for (const { act: to, position } of first.rows) {
        const id = to === act ? one : two
        assert.ok(position > held[id]!)
        held[id] = position
      }
      assert.deepEqual((await a.unread(held)).keys, [])
      await a.commit((draft) => draft.message(act, 'm4'))
      assert.deepEqual((await a.unread(held)).keys, ['m4'])
    },
  },
  {
    invariant: 'K2',
    shared: true,
    name: 'posted mail is told once, and a process that does not hold the run learns of mail for others',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      await a.begin(one)
      const held = { [one]: lastOf(await a.take(one)) }
      await a.unread(held)
      await b.unread()
      await b.commit((draft) => draft.message(act, 'm1').message(act, 'm2'))
      const [got, seen]: [string[], string[]] = [[], []]
      await until('both have heard of it', async () => {
        const { rows } = await a.store.unread(new Map([[one, { lastRow: held[one]! }]]))
        got.push(...keysOf(rows))
        held[one] = rows.at(-1)?.position ?? held[one]!
        seen.push(...(await b.unread()).others)
        return got.length >= 2 && seen.length >= 1
      })
      assert.deepEqual([got, new Set(seen)], [['m1', 'm2'], new Set([one])])
      assert.deepEqual((await a.unread(held)).keys, [])
    },
  },
  {
    invariant: 'K2',
    name: 'mail for a run that is not held is told as that of others, and its rows when it is claimed',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two, { owner: null }))
      const held = { [one]: lastOf(await a.take(one)) }
      await a.unread(held)
      await a.commit((draft) => draft.message(root(two), 'n1'))
      assert.deepEqual(await a.unread(held), { keys: [], others: [two] })
      const claimed = await a.take(two)
      assert.deepEqual(keysOf(claimed.mail), ['n1'])
      assert.deepEqual((await a.unread({ ...held, [two]: lastOf(claimed) })).keys, [])
    },
  },
  {
    invariant: 'K2',
    name: 'a row told as mail for others during a claim is told again to the holder who lacks it',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one, { owner: null }).message(act, 'm1'))
      const claimed = await a.take(one)
      await a.commit((draft) => draft.message(act, 'm2'))
      // the answer to the claim is on its way: it is not among those that are held
      assert.deepEqual((await a.unread()).keys, [])
      assert.deepEqual((await a.unread({ [one]: lastOf(claimed) })).keys, ['m2'])
    },
  },
  {
    invariant: 'K2',
    name: 'a newly claimed run gets its untaken mail once',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).message(act, 'm1').message(act, 'm2'))
      const first = await a.take(one)
      await a.unread({ [one]: lastOf(first) })
      await a.commit((draft) => draft.message(act, 'm3'))
      assert.deepEqual((await a.unread({ [one]: lastOf(first) })).keys, ['m3'])
      await a.commit((draft) => draft.holds(one, first.epoch).batch.taken.push({ act, key: 'm1' }))
      const again = await a.take(one)
      assert.deepEqual(keysOf(again.mail), ['m2', 'm3'])
      assert.deepEqual((await a.unread({ [one]: lastOf(again) })).keys, [])
    },
  },
  {
    invariant: 'K5',
    name: 'a run with all mail given parks unheld with its losses cleared; later mail is mail for others',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).message(act, 'm1'))
      const claimed = await a.take(one)
      const { awake, fenced } = await a.commit((draft) => {
        draft
          .holds(one, claimed.epoch)
          .log(act, 1, stepped('s'))
          .park(one, lastOf(claimed))
          .batch.taken.push({ act, key: 'm1' })
      })
      assert.deepEqual([awake, fenced], [[], []])
      const stored = await a.store.reader.run(one)
      assert.deepEqual([stored?.owner, stored?.parked, stored?.losses], [null, 1, 0])
      assert.equal((await a.store.reader.feed(one, 0)).length, 2)
      assert.deepEqual([await a.ready(), await a.store.reader.withMail()], [[], []])
      await a.commit((draft) => draft.message(act, 'm2'))
      assert.deepEqual([await a.unread(), await a.store.reader.withMail()], [{ keys: [], others: [one] }, [one]])
      const again = await a.take(one)
      assert.deepEqual([keysOf(again.mail), again.run.parked, again.epoch], [['m2'], 1, claimed.epoch + 1])
    },
  },
  {
    invariant: 'K5',
    name: 'a run with mail not given stays held; the rest of its commit is written, and the mail is told',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two).message(act, 'm1'))
      const claimed = await a.take(one)
      const held = { [one]: lastOf(claimed) }
      const stay = await a.take(two)
      await a.unread({ ...held, [two]: 0 })
      await a.commit((draft) => draft.message(act, 'm2'))
      const { awake, fenced } = await a.commit((draft) =>
        draft.holds(one, claimed.epoch).log(act, 1, stepped('s')).park(one, held[one]).holds(two, stay.epoch).park(two),
      )
      assert.deepEqual([awake, fenced], [[one], []])
      const stored = await a.store.reader.run(one)
      assert.deepEqual([stored?.owner, stored?.parked, stored?.epoch], [a.id, 0, claimed.epoch])
      assert.equal((await a.store.reader.run(two))?.parked, 1)
      assert.equal((await a.store.reader.feed(one, 0)).length, 2)
      assert.deepEqual((await a.unread(held)).keys, ['m2'])
      assert.deepEqual(
        (await a.commit((draft) => draft.holds(one, claimed.epoch).log(act, 2, stepped('t')))).fenced,
        [],
      )
    },
  },
  {
    invariant: 'K5',
    name: 'mail of the same commit keeps a run awake, also from outside; mail that it takes does not',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(two).begin(ten).message(root(ten), 'm0'))
      const { awake } = await a.commit((draft) => {
        draft.holds(one).message(act, 'm1', { from: one }).park(one)
        draft.holds(two).message(root(two), 'm2').park(two)
        draft
          .holds(ten)
          .park(ten)
          .batch.taken.push({ act: root(ten), key: 'm0' })
      })
      assert.deepEqual([...awake].sort(), [one, two])
      const parked = await Promise.all([one, two, ten].map(async (id) => (await a.store.reader.run(id))?.parked))
      assert.deepEqual(parked, [0, 0, 1])
    },
  },
  {
    invariant: 'K5',
    name: 'an untaken row that was given does not keep it awake; one below it that was not given does',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) =>
        draft
          .begin(one)
          .activation(w)
          .message(act, 'm1')
          .begin(two)
          .activation(below(root(two), 'w')),
      )
      const claimed = await a.take(one)
      await a.commit((draft) => draft.message(below(root(two), 'w'), 'm2'))
      const { awake } = await a.commit((draft) =>
        draft.holds(one, claimed.epoch).park(one, lastOf(claimed)).holds(two).park(two),
      )
      assert.deepEqual(awake, [two])
    },
  },
  {
    invariant: 'K5',
    shared: true,
    name: 'mail posted while the run parks is never lost: the run is awake, or others are told',
    async play(stage) {
      const [a, b] = [await stage.open(), await stage.open()]
      const ids = Array.from({ length: 20 }, (_, i) => run(`p${i}`))
      await a.commit((draft) => {
        for (const id of ids) draft.begin(id)
      })
      await a.unread(Object.fromEntries(ids.map((id) => [id, 0])))
      const awake: string[] = []
      for (const id of ids) {
        const [parked, { posts }] = await Promise.all([
          a.commit((draft) => draft.holds(id).park(id)),
          b.commit((draft) => draft.message(root(id), 'm1')),
        ])
        assert.deepEqual(posts, ['accepted'])
        awake.push(...parked.awake)
      }
      const waiting = await a.store.reader.withMail()
      assert.deepEqual([...awake, ...waiting].sort(), [...ids].sort())
    },
  },
  {
    invariant: 'K5',
    name: 'mail for a settled activation keeps no run awake once it is taken',
    async play(stage) {
      const a = await stage.open()
      const w = below(act, 'w')
      await a.commit((draft) => draft.begin(one).activation(w).message(w, 'm1'))
      const claimed = await a.take(one)
      assert.equal(claimed.past.lastEvent(w)?.type, 'activation.started')
      await a.commit((draft) =>
        draft.holds(one, claimed.epoch).log(w, 1, settled()).batch.taken.push({ act: w, key: 'm1' }),
      )
      const { awake } = await a.commit((draft) => draft.holds(one, claimed.epoch).park(one))
      assert.deepEqual([awake, await a.store.reader.withMail()], [[], []])
    },
  },
]
