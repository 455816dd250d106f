/** Runs that were written for whoever drives, and of which the mover has told nobody. */
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { engineOn } from '@reeve/stores/open-store'
import { cacheCap } from '../../packages/engine/src/host/run-cache.ts'
import type { Mover } from '@reeve/engine/mover'
import { behind, inFolder, registry, until } from './hand.ts'

const many = cacheCap + 500
const deaf = (): Mover => ({ open: () => Promise.resolve(), wake: () => {}, close: () => Promise.resolve() })

test('K2: more than fit into memory are left to the mover at once, and nothing is claimed in vain', async () => {
  const file = inFolder()
  const client = engineOn(file, 'test', {}, deaf)
  await Promise.all(
    Array.from({ length: many }, (_, k) =>
      client.start({ run: `r${k}` as RunId, agent: 'done', version: '1', input: null }),
    ),
  )

  const worker = engineOn(file, 'test', {}, deaf)
  const { store } = worker.driver
  const claim = store.claim.bind(store)
  let refused = 0
  store.claim = (wanted, admits) =>
    claim(wanted, (candidate) => {
      const isAdmitted = admits(candidate)
      if (!isAdmitted) refused++
      return isAdmitted
    })
  await worker.drive(registry({ done: () => Promise.resolve('done') }))
  const isLeft = 'SELECT 1 FROM run WHERE ended IS NULL LIMIT 1'
  await until('all have ended', () => behind(file, (db) => db.prepare(isLeft).get()) === undefined, 30_000)
  expect(refused).toBe(0)
  await worker.close()
  await client.close()
}, 60_000)
