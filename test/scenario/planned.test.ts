/** A planned team at work: spec team 1.4, 1.5, 2.3. */
import { expect, test } from 'vitest'
import { agent, sleep, teammate } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { team } from '@reeve/team'
import { until } from './doors.ts'
import { runtimeOf } from './team.ts'

test('a plan is carried out: independent tasks together, dependents after them', async () => {
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: async (ctx: Context, brief: string) => {
      await sleep(ctx, 20)
      return brief.split('\n')[0]!
    },
  })
  const analysts = team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: {
      subtasks: [
        { id: 'a', description: 'A' },
        { id: 'b', description: 'B' },
        { id: 'c', description: 'C', dependencies: ['a', 'b'] },
      ],
    },
  })
  const runtime = await runtimeOf([analysts])
  const outcome = await runtime.run(analysts, 'Go')
  expect(outcome).toMatchObject({
    status: 'completed',
    output: '## a\n\nA\n\n## b\n\nB\n\n## c\n\nC',
    results: { coverage: { succeeded: 3, planned: 3 }, partial: false },
  })
})

test('an operator stops the work on one task, by the task or by the member; the rest goes on', async () => {
  for (const name of ['slow', 'worker_2']) {
    const begun: string[] = []
    const worker = agent({
      name: 'worker',
      description: 'Works.',
      run: async (ctx: Context) => {
        const { task } = teammate(ctx)
        begun.push(task)
        if (task === 'slow') await sleep(ctx, 600_000)
        return task
      },
    })
    const analysts = team({
      name: 'analysts',
      roles: { worker },
      defaultRole: 'worker',
      planner: { subtasks: ['quick', 'slow', 'other'].map((id) => ({ id, description: id })) },
    })
    const run = await (await runtimeOf([analysts])).start(analysts, 'Go')
    await until(() => begun.length === 3)
    await until(async () => (await run.view()).teams[0]?.plan.tasks[0]?.status === 'succeeded')
    await expect(run.control.stop({ delegation: 'quick' })).rejects.toMatchObject({ code: 'delegation.ended' })
    await expect(run.control.stop({ delegation: 'nobody' })).rejects.toMatchObject({ code: 'delegation.unknown' })
    await run.control.stop({ delegation: name, reason: 'too slow', by: 'ann' })
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 2, planned: 3 }, partial: true },
    })
    expect(JSON.stringify(outcome)).toContain('stopped by ann: too slow')
  }
})
