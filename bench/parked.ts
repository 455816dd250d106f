/** 100,000 runs that wait for a human, in one store: making them, then in a new process: opening, memory, deciding. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { agent, approve, createRuntime } from 'reeve'
import { inFolder, megabytes, quantile, sleep, timed, type Row } from './measure.ts'

const count = Number(process.env['PARKED'] ?? 100_000)
const decided = 300

const clerk = agent({
  name: 'clerk',
  run: async (ctx) =>
    (
      await approve(ctx, {
        tool: 'pay',
        toolVersion: '1',
        input: 7,
        reason: 'it is money',
        timeoutMs: 7 * 24 * 3_600_000,
      })
    ).approved,
})

async function park(store: string): Promise<void> {
  await using runtime = await createRuntime({ agents: [clerk], store, durability: 'relaxed' })
  for (let from = 0; from < count; from += 1_000) {
    await Promise.all(
      Array.from({ length: Math.min(1_000, count - from) }, (_, i) =>
        runtime.start(clerk, 'pay', { runId: `r${from + i}` }),
      ),
    )
  }
  while ((await runtime.handle(`r${count - 1}`).until('waiting')).status !== 'waiting') await sleep(10)
}

interface Seen {
  readonly openMs: number
  readonly rssMb: number
  readonly p50: number
  readonly p99: number
}

/** In a process that has nothing else in memory. */
async function visit(store: string): Promise<Seen> {
  const begun = performance.now()
  await using runtime = await createRuntime({ agents: [clerk], store })
  await runtime.runs({ limit: 1 })
  const openMs = performance.now() - begun
  await sleep(500)
  const rssMb = megabytes(process.memoryUsage().rss)
  const latencies: number[] = []
  for (let i = 0; i < decided; i++) {
    const run = runtime.handle(`r${(i * 7919) % count}`)
    const [approval] = await runtime.approvals({ run: run.id })
    latencies.push(
      await timed(async () => {
        await run.decide({ approvalId: approval!.id, decision: 'approve' })
        await run.outcome()
      }),
    )
  }
  return { openMs, rssMb, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const store = join(folder, 'parked.db')
    const ms = await timed(() => park(store))
    const empty = Number(execFileSync(process.execPath, ['-p', 'process.memoryUsage().rss'], { encoding: 'utf8' }))
    const seen = JSON.parse(execFileSync(process.execPath, [import.meta.filename, store], { encoding: 'utf8' })) as Seen
    const what = `${count} parked runs`
    return [
      { figure: `${what}: made (without fsync)`, value: (count * 1000) / ms, unit: 'runs/s' },
      { figure: `${what}: open`, value: seen.openMs, unit: 'ms', budget: { atMost: 1_000 } },
      {
        figure: `${what}: RSS`,
        value: seen.rssMb,
        unit: 'MB',
        side: { what: 'node alone', value: megabytes(empty) },
        budget: { atMost: 150 },
      },
      { figure: `${what}: decide to outcome, p50`, value: seen.p50, unit: 'ms' },
      { figure: `${what}: decide to outcome, p99`, value: seen.p99, unit: 'ms', budget: { atMost: 10 } },
    ]
  })

const visited = process.argv[1] === import.meta.filename ? process.argv[2] : undefined
if (visited !== undefined) console.log(JSON.stringify(await visit(visited)))
