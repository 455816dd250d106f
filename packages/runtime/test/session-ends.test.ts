/**
 * The turn of a run in its session, whoever ends the run: itself, a person, a limit, an operator without its code. And
 * the hook that watches a delegation hears of each of its ends.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, FailureError, interrupt, supervisor, type Agent } from '@reeve/public'
import { asText, failure } from '@reeve/core'
import type { Run, Runtime, RuntimeOptions } from '../src/index.ts'
import { delegates } from '../../../test/scenario/team.ts'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})
async function runtimeWith(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await runtimeUnderTest({ strict: true, onWarning: () => {}, ...options })
  open.push(runtime)
  return runtime
}

const session = 'talk'
/** Answers with what it is shown of its session; works without an end when it is asked to. */
function talker(begun: () => void = () => {}): { readonly root: Agent; readonly shown: string[][] } {
  const shown: string[][] = []
  const root = agent({
    name: 'talker',
    retry: { attempts: 1 },
    model: ({ messages, signal }) => {
      const texts = messages.flatMap(({ role, content }) => (role === 'system' ? [] : [`${role}: ${asText(content)}`]))
      shown.push(texts)
      if (texts.at(-1) === 'user: fail') throw new FailureError(failure('agent.failed', 'as asked', 'internal'))
      if (texts.at(-1) !== 'user: work') return 'said'
      begun()
      // the limit may have been reached on the way to here
      signal.throwIfAborted()
      return new Promise((_done, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    },
  })
  return { root, shown }
}
const turns = (...before: readonly string[]): string[] => [...before, 'user: next']

/** A run at work, in a session, and the one behind it. */
async function working(runtimeOptions: RuntimeOptions = {}): Promise<{
  readonly runtime: Runtime
  readonly run: Run
  readonly next: Run
  readonly shown: string[][]
}> {
  let begun = (): void => {}
  const started = new Promise<void>((done) => (begun = done))
  const { root, shown } = talker(() => begun())
  const runtime = await runtimeWith({ agents: [root], ...runtimeOptions })
  const run = await runtime.start('talker', 'work', { session })
  await started
  const next = await runtime.start('talker', 'next', { session })
  await expect.poll(async () => (await next.view()).status).toBe('queued')
  return { runtime, run, next, shown }
}

describe('a run that is ended from outside: the next one goes on at once, and is shown the question and the end', () => {
  test('finished by hand: with the answer of the human', async () => {
    const { run, next, shown } = await working()
    await run.control.takeOver({ by: 'ann', reason: 'urgent', at: 'now' })
    await run.control.finish({ output: 'BY HAND', by: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'BY HAND' })
    expect(await next.outcome()).toMatchObject({ output: 'said' })
    expect(shown.at(-1)).toEqual(turns('user: work', 'assistant: BY HAND'))
  })

  test('cancelled, with and without undoing', async () => {
    for (const undo of [true, false]) {
      const { run, next, shown } = await working()
      await run.control.cancel('a secret reason', 'ann', { undo })
      expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
      expect(await next.outcome()).toMatchObject({ output: 'said' })
      expect(shown.at(-1)).toEqual(turns('user: work', 'user: [not answered: the run was cancelled]'))
    }
  })

  test('failed by itself: with the code of the failure, and none of its words', async () => {
    const { root, shown } = talker()
    const runtime = await runtimeWith({ agents: [root] })
    expect(await runtime.run(root, 'fail', { session })).toMatchObject({ status: 'failed' })
    await runtime.run(root, 'next', { session })
    expect(shown.at(-1)).toEqual(turns('user: fail', 'user: [not answered: the run failed (agent.failed)]'))
  })

  test('at a limit', async () => {
    const { root, shown } = talker()
    const runtime = await runtimeWith({ agents: [root] })
    expect(await runtime.run(root, 'work', { session, limits: { minutes: 0.02 } })).toMatchObject({
      status: 'limited',
    })
    await runtime.run(root, 'next', { session })
    expect(shown.at(-1)).toEqual(turns('user: work', 'user: [not answered: the run reached its limit (minutes)]'))
  })

  test('a run that was refused by a busy session, or cancelled in its queue, has no turn; finished there, it has', async () => {
    const { runtime, run, next, shown } = await working()
    expect(await runtime.run('talker', 'other', { session, busySession: 'reject' })).toMatchObject({
      failure: { code: 'session.busy' },
    })
    const last = await runtime.start('talker', 'last', { session })
    await expect.poll(async () => (await last.view()).status).toBe('queued')
    await next.control.cancel('not needed')
    await next.outcome()
    await last.control.takeOver({ by: 'ann' })
    await last.control.finish({ output: 'BY HAND', by: 'ann' })
    expect(await last.outcome()).toMatchObject({ output: 'BY HAND' })
    await run.control.cancel('enough')
    await run.outcome()
    await runtime.run('talker', 'next', { session })
    const cancelled = ['user: work', 'user: [not answered: the run was cancelled]']
    expect(shown.at(-1)).toEqual(turns(...cancelled, 'user: last', 'assistant: BY HAND'))
    await runtime.run('talker', 'next', { session })
    expect(shown.at(-1)).toHaveLength(7)
  })

  test('all of its work done while a human has it: the human’s answer is the turn', async () => {
    const asker = agent({ name: 'asker', run: async (ctx) => asText(await interrupt(ctx, 'well?')) })
    const { root, shown } = talker()
    const runtime = await runtimeWith({ agents: [asker, root] })
    const run = await runtime.start(asker, 'work', { session })
    await run.until('waiting')
    const [question] = await runtime.questions()
    await run.control.takeOver({ by: 'ann' })
    await runtime.answer({ interruptId: question!.id, value: 'its own' })
    await expect.poll(async () => (await run.journal()).some(({ event }) => event.type === 'ask.settled')).toBe(true)
    await run.control.finish({ output: 'BY HAND', by: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'BY HAND' })
    await runtime.run(root, 'next', { session })
    expect(shown.at(-1)).toEqual(turns('user: work', 'user: For context: [asker] said: BY HAND.'))
  })

  test('ended while no process drives it, and without its code', async () => {
    const store = join(mkdtempSync(join(tmpdir(), 'reeve-session-')), 'reeve.db')
    const holder = (version: string): Agent =>
      agent({ name: 'holder', version, run: async (ctx) => asText(await interrupt(ctx, 'well?')) })
    const { root, shown } = talker()
    for (const how of ['with-code', 'without-code'] as const) {
      const old = await runtimeUnderTest({ store, agents: [holder('1')] })
      const run = await old.start('holder', how, { session: how, runId: how })
      await run.until('waiting')
      await old.close()
      const operator = await runtimeUnderTest({ store, drive: false, onWarning: () => {} })
      await operator.handle(run.id).control.cancel('enough')
      await operator.close()
      const code = how === 'with-code' ? holder('1') : holder('2')
      const runtime = await runtimeWith({ store, agents: [code, root], onMissingVersion: 'park' })
      expect(await runtime.handle(run.id).outcome()).toMatchObject({ status: 'cancelled' })
      for (let n = 0; n < 2; n++) await runtime.run(root, 'next', { session: how })
      const told = [`user: ${how}`, 'user: [not answered: the run was cancelled]']
      expect(shown.slice(-2)).toEqual([turns(...told), turns(...told, 'user: next', 'assistant: said')])
      await runtime.close()
      open.splice(0)
    }
  })

  test('a memory of one’s own hears of the human’s answer once', async () => {
    const saved: string[] = []
    const { run, next } = await working({
      memory: { recall: () => [], save: ({ prompt, answer }) => void saved.push(`${prompt}: ${answer}`) },
    })
    await run.control.takeOver({ by: 'ann', at: 'now' })
    await run.control.finish({ output: 'BY HAND', by: 'ann' })
    await next.outcome()
    expect(saved).toEqual(['work: BY HAND', 'next: said'])
  })
})

describe('onComplete hears of a delegation that was at work, once', () => {
  async function delegating(onComplete: () => void): Promise<{ readonly run: Run; readonly heard: string[] }> {
    const heard: string[] = []
    let begun = (): void => {}
    const started = new Promise<void>((done) => (begun = done))
    const worker = agent({
      name: 'a',
      description: 'A',
      model: ({ signal }) => {
        begun()
        // the limit may have been reached on the way to here
        signal.throwIfAborted()
        return new Promise((_done, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      },
    })
    const root = supervisor({
      name: 'desk',
      model: ({ messages }) => (messages.at(-1)!.role === 'tool' ? 'done' : delegates(['a', 'do it'])),
      workers: [worker],
      delegation: {
        onComplete: ({ worker: who, status }) => {
          heard.push(`${who} ${status}`)
          onComplete()
        },
      },
    })
    const runtime = await runtimeWith({ agents: [root] })
    const run = await runtime.start(root, 'go')
    await started
    return { run, heard }
  }

  test.each<[string, (run: Run) => Promise<unknown>, object]>([
    [
      'finished by hand',
      async (run) => {
        await run.control.takeOver({ by: 'ann', at: 'now' })
        await run.control.finish({ output: 'BY HAND', by: 'ann' })
      },
      { status: 'completed', output: 'BY HAND' },
    ],
    ['cancelled', (run) => run.control.cancel('enough'), { status: 'cancelled' }],
    [
      'cancelled, undoing nothing',
      (run) => run.control.cancel('enough', 'ann', { undo: false }),
      { status: 'cancelled' },
    ],
    ['stopped alone', (run) => run.control.stop({ delegation: 'd1', reason: 'enough' }), { status: 'completed' }],
  ])('%s', async (_how, ends, outcome) => {
    for (const onComplete of [
      () => {},
      () => {
        throw new Error('a defect of the hook')
      },
    ]) {
      const { run, heard } = await delegating(onComplete)
      await ends(run)
      expect(await run.outcome()).toMatchObject(outcome)
      expect(heard).toEqual(['a cancelled'])
    }
  })
})
