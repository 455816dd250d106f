/** Code changes under runs in flight: builds side by side, a build that goes for good, and the same address with changed agents (K4). */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Run, Runtime } from '../../src/runtime/index.ts'
import { Fleet, until, type Worker } from './fleet.ts'
import { freePort, freshRestateServer, type TestServer } from './harness.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

/** The worker of one build, at an address of its own. */
async function build(
  fleet: Fleet,
  version: '1' | '2',
  more: Parameters<Fleet['worker']>[0] & { readonly port?: number } = {},
): Promise<Worker> {
  const { options, port = await freePort(), ...rest } = more
  return fleet.worker({ crew: version, label: version, ...rest, options: { build: `v${version}`, listen: { port }, ...options } })
}
const deskOf = (fleet: Fleet, version: '1' | '2'): Promise<Runtime> => fleet.desk({ build: `v${version}` }, version)

/** The question that a run waits with, when it is not the one before. */
async function question(run: Run, before = ''): Promise<string> {
  return until(`${run.id} asks`, async () => {
    const state = await run.until('waiting')
    const id = 'waiting' in state ? state.questions[0]?.id : 'ended'
    return id === before ? undefined : id
  })
}
const say = async (run: Run, value: string, before = ''): Promise<string> => {
  const id = await question(run, before)
  await run.answer({ interruptId: id, value })
  return id
}
const events = async (run: Run, type: string): Promise<unknown[]> => {
  const list: unknown[] = []
  for await (const { event } of run.events()) if (event.type === type) list.push(event)
  return list
}

describe('builds side by side', () => {
  test('K4: a run and its later workers finish on the build that it began with, new runs are the new build’s', async () => {
    await using fleet = await Fleet.create({ shared })
    const v1 = await build(fleet, '1')
    const [one, two] = [await deskOf(fleet, '1'), await deskOf(fleet, '2')]
    const old = await one.start('chain', 'go')
    const first = await question(old)
    const v2 = await build(fleet, '2')
    const fresh = await two.start('chain', 'go')
    // Started again by somebody of the new build: it is the same run, and stays where it is.
    expect((await two.start('chain', 'go', { runId: old.id })).id).toBe(old.id)
    const other = await say(fresh, 'b')
    await say(old, 'a')
    await say(old, 'yes', first)
    await say(fresh, 'yes', other)
    expect(await old.outcome()).toMatchObject({
      output: { before: '1', answer: 'a', end: { first: 'old by 1', inserted: null, last: 'last by 1' }, after: '1' },
    })
    expect(await fresh.outcome()).toMatchObject({
      output: { before: '2', answer: 'b', end: { first: 'renamed by 2', inserted: 'inserted by 2', last: 'last by 2' }, after: '2' },
    })
    expect(await events(old, 'agent.moved')).toEqual([])
    const pids = (name: string): number[] => fleet.world.deeds(name).map(({ pid }) => pid)
    expect([pids('chain 1'), pids('old')]).toEqual([[v1.pid], [v1.pid]])
    expect([pids('chain 2'), pids('renamed'), pids('inserted')]).toEqual([[v2.pid], [v2.pid], [v2.pid]])
    expect(new Set(pids('last'))).toEqual(new Set([v1.pid, v2.pid]))
  })

  test('K2: the newer build is taken back: the older one’s runs are told again', async () => {
    await using fleet = await Fleet.create({ shared })
    await build(fleet, '1')
    const one = await deskOf(fleet, '1')
    const old = await one.start('chain', 'go')
    const first = await question(old)
    const v2 = await build(fleet, '2')
    await v2.end()
    await say(old, 'a')
    await say(old, 'yes', first)
    expect(await old.outcome()).toMatchObject({ output: { after: '1' } })
    expect(await (await one.start('chain', 'go')).until('waiting')).toMatchObject({ status: 'waiting' })
  })

  test('K4: a build goes for good: its runs move to the newest by rule, and say so', async () => {
    await using fleet = await Fleet.create({ shared })
    const v1 = await build(fleet, '1')
    const one = await deskOf(fleet, '1')
    const run = await one.start('chain', 'go')
    const first = await question(run)
    await v1.end()
    const v2 = await build(fleet, '2')
    await say(run, 'a')
    await say(run, 'yes', first)
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: { before: '1', answer: 'a', end: { first: 'renamed by 2', last: 'last by 2' }, after: '2' },
    })
    expect(await events(run, 'agent.moved')).toMatchObject(
      [{ from: /^1\+/, to: /^2\+/ }].map(({ from, to }) => ({
        from: expect.stringMatching(from) as string,
        to: expect.stringMatching(to) as string,
      })),
    )
    expect(v2.lines.some((line) => line.startsWith('engine.deployment-gone'))).toBe(true)
    expect(fleet.world.count('chain 1')).toBe(1)
  })

  test.each(['a worker of the build comes back', 'the newest has the earlier code, too'])(
    'K4: a build goes for good and its runs may not move: they are stuck and say why; %s, and they go on',
    async (how) => {
      await using fleet = await Fleet.create({ shared })
      const port = await freePort()
      const v1 = await build(fleet, '1', { port })
      const one = await deskOf(fleet, '1')
      const run = await one.start('chain', 'go')
      const first = await question(run)
      await v1.end()
      const at2 = await freePort()
      const v2 = await build(fleet, '2', { port: at2, onMissingVersion: 'park' })
      await say(run, 'a')
      const stuck = await until('it is stuck', async () => {
        const summary = (await one.runs()).find((each) => each.run === run.id)
        return summary?.status === 'stuck' ? summary : undefined
      })
      expect(stuck.reason).toMatch(/version 1\+\w+ of "chain" is not registered/)
      if (how.startsWith('a worker')) await build(fleet, '1', { port, onMissingVersion: 'park' })
      else {
        await v2.end()
        await build(fleet, '2', { port: at2, onMissingVersion: 'park', earlier: ['1'] })
      }
      await say(run, 'yes', first)
      // Who begins now begins with the newest that is there.
      const last = how.startsWith('a worker') ? 'last by 1' : 'last by 2'
      expect(await run.outcome()).toMatchObject({ output: { before: '1', answer: 'a', end: { last }, after: '1' } })
      expect(await events(run, 'agent.moved')).toEqual([])
    },
  )
})

