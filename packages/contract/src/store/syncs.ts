/**
 * Store contract: what `synced` may come to under the host. `store.unsynced` says that it is not known what is on disk;
 * whatever else it throws says no more (decision 0015).
 */
import assert from 'node:assert/strict'
import { completed, ReeveError, type Now } from '@reeve/core'
import type { Orchestration, Registry } from '@reeve/engine'
import { HostEngine } from '@reeve/engine/host'
import type { Store } from '@reeve/engine/storage'
import { step } from '../engine/stage.ts'
import { run, type StorePlay } from './stage.ts'

const unsynced = new ReeveError('store.unsynced', 'the disk did not take it')
const failures: readonly (readonly [what: string, fail: () => Now<void>])[] = [
  ['rejects with `store.unsynced`', () => Promise.reject(unsynced)],
  ['rejects with an error of its own', () => Promise.reject(new Error('the disk is on fire'))],
  [
    'rejects with an error that may pass',
    () => Promise.reject(new ReeveError('store.unavailable', 'no answer', { retryable: true })),
  ],
  [
    'throws at once',
    () => {
      throw new TypeError('undefined is not a disk')
    },
  ],
]

/** The store, with another `synced`. */
const withSynced = (store: Store, synced: () => Now<void>): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'synced') return synced
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })

async function codeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
    return 'it was told'
  } catch (thrown) {
    return ReeveError.is(thrown) ? `${thrown.code} ${thrown.retryable}` : thrown
  }
}

/** Whoever is the first to ask for it. */
const first = ['a start', 'a read', 'an outcome'] as const

export const syncCases: readonly StorePlay[] = failures.flatMap(([what, fail]) =>
  first.map((by) => ({
    invariant: 'K5',
    name: `where \`synced\` ${what}, asked for by ${by}, the process stops: nothing is told or let out, all get store.unsynced`,
    async play(stage) {
      const a = await stage.open()
      let isWell = true
      const [left, warnings]: [string[], string[]] = [[], []]
      const pays: Orchestration = {
        name: 'pays',
        version: '1',
        run: async (ctx, input) => completed(await step(ctx, 'pay', () => left.push(input as string))),
      }
      const registry: Registry = { onMissingVersion: 'move', find: (name) => (name === 'pays' ? pays : undefined) }
      const engine = new HostEngine(
        withSynced(stage.handOver(a), () => (isWell ? a.store.synced() : fail())),
        { clock: stage.clock, onWarning: (code) => warnings.push(code) },
      )
      const begin = (id: string) => engine.start({ run: run(id), agent: 'pays', version: '1', input: id })
      try {
        const asks = {
          'a start': () => begin('r'),
          'a read': () => engine.read(run('before')),
          'an outcome': () => engine.outcome(run('before')),
        } as const
        await engine.drive(registry)
        await begin('before')
        await engine.outcome(run('before'))
        isWell = false
        const stopped = async (...calls: readonly (() => Promise<unknown>)[]): Promise<void> =>
          assert.deepEqual(
            await Promise.all(calls.map(codeOf)),
            calls.map(() => 'store.unsynced false'),
          )
        await stopped(asks[by])
        isWell = true
        await stopped(
          () => begin('later'),
          () => engine.questions(),
          () => engine.outcome(run('before')),
        )
        assert.deepEqual(left, ['before'])
        assert.deepEqual(warnings, ['store.unsynced'])
      } finally {
        await engine.close()
      }
    },
  })),
)
