/**
 * Teams over real wires: a supervisor with two workers on a store, models over HTTP in all five protocols. Watched and
 * not; with an approval inside a worker; killed on the way. The journal of the fake server is the outside witness of
 * what was asked.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { totalUsage, type Json } from '@reeve/core'
import type { Run, Runtime, RuntimeOptions } from '@reeve/runtime'
import { runtimeUnderTest, storeUnderTest } from '../engine-under-test.ts'
import { fakeKey, inPieces, startFakeLlm, wires, type FakeLlm, type Wire } from '../../packages/model/test/fake-llm.ts'
import { eventsOf, pause, runtimeOf, store, waiting } from './team.ts'
import {
  answerAsTeam,
  askedByKey,
  askedByPrompt,
  environmentOf,
  providerObject,
  teamOf,
  who,
  type Deeds,
} from './wire-team.ts'

let llm: FakeLlm
beforeAll(async () => {
  llm = await startFakeLlm()
})
beforeEach(() => {
  llm.reset()
  answerAsTeam(llm)
  for (const [name, value] of Object.entries(environmentOf(llm.url))) vi.stubEnv(name, value)
})
afterAll(() => llm.close())

/** The leader thinks with the provider's object, its workers with ids that the environment leads to the server. */
const teamOn = (wire: Wire, deeds: Deeds): ReturnType<typeof teamOf> =>
  teamOf(
    { lead: providerObject(wire, llm.url), researcher: wire.model, writer: wire.model },
    (deed) => void deeds.push(deed),
  )

async function approve(run: Run): Promise<void> {
  const { waiting: open } = await waiting(run)
  expect(open).toMatchObject([{ path: ['lead', 'writer'], tool: 'publish', input: { topic: 'ravens' }, risk: 'high' }])
  await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
}

const allDone = ['lookup beaks', 'lookup wings', 'publish ravens']

