/**
 * Retrying runs that ended badly: what had ended is not done again, what failed is tried anew, and what may have
 * happened outside is asked about (K6, K10).
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, step, tool } from '@reeve/agent'
import { ReeveError } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

let folder = ''
const made: string[] = []
const broken = new Set<string>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-retry-'))
  made.length = 0
  broken.clear()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Does it, unless it is broken. Counted in any case. */
function work(name: string): string {
  made.push(name)
  if (broken.has(name)) throw new Error(`${name} is broken`)
  return `${name} done`
}

async function errorOf(work: Promise<unknown>): Promise<ReeveError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!ReeveError.is(thrown)) throw new Error(`expected a ReeveError, got ${String(thrown)}`)
  return thrown
}

const steps = agent({
  name: 'steps',
  description: 'Three steps.',
  run: async (ctx) => {
    const done: string[] = []
    for (const name of ['one', 'two', 'three'])
      done.push(await step(ctx, name, () => work(name), { retry: { attempts: 1 } }))
    return done
  },
})
const clerk = agent({
  name: 'clerk',
  description: 'Looks, then writes.',
  tools: [tool({ name: 'look', effect: 'once', execute: () => work('look') })],
  retry: { attempts: 1 },
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? work('clerk answers') : { calls: [{ name: 'look', input: {} }] },
})
const boss = supervisor({
  name: 'boss',
  workers: [clerk],
  retry: { attempts: 1 },
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? work('boss sums up')
      : { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'look' } }] },
})
const passes = agent({
  name: 'passes',
  description: 'Passes on what its worker says.',
  workers: [clerk],
  run: async (ctx) => {
    const first = await step(ctx, 'first', () => work('first'), { effect: 'once' })
    const end = await ctx.delegate(clerk, 'look')
    if (end.status !== 'completed') throw new Error('the clerk has failed')
    return [first, end.output]
  },
})
const crew = team({
  name: 'crew',
  description: 'A crew.',
  roles: {
    a: agent({
      name: 'a',
      description: 'A.',
      run: (ctx) => step(ctx, 'a', () => work('a'), { retry: { attempts: 1 } }),
    }),
    b: agent({
      name: 'b',
      description: 'B.',
      run: (ctx) => step(ctx, 'b', () => work('b'), { retry: { attempts: 1 } }),
    }),
  },
  retry: { attempts: 1 },
  planner: {
    subtasks: [
      { id: 'a', description: 'a', role: 'a' },
      { id: 'b', description: 'b', role: 'b', dependencies: ['a'], critical: true },
    ],
  },
})
const pays = agent({
  name: 'pays',
  description: 'Pays.',
  run: async (ctx) => {
    const paid = await step(ctx, 'pay', () => work('pay'), { effect: 'once' })
    const said = await interrupt(ctx, 'Go on?')
    return [paid, said]
  },
})
const all = [steps, boss, passes, crew, pays]

