/**
 * One contestant of the Temporal bench in a process of its own, worker and client in one; takes orders from the process
 * that started it. Argument: `Place` as JSON.
 */
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { temporal, type TemporalOptions } from '../packages/temporal/src/index.ts'
import { createRuntime } from '@reeve/public'
import { carryOut, team, type Order } from './engines-team.ts'
import { timed } from './measure.ts'

/** A store alone, the engine on Temporal, or empty workflows on a server. */
export type Place = string | TemporalOptions | { readonly empty: string }

type Take = (order: Order) => Promise<number[]>

const place = JSON.parse(process.argv[2]!) as Place
const take = typeof place === 'object' && 'empty' in place ? await emptyWorkflows(place.empty) : await runs(place)
process.on('disconnect', () => process.exit(0))
process.on('message', (order: Order) => {
  take(order).then(
    (figures) => process.send!({ figures }),
    (thrown: unknown) =>
      process.send!({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
  )
})
process.send!({ figures: [] })

async function runs(at: string | TemporalOptions): Promise<Take> {
  const runtime = await createRuntime({
    agents: [...team],
    ...(typeof at === 'string' ? { store: at } : { engine: temporal(at) }),
  })
  return (order) => carryOut(runtime, order)
}

/**
 * Begun by the same call as a run's workflow. One counts as done when its activity is: of a run, too, the outcome is
 * known before its workflow is closed.
 */
async function emptyWorkflows(address: string): Promise<Take> {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const taskQueue = 'empty'
  const done = new Map<string, () => void>()
  const nothing = (id: string): Promise<void> => Promise.resolve(done.get(id)?.())
  const workflowsPath = fileURLToPath(new URL('./temporal-empty.ts', import.meta.url))
  const connection = await NativeConnection.connect({ address })
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath,
    activities: { nothing },
    maxConcurrentActivityTaskExecutions: 1_000,
  })
  worker.run().catch(() => process.exit(1))
  const { workflow } = new Client({ connection: Connection.lazy({ address }) })
  let count = 0
  const one = async (): Promise<void> => {
    const workflowId = `empty-${process.pid}-${count++}`
    const ended = new Promise<void>((resolve) => done.set(workflowId, resolve))
    await workflow.signalWithStart('empty', {
      workflowId,
      taskQueue,
      args: [workflowId],
      signal: 'wake',
      signalArgs: [],
    })
    await ended
    done.delete(workflowId)
  }
  return async (order) => {
    if (order.do !== 'crowd') throw new Error(`an empty workflow cannot ${order.do}`)
    let left = order.runs
    const next = async (): Promise<void> => {
      while (left-- > 0) await one()
    }
    return [await timed(() => Promise.all(Array.from({ length: order.atOnce }, next)))]
  }
}