describe.each(wires)('$name', (wire) => {
  test('a team works in parallel, asks a human inside a worker, and answers, unwatched', async () => {
    const deeds: Deeds = []
    const runtime = await runtimeOf([teamOn(wire, deeds)], { store: store() })
    const run = await runtime.start('lead', 'A report on ravens, please.')
    await approve(run)
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({ status: 'completed', output: 'The report on ravens.' })
    expect(deeds.toSorted()).toEqual(allDone) // the lookups are made side by side
    expect([...askedByPrompt(llm).values()]).toEqual([1, 1, 1, 1, 1, 1])
    expect(llm.requests().every((request) => request.path.includes(wire.path))).toBe(true)
    expect(Object.fromEntries(outcome.usage.map(({ agent, calls }) => [agent, calls]))).toEqual({
      lead: 2,
      researcher: 2,
      writer: 2,
    })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 6, input: 600, output: 120, unknown: 0 })
    const view = await run.view()
    expect(view.activations.map(({ path, state }) => [path.join('/'), state])).toEqual([
      ['lead', 'completed'],
      ['lead/researcher', 'completed'],
      ['lead/writer', 'completed'],
    ])
    expect(JSON.stringify(await eventsOf(run))).not.toContain(fakeKey)
  })

  test("the workers' results reach the leader's model in the order of its calls", async () => {
    const runtime = await runtimeOf([teamOn(wire, [])], { store: store() })
    const run = await runtime.start('lead', 'A report on ravens, please.')
    await approve(run)
    await run.outcome()
    const last = llm.requests().at(-1)?.body ?? ''
    expect(last.indexOf('Beaks and wings are known.')).toBeGreaterThan(0)
    expect(last.indexOf('It is published.')).toBeGreaterThan(last.indexOf('Beaks and wings are known.'))
  })

  test('who watches sees the text while it is written, and the parts of a worker by its path', async () => {
    const text = inPieces('The report on ravens.', 6)
    llm.reset()
    llm.on({ ...who('LEADER'), hasToolResult: true }, { text, breaks: { with: 'stall', after: 2 } })
    answerAsTeam(llm)
    const runtime = await runtimeOf([teamOn(wire, [])], { store: store() })
    const run = await runtime.start('lead', 'A report on ravens, please.')
    const pieces: string[] = []
    const calls: string[] = []
    const reading = (async () => {
      for await (const piece of run.text()) pieces.push(piece)
    })()
    const watching = (async () => {
      for await (const { part } of run.parts({ path: ['lead', 'researcher'] })) {
        const { type, name } = part as { readonly type: string; readonly name?: string }
        if (type === 'tool-input.start') calls.push(String(name))
      }
    })()
    await approve(run)
    await expect.poll(() => pieces.join('')).toBe('Asking both.The report o') // the model has not said the rest
    llm.release()
    const outcome = await run.outcome()
    await Promise.all([reading, watching])
    expect(pieces.join('')).toBe('Asking both.The report on ravens.')
    expect(calls).toEqual(['lookup', 'lookup'])
    expect(outcome).toMatchObject({ output: 'The report on ravens.' })
    expect(JSON.stringify(await eventsOf(run))).not.toContain('text.delta') // parts are never journaled
  })

  test('a process that dies after every few commits asks for no answer twice that was committed', async () => {
    const deeds: Deeds = []
    const file = store()
    let deaths = 0
    for (let output: Json | undefined; output === undefined;) {
      // read while no process drives: the next one works from its first moment on
      const before = askedByKey(llm)
      const kept = await committedModelSteps(file)
      // with two, on PostgreSQL, a process would not get beyond starting again what is there
      const life = await mortal(file, teamOn(wire, deeds), 3)
      const end = await untilDeath(life, deeds)
      const committed = await committedModelSteps(file)
      for (const key of kept) expect(askedByKey(llm).get(key), key).toBe(before.get(key))
      await life.runtime.close()
      if (end === 'died') deaths++
      else output = end
      expect(committed.length).toBeGreaterThanOrEqual(kept.length)
      expect([undefined, 'The report on ravens.']).toContain(output)
      expect(deaths).toBeLessThan(30)
    }
    expect(deaths).toBeGreaterThan(2)
    expect(deeds.filter((deed) => deed.startsWith('publish'))).toEqual(['publish ravens'])
    expect(new Set(deeds)).toEqual(new Set(allDone))
    expect(askedByKey(llm).size).toBe(6) // six model steps in all, each under one key over all lives
  })

  test('killed with SIGKILL while a human is asked, it goes on in another process and asks nothing again', async () => {
    const file = store()
    const child = childOn(wire, await storeUnderTest(file), llm.url)
    await waiting((await onlookerOf(file, child)).handle('report'))
    const before = askedByKey(llm)
    expect([...before.values()]).toEqual([1, 1, 1, 1])
    await child.kill()
    const deeds: Deeds = []
    const run = (await runtimeOf([teamOn(wire, deeds)], { store: file })).handle('report')
    await approve(run)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'The report on ravens.' })
    for (const key of before.keys()) expect(askedByKey(llm).get(key)).toBe(1)
    expect(llm.requests()).toHaveLength(6)
    expect([...askedByPrompt(llm).values()]).toEqual([1, 1, 1, 1, 1, 1])
    expect(deeds).toEqual(['publish ravens']) // the lookups were done by the process that is dead
  })

  test('killed with SIGKILL while a model answers: only that call is made again, under the same key', async () => {
    const file = store()
    const witness = await llm.proxy(({ body }) => (body.includes('Beaks') ? { body: '', end: 'open' } : {}))
    const child = childOn(wire, await storeUnderTest(file), witness.url)
    const onlooker = await onlookerOf(file, child)
    await expect.poll(async () => (await onlooker.approvals()).length).toBe(1) // the writer asks; the researcher's second answer hangs
    await expect.poll(() => witness.requests().length).toBe(4)
    await expect.poll(async () => (await committedModelSteps(file)).length).toBe(3)
    await child.kill()
    const committed = await committedModelSteps(file)
    const asked = witness.requests().map(({ headers }) => String(headers['idempotency-key']))
    const hanging = asked.filter((key) => !committed.includes(key))
    expect(hanging).toHaveLength(1)
    llm.reset()
    answerAsTeam(llm)
    const run = (await runtimeOf([teamOn(wire, [])], { store: file })).handle('report')
    await approve(run)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'The report on ravens.' })
    expect([...askedByKey(llm).keys()].filter((key) => committed.includes(key))).toEqual([])
    expect(askedByKey(llm).get(hanging[0]!)).toBe(1)
    expect(llm.requests()).toHaveLength(3) // that one, the writer's second, the leader's second
  })
})

