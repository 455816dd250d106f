/**
 * Forks at every position there is, of runs of every kind: without an edit each ends as its origin did, nothing that
 * had ended is done again, its journal replays (K10), and no effect is made twice without a word (K6). And forks whose
 * process dies.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, sleep, step, teammate, tool, type Agent } from '@reeve/agent'
import { rootActivation, runId, type Json, type RunId } from '@reeve/core'
import { createEmbeddedEngine, type CrashPoint } from '@reeve/sqlite'
import type { Recorded } from '@reeve/journal'
import { approve, interrupt } from '@reeve/oversight'
import { registerAgents, type Run, type Runtime } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { verifyJournal } from '@reeve/testing'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'
import { approves } from '../../../test/replay/fork-people.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-fork-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function feed(run: Run<unknown>): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const events: Recorded[] = []
  for await (const recorded of run.events()) {
    events.push(recorded)
    if (recorded.position >= position) break
  }
  return events
}

/**
 * Approves what is asked, what is told as done before only with `repeats` (see `approves`); answers with `4`, says that
 * what the origin has done happened.
 */
async function ended(runtime: Runtime, run: Run<unknown>, repeats?: string[]): Promise<unknown> {
  for (;;) {
    const state = await run.until('waiting')
    if (!('questions' in state)) return withoutRun(state, run.id)
    if (state.status !== 'waiting') throw new Error(`it is ${state.status}: ${state.reason}`)
    for (const { id, kind, body } of state.questions)
      if (kind === 'approval') await approves(run, { id, body }, repeats).catch(() => undefined)
      else if (kind === 'interrupt') await runtime.answer({ interruptId: id, value: 4 }).catch(() => undefined)
      else {
        // throws unless it is in doubt because of the origin
        const { outcome } = (body as { readonly done: { readonly outcome?: object } }).done
        await run.control.settleDoubt({ id, happened: outcome !== undefined }).catch(() => undefined)
      }
  }
}

const withoutRun = (
  { usage: _usage, run: _run, ...outcome }: { readonly usage: unknown; readonly run: string },
  id: string,
): unknown => JSON.parse(JSON.stringify(outcome).replaceAll(id, 'run'))

/** Who did what, and how often: only effects that change something. */
const made: string[] = []
const pay = tool({ name: 'pay', sensitive: true, execute: () => (made.push('pay'), 'paid') })
const note = tool({ name: 'note', execute: () => (made.push('note'), 'noted') })
const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  tools: [pay, note],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'paid and noted'
      : {
          calls: [
            { name: 'pay', input: {} },
            { name: 'note', input: {} },
          ],
        },
})
const boss = supervisor({
  name: 'boss',
  description: 'Leads.',
  workers: [clerk],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'pay' } }] },
})
const coder = agent({
  name: 'coder',
  description: 'Code.',
  workers: [clerk],
  run: async (ctx): Promise<Json> => {
    const drawn = Math.floor(ctx.random() * 10)
    const price = await interrupt(ctx, 'How much?')
    await ctx.values.update('price', () => price)
    const yes = await approve(ctx, { tool: 'buy', toolVersion: '1', input: { price }, reason: 'it costs' })
    const bought = await step(ctx, 'buy', () => (made.push('buy'), 'bought'), { effect: 'once' })
    await sleep(ctx, 5)
    return { price, kept: await ctx.values.get('price'), approved: yes.approved, bought, drawn }
  },
})
const crew = team({
  name: 'crew',
  routing: { communicating: true },
  roles: {
    finder: agent({
      name: 'finder',
      description: 'Finds.',
      run: async (ctx) => {
        const me = teammate(ctx)
        await me.send({ to: 'writer_1', kind: 'info', content: 'found' })
        const [reply] = await me.nextMail({ from: 'writer_1' })
        return reply!.content
      },
    }),
    writer: agent({
      name: 'writer',
      description: 'Writes.',
      run: async (ctx) => {
        const me = teammate(ctx)
        const [mail] = await me.nextMail()
        await me.send({ to: 'finder_1', kind: 'info', content: 'thanks' })
        return [mail!.content, await step(ctx, 'write', () => (made.push('write'), 'written'))]
      },
    }),
  },
  planner: { subtasks: ['finder', 'writer'].map((role) => ({ id: role, description: role, role })) },
})

