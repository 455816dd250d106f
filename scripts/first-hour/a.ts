/** A supervisor with three workers; who says what is printed while they work. */
import { agent, createRuntime, supervisor, unwrap } from 'reeve'

const model = 'openai/gpt-5-mini'
const desk = supervisor({
  name: 'desk',
  instructions: 'Ask each worker, then answer in a sentence.',
  workers: ['history', 'present', 'outlook'].map((name) => agent({ name, description: `Knows the ${name}.`, model })),
  model,
})

await using runtime = await createRuntime({ agents: [desk] })
const run = await runtime.start(desk, 'Tell me about ravens.')
for await (const said of run.messages())
  if (said.type === 'assistant' && said.text !== '') console.log(`${said.path.join(' > ')}: ${said.text}`)
unwrap(await run.outcome())
