/** How work grows with its size: twice as much of it, in the same minute, beside once. Linear is 2. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { agent, createRuntime, loop, supervisor, type Agent, type ModelFunction } from 'reeve'
import { inFolder, timed, type Row } from './measure.ts'

/** Once for so many delegations in one turn, then an answer. */
function delegating(count: number, memory: 'isolated' | 'continue'): Agent {
  const model: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : {
          calls: Array.from({ length: count }, () => ({ name: 'delegate', input: { worker: 'w', instructions: 'x' } })),
        }
  const w = agent({ name: 'w', description: 'Works.', model: () => 'W' })
  return supervisor({ name: 'lead', model, workers: [w], delegation: { memory }, limits: { turns: 2 * count + 2 } })
}

/** The same, each to another worker. */
function spread(count: number): Agent {
  const workers = Array.from({ length: count }, (_, i) =>
    agent({ name: `w${i}`, description: 'Works.', model: () => 'W' }),
  )
  const model: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: workers.map(({ name }) => ({ name: 'delegate', input: { worker: name, instructions: 'x' } })) }
  return supervisor({
    name: 'lead',
    model,
    workers,
    delegation: { memory: 'continue' },
    limits: { turns: 2 * count + 2 },
  })
}

const looping = (count: number): Agent =>
  loop({
    name: 'loop',
    maxIterations: count,
    edge: { context: 'brief' },
    agents: [agent({ name: 'a', run: () => 1 }), agent({ name: 'b', run: () => 2 })],
  })

interface Cost {
  readonly ms: number
  readonly bytes: number
}

/** One run in a store of its own. */
async function costOf(root: Agent, store: string): Promise<Cost> {
  const runtime = await createRuntime({ agents: [root], store })
  const ms = await timed(async () => {
    const outcome = await runtime.run(root, 'go')
    if (outcome.status !== 'completed') throw new Error(`the run ended ${outcome.status}`)
  })
  await runtime.close()
  const db = new DatabaseSync(store)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return { ms, bytes: statSync(store).size }
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const rows: Row[] = []
    const grown = async (what: string, count: number, make: (count: number) => Agent): Promise<void> => {
      await costOf(make(count), join(folder, `${what}-warm.db`))
      const once = await costOf(make(count), join(folder, `${what}-1.db`))
      const twice = await costOf(make(2 * count), join(folder, `${what}-2.db`))
      rows.push(
        {
          figure: `${2 * count} ${what}: time`,
          value: twice.ms,
          unit: 'ms',
          side: { what: `${count}`, value: once.ms },
        },
        {
          figure: `${2 * count} ${what}: stored`,
          value: twice.bytes / 1024,
          unit: 'KB',
          side: { what: `${count}`, value: once.bytes / 1024 },
        },
      )
    }
    await grown('delegations of one turn', 100, (count) => delegating(count, 'isolated'))
    await grown('delegations of one turn to a worker with memory', 100, (count) => delegating(count, 'continue'))
    await grown('delegations of one turn to different workers with memory', 100, spread)
    await grown('iterations of a loop', 400, looping)
    return rows
  })
