/**
 * One delegation: model leader, model worker. In memory beside a bare loop, durable beside the same two fsynced
 * commits. And how it grows.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'reeve'
import { compactStore } from 'reeve/engine'
import { inFolder, inTurns, ownSeconds, sleep, type Row } from './measure.ts'
import { longTeam, runOnce, timedRun } from './team.ts'

const count = 200

/** CPU microseconds per delegation: what a busy machine changes least. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = ownSeconds()
  await work()
  return ((ownSeconds() - before) * 1e6) / count
}

/** The same messages in a plain loop. */
async function bare(): Promise<number> {
  const begun = performance.now()
  const messages: unknown[] = [{ role: 'user', content: 'Write a book.' }]
  for (let i = 0; i < count; i++) {
    messages.push(
      await Promise.resolve({
        role: 'assistant',
        calls: [{ worker: 'writer', instructions: 'Write the next part, please.' }],
      }),
    )
    messages.push(await Promise.resolve({ role: 'tool', content: 'The next part.' }))
  }
  return ((performance.now() - begun) * 1000) / count
}

/** Two commits of one small row each, with fsync, per delegation. */
export async function bareDurable(folder: string): Promise<number> {
  const db = new DatabaseSync(join(folder, `bare-${performance.now()}.db`))
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log(position INTEGER PRIMARY KEY, body TEXT)')
  const insert = db.prepare('INSERT INTO log(body) VALUES(?)')
  const begun = performance.now()
  for (let i = 0; i < 2 * count; i++) await Promise.resolve(insert.run('x'.repeat(150)))
  const us = ((performance.now() - begun) * 1000) / count
  db.close()
  return us
}

/** Bytes on disk per delegation that are not what was said: database after a truncating checkpoint. */
async function storedBytes(folder: string): Promise<number> {
  const store = join(folder, 'bytes.db')
  const sizeAfter = (): number => {
    const db = new DatabaseSync(store)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    return statSync(store).size
  }
  await runOnce(longTeam(1), { store })
  const empty = sizeAfter()
  await runOnce(longTeam(1_000), { store })
  const said = 'Write the next part, please.The next part.'.length
  return (sizeAfter() - empty) / 1_000 - said
}

/**
 * Bytes on disk per delegation of runs that go on at once, content included, of files without free pages: when they have
 * ended, and when they are archived.
 */
async function archivedBytes(
  folder: string,
  { runs, delegations }: { readonly runs: number; readonly delegations: number },
): Promise<{ readonly ended: number; readonly archived: number }> {
  const leader = longTeam(delegations)
  const sizesOf = async (count: number): Promise<{ readonly ended: number; readonly archived: number }> => {
    const store = join(folder, `archived-${delegations}-${count}.db`)
    {
      await using runtime = await createRuntime({ store, agents: [leader] })
      await Promise.all(Array.from({ length: count }, () => timedRun(runtime, leader)))
    }
    // the run of the newest entry stays as it is
    await runOnce(longTeam(1), { store })
    const ended = compactStore(store).after
    const db = new DatabaseSync(store)
    const whole = db.prepare('SELECT count(*) AS n FROM run WHERE archived = 0')
    {
      await using _ = await createRuntime({ store, agents: [leader], archiveAfterMs: 0 })
      while ((whole.get() as { n: number }).n > 1) await sleep(10)
    }
    db.close()
    return { ended, archived: compactStore(store).after }
  }
  const [none, all] = [await sizesOf(0), await sizesOf(runs)]
  const each = (kind: 'ended' | 'archived'): number => (all[kind] - none[kind]) / runs / delegations
  return { ended: each('ended'), archived: each('archived') }
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const leader = longTeam(count)
    const each = (ms: number): number => (ms * 1000) / count
    const file = (durability: 'full' | 'strict') => async (): Promise<number> =>
      each(await runOnce(leader, { store: join(folder, `${durability}-${performance.now()}.db`), durability }))
    await using runtime = await createRuntime({ agents: [leader] })
    const memory = await inTurns(15, { ours: async () => each(await timedRun(runtime, leader)), bare })
    const cpu = await inTurns(15, { ours: () => cpuOf(() => timedRun(runtime, leader)) })
    const disk = await inTurns(9, { full: file('full'), strict: file('strict'), bare: () => bareDurable(folder) })
    const [ten, thousand] = [longTeam(10), longTeam(1_000)]
    const long = await archivedBytes(folder, { runs: 1, delegations: 1_000 })
    const several = await archivedBytes(folder, { runs: 100, delegations: 10 })
    const single = await archivedBytes(folder, { runs: 1_000, delegations: 1 })
    const stored = (what: string, { ended, archived }: typeof long, budget?: Row['budget']): Row => ({
      figure: `stored per delegation, ${what}`,
      value: archived,
      unit: 'bytes',
      side: { what: 'before', value: ended },
      ...(budget === undefined ? {} : { budget }),
    })
    const growth = await inTurns(9, { ten: () => runOnce(ten), thousand: () => runOnce(thousand) })
    return [
      {
        figure: 'delegation in memory, warm',
        value: memory.ours,
        unit: 'µs',
        side: { what: 'bare loop', value: memory.bare },
        budget: { atMost: 60 },
      },
      { figure: 'delegation in memory, warm, CPU time', value: cpu.ours, unit: 'µs' },
      {
        figure: 'delegation durable',
        value: disk.full,
        unit: 'µs',
        side: { what: 'two bare fsynced commits', value: disk.bare },
        budget: { atMost: 1.25, of: 'ratio' },
      },
      {
        figure: 'delegation durable, strict',
        value: disk.strict,
        unit: 'µs',
        side: { what: 'two bare fsynced commits', value: disk.bare },
        budget: { atMost: 1.5, of: 'ratio' },
      },
      {
        figure: 'growth 10 to 1,000 delegations, exponent',
        value: Math.log10(growth.thousand / growth.ten) / 2,
        unit: '',
        budget: { atMost: 1.02 },
      },
      {
        figure: 'delegation in a run of 1,000',
        value: growth.thousand,
        unit: 'µs',
        side: { what: 'in a run of 10', value: growth.ten * 100 },
        budget: { atMost: 120 },
      },
      {
        figure: 'stored per delegation beyond content',
        value: await storedBytes(folder),
        unit: 'bytes',
        budget: { atMost: 1_600 },
      },
      stored('a run of 1,000, archived', long, { atMost: 400 }),
      stored('100 runs of 10 at once, archived', several, { atMost: 800 }),
      stored('1,000 runs of one, archived', single),
    ]
  })
