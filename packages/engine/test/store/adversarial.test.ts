/** The adversarial store: it keeps the contract as far as its weather lets it, and its weather is had. */
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { registerAgents, startRequest } from '@reeve/runtime'
import { AdversarialStore } from '../../../contract/src/adversarial/store.ts'
import { adversarialEngine, badWeather, storm, type Weather } from '../../../contract/src/index.ts'
import type { StoreSubject } from '../../../contract/src/index.ts'
import type { Store } from '../../src/store.ts'
import { drawn } from '../../../team/test/random-team.ts'
import { bindStoreContract } from './bind.ts'
import { sqlite } from './sqlite-place.ts'

/** Late, and in another order; nothing fails. */
const slow: Weather = {
  ...badWeather,
  failing: { commit: 0, claim: 0, lease: 0, read: 0 },
  lost: 0,
  doubled: 0,
  outrun: 0,
  stale: 0,
}

function late(subject: StoreSubject): StoreSubject {
  return {
    ...subject,
    name: `the adversarial store over ${subject.name}`,
    async create(options) {
      const place = await subject.create(options)
      const opened: Store[] = []
      return {
        ...place,
        async open(given) {
          const below = await place.open(given)
          opened.push(below)
          return new AdversarialStore(below, { weather: slow })
        },
        async dispose() {
          for (const below of opened) {
            await below.stop()
            await below.close()
          }
          await place.dispose()
        },
      }
    },
  }
}

bindStoreContract(late(sqlite('SQLite, a file', { durability: 'full' })))

test('in a storm everything happens that may', async () => {
  const wanted = [
    'late commit',
    'slow',
    'failing commit',
    'failing claim',
    'failing unread',
    'failing reclaim',
    'lost hint',
    'doubled',
  ]
  const missing = new Set([...wanted, 'doubled others', 'outrun', 'stolen', 'robbed', 'stale'])
  for (let seed = 1; missing.size > 0 && seed < 60; seed++) {
    const { root } = drawn(seed, 8, 20)
    const registry = registerAgents([root], [], 'move')
    const engine = adversarialEngine({ seed: `${seed}`, weather: storm, strict: true })
    await engine.drive(registry)
    const run = `run_${seed}` as RunId
    await engine.start(startRequest(registry.require(root), 'Go', { runId: run }))
    await engine.outcome(run)
    for (const kind of engine.store.happened.keys()) missing.delete(kind)
    expect(engine.store.faults).toEqual([])
    await engine.close()
  }
  expect([...missing]).toEqual([])
}, 120_000)
