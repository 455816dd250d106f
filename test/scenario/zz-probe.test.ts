import { test } from 'vitest'
import { router } from '../../src/flow/index.ts'
import { agent, tool } from '../../src/agent/index.ts'
import { worker, xfer, played, leadTo, code } from './control.ts'
import { calls, runtimeOf, scripted } from './team.ts'
test('x', async () => {
  const [lead, w] = [scripted(xfer('W'), 'lead again'), scripted('w answers', 'w again')]
  const d = router({ name: 'Desk', model: lead, workers: [worker('W', w)], transfer: { returns: 'on-request' }, sticky: true })
  const rt = await runtimeOf([d])
  await rt.run(d, 'one', { session: 's1' }); await rt.run(d, 'two', { session: 's1' })
  console.log(JSON.stringify(w.prompts[1]!.filter(m => m.role !== 'system')))
  const go = tool({ name: 'go', effect: 'read', execute: () => 'went', action: { transfer: 'W2', task: 'do' } })
  const l2 = scripted(calls(['go', {}]), 'final')
  const w2 = scripted('w2')
  const p = await played(router({ name: 'P', model: l2, tools: [go], workers: [worker('W2', w2)], transfer: {} }))
  console.log(p.heard, JSON.stringify(w2.prompts), JSON.stringify(l2.prompts[1]))
  const m = scripted('{"n":1}', 'no json')
  const q = router({ name: 'Q', run: () => ({ n: 0 }), output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, workers: [worker('W')] })
  console.log(await (await runtimeOf([q])).run(q, 'x'))
  const h = (out: unknown) => router({ name: 'Q', model: scripted(xfer('W')), output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, workers: [code('W', () => out)], transfer: { returns: 'never' } })
  for (const out of [{ n: 1 }, 'text', '{"n":1}']) { const r = h(out); console.log(JSON.stringify(await (await runtimeOf([r])).run(r, 'x'))) }
})
