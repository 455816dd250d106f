/** Researches one question, says who works, and prints the report. */
import { createRuntime, unwrap } from 'reeve'
import { agents, lead, store } from './reeve.config.ts'

const [question = 'Ravens and people'] = process.argv.slice(2)

await using runtime = await createRuntime({ store, agents })
const run = await runtime.start(lead, question)
for await (const message of run.messages())
  if (message.type === 'assistant' && message.text !== '') console.error(`${message.agent} has answered`)
console.log(unwrap(await run.outcome()))
