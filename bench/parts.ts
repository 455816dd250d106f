/** Live parts: pieces of a worker's answer, from the model to a reader of the run, beside a bare async generator. */
import { agent, createRuntime, supervisor, type ModelFunction } from 'reeve'
import { inTurns, median, quantile, sleep, type Row } from './measure.ts'

const piece = 'tok '

async function* pieces(count: number, gapMs: number): AsyncGenerator<string> {
  for (let i = 0; i < count; i++) {
    if (gapMs > 0) await sleep(gapMs)
    yield piece
  }
}

/** Reads the parts of one run whose worker says so many pieces; calls back with how much was seen each time. */
async function stream(count: number, gapMs: number, said: () => void, seen: (pieces: number) => void): Promise<void> {
  const speak: ModelFunction = async ({ emit }) => {
    for await (const text of pieces(count, gapMs)) {
      said()
      emit?.({ type: 'text.delta', id: '0', text })
    }
    return 'said'
  }
  const writer = agent({ name: 'writer', description: 'writes', model: speak })
  const leader = supervisor({
    name: 'lead',
    workers: [writer],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'done'
        : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'speak' } }] },
  })
  await using runtime = await createRuntime({ agents: [leader] })
  const run = await runtime.start(leader, 'go')
  for await (const { activation, part } of run.parts()) {
    const text =
      activation.includes('>') && typeof part === 'object' && part !== null && 'text' in part ? part.text : undefined
    if (typeof text === 'string') seen(text.length / piece.length)
  }
}

const nothing = (): void => {}

async function throughput(count: number): Promise<number> {
  let got = 0
  const begun = performance.now()
  await stream(count, 0, nothing, (more) => (got += more))
  if (got !== count) throw new Error(`${got} of ${count} pieces seen`)
  return count / (performance.now() - begun)
}

async function bare(count: number): Promise<number> {
  let got = 0
  const begun = performance.now()
  for await (const text of pieces(count, 0)) got += text.length
  return got / piece.length / (performance.now() - begun)
}

export async function run(): Promise<Row[]> {
  const count = 100_000
  const rate = await inTurns(7, { ours: () => throughput(count), bare: () => bare(count) })
  const said: number[] = []
  const late: number[] = []
  await stream(
    200,
    5,
    () => said.push(performance.now()),
    (more) => {
      for (let i = 0; i < more; i++) late.push((performance.now() - said[late.length]!) * 1000)
    },
  )
  return [
    {
      figure: `${count} pieces of a worker to the outer stream`,
      value: rate.ours,
      unit: 'k/s',
      side: { what: 'bare generator', value: rate.bare },
      budget: { atLeast: 1_000 },
    },
    { figure: 'a piece to the outer stream, median', value: median(late), unit: 'µs', budget: { atMost: 10 } },
    { figure: 'a piece to the outer stream, p99', value: quantile(late, 0.99), unit: 'µs' },
  ]
}
