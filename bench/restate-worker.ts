/** One engine in a process of its own, worker and client in one; takes orders from the process that started it. Argument: `Place` as JSON. */
import { restate, type RestateOptions } from '../src/adapters/restate/index.ts'
import { createRuntime } from '../src/index.ts'
import { carryOut, team, type Order } from './restate-team.ts'

/** What the runtime of a process is given as its store, or what its engine on Restate is given. */
export type Place = string | RestateOptions

process.on('disconnect', () => process.exit(0))
if (process.send !== undefined) await serve(JSON.parse(process.argv[2]!) as Place)

async function serve(place: Place): Promise<void> {
  const runtime = await createRuntime({ agents: [...team], ...(typeof place === 'string' ? { store: place } : { engine: restate(place) }) })
  process.on('message', (order: Order | 'end') => {
    if (order === 'end') return void runtime.close().then(() => process.exit(0))
    carryOut(runtime, order).then(
      (figures) => process.send!({ figures }),
      (thrown: unknown) => process.send!({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    )
  })
  process.send!({ figures: [] })
}
