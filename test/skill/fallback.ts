import { agent, createRuntime, unwrap } from 'reeve'

const helper = agent({
  name: 'helper',
  model: [
    () => {
      throw new Error('the first provider is down')
    },
    () => 'The second one answers.',
  ],
})

await using runtime = await createRuntime({ agents: [helper] })
console.log(unwrap(await runtime.run(helper, 'Hello?')))
