/** One engine in a process of its own; takes orders from the process that started it. Argument: `Place` as JSON. */
import { createRuntime } from '../src/index.ts'
import { createEmbeddedEngine } from '../src/engine/embedded/index.ts'
import type { HostEngine } from '../src/engine/host/index.ts'
import { engineAt, type Place as SharedPlace } from '../test/servers/engines.ts'
import { carryOut, team, type Order } from './engines-team.ts'

/** Which engine a process has, and whether it takes runs up or only starts them. */
export type Place = { readonly drive?: boolean } & ({ readonly engine: 'embedded'; readonly store: string } | SharedPlace)

/** What an order led to, and how often the process has committed so far. */
export interface Answer {
  readonly figures: number[]
  readonly commits: number
}

process.on('disconnect', () => process.exit(0))
if (process.send !== undefined) await serve(JSON.parse(process.argv[2]!) as Place)

async function serve(place: Place): Promise<void> {
  const { drive = true, ...others } = place
  const engine = others.engine === 'embedded' ? createEmbeddedEngine({ file: others.store }) : engineAt(others)
  const runtime = await createRuntime({ agents: [...team], engine, drive })
  const answer = (figures: number[]): Answer => ({ figures, commits: (engine as HostEngine).driver.commits })
  process.on('message', (order: Order | 'end' | 'how far') => {
    if (order === 'end') return void runtime.close().then(() => process.exit(0))
    if (order === 'how far') return void process.send!(answer([]))
    carryOut(runtime, order).then(
      (figures) => process.send!(answer(figures)),
      (thrown: unknown) => process.send!({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    )
  })
  process.send!(answer([]))
}
