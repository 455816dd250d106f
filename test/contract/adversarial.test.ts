/** The contract of the Engine port, on the adversarial engine, in several kinds of weather. */
import { describe, test } from 'vitest'
import { AdversarialEngine, AdversarialStore } from '../../src/testing/adversarial/index.ts'
import { engineContract } from '../../src/testing/contract/engine-contract.ts'
import type { EngineSubject } from '../../src/testing/contract/stage.ts'

const adversarial = (seed: string): EngineSubject => ({
  name: `seed ${seed}`,
  async create({ clock }) {
    const store = new AdversarialStore()
    const open = (): AdversarialEngine => new AdversarialEngine({ seed, clock, store, strict: true })
    let engine = open()
    return {
      engine,
      async restart(how) {
        if (how === 'kill') engine.kill()
        else await engine.close()
        return (engine = open())
      },
      async dispose() {
        engine.kill()
      },
    }
  },
})

for (const seed of ['one', 'two', 'three']) {
  describe(`adversarial engine, seed ${seed}`, () => {
    for (const { invariant, name, skip, run } of engineContract(adversarial(seed))) {
      if (skip === undefined) test(`${invariant}: ${name}`, run)
      else test.skip(`${invariant}: ${name} (${skip})`, () => {})
    }
  })
}