describe('the same address, changed code', () => {
  test('K4: a step inserted, one renamed: recorded ones are not repeated, the run goes on in the new code', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ label: '1' })
    const desk = await fleet.desk()
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    await fleet.worker({ crew: '2', label: '2' })
    await run.answer({ interruptId: id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: { first: 'old by 1', inserted: 'inserted by 2', answer: 'yes', last: 'last by 2' },
    })
    expect(['old', 'renamed', 'inserted', 'last'].map((what) => fleet.world.count(what))).toEqual([1, 0, 1, 1])
    expect(await events(run, 'agent.moved')).toHaveLength(1)
  })

  test('K4: a recorded step is gone from the code: the run goes on, or it asks; it never does it again', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ crew: '2', label: '2' })
    const desk = await fleet.desk({}, '2')
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    // Version 1 has no `inserted`, and `old` for `renamed`, without a word on how they belong together.
    await fleet.worker({ crew: '1', label: '1' })
    await run.answer({ interruptId: id, value: 'yes' })
    const asked = await until('it is stuck', async () => (await desk.questions({ run: run.id })).find(({ kind }) => kind === 'diverged'))
    expect((await desk.runs()).find((each) => each.run === run.id)).toMatchObject({ status: 'stuck' })
    await run.settleDivergence({ id: asked.id, action: 'map', to: 'renamed', by: 'ann' })
    const outcome = run.outcome()
    for (let settled = false; !settled;) {
      const next = (await desk.questions({ run: run.id })).find(({ kind }) => kind === 'diverged')
      if (next !== undefined && next.id !== asked.id) await run.settleDivergence({ id: next.id, action: 'execute' }).catch(() => undefined)
      settled = await Promise.race([outcome.then(() => true), new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50))])
    }
    expect(await outcome).toMatchObject({ status: 'completed', output: { first: 'renamed by 2', answer: 'yes', last: 'last by 1' } })
    expect(['old', 'renamed', 'inserted', 'last'].map((what) => fleet.world.count(what))).toEqual([0, 1, 1, 1])
  })

  test('K4: the old code comes back before the run was looked at: nothing has moved', async () => {
    await using fleet = await Fleet.create({ shared })
    const before = await fleet.worker({ label: '1' })
    const desk = await fleet.desk()
    const run = await desk.start('changed', 'go')
    const id = await question(run)
    await before.end()
    const after = await fleet.worker({ crew: '2', label: '2', onMissingVersion: 'park' })
    await run.answer({ interruptId: id, value: 'yes' })
    await until('it is stuck', async () => (await desk.runs()).find((each) => each.run === run.id)?.status === 'stuck')
    await after.end()
    await fleet.worker({ label: '1' })
    expect(await run.outcome()).toMatchObject({ output: { first: 'old by 1', inserted: null, answer: 'yes', last: 'last by 1' } })
    expect(fleet.world.count('renamed') + fleet.world.count('inserted')).toBe(0)
  })
})
