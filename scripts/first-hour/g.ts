/** A planned team: tasks that depend on one another, a letter between members, a recruit, a report. */
import assert from 'node:assert/strict'
import { agent, createRuntime, team, unwrap } from 'reeve'
import { teammate } from 'reeve/team'
import { z } from 'zod'

const researcher = agent({
  name: 'researcher',
  description: 'Finds what is new.',
  run: async (ctx) => {
    await teammate(ctx).send({ to: 'writer_1', kind: 'info', content: 'The prices fell.' })
    return 'The market grows.'
  },
})
const expert = agent({
  name: 'expert',
  description: 'Compares products.',
  run: async (ctx) => {
    await teammate(ctx).recruit({ role: 'analyst', description: 'How is each product priced?' })
    return 'Three products differ.'
  },
})
const analyst = agent({ name: 'analyst', description: 'Compares prices.', run: () => 'Prices go by seat.' })
const writer = agent({
  name: 'writer',
  description: 'Writes the report.',
  run: async (ctx) => {
    const me = teammate(ctx)
    const found = Object.values(me.inputs).map(({ output }) => output as string)
    const mail = (await me.inbox()).map(({ from, content }) => `${from} wrote: ${content as string}`)
    return [...found, ...mail].join('\n')
  },
})
const desk = team({
  name: 'desk',
  output: z.string(),
  roles: { researcher, expert, analyst, writer },
  planner: {
    subtasks: [
      { id: 'news', role: 'researcher', description: 'What is new?' },
      { id: 'products', role: 'expert', description: 'How do products differ?' },
      {
        id: 'report',
        role: 'writer',
        description: 'The report.',
        dependencies: ['news', 'products'],
        taskType: 'synthesis',
      },
    ],
  },
})

await using runtime = await createRuntime({ agents: [desk] })
const run = await runtime.start(desk, 'Where do we stand?')
const report = unwrap(await run.outcome())
console.log(report)
for (const part of [
  'The market grows.',
  'Three products differ.',
  'Prices go by seat.',
  'researcher_1 wrote: The prices fell.',
])
  assert.ok(report.includes(part), part)
