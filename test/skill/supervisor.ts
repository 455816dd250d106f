import { agent, createRuntime, supervisor, unwrap } from 'reeve'

const weather = agent({ name: 'weather', description: 'Knows the weather.', model: () => 'It will rain.' })
const trains = agent({ name: 'trains', description: 'Knows the timetable.', model: () => 'The train leaves at nine.' })
const concierge = supervisor({
  name: 'concierge',
  instructions: 'Ask both, then answer the guest.',
  workers: [weather, trains],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Take an umbrella, and the train at nine.'
      : {
          calls: [
            { name: 'delegate', input: { worker: 'weather', instructions: 'The weather today.' } },
            { name: 'delegate', input: { worker: 'trains', instructions: 'The next train to Bern.' } },
          ],
        },
})

await using runtime = await createRuntime({ agents: [concierge] })
console.log(unwrap(await runtime.run(concierge, 'How do I get to Bern?')))
