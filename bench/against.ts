/**
 * A delegation in this build beside one in another build, in turns in one process: what a change costs. `node
 * --no-warnings bench/against.ts <folder of the other build>`; both must be built. Prints microseconds of CPU time per
 * delegation, the median and the least of each. `--turns` (default 41), `--count` delegations of a run (default 200).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type * as reeve from 'reeve'
import { median, ownSeconds } from './measure.ts'

type Build = typeof reeve

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { turns: { type: 'string', default: '41' }, count: { type: 'string', default: '200' } },
})
const [folder] = positionals
if (folder === undefined) throw new Error('usage: bench/against.ts <folder of the other build> [--turns n] [--count n]')
const count = Number(values.count)
const turns = Number(values.turns)
const stores = mkdtempSync(join(tmpdir(), 'reeve-against-'))

const load = async (root: string): Promise<Build> =>
  (await import(pathToFileURL(resolve(root, 'dist/index.js')).href)) as Build

function leaderOf({ agent, supervisor }: Build): ReturnType<Build['supervisor']> {
  const writer = agent({ name: 'writer', description: 'writes', model: () => 'The next part.' })
  const delegation = { name: 'delegate', input: { worker: 'writer', instructions: 'Write the next part, please.' } }
  return supervisor({
    name: 'lead',
    workers: [writer],
    limits: { turns: 2 * count + 2 },
    model: ({ messages }) => ((messages.length - 2) / 2 >= count ? 'That is all.' : { calls: [delegation] }),
  })
}

/**
 * What one delegation of a run takes, in microseconds: of the CPU, and as time goes by, waiting for the disk included.
 */
interface Taken {
  readonly cpu: number
  readonly elapsed: number
}

async function measured(build: Build, store: string | undefined): Promise<Taken> {
  const leader = leaderOf(build)
  await using runtime = await build.createRuntime({
    agents: [leader],
    ...(store === undefined ? undefined : { store }),
  })
  const [before, begun] = [ownSeconds(), performance.now()]
  const outcome = await runtime.run(leader, 'Write a book.')
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return { cpu: ((ownSeconds() - before) * 1e6) / count, elapsed: ((performance.now() - begun) * 1e3) / count }
}

const builds = { ours: await load(new URL('..', import.meta.url).pathname), theirs: await load(folder) }
for (const kind of ['in memory', 'durable'] as const) {
  const seen: Record<keyof typeof builds, Taken>[] = []
  // the first turns only warm up
  for (let turn = -3; turn < turns; turn++) {
    const pair: Partial<Record<keyof typeof builds, Taken>> = {}
    for (const name of turn % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const))
      pair[name] = await measured(builds[name], kind === 'durable' ? join(stores, `${name}-${turn}.db`) : undefined)
    if (turn >= 0) seen.push({ ours: pair.ours!, theirs: pair.theirs! })
  }
  for (const what of ['cpu', 'elapsed'] as const) {
    const [mine, others] = [seen.map(({ ours }) => ours[what]), seen.map(({ theirs }) => theirs[what])]
    const line = (how: string, of: (values: readonly number[]) => number): string =>
      `${kind}, ${what}, ${how}: ${of(mine).toFixed(1)} µs, the other build ${of(others).toFixed(1)} µs, ratio ${(of(mine) / of(others)).toFixed(3)}`
    console.log(line('median', median))
    // what others do on the machine only adds
    console.log(line('least', (values) => Math.min(...values)))
  }
}
rmSync(stores, { recursive: true, force: true })