const kinds: readonly [string, Agent, number][] = [
  ['a supervisor and its worker', boss, 15],
  ['code that asks, approves, keeps values and sleeps', coder, 10],
  ['a planned team that writes to one another', crew, 20],
]

describe('K4: a fork at any position', () => {
  test.each(kinds)(
    '%s: ends as its origin did',
    async (_name, root, least) => {
      await using runtime = await runtimeUnderTest({ agents: [root], strict: true, parkAfterMs: 20, pollMs: 5 })
      const registry = registerAgents([root], [], 'move')
      const run = await runtime.start(root, 'Go', { runId: 'origin' })
      const end = await ended(runtime, run)
      const events = await feed(run)
      const last = events.findIndex(
        ({ activation, event }) => activation === rootActivation(run.id) && event.type === 'activation.settled',
      )
      expect(last).toBeGreaterThan(least)
      const wrong: unknown[] = []
      for (const { position, event } of events.slice(0, last)) {
        for (const repeats of [undefined, [] as string[]]) {
          const fork = await runtime.fork({ run: run.id, at: position })
          const before = made.length
          const outcome = await ended(runtime, fork, repeats).catch((thrown: unknown) => thrown)
          if (JSON.stringify(outcome) !== JSON.stringify(end)) wrong.push([position, event.type, outcome])
          const done = made.slice(before)
          if (String(done) !== String(repeats ?? [])) wrong.push([position, event.type, { done, repeats }])
          const { problems } = await verifyJournal(await feed(fork), registry)
          if (problems.length > 0) wrong.push([position, event.type, problems])
          await runtime.remove(fork.id)
        }
      }
      expect(wrong).toEqual([])
      expect(await feed(run)).toEqual(events)
    },
    60_000,
  )
})

describe('K5: a fork whose process dies', () => {
  const request = { run: 'origin' as RunId, to: runId('fork') }

  /** The same store, in processes one after the other; the origin waits for an answer. */
  function opened(crash?: (point: CrashPoint) => boolean) {
    const engine = createEmbeddedEngine({
      file: join(folder, 'x.db'),
      leaseMs: 200,
      pollMs: 5,
      ...(crash === undefined ? {} : { crash }),
    })
    const asker = agent({ name: 'asker', description: 'Asks.', run: (ctx) => interrupt(ctx, 'Well?') })
    return { engine, registry: registerAgents([asker], [], 'move'), asker }
  }

  test.each<CrashPoint>(['commit.before', 'commit.after', 'append', 'release'])(
    'dies at %s: all of it is there or nothing, and it goes on',
    async (at) => {
      {
        const { engine, asker } = opened()
        await using runtime = await runtimeUnderTest({ engine, agents: [asker] })
        await (await runtime.start(asker, 'Go', { runId: 'origin' })).until('waiting')
      }
      const first = opened((point) => dying && point === at)
      let dying = false
      first.engine.drive(first.registry)
      const position = (await first.engine.read(request.run)).at(-1)!.position
      dying = true
      const forked = first.engine.fork({ ...request, at: position }).catch(() => undefined)
      await Promise.race([forked, new Promise((resolve) => setTimeout(resolve, 100))])
      await first.engine.close()
      const { engine, asker } = opened()
      await using runtime = await runtimeUnderTest({ engine, agents: [asker] })
      const there = await engine.summary(request.to)
      const forks = (await engine.read(request.to)).filter(({ event }) => event.type === 'run.forked')
      expect(forks).toHaveLength(there === undefined ? 0 : 1)
      expect(await engine.fork({ ...request, at: position })).toEqual({ created: there === undefined })
      const fork = runtime.handle(request.to)
      const state = await fork.until('waiting')
      expect('questions' in state && state.questions).toHaveLength(1)
      await runtime.answer({ interruptId: 'questions' in state ? state.questions[0]!.id : '', value: 'yes' })
      expect(await fork.outcome()).toMatchObject({ output: 'yes' })
      expect(await engine.questions({ run: request.run })).toHaveLength(1)
    },
  )
})