describe('K10: a retry goes on before what failed', () => {
  test('a step of code: what had ended is kept, what failed is tried again; twice is one run, and again is another', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    broken.add('two')
    const run = await runtime.start(steps, 'Go', { runId: 'run_s' })
    expect(await run.outcome()).toMatchObject({ status: 'failed' })
    broken.clear()
    const retry = await runtime.retry(run.id, { reason: 'mended', by: 'ann' })
    expect(await retry.outcome()).toMatchObject({ status: 'completed', output: ['one done', 'two done', 'three done'] })
    expect(made).toEqual(['one', 'two', 'two', 'three'])
    expect((await retry.view()).origin).toMatchObject({ run: 'run_s', reason: 'mended', by: 'ann' })
    expect((await runtime.retry(run.id)).id).toBe(retry.id)
    expect(made).toHaveLength(4)
    const again = await runtime.retry(run.id, { again: true })
    expect(again.id).not.toBe(retry.id)
    expect(await again.outcome()).toMatchObject({ status: 'completed' })
    const named = await runtime.retry(run.id, { runId: 'run_named' })
    expect(named.id).toBe('run_named')
    expect((await errorOf(runtime.retry(run.id, { runId: 'run_s' }))).code).toBe('run.conflict')
  })

  test('a retry that fails is retried in turn', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    broken.add('two')
    const run = await runtime.start(steps, 'Go')
    await run.outcome()
    broken.clear()
    broken.add('three')
    const first = await runtime.retry(run.id)
    expect(await first.outcome()).toMatchObject({ status: 'failed' })
    broken.clear()
    const second = await runtime.retry(first.id)
    expect(await second.outcome()).toMatchObject({ status: 'completed' })
    expect(made).toEqual(['one', 'two', 'two', 'three', 'three'])
  })

  test('a model that failed: its worker and the tools are not asked again', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    broken.add('boss sums up')
    const run = await runtime.start(boss, 'Go')
    expect(await run.outcome()).toMatchObject({ status: 'failed' })
    expect(made).toEqual(['look', 'clerk answers', 'boss sums up'])
    broken.clear()
    expect(await (await runtime.retry(run.id)).outcome()).toMatchObject({ output: 'boss sums up done' })
    expect(made).toEqual(['look', 'clerk answers', 'boss sums up', 'boss sums up'])
  })

  test('a failure in a worker that its leader passed on in other words: the worker goes on', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    broken.add('clerk answers')
    const run = await runtime.start(passes, 'Go')
    expect(await run.outcome()).toMatchObject({ status: 'failed', failure: { message: 'the clerk has failed' } })
    broken.clear()
    expect(await (await runtime.retry(run.id)).outcome()).toMatchObject({
      status: 'completed',
      output: ['first done', 'clerk answers done'],
    })
    expect(made.filter((name) => name !== 'clerk answers')).toEqual(['first', 'look'])
  })

  test('a planned team: tasks that succeeded are not done again', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    broken.add('b')
    const run = await runtime.start(crew, 'Go')
    expect(await run.outcome()).toMatchObject({ status: 'failed' })
    broken.clear()
    expect(await (await runtime.retry(run.id)).outcome()).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 2, planned: 2 }, partial: false },
    })
    expect(made).toEqual(['a', 'b', 'b'])
  })

  test('K6: a cancelled run: what was done is kept, and what the cancel may have undone is not done again', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    const run = await runtime.start(pays, 'Go')
    await run.until('waiting')
    await run.control.cancel('wrong button')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    const retry = await runtime.retry(run.id)
    const state = await retry.until('waiting')
    expect('questions' in state && state.questions.map(({ kind }) => kind)).toEqual(['interrupt'])
    await runtime.answer({ interruptId: 'questions' in state ? state.questions[0]!.id : '', value: 'yes' })
    expect(await retry.outcome()).toMatchObject({ output: ['pay done', 'yes'] })
    expect(made).toEqual(['pay'])
  })

  test('K6: a `once` effect that was under way when the run ended is asked about, and not repeated', async () => {
    const started = Promise.withResolvers<void>()
    const slow = agent({
      name: 'slow',
      description: 'Pays slowly.',
      run: (ctx) =>
        step(
          ctx,
          'pay',
          (io) => {
            made.push('pay')
            started.resolve()
            return new Promise<string>((_, reject) =>
              io.signal.addEventListener('abort', () => reject(new Error('off'))),
            )
          },
          { effect: 'once' },
        ),
    })
    await using runtime = await runtimeUnderTest({ agents: [slow] })
    const run = await runtime.start(slow, 'Go')
    await started.promise
    await run.control.cancel('too slow')
    await run.outcome()
    const retry = await runtime.retry(run.id)
    const state = await retry.until('waiting')
    expect('questions' in state && state.questions.map(({ kind }) => kind)).toEqual(['in-doubt'])
    expect(made).toEqual(['pay'])
    await retry.control.settleDoubt({
      id: 'questions' in state ? state.questions[0]!.id : '',
      happened: true,
      value: 'paid',
    })
    expect(await retry.outcome()).toMatchObject({ output: 'paid' })
    expect(made).toEqual(['pay'])
  })

  test('a process that dies right after a retry loses nothing: the next one drives it', async () => {
    const store = join(folder, 'x.db')
    broken.add('two')
    let id = ''
    {
      await using runtime = await runtimeUnderTest({ store, agents: all })
      const run = await runtime.start(steps, 'Go', { runId: 'run_k' })
      await run.outcome()
    }
    {
      // nobody drives here: the retry is durable and waits for a process
      await using looker = await runtimeUnderTest({ store, agents: all, drive: false })
      id = (await looker.retry('run_k')).id
    }
    broken.clear()
    await using runtime = await runtimeUnderTest({ store, agents: all })
    expect(await runtime.handle(id).outcome()).toMatchObject({ status: 'completed' })
    expect((await runtime.retry('run_k')).id).toBe(id)
    expect(made).toEqual(['one', 'two', 'two', 'three'])
  })
})

describe('what cannot be retried', () => {
  test('is said: a run that completed, one that has not ended, one at its limit, one that is not there', async () => {
    await using runtime = await runtimeUnderTest({ agents: all })
    await runtime.run(steps, 'Go', { runId: 'run_done' })
    const waits = await runtime.start(pays, 'Go', { runId: 'run_waits' })
    await waits.until('waiting')
    const bounded = await runtime.start(boss, 'Go', { runId: 'run_limit', limits: { turns: 1 } })
    expect((await bounded.outcome()).status).toBe('limited')
    const codes = ['run_done', 'run_waits', 'run_limit', 'run_none'].map((run) => errorOf(runtime.retry(run)))
    expect((await Promise.all(codes)).map(({ code, message }) => [code, message])).toEqual([
      ['fork.invalid', 'run run_done ended as completed'],
      ['fork.invalid', 'run run_waits has not ended: it is waiting'],
      ['fork.invalid', expect.stringContaining('reached its limit of turns')],
      ['run.unknown', expect.any(String)],
    ])
    expect((await errorOf(runtime.retry('run_done', { againn: true } as never))).code).toBe('input.invalid')
    expect((await runtime.runs()).map(({ run }) => run).sort()).toEqual(['run_done', 'run_limit', 'run_waits'])
  })
})
