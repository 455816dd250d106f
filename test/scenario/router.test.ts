import { describe, expect, test } from 'vitest'
import { tool, agent } from '../../src/agent/index.ts'
import { router } from '../../src/flow/index.ts'
import { lines, said, ways, xfer } from './control.ts'
import { calls, runtimeOf, scripted } from './team.ts'

test('collaboration 38: a supervisor', async () => {
  const echo = tool({ name: 'echo', effect: 'read', execute: () => 'echoed' })
  const [lead, m1, m2] = [
    scripted(xfer('W1', 's1'), xfer('W2', 's2'), xfer('W1', 's3'), 'final'),
    scripted({ text: 'thinking', ...calls(['echo', {}, 'w1']) }, 'w1 result', 'w1 second result'),
    scripted('w2 result'),
  ]
  const sup = router({
    name: 'Sup', model: lead,
    workers: [agent({ name: 'W1', description: 'One.', model: m1, tools: [echo] }), agent({ name: 'W2', description: 'Two.', model: m2 })],
    transfer: { transfers: 'shown' },
  })
  const runtime = await runtimeOf([sup])
  const run = await runtime.start(sup, 'task')
  console.log(JSON.stringify(await run.outcome(), null, 1))
  console.log(ways(await run.view()))
  console.log((await lines(run)).join('\n'))
  console.log(JSON.stringify(lead.prompts, null, 0), '\n', JSON.stringify(m1.prompts), '\n', JSON.stringify(m2.prompts))
})
