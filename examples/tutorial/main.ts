import { createRuntime } from 'reeve'
import { office } from './team.ts'

const runId = process.argv[2] ?? 'letter-1' // the same id is the same run
await using runtime = await createRuntime({ store: 'tutorial.db', agents: [office] })
const run = await runtime.start(office, 'Write Ann about ravens.', { runId })
const state = await run.until('waiting') // until it waits for a person, or has ended
if ('waiting' in state) console.log(`waits: npx reeve approve ${state.waiting[0]?.id} --store tutorial.db`)
else console.log(state.status === 'completed' ? state.output : state)
