import { agent, createRuntime, loop } from 'reeve'

const writer = agent({ name: 'writer', description: 'Writes a draft.', model: () => 'a long draft' })
const polish = loop({
  name: 'polish',
  agents: [writer],
  until: (output) => output === 'a short draft',
  maxIterations: 3,
  onBound: 'fail',
})

await using runtime = await createRuntime({ agents: [polish] })
const outcome = await runtime.run(polish, 'Write something short.')
console.log(outcome.status)
if (outcome.status === 'failed') console.log(outcome.failure.code, outcome.failure.message)
