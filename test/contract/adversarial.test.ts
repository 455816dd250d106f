/** The contract of the Engine port, on the adversarial engine, in several kinds of weather. */
import { AdversarialEngine, AdversarialStore } from '../../src/testing/index.ts'
import type { EngineSubject } from '../../src/testing/index.ts'
import { bindContract } from './bind.ts'

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

for (const seed of ['one', 'two', 'three']) bindContract('adversarial engine', adversarial(seed))
