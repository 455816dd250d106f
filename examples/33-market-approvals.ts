/**
 * Humans over a planned team: a market analysis whose result a human sees before anybody builds on it, and whose
 * publication is an action of its own that nobody does unasked. No model, no key.
 *
 * It decides for itself, as a colleague would; with `--wait` it asks you, at this terminal.
 */
import assert from 'node:assert/strict'
import { createInterface } from 'node:readline/promises'
import { agent, createRuntime, step, team } from 'reeve'
import { planGraph } from 'reeve/views'
import { teammate } from 'reeve/team'

const published: string[] = []

// #region members
const researcher = agent({
  name: 'researcher',
  description: 'Gathers facts about a market.',
  run: () => 'The market grows by 40 % a year.',
})
const writer = agent({
  name: 'writer',
  description: 'Writes reports.',
  run: (ctx) => {
    const { inputs, feedback } = teammate(ctx)
    const facts = Object.values(inputs).map(({ output }) => output as string)
    // the approver's comment; the brief has it, too, with the earlier report
    return feedback === undefined ? `A report of many words. ${facts.join(' ')}` : facts.join(' ')
  },
})
const publisher = agent({
  name: 'publisher',
  description: 'Publishes reports.',
  run: async (ctx) => {
    const { report } = teammate(ctx).inputs
    return step(ctx, 'publish', () => {
      published.push(report!.output as string)
      return 'It is out.'
    })
  },
})
// #endregion

// #region team
const analysts = team({
  name: 'analysts',
  roles: { researcher, writer, publisher },
  // what is sensitive by its name, costs too much or follows three failures is asked about
  oversight: { mode: 'in-the-loop', approval: { timeoutMs: 24 * 3_600_000 } },
  planner: {
    subtasks: [
      { id: 'market', role: 'researcher', description: 'How large is the market?', review: true },
      { id: 'report', role: 'writer', description: 'The report.', dependencies: ['market'] },
      {
        id: 'publish',
        role: 'publisher',
        description: 'Publish the report.',
        action: 'publish_report',
        dependencies: ['report'],
      },
      {
        id: 'tell',
        role: 'publisher',
        description: 'Tell the press.',
        action: 'send_mail',
        required: false,
        dependencies: ['report'],
      },
    ],
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [analysts] })
const run = await runtime.start(analysts, 'An analysis of the market for AI agents.')

// #region decide
for (;;) {
  const state = await run.until('waiting')
  if (!('waiting' in state)) break
  for (const approval of (await run.view()).approvals.filter(({ open }) => open)) {
    console.log(`${approval.tool} (${approval.risk} risk): ${approval.reason}`)
    console.log('  acts on', approval.context ?? approval.input)
    await run.decide({ approvalId: approval.id, approver: 'anna', ...(await word(approval)) })
  }
}
// #endregion

const outcome = await run.outcome()
// #region result
const [market] = (await run.view()).teams
for (const { task, status, attempts, reason = '' } of market!.plan.tasks)
  console.log(`${task}: ${status} (${attempts}) ${reason}`)
console.log(planGraph(market!)) // the gates are in it
// #endregion

/** The decision on an approval: from this terminal, or by a rule. */
async function word({ tool, context }: { readonly tool: string; readonly context?: unknown }): Promise<Word> {
  if (process.argv.includes('--wait')) return asked()
  if (tool === 'send_mail') return { decision: 'reject', comment: 'not to the press' }
  if (tool === 'publish_report' && JSON.stringify(context).includes('many words'))
    return { decision: 'retry', comment: 'Shorter, please.' }
  return { decision: 'approve' }
}

async function asked(): Promise<Word> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const said = await terminal.question('approve, reject or retry? ')
  const comment = await terminal.question('Why? ')
  terminal.close()
  return { decision: said === 'approve' || said === 'retry' ? said : 'reject', comment }
}

interface Word {
  readonly decision: 'approve' | 'reject' | 'retry'
  readonly comment?: string
}

if (!process.argv.includes('--wait')) {
  assert.equal(outcome.status, 'completed')
  assert.deepEqual(published, ['The market grows by 40 % a year.'])
  assert.deepEqual(
    market!.plan.tasks.map(({ status }) => status),
    ['succeeded', 'succeeded', 'succeeded', 'skipped'],
  )
}
