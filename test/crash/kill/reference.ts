/** What runs of the scenario end with when nothing goes wrong: one process, in memory, nobody killed. */
import { completed, type RunId } from '../../../src/core/index.ts'
import { createEmbeddedEngine } from '../../../src/engine/embedded/index.ts'
import type { Expected } from './round.ts'
import { scenario } from './scenario.ts'
import { plain } from './world.ts'

export async function expectations(): Promise<Expected> {
  const found = new Map<string, { outcome: string; once: string[] }>()
  for (const agent of ['leader', 'traveller']) {
    const once: string[] = []
    const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
    engine.drive(
      scenario((_io, kind, what) => {
        if (kind === 'once') once.push(what)
        return Promise.resolve(`${what}~0`)
      }),
    )
    const run = agent as RunId
    await engine.start({ run, agent, version: '1', input: null })
    const end = engine.outcome(run)
    let ended = false
    const noted = end.finally(() => (ended = true))
    const answered = new Set<string>()
    while (!ended) {
      for (const question of await engine.questions()) {
        if (answered.has(question.id)) continue
        answered.add(question.id)
        if (question.address === 'cancel-me') await engine.post({ type: 'cancel', run, reason: 'changed my mind', by: 'operator' })
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
