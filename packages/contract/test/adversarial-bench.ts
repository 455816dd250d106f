/** The adversarial engine as the contract suite needs it: a store in memory that outlives its engines. */
import { MemoryStore } from '@reeve/engine/memory'
import { badMover, WakeUps } from '../src/adversarial/mover.ts'
import { adversarialEngine, type AdversarialEngine, type EngineSubject, type Weather } from '../src/index.ts'

/**
 * `moved`: its runs are placed by a mover, which loses no wake-up: the clock of the suite stands still, and nobody
 * looks again.
 */
export const adversarial = (seed: string, weather?: Weather, moved = false): EngineSubject => ({
  name: `seed ${seed}`,
  keepsContents: true,
  skip: {
    'minutes count working time, not waits for people; the end is a limit, undone like a cancel':
      'what was worked since the last commit is not counted if that commit fails',
  },
  async create({ clock }) {
    const store = new MemoryStore({ clock })
    const given = weather === undefined ? {} : { weather }
    const wakeUps = new WakeUps({ ...badMover, lost: 0 }, seed)
    let nth = 0
    const open = (): AdversarialEngine =>
      adversarialEngine({
        seed: `${seed}:${nth++}`,
        clock,
        store,
        strict: true,
        ...given,
        ...(moved ? { mover: wakeUps.mover() } : {}),
      })
    let engine = open()
    return {
      engine,
      async restart(how) {
        if (how === 'kill') await engine.kill()
        else await engine.close({ graceMs: 0 })
        return (engine = open())
      },
      async dispose() {
        const { faults } = engine.store
        await engine.kill()
        store.close()
        if (faults.length > 0) throw new Error(faults.join('; '))
      },
    }
  },
})