interface Child {
  readonly kill: () => Promise<void>
  readonly alive: () => boolean
  readonly complaint: () => string
}

/** A process of its own that drives the team of a wire. */
function childOn(wire: Wire, place: string, url: string): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'wire-child.ts'), place, wire.name, url], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  return { kill, alive: () => child.exitCode === null, complaint: () => complaint }
}

/** A runtime that drives nothing, as soon as the child has begun its run. */
async function onlookerOf(file: string, child: Child): Promise<Runtime> {
  const onlooker = await runtimeOf([], { store: file, drive: false })
  while ((await onlooker.runs()).length === 0) {
    expect(child.alive(), child.complaint()).toBe(true)
    await pause(5) // looked for without rest, it would keep the child from its processor
  }
  return onlooker
}

interface Life {
  readonly runtime: Runtime
  readonly death: Promise<'died'>
}

/** A runtime whose process "dies" after so many commits. */
async function mortal(file: string, team: ReturnType<typeof teamOf>, commits: number): Promise<Life> {
  let die = (_how: 'died'): void => {}
  const death = new Promise<'died'>((resolve) => (die = resolve))
  let left = commits
  const crash: NonNullable<RuntimeOptions['crash']> = (point) => {
    if (point !== 'commit.after' || --left > 0) return false
    die('died')
    return true
  }
  return { runtime: await runtimeOf([team], { store: file, leaseMs: 100, crash }), death }
}

/**
 * Goes on with the report to its end or to the death of its process. Says yes whenever it is asked, and what it sees
 * when it is asked what has happened.
 */
async function untilDeath({ runtime, death }: Life, deeds: Deeds): Promise<Json> {
  const work = async (): Promise<Json> => {
    const run = await runtime.start('lead', 'A report on ravens, please.', { runId: 'report' })
    for (;;) {
      const state = await run.until('waiting')
      if (!('waiting' in state)) return state.status === 'completed' ? state.output : state.status
      for (const { id, kind } of state.questions) {
        if (kind === 'approval') await run.decide({ approvalId: id, decision: 'approve' })
        else
          await run.control.settleDoubt({
            id,
            happened: deeds.includes('publish ravens'),
            value: { published: 'ravens' },
          })
      }
    }
  }
  const working = work()
  working.catch(() => undefined) // whoever dies first, the other is not heard
  return Promise.race([death, working])
}

/** The idempotency keys of the model steps whose ends are in the store. */
async function committedModelSteps(file: string): Promise<readonly string[]> {
  await using onlooker = await runtimeUnderTest({ store: file, drive: false })
  if ((await onlooker.runs()).length === 0) return []
  const run = onlooker.handle('report')
  const { position: last } = await run.view()
  const asked = new Set<string>()
  const ended: string[] = []
  for await (const { activation, event, position } of run.events()) {
    if (event.type === 'model.requested') asked.add(`${activation}:${event.address}`)
    if (event.type === 'step.settled' && event.outcome.status === 'completed')
      ended.push(`${activation}:${event.address}`)
    if (position >= last) break
  }
  return ended.filter((key) => asked.has(key))
}
