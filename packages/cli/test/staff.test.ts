/** `reeve recruit` and `reeve retire`: who joins and who leaves, from a terminal that runs nothing. */
import { expect, test } from 'vitest'
import { agent, createRuntime, interrupt, team } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

const worker = agent({
  name: 'worker',
  description: 'Works until it is let go.',
  run: async (ctx, brief) => (brief === 'wait' ? interrupt(ctx, 'May I go?') : brief),
})
const crew = team({
  name: 'crew',
  roles: { generalist: worker },
  recruit: { policy: ({ role }) => (role === 'spy' ? 'ask' : 'allow') },
  maxTeamSize: 2,
  tolerance: 100,
  planner: { subtasks: [{ id: 'w', description: 'wait', role: 'waiter' }] },
})

test('joined, refused, undecided; retired and kept', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
  const run = await runtime.start(crew, 'Go', { runId: 'run_s' })
  await run.until('waiting')
  const asks = (...more: string[]): ReturnType<typeof reeve> =>
    reeve('recruit', 'run_s', '--description', 'help', ...more)
  expect(await asks('--role', 'spy', '--wait', '1')).toMatchObject({
    code: 3,
    out: expect.stringContaining('has not decided yet') as string,
  })
  expect(await asks('--role', 'scout', '--parent', 'w', '--team', 'crew')).toMatchObject({
    code: 0,
    out: expect.stringContaining('dynamic_scout_1 joined the team') as string,
  })
  expect(await asks('--role', 'other')).toMatchObject({
    code: 1,
    out: expect.stringContaining('(team_size)') as string,
  })
  expect(await reeve('retire', 'run_s', 'waiter_2')).toMatchObject({
    code: 1,
    out: 'waiter_2 is not retired: unknown member "waiter_2": did you mean "waiter_1"? (unknown)\n',
  })
  expect(await reeve('retire', 'run_s', 'waiter_1', '--reason', 'too slow')).toMatchObject({
    code: 0,
    out: 'waiter_1 leaves the team of run_s when its task has ended.\n',
  })
  expect(await reeve('retire', 'run_s', 'waiter_1', '--force', '--no-reassign')).toMatchObject({
    code: 0,
    out: 'waiter_1 has left the team of run_s.\n',
  })
  const [approval] = await runtime.approvals()
  await run.decide({ approvalId: approval!.id, decision: 'reject' })
  expect(await run.outcome()).toMatchObject({
    results: { tasks: [{ task: 'w', status: 'failed' }, { output: 'help' }] },
  })
  expect(await asks()).toMatchObject({ code: 1, out: 'The team of run_s refused: the team has ended (closed)\n' })
  expect(await reeve('recruit', 'run_none', '--description', 'x')).toMatchObject({
    code: 2,
    err: expect.stringContaining('run_none') as string,
  })
})

test('what cannot be meant is wrong usage', async () => {
  expect((await reeve('recruit', 'run_s')).code).toBe(2)
  expect((await reeve('recruit', 'run_s', '--description', 'x', '--join', 'all')).code).toBe(2)
  expect((await reeve('retire', 'run_s', 'x', '--wait', '0')).code).toBe(2)
})
