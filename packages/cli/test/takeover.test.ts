/** `reeve takeover`, `handback`, `complete`, `finish`: a human goes on by hand, from a terminal that runs nothing. */
import { describe, expect, test } from 'vitest'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { agent, createRuntime, interrupt, team, tool, type Agent, type Run } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

const worker = agent({
  name: 'worker',
  description: 'Asks, or does it.',
  run: async (ctx, brief): Promise<string> => {
    const [task] = String(brief).split('\n')
    return task === 'ask' ? JSON.stringify(await interrupt(ctx, 'May I?')) : String(task)
  },
})
const crew = team({
  name: 'crew',
  roles: { generalist: worker },
  planner: {
    subtasks: [
      { id: 'a', description: 'ask' },
      { id: 'b', description: 'b', dependencies: ['a'] },
    ],
  },
})

test('a run is taken over, its document printed, steps finished by hand, handed back with another plan', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
  const run = await runtime.start(crew, 'Go', { runId: 'run_t' })
  await run.until('waiting')
  expect(await reeve('handback', 'run_t')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not taken over') as string,
  })
  const taken = await reeve('takeover', 'run_t', '--by', 'ann', '--reason', 'mine')
  expect(taken).toMatchObject({ code: 0 })
  for (const text of [
    'human_control',
    '(ann: mine)',
    'step 1 of 2',
    'a (generalist_1) ask',
    'waits for a',
    'next: wait for "a"',
  ])
    expect(taken.out).toContain(text)
  expect(await reeve('takeover', 'run_t', '--by', 'bob')).toMatchObject({
    code: 1,
    err: expect.stringContaining('already taken over by ann') as string,
  })
  expect((await reeve('show', 'run_t')).out).toMatch(/taken over by ann since .*: mine\n {2}reeve handback run_t/)
  expect(await reeve('resume', 'run_t')).toMatchObject({ code: 2 })
  expect(await reeve('complete', 'run_t', 'a', 'yes, by hand', '--by', 'ann')).toMatchObject({ code: 0 })
  expect(await reeve('complete', 'run_t', 'nobody', 'x')).toMatchObject({
    code: 2,
    err: expect.stringContaining('unknown delegation "nobody"') as string,
  })
  for await (const { event } of run.events()) if (event.type === 'task.settled') break
  const shown = (await reeve('show', 'run_t')).out
  expect(shown).toContain('done by hand by ann: a (generalist_1)\n')
  expect(shown).toContain(
    `pending: b (generalist_2)    (reeve complete run_t b <json or text> --store ${storeHere()})\n`,
  )
  const file = join(dirname(storeHere()), 'edit.json')
  writeFileSync(file, '{ "add": [{ "id": "c", "description": "c", "dependencies": ["nobody"] }] }')
  expect(await reeve('handback', 'run_t', '--plan', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('no such task') as string,
  })
  writeFileSync(file, '{ "add": [{ "id": "c", "description": "c", "dependencies": ["b"] }], "results": { "b": 7 } }')
  expect(await reeve('handback', 'run_t', '--plan', file)).toMatchObject({
    code: 0,
    out: 'The run run_t continues with the edited plan.\n',
  })
  expect(await run.outcome()).toMatchObject({
    results: { tasks: [{ output: 'yes, by hand', by: 'ann' }, { output: 7 }, { output: 'c' }] },
  })
  expect(await reeve('takeover', 'run_t')).toMatchObject({ code: 2 })
  const told = (await reeve('events', 'run_t')).out
  for (const text of [
    'run taken over by ann: mine',
    'takeover by bob had no effect: ',
    'a was done by hand (ann)',
    ': done by hand (ann)',
    'an edit of the plan of crew by',
    ': added c; done by hand b',
    'run handed back',
  ])
    expect(told).toContain(text)
  expect((await run.control.state()).ops.map(({ op, accepted }) => [op, accepted])).toEqual([
    ['takeover', true],
    ['takeover', false],
    ['complete', true],
    ['edit', false],
    ['edit', true],
    ['handback', true],
  ])
})

test('a pending task finished by hand leaves the rest of the plan alone: that is no edit', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
  const run = await runtime.start(crew, 'Go', { runId: 'run_c' })
  await run.until('waiting')
  await reeve('takeover', 'run_c', '--by', 'ann')
  expect(await reeve('complete', 'run_c', 'b', 'later', '--by', 'ann')).toMatchObject({ code: 0 })
  expect((await run.control.state()).ops.map(({ op }) => op)).toEqual(['takeover', 'complete'])
  expect((await reeve('events', 'run_c')).out).toContain('the plan of crew was edited by ann: done by hand b')
})

