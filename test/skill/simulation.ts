import assert from 'node:assert/strict'
import { agent, supervisor, tool } from 'reeve'
import { scripted, simulate, teamScenario } from 'reeve/testing'
import { z } from 'zod'

const order = tool({
  name: 'order',
  description: 'Orders paper.',
  input: z.object({ sheets: z.number() }),
  effect: 'idempotent',
  execute: ({ sheets }) => `${sheets} sheets ordered`,
})
const buyer = agent({
  name: 'buyer',
  description: 'Buys supplies.',
  tools: [order],
  model: scripted({ calls: [{ name: 'order', input: { sheets: 500 } }] }, 'The paper is on its way.'),
})
const manager = supervisor({
  name: 'manager',
  workers: [buyer],
  model: scripted(
    { calls: [{ name: 'delegate', input: { worker: 'buyer', instructions: 'Buy paper.' } }] },
    'Paper comes.',
  ),
})

const report = await simulate(teamScenario({ agents: [manager], input: 'We are out of paper.' }))
assert.deepEqual(report.differences, [])
assert.deepEqual(report.repeated, [])
console.log('no crash changes anything')
