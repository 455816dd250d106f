/**
 * A process of the test of short-lived objects: prints how many bytes of each delegation, and of each run, only a major
 * collection takes away. Needs `--expose-gc`.
 */
import { agent, createRuntime, supervisor } from '@reeve/public'

const collect = (globalThis as unknown as { gc: (options?: { type: 'minor' }) => void }).gc

let wanted = 0
let mark = (_done: number): void => {}
const writer = agent({ name: 'writer', description: 'writes', model: () => 'The next part.' })
const lead = supervisor({
  name: 'lead',
  workers: [writer],
  limits: { turns: 1_000 },
  model: ({ messages }) => {
    const done = (messages.length - 2) / 2
    mark(done)
    return done >= wanted
      ? 'That is all.'
      : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'Go on.' } }] }
  },
})
const runtime = await createRuntime({ agents: [lead, writer] })

/** What young collections have left of the garbage since `collect()`. */
function left(): number {
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  const before = process.memoryUsage().heapUsed
  collect()
  return before - process.memoryUsage().heapUsed
}

/** What is left after the first so many delegations, counted in a run that is under way. */
async function ofDelegations(count: number): Promise<number> {
  let bytes = 0
  wanted = 300 + count
  mark = (done) => {
    if (done === 300) collect()
    if (done === 300 + count) bytes = left()
  }
  await runtime.run(lead, 'Write a book.')
  mark = () => {}
  return bytes
}

async function ofRuns(count: number): Promise<number> {
  collect()
  for (let i = 0; i < count; i++) await runtime.run(writer, 'Write.')
  return left()
}

/** Of each: what more of them leave, so that what V8 itself drops does not count. */
async function ofEach(measured: (count: number) => Promise<number>): Promise<number> {
  await measured(100)
  const differences: number[] = []
  for (let i = 0; i < 3; i++) differences.push((await measured(100)) - (await measured(20)))
  return differences.sort((a, b) => a - b)[1]! / 80
}

process.stdout.write(JSON.stringify({ delegation: await ofEach(ofDelegations), run: await ofEach(ofRuns) }))
await runtime.close()
