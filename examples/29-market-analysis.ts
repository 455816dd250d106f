/**
 * A market analysis by a planned team: four look at the market at once, one of them asks for a specialist while it
 * works, one writes to a colleague who has not begun yet, then a strategist and a writer make one report of it. No
 * model, no key: the members are rules, and a minute of their work takes thirty milliseconds.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, sleep, team } from 'reeve'
import { planGraph } from 'reeve/views'
import { teammate } from 'reeve/team'
import { z } from 'zod'

const minute = 30 // milliseconds

// #region members
/** Works for some minutes, and says what it found. */
const specialist = (name: string, minutes: number, finding: string) =>
  agent({
    name,
    description: `Looks at one side of a market: ${name.replace('_', ' ')}.`,
    run: async (ctx) => {
      await sleep(ctx, minutes * minute)
      return finding
    },
  })

const researcher = agent({
  name: 'researcher',
  description: 'Gathers facts about a market.',
  run: async (ctx) => {
    await sleep(ctx, 15 * minute)
    // the recipient has not begun: mail waits
    await teammate(ctx).send({
      to: 'strategist_1',
      kind: 'info',
      content: 'Competitor X is about to launch an agent of its own.',
    })
    return 'The market grows by 40 % a year.'
  },
})

const productExpert = agent({
  name: 'product_expert',
  description: 'Compares products, feature by feature.',
  run: async (ctx) => {
    await sleep(ctx, 10 * minute)
    // prices are more than it can do besides: whatever depends on this task waits for the recruit, too
    await teammate(ctx).recruit({ role: 'pricing_analyst', description: 'How is each product priced, and why?' })
    await sleep(ctx, 8 * minute)
    return 'Three products differ in what they do, the rest in their prices.'
  },
})

const strategist = agent({
  name: 'strategist',
  description: 'Weighs strengths, weaknesses, opportunities and threats.',
  run: async (ctx) => {
    const me = teammate(ctx)
    const mail = await me.inbox()
    await sleep(ctx, 15 * minute)
    const findings = Object.values(me.inputs).map(({ output }) => `- ${output as string}`)
    return [...findings, ...mail.map(({ from, content }) => `- ${content as string} (a note of ${from})`)].join('\n')
  },
})

const writer = agent({
  name: 'writer',
  description: 'Writes reports.',
  run: async (ctx) => {
    const { swot } = teammate(ctx).inputs
    await sleep(ctx, 10 * minute)
    return `Agents are worth building, and worth building now.\n\nWhat this goes by:\n${swot?.output as string}`
  },
})
// #endregion

// #region team
const analysts = team({
  name: 'analysts',
  output: z.string(),
  roles: {
    researcher,
    analyst: specialist('analyst', 12, 'Five competitors share two thirds of the market.'),
    product_expert: productExpert,
    tech_expert: specialist('tech_expert', 15, 'Models get cheaper by half each year.'),
    pricing_analyst: specialist('pricing_analyst', 10, 'Prices go by seat; what is used costs more.'),
    strategist,
    writer,
  },
  planner: {
    complexity: 0.7,
    subtasks: [
      { id: 'market-research', role: 'researcher', description: 'How large is the market, and where does it go?' },
      { id: 'competitor-scan', role: 'analyst', description: 'Who is in it?' },
      { id: 'product-compare', role: 'product_expert', description: 'What do their products do?' },
      { id: 'tech-trend', role: 'tech_expert', description: 'What will they be able to do?' },
      {
        id: 'swot',
        role: 'strategist',
        description: 'Strengths, weaknesses, opportunities, threats.',
        dependencies: ['market-research', 'competitor-scan', 'product-compare', 'tech-trend'],
      },
      { id: 'report', role: 'writer', description: 'The report.', dependencies: ['swot'], taskType: 'synthesis' },
    ],
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [analysts] })
// #region run
const run = await runtime.start(analysts, 'A complete competitive analysis of the market for AI agents.')
const outcome = await run.outcome()
assert.equal(outcome.status, 'completed')
console.log(outcome.output)

const [market] = (await run.view()).teams
for (const { task, member, status, startedAt = 0, endedAt = 0 } of market!.plan.tasks)
  console.log(`${status} ${task} (${member}): minute ${at(startedAt)} to ${at(endedAt)}`)
console.log(
  `${market!.coverage.succeeded} of ${market!.coverage.planned} tasks, ${market!.members.length} members, ${market!.plan.reasons.join('; ')}`,
)
console.log(planGraph(market!)) // for a page that draws Mermaid; `reeve show <run> --graph` draws it in the terminal
// #endregion

/** About which minute of the run it was. */
function at(time: number): number {
  return Math.round((time - market!.startedAt) / minute)
}

assert.match(outcome.output, /a note of researcher_1/)
assert.match(outcome.output, /Prices go by seat/)
assert.deepEqual(market!.coverage, { succeeded: 6, planned: 6 })
assert.equal(market!.members.at(-1)?.member, 'dynamic_pricing_analyst_1')
