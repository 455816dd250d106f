/** Several processes on one file, dead ones, frozen ones: who may write, who takes over, and when (K2, K6). */
import { describe, expect, test } from 'vitest'
import { systemClock, type Clock, type Json, type RunId } from '@reeve/core'
import type { EmbeddedEngine } from '@reeve/sqlite'
import {
  begin,
  behind,
  errorOf,
  inFolder,
  launch,
  open,
  outcome,
  registry,
  settledSteps,
  step,
  until,
  type Agent,
} from './hand.ts'

const quick = registry({ quick: async (ctx) => step(ctx, 'one', () => 1) })

/** Calls of effects, each of which ends when the test says so. */
class Calls {
  readonly made: {
    key: string
    epoch: number
    attempt: number
    end: (value: Json) => void
    fail: (error: Error) => void
  }[] = []
  agent =
    (options: Parameters<typeof step>[3] = {}): Agent =>
    (ctx) =>
      step(
        ctx,
        'work',
        ({ key, epoch, attempt }) =>
          new Promise<Json>((end, fail) => this.made.push({ key, epoch, attempt, end, fail })),
        options,
      )
}

/** Lets another engine take the run over from one that is alive: as if it had been buried while it stood still. */
function takeOver(file: string, run: string, taker: EmbeddedEngine): void {
  behind(file, (db) => db.prepare('UPDATE run SET owner = NULL WHERE id = ?').run(run))
  taker.driver.cache.wake([run as RunId])
  expect(taker.driver.runs.has(run as RunId)).toBe(true)
}

test('four processes open a file that does not exist yet, at once: one store, nothing lost', async () => {
  const file = inFolder()
  const all = ['a', 'b', 'c', 'd'].map((name) => launch('create', file, name))
  await Promise.all(all.map(({ line }) => line('created')))
  const engine = open(file)
  expect(await engine.runs()).toHaveLength(40)
  expect(behind(file, (db) => db.prepare('PRAGMA integrity_check').get())).toEqual({ integrity_check: 'ok' })
}, 20_000)

describe('a file that another process holds for longer than busyMs', () => {
  test('a store says store.busy to every verb, keeps what it has, and works when it is let go', async () => {
    const file = inFolder()
    const closing = open(file, { busyMs: 40 })
    closing.drive(quick)
    const { child, line } = launch('lock', file)
    await line('locked')
    await closing.close()
    expect(closing.warnings).toContain('store.busy')
    const engine = open(file, { busyMs: 40 })
    expect(await errorOf(() => engine.drive(quick))).toMatchObject({
      code: 'store.busy',
      retryable: true,
      hint: expect.stringMatching(/process/) as string,
    })
    expect(await errorOf(() => begin(engine, 'r', 'quick'))).toMatchObject({ code: 'store.busy', retryable: true })
    expect(await errorOf(() => engine.post({ type: 'cancel', run: 'r' as RunId, reason: 'x' }))).toMatchObject({
      code: 'store.busy',
    })
    expect(await engine.runs()).toEqual([])
    child.stdin!.write('go\n')
    await line('let go')
    engine.drive(quick)
    await begin(engine, 'r', 'quick')
    expect(await outcome(engine, 'r')).toEqual({ status: 'completed', output: 1 })
  }, 20_000)

  test('a file that is no store yet says store.busy and is opened later', async () => {
    const file = inFolder()
    const { child, line } = launch('lock', file)
    await line('locked')
    expect(await errorOf(() => open(file, { busyMs: 40 }))).toMatchObject({ code: 'store.busy', retryable: true })
    child.stdin!.write('go\n')
    await line('let go')
    open(file)
  }, 20_000)
})

describe('a run whose process was killed with kill -9', () => {
  test('taken over at once on the same host; the effect runs again with the same key and a larger epoch', async () => {
    const file = inFolder()
    const { child, line, gone } = launch('hold', file)
    await line('working')
    const calls = new Calls()
    const engine = open(file, { leaseMs: 3_600_000 })
    engine.drive(registry({ holder: calls.agent() }))
    expect(calls.made).toHaveLength(0)
    child.kill('SIGKILL')
    await gone
    await until('the run is taken over', () => calls.made.length === 1, 2_000)
    expect(calls.made[0]).toMatchObject({ key: 'act_held:work', epoch: 2 })
    calls.made[0]!.end('done')
    expect(await outcome(engine, 'held')).toEqual({ status: 'completed', output: 'done' })
  }, 20_000)

  test('a once effect in flight is asked about, and repeated only if an operator says so', async () => {
    const file = inFolder()
    const { child, line, gone } = launch('hold', file, 'once')
    await line('working')
    const calls = new Calls()
    const engine = open(file)
    engine.drive(registry({ holder: calls.agent({ effect: 'once' }) }))
    child.kill('SIGKILL')
    await gone
    await until('it asks', async () => (await engine.questions()).length === 1, 4_000)
    const [question] = await engine.questions()
    expect(question).toMatchObject({ kind: 'in-doubt', run: 'held', address: 'work' })
    expect(calls.made).toHaveLength(0)
    const word = { type: 'settle-doubt', activation: question!.activation, address: 'work' } as const
    expect(await engine.post({ ...word, happened: true, value: 'paid' })).toBe('accepted')
    expect(await engine.post({ ...word, happened: false })).not.toBe('accepted')
    expect(await outcome(engine, 'held')).toEqual({ status: 'completed', output: 'paid' })
    expect(calls.made).toHaveLength(0)
  }, 20_000)
})

