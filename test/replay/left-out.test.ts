/** What a later entry stands for is not read again: who goes on without it comes to the same. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { completed, rootActivation, runId } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { Orchestration } from '@reeve/engine'
import { manualClock, resume, teamScenario, verifyJournal, type Scenario } from '@reeve/testing'
import { crew, digestOf } from '../../bench/mailbox-team.ts'
import { createRuntime } from '@reeve/runtime'
import { scenarios } from './scenarios.ts'

const folder = mkdtempSync(join(tmpdir(), 'reeve-left-out-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Takes what later entries stand for out of a store whose process is dead; says how much that was. */
function thinOut(file: string): number {
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM process')
  const { changes } = db
    .prepare(
      'DELETE FROM log WHERE EXISTS (SELECT 1 FROM summed s WHERE s.act = log.act AND s.start <= seq AND seq < s.upto)',
    )
    .run()
  db.close()
  return Number(changes)
}

/** Plays until its process dies at this commit; false: it has ended before. */
async function dies({ registry, start, outside }: Scenario, file: string, at: number): Promise<boolean> {
  let commits = 0
  let dead = false
  const clock = manualClock()
  const crash = (point: string): boolean => (dead ||= point.startsWith('commit') && commits++ === at)
  const engine = createEmbeddedEngine({
    file,
    clock,
    durability: 'relaxed',
    crash,
    onWarning: () => {},
  })
  engine.drive(registry)
  let ended = false
  const plays = async (): Promise<void> => {
    await engine.start(start)
    await engine.outcome(start.run)
    ended = true
  }
  plays().catch(() => undefined) // the dead hear nothing
  while (!dead && !ended) {
    await new Promise((resolve) => setImmediate(resolve))
    // what is asked of the dead is never answered
    if (!dead && !ended) await Promise.race([outside?.(engine, clock), new Promise((r) => setTimeout(r, 50))])
  }
  await engine.close()
  return dead
}

describe('what a later entry stands for', () => {
  for (const name of ['segments that say what was before', 'messages that are summed up'])
    test(`K1: ${name}: a process that dies at any commit is followed by one to which what was before is lost`, async () => {
      const scenario = scenarios.find((each) => each.name === name)!
      const outcomes = new Set<string>()
      let leftOut = 0
      for (let at = 1; ; at++) {
        const file = join(folder, `${name}-${at}.db`)
        if (!(await dies(scenario, file, at))) break
        leftOut += thinOut(file)
        const { end, repeated } = await resume(scenario, file, manualClock())
        outcomes.add(JSON.stringify(end))
        expect(repeated).toEqual([])
      }
      expect(leftOut).toBeGreaterThan(50)
      expect([...outcomes]).toEqual([expect.stringContaining('"status":"completed"')])
    }, 60_000)

  test('K10: code that takes no summary is not run on; an operator is asked', async () => {
    const { registry, start } = scenarios.find((each) => each.name === 'messages that are summed up')!
    const file = join(folder, 'without-sums.db')
    let at = 1
    while (await dies({ name: 'summed', registry, start }, file, at)) {
      if (thinOut(file) > 0) break
      rmSync(file)
      at++
    }
    let ran = 0
    const lead: Orchestration = {
      ...registry.find('lead')!,
      run: async (ctx) => {
        ctx.start('writer', null)
        await ctx.next()
        return completed(++ran)
      },
    }
    const engine = createEmbeddedEngine({ file, clock: manualClock(), durability: 'relaxed', onWarning: () => {} })
    engine.drive({ ...registry, find: (name, version) => (name === 'lead' ? lead : registry.find(name, version)) })
    await expect.poll(() => engine.questions({ run: start.run })).toMatchObject([{ kind: 'diverged' }])
    expect(await engine.summary(start.run)).toMatchObject({
      status: 'stuck',
      reason: expect.stringMatching(/takes no summary, and entry \d+ of its journal is one/) as string,
    })
    expect(ran).toBe(0)
    await engine.close()
  }, 60_000)

  test('K1: a team whose leader has heard thousands of messages goes on from what they came to', async () => {
    const messages = 6_000
    const file = join(folder, 'team.db')
    let seen = 0
    const root = crew(messages, (number) => (seen = number))
    let dead = false
    const first = createEmbeddedEngine({
      file,
      durability: 'relaxed',
      onWarning: () => {},
      crash: () => (dead ||= seen > 5_000),
    })
    const runtime = await createRuntime({ engine: first, agents: [root] })
    runtime.start(root, 'Go', { runId: 'run_mail' }).catch(() => undefined) // the dead hear nothing
    while (!dead) await new Promise((resolve) => setTimeout(resolve, 5))
    await first.close()
    expect(thinOut(file)).toBeGreaterThan(5_000)
    const second = createEmbeddedEngine({ file, durability: 'relaxed' })
    const next = await createRuntime({ engine: second, agents: [crew(messages, () => {})] })
    const { outcome } = await second.outcome(runId('run_mail'))
    let digest = 0
    for (let i = 1; i <= messages; i++) digest = digestOf(digest, i)
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { tasks: [{}, { output: { read: messages, digest } }] },
    })
    const events = await second.read(runId('run_mail'))
    const numbers = events.flatMap(({ event }) => (event.type === 'mail.accepted' ? [event.seq] : []))
    const began = numbers[0]!
    expect(numbers).toEqual(numbers.map((_, i) => began + i))
    await next.close()
  }, 60_000)

  test('K10: a journal with summaries replays whole, and appends nothing', async () => {
    const messages = 4_000
    const root = crew(messages, () => {})
    const engine = createEmbeddedEngine({ file: join(folder, 'whole.db'), durability: 'relaxed' })
    const runtime = await createRuntime({ engine, agents: [root] })
    const run = await runtime.start(root, 'Go', { runId: 'run_whole' })
    await run.outcome()
    const events = await engine.read(runId('run_whole'))
    const sums = events.filter(({ event }) => event.type === 'activation.summed')
    expect(sums.length).toBeGreaterThan(0)
    expect(sums.every(({ activation }) => activation === rootActivation(runId('run_whole')))).toBe(true)
    expect((await verifyJournal(events, teamScenario({ agents: [root], input: 'Go' }).registry)).problems).toEqual([])
    await runtime.close()
  }, 120_000)
})
