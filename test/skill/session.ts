import { agent, createRuntime, unwrap } from 'reeve'

const chat = agent({
  name: 'chat',
  model: ({ messages }) => `I have heard ${messages.filter((message) => message.role === 'user').length}.`,
})

await using runtime = await createRuntime({ agents: [chat] })
console.log(unwrap(await runtime.run(chat, 'My name is Ann.', { session: 'ann' })))
console.log(unwrap(await runtime.run(chat, 'What is my name?', { session: 'ann' })))
