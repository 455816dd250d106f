/** A leader that is code ends while it has work out: nothing of that is lost in silence. */
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor } from '@reeve/public'
import type { Recorded } from '@reeve/public/views'

const never = agent({
  name: 'never',
  description: 'Works until it is stopped.',
  model: () => new Promise<never>(() => undefined),
})

for (const [how, ends] of [
  ['returns', () => 'early'],
  [
    'throws',
    () => {
      throw new Error('no more')
    },
  ],
] as const)
  test(`K7: a code leader that ends (${how}) during a delegation stops it; onComplete and the journal say so`, async () => {
    const heard: string[] = []
    let asked = 0
    const root = supervisor({
      name: 'boss',
      workers: [never],
      run: async (ctx, _brief, crew) => {
        const left = [crew.delegate('never', 'go'), crew.delegate('never', 'go')]
        await ctx.step('wait', async () => {
          await expect.poll(() => asked).toBe(left.length)
          return null
        })
        return ends()
      },
      delegation: {
        onStart: () => void asked++,
        onComplete: ({ delegation, status }) => void heard.push(`${delegation} ${status}`),
      },
    })
    await using runtime = await createRuntime({ agents: [root], strict: true })
    const run = await runtime.start(root, 'go')
    expect(await run.outcome()).toMatchObject(
      how === 'returns' ? { status: 'completed', output: 'early' } : { status: 'failed' },
    )
    expect(heard.toSorted()).toEqual(['d1 cancelled', 'd2 cancelled'])
    expect((await run.delegations()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    const events: Recorded[] = []
    for await (const recorded of run.events()) events.push(recorded)
    expect(events.find(({ event }) => event.type === 'fact.noted')?.event).toMatchObject({
      name: 'delegations.left',
      data: {
        delegations: [
          { delegation: 'd1', worker: 'never' },
          { delegation: 'd2', worker: 'never' },
        ],
      },
    })
  })
