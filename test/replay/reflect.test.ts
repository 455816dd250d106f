/**
 * Leaders that are code and agents that reflect, with their process dying at every point where it can, and once more
 * while the next one recovers; and replayed without an engine.
 */
import { describe } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { completed, type Outcome } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'
import { reflect, supervisor } from '@reeve/supervisor'
import { inOrder, scripted, teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

/** Says yes to approvals. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions())
    if (kind === 'approval')
      await runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' }).catch(() => undefined) // somebody was faster
    else await runtime.settleDoubt({ id, happened: false }).catch(() => undefined)
}

const scenario = (name: string, root: Agent): Scenario => {
  const made = teamScenario({ name, agents: [root], input: 'Write a report on cats', outside: person, user: 'ann' })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}
const hands = (worker: string) => ({
  calls: [{ name: 'delegate', input: { worker, instructions: `do it, ${worker}` } }],
})
const worker = <const Name extends string>(name: Name) =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(`${name} is done`) })
const payer = agent({
  name: 'payer',
  description: 'Pays.',
  tools: [tool({ name: 'pay', sensitive: true, execute: () => 'paid' })],
  model: scripted({ calls: [{ name: 'pay', input: {} }] }, 'payer is done'),
})
const lead = () => inOrder(hands('intern'), 'thin', hands('writer'), 'rich', 'unasked')
const team = [worker('intern'), worker('writer')] as const

const scenarios: readonly (readonly [Scenario, Outcome])[] = [
  [
    scenario(
      'reflection with a critic that is an agent, lessons in their stream',
      reflect(supervisor({ name: 'boss', model: lead(), workers: team }), {
        judge: agent({
          name: 'critic',
          model: ({ messages }) =>
            JSON.stringify(messages).includes('thin') ? '{"score": 0.2, "reason": "too thin"}' : '1',
        }),
      }),
    ),
    completed('rich'),
  ],
  [
    scenario(
      'reflection with code that judges, remembers and measures likeness',
      reflect(supervisor({ name: 'boss', model: lead(), workers: team }), {
        judge: async ({ text }) => Promise.resolve({ score: text === 'rich' ? 0.9 : 0.1, reason: text }),
        passAt: 0.9,
        attempts: 3,
        memory: {
          recall: () => Promise.resolve([{ intent: 'reports', workers: ['writer'], score: 1 }]),
          save: () => Promise.reject(new Error('full')),
        },
      }),
    ),
    completed('rich'),
  ],
  [
    scenario(
      'a reflection as the base of a supervisor, its lead asks for an approval',
      supervisor({
        name: 'boss',
        base: reflect(agent({ name: 'thinker', model: inOrder(hands('payer'), 'thin', 'rich') }), {
          judge: ({ text }) => text === 'rich',
        }),
        workers: [payer],
      }),
    ),
    completed('rich'),
  ],
  [
    scenario(
      'code that leads, with hooks, permits and an approval below it',
      supervisor({
        name: 'boss',
        workers: [...team, payer],
        concurrency: 2,
        delegation: {
          onStart: ({ worker: name }) => (name === 'intern' ? { proceed: false, reason: 'not now' } : undefined),
          onComplete: ({ worker: name }) => (name === 'payer' ? { feedback: 'paid for' } : undefined),
        },
        run: async (_ctx, _brief, own) => {
          const [intern, writer, paid] = await Promise.all([
            own.delegate('intern', 'x'),
            own.delegate('writer', 'x'),
            own.delegate('payer', 'x'),
          ])
          return [intern.outcome.status, writer.text, paid.feedback ?? '', own.forward('payer')].join('; ')
        },
      }),
    ),
    completed('failed; writer is done; paid for; payer is done'),
  ],
  [
    scenario(
      'code that leads, and a hook that bails',
      supervisor({
        name: 'boss',
        workers: team,
        delegation: {
          onComplete: ({ worker: name }) => (name === 'intern' ? { bail: { answer: 'enough' } } : undefined),
        },
        run: async (_ctx, _brief, own) => {
          await own.delegate('writer', 'x')
          await own.delegate('intern', 'x')
          return (await own.delegate('writer', 'y')).text
        },
      }),
    ),
    { status: 'bailed', message: 'onComplete of d2 ("intern") ended the work', text: 'enough' },
  ],
]

describe('a process that dies during a reflection or under a code leader', () => {
  for (const [played, end] of scenarios) diesEverywhere(played, end, 20)
})
