/** A typed pipeline, with a draft that is written again until it is good enough. */
import { agent, createRuntime, loop, sequential, unwrap } from 'reeve'
import { z } from 'zod'

const Draft = z.object({ text: z.string(), score: z.number() })
const begin = agent({ name: 'begin', input: z.string(), output: Draft, run: (_ctx, text) => ({ text, score: 0 }) })
const run = (_ctx: unknown, { text, score }: z.infer<typeof Draft>) => ({ text: `${text}!`, score: score + 4 })
const writer = agent({ name: 'writer', input: Draft, output: Draft, run })
const until = ({ score }: z.infer<typeof Draft>) => score > 9
const better = loop({ name: 'better', agents: [writer], until, maxIterations: 5, onBound: 'fail' })
const report = sequential({ name: 'report', agents: [begin, better] })
await using runtime = await createRuntime({ agents: [report] })
console.log(unwrap(await runtime.run(report, 'Ravens')))
