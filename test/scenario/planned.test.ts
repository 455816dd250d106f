/** A planned team at work: spec team 1.4, 1.5, 2.3. */
import { expect, test } from 'vitest'
import { agent, sleep } from '../../src/agent/index.ts'
import type { Context } from '../../src/engine/index.ts'
import { team } from '../../src/team/index.ts'
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