describe('while no process drives the run', () => {
  const pay = tool({ name: 'pay', effect: 'once', approval: { reason: 'money' }, execute: () => 'paid' })
  const clerk = agent({
    name: 'clerk',
    description: 'Pays.',
    tools: [pay],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] }),
  })
  /** Drives until it rests, and leaves it. */
  const driven = async (until: (run: Run) => Promise<unknown>): Promise<void> => {
    await using runtime = await createRuntime({ store: storeHere(), agents: [clerk] })
    await until(await runtime.start(clerk, 'go', { runId: 'run_z' }))
  }
  const waits = (run: Run): Promise<unknown> => run.until('waiting')
  const told = async (run: Run, type: string): Promise<void> => {
    for await (const { event } of run.events()) if (event.type === type) return
  }

  test('the owner is named at once, resume refuses, and the audit says what was held, released and done', async () => {
    await driven(waits)
    const taken = await reeve('takeover', 'run_z', '--by', 'ann', '--wait', '1')
    expect(taken).toMatchObject({ code: 3, out: expect.stringContaining('reeve work --store') as string })
    const [id] = /apr_\w+/.exec((await reeve('show', 'run_z')).out)!
    expect(await reeve('approve', id, '--by', 'bob')).toMatchObject({ code: 0 })
    await driven((run) => told(run, 'effect.held'))
    const refused = await reeve('takeover', 'run_z', '--by', 'bob', '--wait', '1')
    expect(refused).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('already taken over by ann.') as string,
    })
    const resumed = await reeve('resume', 'run_z')
    expect(resumed.code).toBe(2)
    expect(resumed.err).toMatch(
      /the run "run_z" is taken over by ann since .*\n {2}Hand it back to continue:\n {2}reeve handback run_z/,
    )
    const audit = async (): Promise<string[]> =>
      [...(await reeve('audit', 'run_z')).out.matchAll(/: (action\.\w+) pay/g)].map(([, what]) => what!)
    expect(await audit()).toEqual(['action.requested', 'action.held'])
    expect(await reeve('handback', 'run_z', '--by', 'ann', '--wait', '1')).toMatchObject({ code: 3 })
    await driven((run) => run.outcome())
    expect(await audit()).toEqual(['action.requested', 'action.held', 'action.begun', 'action.done'])
  })

  test('resume finds an unread hand back, and an end by hand', async () => {
    const config = join(dirname(storeHere()), 'reeve.config.ts')
    const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
    writeFileSync(
      config,
      `import { agent, interrupt } from ${source}
export const store = './x.db'
export const agents = [agent({ name: 'asker', description: 'Asks.', run: (ctx) => interrupt(ctx, 'What?') })]`,
    )
    const { agents } = (await import(config)) as { agents: Agent[] }
    for (const id of ['run_h', 'run_f']) {
      await using runtime = await createRuntime({ store: storeHere(), agents })
      const run = await runtime.start('asker', 'go', { runId: id })
      await run.until('waiting')
      await run.control.takeOver({ by: 'ann', reason: 'mine' })
    }
    const refused = await reeve('resume', 'run_h', '--config', config)
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringMatching(/the run "run_h" is taken over by ann since .*: mine\n/),
    ])
    expect(await reeve('handback', 'run_h', '--by', 'ann', '--wait', '1')).toMatchObject({ code: 3 })
    const resumed = await reeve('resume', 'run_h', '--config', config)
    expect(resumed).toMatchObject({ code: 3, out: expect.stringContaining('run handed back by ann') as string })
    expect(await reeve('finish', 'run_f', 'by phone', '--by', 'ann', '--wait', '1')).toMatchObject({ code: 3 })
    expect(await reeve('resume', 'run_f', '--config', config)).toMatchObject({
      code: 0,
      out: expect.stringContaining('✓ by phone') as string,
    })
  })

  test('it ends by hand as soon as a process drives it', async () => {
    await driven(async (run) => {
      await run.until('waiting')
      await run.control.takeOver({ by: 'ann' })
    })
    const finished = await reeve('finish', 'run_z', 'by phone', '--by', 'ann', '--wait', '1')
    expect(finished.code).toBe(3)
    expect(finished.out).toMatch(
      /ends with this output when a worker drives it:\n {2}reeve resume run_z .*--config <file>\n$/,
    )
    await driven((run) => run.outcome())
    expect((await reeve('events', 'run_z')).out).toContain('clerk completed: done by hand (ann)')
  })
})

test('a run that was taken over is finished by hand', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
  const run = await runtime.start(crew, 'Go', { runId: 'run_f' })
  await run.until('waiting')
  expect(await reeve('finish', 'run_f', 'x')).toMatchObject({ code: 2 })
  const { out } = await reeve('takeover', 'run_f', '--json')
  expect(JSON.parse(out)).toMatchObject({ takenOver: true, totalSteps: 2 })
  expect(await reeve('finish', 'run_f', '{"n":1}', '--text', '--by', 'ann')).toMatchObject({ code: 0 })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: '{"n":1}', by: 'ann' })
})
