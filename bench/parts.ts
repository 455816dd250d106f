/** Live parts: pieces of a worker's answer, from the model to a reader of the run, beside a bare async generator. */
import { agent, createRuntime, supervisor, type ModelFunction } from 'reeve'
import type { RunPart } from 'reeve/views'
import { inTurns, median, quantile, sleep, type Row } from './measure.ts'

const piece = 'tok '

async function* pieces(count: number, gapMs: number): AsyncGenerator<string> {
  for (let i = 0; i < count; i++) {
    if (gapMs > 0) await sleep(gapMs)
    yield piece
  }
}

/** How a reader takes the parts of a run: one after the other, or called back while each is shown. */
type Way = 'iterator' | 'callback'

/** Reads the parts of one run whose worker says so many pieces; calls back with how much was seen each time. */
async function stream(
  way: Way,
  count: number,
  gapMs: number,
  said: () => void,
  seen: (pieces: number) => void,
): Promise<void> {
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
  const take = ({ activation, part }: RunPart): void => {
    const text =
      activation.includes('>') && typeof part === 'object' && part !== null && 'text' in part ? part.text : undefined
    if (typeof text === 'string') seen(text.length / piece.length)
  }
  if (way === 'callback') await run.onPart(take)
  else for await (const part of run.parts()) take(part)
}

const nothing = (): void => {}

async function throughput(way: Way, count: number): Promise<number> {
  let got = 0
  const begun = performance.now()
  await stream(way, count, 0, nothing, (more) => (got += more))
  if (got !== count) throw new Error(`${got} of ${count} pieces seen`)
  return count / (performance.now() - begun)
}

async function bare(count: number): Promise<number> {
  let got = 0
  const begun = performance.now()
  for await (const text of pieces(count, 0)) got += text.length
  return got / piece.length / (performance.now() - begun)
}

/** How late each of 200 pieces is seen, 5 ms apart. Microseconds. */
async function lateness(way: Way): Promise<readonly number[]> {
  const said: number[] = []
  const late: number[] = []
  await stream(
    way,
    200,
    5,
    () => said.push(performance.now()),
    (more) => {
      for (let i = 0; i < more; i++) late.push((performance.now() - said[late.length]!) * 1000)
    },
  )
  return late
}

export async function run(): Promise<Row[]> {
  const count = 100_000
  const rate = await inTurns(7, {
    read: () => throughput('iterator', count),
    heard: () => throughput('callback', count),
    bare: () => bare(count),
  })
  const side = { what: 'bare generator', value: rate.bare }
  const rows: Row[] = []
  for (const [way, word, value] of [
    ['iterator', 'read', rate.read],
    ['callback', 'heard', rate.heard],
  ] as const) {
    const late = await lateness(way)
    rows.push(
      { figure: `${count} pieces of a worker, ${word}`, value, unit: 'k/s', side, budget: { atLeast: 1_000 } },
      { figure: `a piece, ${word}: the first`, value: late[0]!, unit: 'µs' },
      { figure: `a piece, ${word}: median`, value: median(late), unit: 'µs', budget: { atMost: 10 } },
      { figure: `a piece, ${word}: p99`, value: quantile(late, 0.99), unit: 'µs' },
    )
  }
  return rows
}
