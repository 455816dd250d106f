/** Begins the runs, and drives them until each has ended or waits for a person. */
import { createRuntime } from 'reeve'
import { agents, store } from './h.config.ts'

await using runtime = await createRuntime({ store, agents })
const runs = []
for (let order = 1; order <= Number(process.argv[2]); order++)
  runs.push(await runtime.start(order % 3 === 0 ? 'claims' : 'refunds', `Refund order ${order}.`))
await Promise.all(runs.map((run) => run.until('waiting')))
