import { agent, createRuntime, tool } from 'reeve'

const look = tool({ name: 'look', description: 'Looks again.', effect: 'read', execute: () => 'nothing yet' })
const watcher = agent({ name: 'watcher', tools: [look], model: () => ({ calls: [{ name: 'look', input: {} }] }) })

await using runtime = await createRuntime({ agents: [watcher] })
const outcome = await runtime.run(watcher, 'Look until something happens.', { limits: { turns: 3 } })
console.log(outcome.status)
const limited = await runtime.runs({ status: ['limited'] })
console.log(limited.map(({ agent }) => agent).join(', '))
