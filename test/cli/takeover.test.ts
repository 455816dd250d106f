/** `reeve takeover`, `handback`, `complete`, `finish`: a human goes on by hand, from a terminal that runs nothing. */
import { expect, test } from 'vitest'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { agent, createRuntime, interrupt, team } from '../../src/index.ts'
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

test('a run is taken over, its document is told, steps are done by hand, it is handed back with another plan', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
  const run = await runtime.start(crew, 'Go', { runId: 'run_t' })
  await run.until('waiting')
  expect(await reeve('handback', 'run_t')).toMatchObject({ code: 2, err: expect.stringContaining('no human has taken') as string })
  const taken = await reeve('takeover', 'run_t', '--by', 'ann', '--reason', 'mine')
  expect(taken).toMatchObject({ code: 0 })
  for (const text of [
    'human_control',
    '(ann: mine)',
    'step 1 of 2',
    'a (generalist_1) ask',
    'waits for a',
    'next: put the results together',
  ])
    expect(taken.out).toContain(text)
  expect(await reeve('takeover', 'run_t', '--by', 'bob')).toMatchObject({
    code: 1,
    err: expect.stringContaining('ann has it already') as string,
  })
  expect((await reeve('show', 'run_t')).out).toMatch(/ann has it since .*: mine\n {2}reeve handback run_t/)
  expect(await reeve('resume', 'run_t')).toMatchObject({ code: 2 })
  expect(await reeve('complete', 'run_t', 'a', 'yes, by hand', '--by', 'ann')).toMatchObject({ code: 0 })
  expect(await reeve('complete', 'run_t', 'nobody', 'x')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no work called') as string,
  })
  const file = join(dirname(storeHere()), 'edit.json')
  writeFileSync(file, '{ "add": [{ "id": "c", "description": "c", "dependencies": ["nobody"] }] }')
  expect(await reeve('handback', 'run_t', '--plan', file)).toMatchObject({
    code: 1,
    err: expect.stringContaining('no such task') as string,
  })
  writeFileSync(file, '{ "add": [{ "id": "c", "description": "c", "dependencies": ["b"] }], "results": { "b": 7 } }')
  expect(await reeve('handback', 'run_t', '--plan', file)).toMatchObject({ code: 0, out: 'The run run_t goes on with the edited plan.\n' })
  expect(await run.outcome()).toMatchObject({
    results: { tasks: [{ output: 'yes, by hand', by: 'ann' }, { output: 7 }, { output: 'c' }] },
  })
  expect(await reeve('takeover', 'run_t')).toMatchObject({ code: 2 })
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
