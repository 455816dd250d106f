/** One engine in a process of its own; takes orders from the process that started it. Argument: `Place` as JSON. */
import { createRuntime } from '@reeve/public'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { HostEngine } from '@reeve/engine/host'
import type { Engine } from '@reeve/engine'
import type { Mover } from '@reeve/engine/mover'
import { engineOn } from '@reeve/stores/open-store'
import { engineAt, type Place as SharedPlace } from '../test/servers/engines.ts'
import { carryOut, team, type Order } from './engines-team.ts'

/**
 * Which engine a process has, and whether it takes runs up or only starts them. `unheard`: every wake-up that it sends
 * is lost.
 */
export type Place = { readonly drive?: boolean; readonly unheard?: boolean } & (
  { readonly engine: 'embedded'; readonly store: string } | SharedPlace
)

/** What an order led to, and how often the process has committed so far. */
export interface Answer {
  readonly figures: number[]
  readonly commits: number
}

process.on('disconnect', () => process.exit(0))
if (process.send !== undefined) await serve(JSON.parse(process.argv[2]!) as Place)

function engineOf(place: { readonly engine: 'embedded'; readonly store: string } | SharedPlace): Engine {
  return place.engine === 'embedded' ? createEmbeddedEngine({ file: place.store }) : engineAt(place)
}

/** Its mover tells nobody, and its store believes that nobody else is there to be told. */
function unheardEngine(store: string): Engine {
  const mover: Mover = { open: () => Promise.resolve(), wake: () => {}, close: () => Promise.resolve() }
  const engine = engineOn(store, 'bench', {}, () => mover)
  Object.defineProperty(engine.store.lease, 'hasOthers', { value: false })
  return engine
}

async function serve(place: Place): Promise<void> {
  const { drive = true, unheard = false, ...others } = place
  const engine = unheard ? unheardEngine(others.store) : engineOf(others)
  const runtime = await createRuntime({ agents: [...team], engine, drive })
  const answer = (figures: number[]): Answer => ({ figures, commits: (engine as HostEngine).driver.commits })
  process.on('message', (order: Order | 'end' | 'how far') => {
    if (order === 'end') return void runtime.close().then(() => process.exit(0))
    if (order === 'how far') return void process.send!(answer([]))
    carryOut(runtime, order).then(
      (figures) => process.send!(answer(figures)),
      (thrown: unknown) =>
        process.send!({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
    )
  })
  process.send!(answer([]))
}
