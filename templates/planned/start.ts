/** Answers one question by a plan, says what became of each task, and prints the report. */
import { createRuntime, unwrap } from 'reeve'
import { agents, analysts, store } from './reeve.config.ts'

const [question = 'Is the market for team calendars worth entering?'] = process.argv.slice(2)

await using runtime = await createRuntime({ store, agents })
const run = await runtime.start(analysts, question)
const outcome = await run.outcome()
for (const { plan } of (await run.view()).teams)
  for (const { task, member, status } of plan.tasks) console.error(`${status}: ${task} (${member})`)
console.log(unwrap(outcome))
