/** A process of the test of the indexer: drives runs without end, and indexes them beside. It is killed. */
import { agent, createRuntime } from '@reeve/public'

const echo = agent({
  name: 'echo',
  description: 'Echoes.',
  model: ({ messages }) => ({
    text: `echo of ${JSON.stringify(messages.at(-1)?.content)}`,
    usage: { input: 1, output: 1, usd: 0.5 },
  }),
})
const [, , store, name] = process.argv
const runtime = await createRuntime({ store: store!, agents: [echo], onWarning: () => {} })
// one after the other, with turns between: the index is filled beside them
for (let i = 0; ; i++) await runtime.run(echo, `word${name}${i} of all`, { runId: `run_${name}_${i}` })
