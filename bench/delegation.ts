/**
 * One delegation: model leader, model worker. In memory beside a bare loop, durable beside the same two fsynced
 * commits. And how it grows.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'reeve'
import { inFolder, inTurns, ownSeconds, type Row } from './measure.ts'
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
    ]
  })
