/** Store contract: runs that no process continues until an operator says so, and their unread commands. */
import assert from 'node:assert/strict'
import { failure } from '@reeve/core'
import { codeFor } from '@reeve/engine'
import { asideFor, type ClaimCandidate } from '@reeve/engine/storage'
import { keysOf, lastOf, root, run, type StorePlay, type StoreProcess } from './stage.ts'

const one = run('r1')
const why = failure('run.crash-loop', 'it kills', 'internal')

const found = codeFor(undefined, 'gone', '1')
/** Why a run is stuck whose code is missing. */
const noCode = 'missing' in found ? found.missing : ''

/** How a run lies in the store. */
async function candidate({ store }: StoreProcess, id = one): Promise<ClaimCandidate> {
  const seen: ClaimCandidate[] = []
  await store.claim([id], (each) => {
    seen.push(each)
    return false
  })
  assert.equal(seen.length, 1)
  return seen[0]!
}

export const asideCases: readonly StorePlay[] = [
  {
    invariant: 'K8',
    name: 'a run that is set aside says why, is not ready, and is given to who asks for it by name',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await a.commit((draft) => draft.holds(one).aside(one, JSON.stringify(why)).park(one))
      assert.deepEqual(
        [await a.ready(), await a.store.reader.left(), await a.store.reader.withoutCode()],
        [[], [one], []],
      )
      const { run: was } = await a.take(one)
      assert.deepEqual([asideFor(was), was.parked, was.word], [why, 1, undefined])
      const summary = await a.store.queries.summary(one)
      assert.deepEqual([summary?.status, summary?.failure], ['stuck', why])
      await a.commit((draft) => draft.holds(one, 2).aside(one, null))
      assert.deepEqual(
        [(await a.store.reader.run(one))?.stuck, (await a.store.queries.summary(one))?.status],
        [null, 'running'],
      )
      assert.deepEqual(await a.store.reader.left(), [])
    },
  },
  {
    invariant: 'K8',
    name: 'a run that lacks code is among those that other processes try again, until it has ended',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(run('r2')))
      await a.commit((draft) =>
        draft
          .holds(one)
          .aside(one, noCode)
          .park(one)
          .holds(run('r2'))
          .aside(run('r2'), 'replay.diverged: x')
          .park(run('r2')),
      )
      const { reader, queries } = a.store
      assert.deepEqual([await reader.withoutCode(), [...(await reader.left())].sort()], [[one], [one, 'r2']])
      assert.equal((await queries.summary(one))?.reason, noCode)
      await a.take(one)
      await a.commit((draft) => draft.holds(one, 2).end(one, 1))
      assert.deepEqual([await reader.withoutCode(), await reader.left()], [[], ['r2']])
    },
  },
  {
    invariant: 'K8',
    name: 'an unread command to a run that is set aside is told; a cancel takes precedence',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await a.commit((draft) => draft.holds(one).aside(one, JSON.stringify(why)).park(one))
      await a.commit((draft) => draft.message(root(one), 'msg:1').command(one, '!pause:1'))
      assert.equal((await candidate(a)).word, undefined)
      await a.commit((draft) => draft.command(one, '!resume:1'))
      assert.equal((await candidate(a)).word, 'resume')
      await a.commit((draft) => draft.command(one, '!cancel'))
      assert.equal((await candidate(a)).word, 'cancel')
      assert.deepEqual(await a.store.reader.withMail(), [one])
      const claimed = await a.take(one)
      assert.deepEqual(keysOf(claimed.mail), ['msg:1', '!pause:1', '!resume:1', '!cancel'])
      await a.commit((draft) => draft.holds(one, claimed.epoch).batch.taken.push({ act: root(one), key: '!cancel' }))
      assert.equal((await candidate(a)).word, 'resume')
    },
  },
  {
    invariant: 'K8',
    name: 'commands used up are forgotten at the next set-aside: resumes up to its last row, a cancel if told',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await a.commit((draft) => draft.command(one, '!resume:1').command(one, '!cancel').message(root(one), 'msg:1'))
      const first = await a.take(one)
      await a.commit((draft) => draft.command(one, '!resume:2'))
      const upTo = lastOf(first)
      await a.commit((draft) =>
        draft
          .holds(one, first.epoch)
          .aside(one, JSON.stringify(why), { upTo, cancel: false })
          .park(one, Number.MAX_SAFE_INTEGER),
      )
      assert.equal((await candidate(a)).word, 'cancel')
      const second = await a.take(one)
      assert.deepEqual(keysOf(second.mail), ['!cancel', 'msg:1', '!resume:2'])
      const last = lastOf(second)
      await a.commit((draft) =>
        draft.holds(one, second.epoch).aside(one, JSON.stringify(why), { upTo: last, cancel: true }).park(one, last),
      )
      assert.equal((await candidate(a)).word, undefined)
      // a word that was forgotten may be said again
      assert.deepEqual((await a.commit((draft) => draft.command(one, '!cancel').command(one, '!resume:1'))).posts, [
        'accepted',
        'accepted',
      ])
      assert.equal((await candidate(a)).word, 'cancel')
    },
  },
  {
    invariant: 'K8',
    name: 'a run that is set aside parks despite unread mail, if it was given that mail',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      await a.commit((draft) => draft.message(root(one), 'msg:1').command(one, '!resume:1'))
      const claimed = await a.take(one)
      const { awake } = await a.commit((draft) =>
        draft
          .holds(one, claimed.epoch)
          .aside(one, JSON.stringify(why), { upTo: lastOf(claimed), cancel: false })
          .park(one, lastOf(claimed)),
      )
      const { run: was, mail } = await a.take(one)
      assert.deepEqual([awake, was.parked, was.word, keysOf(mail)], [[], 1, undefined, ['msg:1']])
    },
  },
  {
    invariant: 'K8',
    name: 'how far a pause has come is kept, and shown',
    async play(stage) {
      const a = await stage.open()
      await a.begin(one)
      const states = ['pausing', 'paused', 'human_control', null] as const
      for (const state of states) {
        await a.commit((draft) => draft.holds(one).batch.control.push({ run: one, state }))
        assert.equal((await a.store.reader.run(one))?.control, state)
        assert.equal((await a.store.queries.summary(one))?.status, state ?? 'running')
      }
      assert.equal((await candidate(a)).control, null)
    },
  },
  {
    invariant: 'K8',
    name: 'a parked run that has read an operator’s cancel is among those that were left',
    async play(stage) {
      const a = await stage.open()
      await a.commit((draft) => draft.begin(one).begin(run('r2')))
      await a.commit((draft) => draft.command(one, '!cancel').command(run('r2'), '!cancel'))
      const { epoch } = await a.take(one)
      await a.commit((draft) =>
        draft
          .holds(one, epoch)
          .park(one, Number.MAX_SAFE_INTEGER)
          .batch.taken.push({ act: root(one), key: '!cancel' }),
      )
      assert.deepEqual(await a.store.reader.left(), [one])
    },
  },
]