test('an owner on another host is believed until its lease is over, and no longer', async () => {
  const file = inFolder()
  const calls = new Calls()
  const starter = open(file)
  await begin(starter, 'r', 'worker')
  const end = Date.now() + 700
  behind(file, (db) => {
    db.prepare('INSERT INTO process VALUES(?, ?, ?, ?, ?)').run('prc_far', 'elsewhere:boot', process.pid, '1', end)
    db.exec("UPDATE run SET owner = 'prc_far', epoch = 7")
  })
  const engine = open(file)
  engine.drive(registry({ worker: calls.agent() }))
  await until('the run is taken over', () => calls.made.length === 1, 4_000)
  expect(Date.now()).toBeGreaterThan(end)
  expect(calls.made[0]!.epoch).toBe(8)
})

describe('a process that lost a run while it stood still', () => {
  test('records nothing of it any more, also after it has heard of the change, and lets it go', async () => {
    const file = inFolder()
    const [frozen, taker] = [new Calls(), new Calls()]
    const a = open(file, { pollMs: 2 })
    const b = open(file)
    a.drive(registry({ worker: frozen.agent() }))
    b.drive(registry({ worker: taker.agent() }))
    await begin(a, 'r', 'worker')
    await until('it is at work', () => frozen.made.length === 1)
    let heard = false
    const hear = a.driver.onChange
    a.driver.onChange = (runs, by) => ((heard = true), hear(runs, by))
    takeOver(file, 'r', b)
    await until('the new owner works', () => taker.made.length === 1)
    await until('the old one has heard of it', () => heard)
    frozen.made[0]!.end('stale')
    await until('the old one lets it go', () => !a.driver.runs.has('r' as RunId))
    expect(settledSteps(file).size).toBe(0)
    taker.made[0]!.end('fresh')
    expect(await outcome(a, 'r')).toEqual({ status: 'completed', output: 'fresh' })
    expect([...settledSteps(file).values()]).toEqual([1])
  })

  test('begins no effect of it, not even after its next heartbeat: it looks first what is still its own', async () => {
    const file = inFolder()
    const [frozen, taker] = [new Calls(), new Calls()]
    let skew = 0
    const clock: Clock = { now: () => Date.now() + skew, timer: (at, call) => systemClock.timer(at - skew, call) }
    const a = open(file, { clock, leaseMs: 1_000 })
    // Its heartbeat lasts longer than the jump of the other's clock, who would take it for dead else.
    const b = open(file, { leaseMs: 300_000 })
    const retry = { attempts: 5, backoffMs: 600, jitter: false }
    a.drive(registry({ worker: frozen.agent({ retry }) }))
    b.drive(registry({ worker: taker.agent({ retry }) }))
    await begin(a, 'r', 'worker')
    await until('it is at work', () => frozen.made.length === 1)
    frozen.made[0]!.fail(new Error('try again'))
    await until('the failure is recorded', () =>
      behind(file, (db) => db.prepare("SELECT 1 FROM log WHERE body LIKE '%attempt-failed%'").get() !== undefined),
    )
    // It stands still: its clock jumps, its retry is still to come.
    const asleep = a.store.lease
    skew = 100_000
    takeOver(file, 'r', b)
    await until('it has told that it lives', () =>
      behind(
        file,
        (db) =>
          (db.prepare('SELECT until FROM process WHERE id = ?').get(asleep.id) as { until: number }).until >
          Date.now() + 50_000,
      ),
    )
    await until('it has noticed', () => !a.driver.runs.has('r' as RunId), 3_000)
    await until('the new owner works', () => taker.made.length === 1)
    expect(frozen.made).toHaveLength(1)
    expect(taker.made[0]!.epoch).toBeGreaterThan(frozen.made[0]!.epoch)
    taker.made[0]!.end('fresh')
    expect(await outcome(b, 'r')).toEqual({ status: 'completed', output: 'fresh' })
    expect(frozen.made).toHaveLength(1)
  })
})

test('a run that does not exist is unknown to every verb', async () => {
  const engine = open(inFolder())
  const none = 'none' as RunId
  expect(await errorOf(() => engine.outcome(none))).toMatchObject({
    code: 'run.unknown',
    hint: expect.any(String) as string,
  })
  expect(await errorOf(() => engine.remove(none))).toMatchObject({ code: 'run.unknown' })
  expect(await engine.summary(none)).toBeUndefined()
  expect(await engine.read(none)).toEqual([])
  expect(await engine.post({ type: 'cancel', run: none, reason: 'x' })).toBe('unknown')
  expect(
    await engine.post({
      type: 'answer',
      activation: 'act_none' as never,
      address: 'q',
      outcome: { status: 'completed', output: 1 },
    }),
  ).toBe('unknown')
  expect(await engine.post({ type: 'message', activation: 'act_none' as never, id: 'msg_1', body: 1 })).toBe('unknown')
})
