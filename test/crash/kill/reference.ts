/** What runs of the scenario end with when nothing goes wrong: one process, in memory, nobody killed. */
import { completed, type RunId } from '../../../src/core/index.ts'
import { createEmbeddedEngine } from '../../../src/engine/embedded/index.ts'
import type { Expected } from './round.ts'
import { createRuntime } from '../../../src/runtime/index.ts'
import type { Reach } from './scenario.ts'
import { everything, team } from './team.ts'
import { plain } from './world.ts'

export async function expectations(): Promise<Expected> {
  const found = new Map<string, { outcome: string; once: string[] }>()
  for (const agent of ['leader', 'team', 'traveller']) {
    const once: string[] = []
    const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
    const reach: Reach = (_io, kind, what) => {
      if (kind === 'once') once.push(what)
      return Promise.resolve(`${what}~0`)
    }
    engine.drive(everything(reach))
    const run = agent as RunId
    const runtime = await createRuntime({ engine, drive: false, agents: [team(reach)] })
    if (agent === 'team') await runtime.start('team', 'A report on ravens, please.', { runId: run })
    else await engine.start({ run, agent, version: '1', input: null })
    const end = engine.outcome(run)
    let ended = false
    const noted = end.finally(() => (ended = true))
    const answered = new Set<string>()
    while (!ended) {
      for (const question of await engine.questions()) {
        if (answered.has(question.id)) continue
        answered.add(question.id)
        if (question.address === 'cancel-me') await engine.post({ type: 'cancel', run, reason: 'changed my mind', by: 'operator' })
        else if (agent === 'team') await runtime.decide({ approvalId: question.id, decision: 'approve', approver: 'ann' })
        else
          await engine.post({
            type: 'answer',
            activation: question.activation,
            address: question.address,
            outcome: completed({ approved: true, by: 'ann' }),
          })
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    found.set(agent, { outcome: plain(JSON.stringify((await noted).outcome)), once: once.sort() })
    await engine.close()
  }
  return found
}
