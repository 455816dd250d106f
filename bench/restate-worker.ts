/** One engine in a process of its own, worker and client in one; takes orders from the process that started it. Argument: `Place` as JSON. */
import { restate, type RestateOptions } from '../src/adapters/restate/index.ts'
import { createEmbeddedEngine } from '../src/engine/embedded/index.ts'
import { createRuntime } from '../src/index.ts'
import { carryOut, team, type Order } from './restate-team.ts'

/** Where the engine of a process keeps its runs. */
export type Place = { readonly file: string } | RestateOptions

process.on('disconnect', () => process.exit(0))
if (process.send !== undefined) await serve(JSON.parse(process.argv[2]!) as Place)

async function serve(place: Place): Promise<void> {
  const embedded = 'file' in place ? createEmbeddedEngine(place) : undefined
  const engine = embedded ?? restate(place as RestateOptions)
  const runtime = await createRuntime({ agents: [...team], engine })
  process.on('message', (order: Order | 'end') => {
    if (order === 'end') return void runtime.close().then(() => process.exit(0))
    const work = order.do === 'commits' ? Promise.resolve([embedded?.driver.commits ?? NaN]) : carryOut(runtime, order)
    work.then(
      (figures) => process.send!({ figures }),
      (thrown: unknown) => process.send!({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    )
  })
  process.send!({ figures: [] })
}
