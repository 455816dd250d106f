/**
 * A store of an older version that is opened by this one answers for its old runs: what it says of them is what it said
 * before it was made older.
 */
import { agent, interrupt } from '@reeve/public'
import { createRuntime, type Runtime, type RunSummary } from '@reeve/runtime'
import { scripted } from '../../../../test/scenario/team.ts'

const asker = agent({
  name: 'asker',
  run: async (ctx) => {
    await ctx.delegate(speaker(), 'say it')
    return (await interrupt(ctx, 'well?')) as string
  },
})
const speaker = () => agent({ name: 'speaker', description: 'says it', model: scripted('said') })
const breaker = agent({ name: 'breaker', run: () => Promise.reject(new Error('a defect')) })

const open = (store: string, drive: boolean): Promise<Runtime> =>
  createRuntime({ store, agents: [asker, speaker(), breaker], drive, onWarning: () => {} })

/** What is to be the same after the upgrade, question by question. */
async function answers(runtime: Runtime): Promise<readonly unknown[]> {
  const names = (runs: readonly RunSummary[]): readonly string[] => runs.map((each) => each.run)
  return [
    await runtime.runs(),
    names(await runtime.runs({ status: ['waiting'] })),
    names(await runtime.runs({ status: ['failed'], user: 'ann' })),
    names(await runtime.runs({ tenant: 'north', metadata: { plan: 'gold', n: 1 } })),
    names(await runtime.runs({ session: 's1' })),
    names(await runtime.runs({ agent: 'speaker', usdFrom: 0 })),
    (await runtime.questions({ tenant: 'north' })).map(({ run, kind }) => [run, kind]),
  ]
}

/** Writes runs of every kind, makes the store older, and asks the same of it before and after. */
export async function beforeAndAfter(
  store: string,
  makeOlder: () => void | Promise<void>,
): Promise<readonly [before: readonly unknown[], after: readonly unknown[]]> {
  const first = await open(store, true)
  const caller = { user: 'ann', tenant: 'north', metadata: { plan: 'gold', n: 1 } }
  await first.run('speaker', 'hello', { runId: 'r1', session: 's1' })
  await first.run('breaker', 'hello', { runId: 'r2', ...caller })
  const run = await first.start('asker', 'hello', { runId: 'r3', ...caller })
  await run.until('waiting')
  const before = await answers(first)
  await first.close()
  await makeOlder()
  const second = await open(store, false)
  const after = await answers(second)
  await second.close()
  return [before, after]
}
