/**
 * A journal that cannot be read stops its own run only, says why, is not written to, and goes on as soon as it is whole
 * again.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { answer, ask, begin, behind, inFolder, open, outcome, registry, step, until, type Agent } from './hand.ts'

const worker: Agent = async (ctx) => [await step(ctx, 'one', () => 'x'.repeat(20_000)), await ask(ctx)]
const leader: Agent = async (ctx) => {
  await step(ctx, 'plan', () => 'p')
  await step(ctx, 'read', () => 'y'.repeat(20_000))
  const end = (await ctx.next(ctx.start('worker', null))).outcome
  return [end.status, await ask(ctx)]
}
const plain: Agent = async (ctx) => [await step(ctx, 'plan', () => 'p'), await ask(ctx)]
const agents = registry({ leader, worker, plain })

type Row = Record<string, SQLInputValue>

/** Damages a store and returns how to mend it. */
interface Damage {
  readonly what: string
  readonly code: string
  readonly where: 'leader' | 'worker'
  readonly harm: (db: DatabaseSync, act: number) => () => (db: DatabaseSync) => void
}

const row = (db: DatabaseSync, act: number, seq: number): Row =>
  db.prepare('SELECT * FROM log WHERE act = ? AND seq = ?').get(act, seq) as Row

function deleted(seq: number) {
  return (db: DatabaseSync, act: number) => {
    const lost = row(db, act, seq)
    db.prepare('DELETE FROM log WHERE position = ?').run(lost['position']!)
    return () => (again: DatabaseSync) =>
      void again.prepare('INSERT INTO log VALUES(?, ?, ?, ?, ?, ?)').run(...Object.values(lost))
  }
}
function rewritten(seq: number, body: string) {
  return (db: DatabaseSync, act: number) => {
    const was = row(db, act, seq)
    db.prepare('UPDATE log SET body = ? WHERE position = ?').run(body, was['position']!)
    return () => (again: DatabaseSync) =>
      void again.prepare('UPDATE log SET body = ? WHERE position = ?').run(was['body']!, was['position']!)
  }
}
function withoutBlob(db: DatabaseSync) {
  const blobs = db.prepare('SELECT * FROM blob').all() as Row[]
  expect(blobs.length).toBeGreaterThan(0)
  db.exec('DELETE FROM blob')
  return () => (again: DatabaseSync) =>
    blobs.forEach((blob) => again.prepare('INSERT INTO blob VALUES(?, ?)').run(...Object.values(blob)))
}

const damages: Damage[] = (['leader', 'worker'] as const).flatMap((where) => [
  { what: 'an entry is missing in the middle', code: 'journal.hole', where, harm: deleted(1) },
  { what: 'the first entry is missing', code: 'journal.hole', where, harm: deleted(0) },
  {
    what: 'an entry of a newer Reeve',
    code: 'journal.unknown-event',
    where,
    harm: rewritten(1, '{"type":"model.dreamed","op":"step","address":"plan"}'),
  },
  {
    what: 'a newer version of an entry',
    code: 'journal.unknown-event',
    where,
    harm: rewritten(1, '{"type":"step.begun","v":99,"op":"step","address":"plan","effect":"idempotent"}'),
  },
  { what: 'an entry that is not JSON', code: 'store.corrupt', where, harm: rewritten(2, '{"type":"step.sett') },
  { what: 'a payload is missing', code: 'store.corrupt', where, harm: withoutBlob },
])

describe.each(damages)('$what, in a $where', ({ code, where, harm }) => {
  test(`stops this run only, as ${code}`, async () => {
    const file = inFolder()
    const first = open(file)
    first.drive(agents)
    for (const run of ['broken', 'whole']) await begin(first, run, run === 'whole' ? 'plain' : 'leader')
    const asked = () => first.questions().then((list) => list.length === 2)
    await until('both runs ask', asked)
    const question = (await first.questions()).find((q) => q.run === 'broken')!
    await first.close()

    const act = where === 'leader' ? 'act_broken' : 'act_broken>worker'
    const mend = behind(file, (db) =>
      harm(db, (db.prepare('SELECT num FROM activation WHERE id = ?').get(act) as { num: number }).num),
    )()
    const entries = (): unknown =>
      behind(file, (db) =>
        db.prepare("SELECT l.* FROM log l JOIN activation a ON a.num = l.act WHERE a.id LIKE 'act_broken%'").all(),
      )
    const before = entries()

    const second = open(file)
    second.drive(agents)
    const word = {
      type: 'answer',
      activation: question.activation,
      address: 'question',
      outcome: { status: 'completed', output: 'late' },
    } as const
    expect(await second.post(word)).toBe('accepted')
    await until('the run is stuck', async () => (await second.summary('broken' as RunId))?.status === 'stuck')
    expect(second.warnings).toContain(code)
    expect(await answer(second, 'whole', 'fine')).toBe('accepted')
    expect(await outcome(second, 'whole')).toMatchObject({ status: 'completed' })
    await begin(second, 'new', 'plain')
    await until('a new run asks', async () => (await second.questions({ run: 'new' as RunId })).length === 1)
    expect(entries()).toEqual(before)
    await until('nothing stays in memory', () => second.driver.runs.size === 0)
    await second.close()

    behind(file, mend)
    const third = open(file)
    third.drive(agents)
    await until('the leader asks', async () =>
      (await third.questions({ run: 'broken' as RunId })).some((q) => q.activation === 'act_broken'),
    )
    expect(await answer(third, 'broken', 'ok')).toBe('accepted')
    expect(await outcome(third, 'broken')).toMatchObject({
      status: 'completed',
      output: ['completed', { status: 'completed', output: 'ok' }],
    })
  })
})
