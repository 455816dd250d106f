/**
 * Who is taken for dead: not a process whose event loop is blocked, nor one that a lock kept from writing, nor one that
 * lives on this host (K2, K6).
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Json, RunId } from '@reeve/core'
import { hungMs } from '../../packages/sqlite/src/heartbeat.ts'
import { begin, behind, inFolder, launch, open, outcome, registry, step, until } from './hand.ts'

/** An agent that counts how often its effect begins here. */
class Counting {
  begun = 0
  readonly agents = registry({
    blocker: (ctx) => step(ctx, 'work', () => (this.begun++, 'done elsewhere'), { effect: 'once' }),
  })
}
const elsewhere = (file: string): void =>
  behind(file, (db) => db.exec("UPDATE process SET host = 'elsewhere' WHERE id = (SELECT owner FROM run)"))
const rowOf = (file: string, run: string): { owner: string | null; epoch: number } =>
  behind(file, (db) => db.prepare('SELECT owner, epoch FROM run WHERE id = ?').get(run)) as {
    owner: string | null
    epoch: number
  }

describe('a process whose event loop a tool blocks for four times its lease', () => {
  test.each(['here', 'elsewhere'] as const)(
    'K2, K6: keeps its run (%s), and its once effect is done once and not in doubt',
    async (where) => {
      const file = inFolder()
      const blocked = launch('block', file, '4000', '1000')
      await blocked.line('working')
      if (where === 'elsewhere') elsewhere(file)
      const other = new Counting()
      const engine = open(file, { leaseMs: 1_000 })
      engine.drive(other.agents)
      expect(await outcome(engine, 'blocked')).toEqual({ status: 'completed', output: 'done' })
      await blocked.line('{"status":"completed","output":"done"}')
      expect(other.begun).toBe(0)
      expect(blocked.lines.filter((line) => line === 'working')).toHaveLength(1)
      expect(await engine.questions()).toEqual([])
      const { events } = { events: (await engine.read('blocked' as RunId)).map(({ event }) => event.type) }
      expect(events).not.toContain('effect.in-doubt')
    },
    30_000,
  )
})

test('K2: processes that a lock kept from writing for longer than their lease keep their runs', async () => {
  const file = inFolder()
  const holder = launch('hold', file, 'once')
  await holder.line('working')
  elsewhere(file)
  const before = rowOf(file, 'held')
  const engine = open(file, { busyMs: 50 })
  engine.drive(new Counting().agents)
  const lock = launch('lock', file)
  await lock.line('locked')
  const lapsed = behind(file, (db) => (db.prepare('SELECT max(until) AS n FROM process').get() as { n: number }).n)
  await until('every lease is over', () => Date.now() > lapsed, 8_000)
  lock.child.stdin!.write('go\n')
  await lock.line('let go')
  const fresh = (): boolean =>
    behind(file, (db) =>
      db.prepare('SELECT 1 FROM process JOIN run ON run.owner = process.id WHERE until > ?').get(Date.now() + 1_000),
    ) !== undefined
  await until('its holder says that it lives', fresh)
  expect(rowOf(file, 'held')).toEqual(before)
  expect(await engine.questions()).toEqual([])
}, 30_000)

describe('a process of this host that has said nothing for longer than its lease', () => {
  /** A process that is known to the store by its pid and holds a run; it writes nothing itself. */
  async function known(silentMs: number) {
    const file = inFolder()
    const lock = launch('lock', inFolder('other.db'))
    await lock.line('locked')
    const begun: Json[] = []
    const engine = open(file, { leaseMs: 200 })
    const agents = registry({ quick: (ctx) => step(ctx, 'one', () => (begun.push(1), 1)) })
    await begin(engine, 'theirs', 'quick')
    const stat = readFileSync(`/proc/${lock.child.pid}/stat`, 'utf8')
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
    engine.drive(registry({}))
    behind(file, (db) => {
      db.prepare("INSERT INTO process SELECT 'prc_theirs', host, ?, ?, ? FROM process LIMIT 1").run(
        lock.child.pid!,
        started,
        Date.now() - silentMs,
      )
      db.exec("UPDATE run SET owner = 'prc_theirs'; INSERT INTO process VALUES('prc_gone', 'elsewhere', 1, '1', 1)")
    })
    engine.drive(agents)
    const isBuried = (id: string): boolean =>
      behind(file, (db) => db.prepare('SELECT 1 FROM process WHERE id = ?').get(id)) === undefined
    return { lock, engine, begun, isBuried }
  }

  test.skipIf(process.platform !== 'linux')(
    'K2: keeps its runs while it lives; stopped by a signal, or dead, it loses them',
    async () => {
      const { lock, engine, begun, isBuried } = await known(5_000)
      await until('one that is nowhere to be seen is buried', () => isBuried('prc_gone'))
      expect(isBuried('prc_theirs')).toBe(false)
      expect(begun).toEqual([])
      lock.child.kill('SIGSTOP')
      expect(await outcome(engine, 'theirs')).toEqual({ status: 'completed', output: 1 })
      expect(begun).toHaveLength(1)
    },
    20_000,
  )

  test.skipIf(process.platform !== 'linux')(
    'loses its runs though it lives where its event loop must be taken for hung',
    async () => {
      const { engine } = await known(hungMs + 1_000)
      expect(await outcome(engine, 'theirs')).toEqual({ status: 'completed', output: 1 })
    },
    20_000,
  )
})
