/** Many at once: fan-outs beside bare timers, 500 runs with commits per run and memory, in memory and durable. */
import { join } from 'node:path'
import { createRuntime, type RuntimeOptions, type Supervisor } from 'reeve'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { inFolder, inTurns, median, peakMegabytes, sleep, timed, type Row } from './measure.ts'
import { runOnce, team } from './team.ts'

const runs = 500
const delegations = 4

/** Milliseconds and commits of so many runs at once. */
async function crowd(leader: Supervisor, file: string): Promise<{ ms: number; commits: number }> {
  const engine = createEmbeddedEngine({ file })
  await using runtime = await createRuntime({ agents: [leader], engine })
  await Promise.all(Array.from({ length: 20 }, () => runtime.run(leader, 'Write a book.')))
  const before = engine.driver.commits
  const ms = await timed(() => Promise.all(Array.from({ length: runs }, () => runtime.run(leader, 'Write a book.'))))
  return { ms, commits: engine.driver.commits - before }
}

/** The same waits with no runtime. */
const bareCrowd = (): Promise<number> =>
  timed(() =>
    Promise.all(
      Array.from({ length: runs }, async () => {
        for (let i = 0; i < 2 * delegations + 1; i++) await sleep(5)
      }),
    ),
  )

async function fanOut(
  count: number,
  ms: number,
  options: () => RuntimeOptions,
): Promise<{ ours: number; bare: number }> {
  const leader = team(count, { atOnce: count, ms })
  return inTurns(7, {
    ours: () => runOnce(leader, options()),
    bare: () => timed(() => Promise.all(Array.from({ length: count }, () => sleep(ms)))),
  })
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const fresh = (): RuntimeOptions => ({ store: join(folder, `${performance.now()}.db`) })
    const leader = team(delegations, { ms: 5 })
    const rows: Row[] = []
    for (const where of ['in memory', 'durable'] as const) {
      const figures: { ms: number; commits: number; bare: number }[] = []
      for (let turn = 0; turn < 6; turn++) {
        const crowded = await crowd(leader, where === 'durable' ? fresh().store! : ':memory:')
        figures.push({ ...crowded, bare: await bareCrowd() })
      }
      const of = (pick: (figure: (typeof figures)[number]) => number): number => median(figures.slice(1).map(pick))
      rows.push({
        figure: `${runs} runs × ${delegations} delegations × 5 ms, ${where}`,
        value: (runs * 1000) / of(({ ms }) => ms),
        unit: 'runs/s',
        side: { what: 'bare timers', value: (runs * 1000) / of(({ bare }) => bare) },
        ...(where === 'durable' ? {} : { budget: { atLeast: 4_000 } }),
      })
      rows.push({ figure: `commits per run, ${where}`, value: of(({ commits }) => commits) / runs, unit: '' })
      rows.push({
        figure: `peak RSS so far, ${where}`,
        value: peakMegabytes(),
        unit: 'MB',
        ...(where === 'durable' ? {} : { budget: { atMost: 150 } }),
      })
    }
    for (const [count, ms, budget] of [
      [64, 20, 24],
      [1_000, 50, 120],
    ] as const) {
      for (const where of ['in memory', 'durable'] as const) {
        const { ours, bare } = await fanOut(count, ms, where === 'durable' ? fresh : () => ({}))
        rows.push({
          figure: `fan-out ${count} × ${ms} ms, ${where}`,
          value: ours,
          unit: 'ms',
          side: { what: 'bare timers', value: bare },
          budget: { atMost: budget },
        })
      }
    }
    return rows
  })
