/** A file that 0.1.0's embedded engine wrote, and whose process was killed, opens and its runs go on: K5, K6, K12. */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import { unpack } from '@reeve/engine'
import { decode } from '@reeve/journal'
import { createRuntime, type Run, type Runtime } from '@reeve/runtime'
import { checkJournal, manualClock } from '@reeve/testing'
import { firstCast } from './first-cast.ts'
import { linesOf, plantFile } from './plant.ts'

const lines = linesOf('embedded')
const table = (name: string): readonly Readonly<Record<string, unknown>>[] =>
  lines.flatMap((line) => (line.table === name ? [line.row] : []))
const clock = manualClock(Math.max(...table('log').map(({ at }) => Number(at))) + 60_000)
const done: string[] = []
let dir = ''
let engine: EmbeddedEngine
let runtime: Runtime
const run = (id: string): Run => runtime.handle(id)
/** Nothing but this is done of a run that is answered. */
async function answered(id: string, value: string): Promise<readonly string[]> {
  const from = done.length
  await expect.poll(async () => (await runtime.questions({ run: id })).length).toBe(1)
  await run(id).answer({ interruptId: (await runtime.questions({ run: id }))[0]!.id, value })
  await run(id).outcome()
  return done.slice(from)
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'reeve-first-'))
  const file = join(dir, 'reeve.db')
  plantFile(file, lines, 'embedded')
  engine = createEmbeddedEngine({ file, clock, onWarning: () => {} })
  const agents = firstCast({ note: (what) => done.push(what), gate: () => Promise.resolve() })
  runtime = await createRuntime({ engine, agents, clock })
})
afterAll(async () => {
  await runtime.close()
  rmSync(dir, { recursive: true, force: true })
})

test('K12: the tables are those of 0.1.0, and are made into those of today', () => {
  expect(table('run')[0]).not.toHaveProperty('losses')
  const db = new DatabaseSync(join(dir, 'reeve.db'), { readOnly: true })
  expect((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version).toBeGreaterThan(1)
  expect(db.prepare("SELECT value FROM meta WHERE key = 'id'").get()).toMatchObject({
    value: expect.stringMatching(/^sto_/) as string,
  })
  db.close()
})

test('K1, K12: every journal is the old one, as far as that went', async () => {
  const blobs = new Map(table('blob').map(({ hash, body }) => [hash as string, body as string]))
  const acts = new Map(table('activation').map(({ num, id }) => [num, id as string]))
  for (const { id } of table('run')) {
    const old = table('log').flatMap(({ act, seq, at, position, body, blobs: packed }) => {
      const activation = acts.get(act)!
      if (activation !== `act_${String(id)}` && !activation.startsWith(`act_${String(id)}>`)) return []
      const event = decode(packed === null ? (body as string) : unpack(body as string, (hash) => blobs.get(hash)!))
      return [{ activation, seq, at, position, event }]
    })
    const feed = await engine.read(id as RunId)
    expect(
      feed
        .slice(0, old.length)
        .map(({ activation, seq, at, position, event }) => ({ activation, seq, at, position, event })),
    ).toEqual(old)
  }
})

test('K6: what was out when its process was killed runs again, or is asked about', async () => {
  expect(await run('working').outcome()).toMatchObject({ status: 'completed', output: 'slowly done' })
  await expect.poll(async () => (await runtime.questions({ run: 'doubt' })).length).toBe(1)
  expect(done).toEqual(['slow: work'])
  await run('doubt').control.settleDoubt({
    id: (await runtime.questions({ run: 'doubt' }))[0]!.id,
    happened: true,
    value: 'by cheque',
  })
  expect(await run('doubt').outcome()).toMatchObject({ output: { paid: 'by cheque' } })
})

test('K5: all others go on where they were; what had ended is not done again', async () => {
  expect(await run('completed').outcome()).toMatchObject({ status: 'completed' })
  expect(await run('failed').outcome()).toMatchObject({ status: 'failed', failure: { message: 'no luck' } })
  expect(await run('cancelled').outcome()).toMatchObject({ status: 'cancelled' })
  expect(await answered('question', 'yes')).toEqual(['question: after'])
  expect(await run('question').outcome()).toMatchObject({
    output: { before: 'question: before is done', answer: 'yes' },
  })
  expect(await answered('fresh', 'yes')).toEqual(['fresh: after'])
  for (const id of ['approval', 'delegation']) {
    const [approval] = await runtime.approvals({ run: id })
    await run(id).decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' })
  }
  expect(await run('approval').outcome()).toMatchObject({ output: 'it is sent' })
  expect(await run('delegation').outcome()).toMatchObject({
    output: { plan: 'leader: plan is done', end: 'completed' },
  })
  expect(done.slice(3).toSorted()).toEqual(['leader: sum', 'send {"to":"ann"}', 'send {"to":"ann"}'])
  expect((await run('paused').view()).status).toBe('paused')
  await run('paused').control.resume()
  expect(await answered('paused', 'yes')).toEqual(['paused: after'])
})

test('values are there, and a session is continued run by run', async () => {
  await answered('values-alone', 'yes')
  expect(await run('values-alone').outcome()).toMatchObject({ output: { count: 1, again: 11 } })
  await answered('session-1', 'one')
  expect(await run('session-1').outcome()).toMatchObject({ output: { count: 6, again: 16 } })
  await answered('session-2', 'two')
  expect(await run('session-2').outcome()).toMatchObject({ output: { count: 17, again: 27 } })
})

test('the clock is heard, and every journal is sound at its end', async () => {
  clock.advance(400 * 24 * 3_600_000)
  expect(await run('sleep').outcome()).toMatchObject({ output: 'sleeper: get up is done' })
  for (const { run: id, status } of await runtime.runs()) {
    expect(['completed', 'failed', 'cancelled'], id).toContain(status)
    expect(checkJournal(await engine.read(id)), id).toEqual([])
  }
})
