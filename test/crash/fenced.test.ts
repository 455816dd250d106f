/**
 * A process that has lost a run, and one that must not lose any: what does not count any more has no effect, and who
 * lives is believed to (K2).
 */
import { describe, expect, test } from 'vitest'
import { rootActivation, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'
import { begin, behind, inFolder, open, outcome, registry, step, until } from './hand.ts'

const act = (run: string) => rootActivation(run as RunId)

/** An effect that the test lets end. */
function gate(): { readonly calls: number; effect: () => Promise<Json>; open: (value: Json) => void } {
  const inside: ((value: Json) => void)[] = []
  let calls = 0
  return {
    get calls() {
      return calls
    },
    effect: () => (calls++, new Promise((resolve) => inside.push(resolve))),
    open: (value) => inside.splice(0).forEach((resolve) => resolve(value)),
  }
}

async function message(ctx: Context): Promise<Json> {
  const arrival = await ctx.next((any) => any.type === 'message')
  return arrival.type === 'message' ? arrival.body : null
}

/** Somebody else, who lives, has taken this run over. */
const takenAway = (file: string, run: string): void =>
  behind(file, (db) => {
    db.exec(
      "INSERT OR IGNORE INTO process SELECT 'prc_other', host, pid, started, until + 1000000 FROM process LIMIT 1",
    )
    db.prepare("UPDATE run SET owner = 'prc_other', epoch = epoch + 1 WHERE id = ?").run(run)
  })

describe.each(['full', 'strict'] as const)('a process that has lost a run, durability %s', (durability) => {
  test('K2: reports no end, sends no message and writes no value of it', async () => {
    const file = inFolder()
    const engine = open(file, { leaseMs: 60_000, durability })
    const work = gate()
    engine.drive(
      registry({
        loser: async (ctx) => {
          const value = await step(ctx, 'work', work.effect)
          ctx.send(act('listener'), 'from the loser')
          return value
        },
        // The write is an effect: it is under way when the run is lost.
        writer: (ctx) => ctx.values.update('key', () => (work.effect(), takenAway(file, 'values'), 'stale')),
        listener: message,
      }),
    )
    await begin(engine, 'listener', 'listener')
    await begin(engine, 'loser', 'loser')
    await until('it is at work', () => work.calls === 1)
    const ends: string[] = []
    void outcome(engine, 'loser').then(
      () => ends.push('loser'),
      () => undefined,
    )
    takenAway(file, 'loser')
    work.open('stale')
    await until('it lets the run go', () => !engine.driver.runs.has('loser' as RunId))
    await begin(engine, 'values', 'writer')
    await until('it lets the other run go', () => work.calls === 2 && !engine.driver.runs.has('values' as RunId))
    await engine.post({ type: 'message', activation: act('listener'), id: 'm', body: 'from outside' })
    expect(await outcome(engine, 'listener')).toEqual({ status: 'completed', output: 'from outside' })
    expect(ends).toEqual([])
    expect(behind(file, (db) => db.prepare('SELECT count(*) AS n FROM value').get())).toEqual({ n: 0 })
    const ended = behind(file, (db) =>
      db.prepare("SELECT id FROM run WHERE ended IS NOT NULL AND id <> 'listener'").all(),
    )
    expect(ended).toEqual([])
  })
})

test('K2: the loser of a race for a start reports no end and sends no message of that run', async () => {
  const file = inFolder()
  const first = open(file)
  first.drive(registry({ agent: message, listener: message }))
  await begin(first, 'listener', 'listener')
  let raced = false
  const second = open(file, {
    crash: (point) => {
      // Just before the loser commits, the other process begins the same run.
      if (point === 'commit.before' && !raced) {
        raced = true
        behind(file, (db) => {
          db.prepare("INSERT INTO run(id, agent, version, created, owner) VALUES('same', 'agent', '1', 0, ?)").run(
            first.store.lease.id,
          )
          db.exec("INSERT INTO activation(id) VALUES('act_same')")
          const body = '{"type":"activation.started","agent":"agent","version":"1","input":null}'
          db.prepare(
            "INSERT INTO log(act, seq, at, body) SELECT num, 0, 0, ? FROM activation WHERE id = 'act_same'",
          ).run(body)
        })
      }
      return false
    },
  })
  second.drive(
    registry({
      agent: (ctx) => {
        ctx.send(act('listener'), 'from the loser')
        return Promise.resolve('loser')
      },
    }),
  )
  const ends: string[] = []
  const hear = second.driver.onEnd
  second.driver.onEnd = (run, end) => (ends.push(run), hear(run, end))
  expect(await begin(second, 'same', 'agent')).toEqual({ created: false })
  expect(second.driver.runs.size).toBe(0)
  await first.post({ type: 'message', activation: act('listener'), id: 'm', body: 'from outside' })
  expect(await outcome(first, 'listener')).toEqual({ status: 'completed', output: 'from outside' })
  expect(ends).toEqual([])
  expect((await first.read('same' as RunId)).map(({ event }) => event.type)).toEqual(['activation.started'])
})

test.each(['idempotent', 'once'] as const)(
  'K2: a process that had nothing to do is not taken for dead when it begins a run (%s)',
  async (effect) => {
    const file = inFolder()
    const clock = manualClock()
    const work = gate()
    const agents = registry({ agent: (ctx) => step(ctx, 'work', work.effect, { effect }) })
    // It has not come to its next look when the other one comes.
    const idle = open(file, { clock, pollMs: 60_000 })
    idle.drive(agents)
    const beat = (): number =>
      behind(file, (db) => (db.prepare('SELECT max(until) AS n FROM process').get() as { n: number }).n)
    const armed = beat()
    clock.advance(2_960)
    await begin(idle, 'r', 'agent')
    await until('it is at work', () => work.calls === 1)
    // Its heartbeat of before would be over in 40 ms.
    expect(beat()).toBeGreaterThan(armed)
    clock.advance(50)
    const other = open(file, { clock, pollMs: 2 })
    behind(file, (db) => db.exec("UPDATE process SET host = 'elsewhere'"))
    other.drive(agents)
    expect(other.driver.runs.size).toBe(0)
    work.open('done')
    expect(await outcome(idle, 'r')).toEqual({ status: 'completed', output: 'done' })
    expect(work.calls).toBe(1)
    expect(await idle.questions()).toEqual([])
  },
)

test('K2: a process that had nothing to do is not taken for dead when it takes a run over', async () => {
  const file = inFolder()
  const clock = manualClock()
  const agents = registry({ agent: message })
  const engine = open(file, { clock, pollMs: 2 })
  engine.drive(agents)
  await begin(engine, 'r', 'agent')
  await until('it is parked', () => (clock.advance(400), engine.driver.runs.size === 0))
  const beat = (): number =>
    behind(file, (db) => (db.prepare('SELECT max(until) AS n FROM process').get() as { n: number }).n)
  const before = beat()
  clock.advance(Math.max(0, before - clock.now() - 40))
  const [claimed] = engine.store.claim(['r' as RunId], () => true)
  expect(claimed?.epoch).toBeGreaterThan(1)
  expect(beat()).toBe(clock.now() + 3_000)
})

/** Drops the run from memory and reads it again. Returns the context of the memory that is void now. */
async function readAgain(engine: ReturnType<typeof open>, current: () => Context): Promise<Context> {
  const old = current()
  engine.driver.cache.drop('r' as RunId)
  engine.driver.cache.wake(['r' as RunId])
  await until('it is read again', () => current() !== old)
  return old
}

test('K5: a message of a run whose memory is void is not sent', async () => {
  const file = inFolder()
  const engine = open(file, { leaseMs: 60_000 })
  const work = gate()
  let context: Context | undefined
  engine.drive(registry({ agent: async (ctx) => ((context = ctx), step(ctx, 'work', work.effect)), listener: message }))
  await begin(engine, 'listener', 'listener')
  await begin(engine, 'r', 'agent')
  await until('it is at work', () => work.calls === 1)
  const old = await readAgain(engine, () => context!)
  old.send('act_listener' as ActivationId, 'from a memory that is void')
  await engine.post({ type: 'message', activation: act('listener'), id: 'm', body: 'from outside' })
  expect(await outcome(engine, 'listener')).toEqual({ status: 'completed', output: 'from outside' })
})

test('K2: what code asks for whose memory is void does not come into its run as it was read again', async () => {
  const file = inFolder()
  const engine = open(file, { leaseMs: 60_000 })
  const work = gate()
  const late = gate()
  let context: Context | undefined
  engine.drive(
    registry({
      agent: async (ctx) => ((context = ctx), step(ctx, 'work', work.effect)),
      worker: async (ctx) => step(ctx, 'late', late.effect),
    }),
  )
  await begin(engine, 'r', 'agent')
  await until('it is at work', () => work.calls === 1)
  const old = await readAgain(engine, () => context!)
  step(old, 'late', late.effect).catch(() => undefined)
  old.start('worker', null)
  const run = engine.driver.runs.get('r' as RunId)!
  expect([...run.activations.keys()]).toEqual([act('r')])
  expect([...run.out].map(({ address }) => address)).toEqual(['work'])
  work.open('done')
  expect(await outcome(engine, 'r')).toEqual({ status: 'completed', output: 'done' })
  expect([work.calls, late.calls]).toEqual([1, 0])
})
