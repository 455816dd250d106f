/** `reeve post` and `reeve show`: a planned team, from a terminal that runs nothing. */
import { expect, test } from 'vitest'
import { agent, createRuntime, team } from '@reeve/public'
import { teammate } from '@reeve/public/team'
import { reeve, storeHere } from './at-store.ts'

test('a message reaches the waiting member; JSON is parsed; an ended team takes none', async () => {
  const waits = agent({
    name: 'waits',
    description: 'Waits.',
    run: async (ctx) => {
      const [first] = await teammate(ctx).nextMail({ from: 'operator' })
      const [second] = await teammate(ctx).nextMail({ from: 'operator' })
      return [first!, second!].map(({ content, kind, correlationId }) => ({ content, kind, correlationId }))
    },
  })
  const root = team({
    name: 'crew',
    roles: { waits },
    planner: { subtasks: [{ id: 'w', description: 'w', role: 'waits' }] },
    route: 'dag',
  })
  await using runtime = await createRuntime({ store: storeHere(), agents: [root] })
  const run = await runtime.start(root, 'Go', { runId: 'run_p' })
  for await (const { event } of run.events()) if (event.type === 'task.started') break
  expect(await reeve('post', 'run_p', 'waits_1', '{"page":2}', '--kind', 'request', '--about', 'w')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Sent to the team of run_p.') as string,
  })
  expect(await reeve('post', 'run_p', 'role:Waits', '{"page":2}', '--text', '--team', 'crew')).toMatchObject({
    code: 0,
  })
  expect(await run.outcome()).toMatchObject({
    results: {
      tasks: [{ output: [{ content: { page: 2 }, kind: 'request', correlationId: 'w' }, { content: '{"page":2}' }] }],
    },
  })
  expect(await reeve('post', 'run_p', 'waits_1', 'late')).toMatchObject({
    code: 1,
    out: 'Not sent: the team of run_p has ended.\n',
  })
  expect(await reeve('post', 'run_p', ' ', 'x')).toMatchObject({
    err: expect.stringContaining('to is the text " "') as string,
  })
  expect((await reeve('post', 'run_p', 'waits_1', 'x', '--team', 'other')).err).toContain('unknown team "other"')
  expect(await reeve('post', 'run_none', 'a', 'x')).toMatchObject({
    code: 2,
    err: expect.stringContaining('run_none') as string,
  })
})

test('show says of a partial answer how much of the plan succeeded', async () => {
  const some = agent({
    name: 'some',
    description: 'Succeeds now and then.',
    run: (ctx) => (teammate(ctx).task === 'b' ? { success: false } : 'done'),
  })
  const crew = team({
    name: 'crew',
    roles: { some },
    defaultRole: 'some',
    planner: { subtasks: ['a', 'b', 'c'].map((id) => ({ id, description: id })) },
  })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [crew] })
    await (await runtime.start(crew, 'go', { runId: 'run_partial' })).outcome()
  }
  expect(await reeve('show', 'run_partial')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/partial: 2 of 3 tasks succeeded; --graph shows which\noutput: /) as string,
  })
})
