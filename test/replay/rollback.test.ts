/**
 * A planned team that is cancelled and undoes what has ended, with its process dying at every point where it can: each
 * is undone once, in the same order.
 */
import { agent } from '@reeve/agent'
import type { Runtime } from '@reeve/runtime'
import { team } from '@reeve/team'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const booker = agent({
  name: 'booker',
  description: 'Books.',
  run: async (ctx, brief: string) => {
    const what = brief.split('\n')[0]!
    await ctx.step('book', () => what)
    ctx.onCancel('unbook', (undo) => undo.step('unbook', () => undefined))
    if (what === 'hotel') await ctx.sleep(86_400_000)
    return what
  },
})
const crew = team({
  name: 'crew',
  roles: { generalist: booker },
  planner: { subtasks: ['flight', 'car', 'hotel'].map((id) => ({ id, description: id })) },
  concurrency: 1,
  undo: (ctx, { output }) => ctx.step('unbook', () => void output),
})

/** Cancels once the hotel is booked. */
async function cancels(runtime: Runtime): Promise<void> {
  const run = runtime.handle('simulated')
  const view = await run.view().catch(() => undefined) // nothing is recorded yet
  if (
    view?.activations.some(({ task, open }) => task === 'hotel' && open.some(({ kind }) => kind === 'timer')) !== true
  )
    return
  await run.control.cancel('no travel').catch(() => undefined)
}

diesEverywhere(teamScenario({ name: 'a cancel with rollback', agents: [crew], input: 'Go', outside: cancels }), {
  status: 'cancelled',
  reason: 'no travel',
})
