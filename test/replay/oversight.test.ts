/**
 * Work that humans oversee, with its process dying at every point where it can: the same questions, outcome and facts,
 * and nothing recorded runs again. Spec team C87, C90.
 */
import { describe } from 'vitest'
import { agent, delegate, tool } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import { router } from '@reeve/flow'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { inOrder, scripted, teamScenario, type ManualClock } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

type Word = {
  readonly decision: 'approve' | 'reject' | 'retry' | 'edit'
  readonly comment?: string
  readonly input?: string
}
type Question = { readonly id: string; readonly tool: string; readonly kind?: string; readonly input: unknown }

/** Answers what is asked; moves the clock where nobody asks. */
const answering =
  (decide: (question: Question) => Word) =>
  async (runtime: Runtime, clock: ManualClock): Promise<void> => {
    const open = (await runtime.approvals()) as unknown as readonly Question[]
    for (const question of open)
      await runtime
        .decide({ approvalId: question.id, approver: 'ann', ...decide(question) } as never)
        .catch(() => undefined)
    if (open.length === 0) clock.advance(500)
  }

const call = (name: string, input: object) => ({ calls: [{ name, input: input as never }] })
const publish = tool({ name: 'publish', effect: 'idempotent', costUsd: 2, execute: () => 'out' })

describe('in command', () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model: scripted(call('publish', { n: 1 }), 'text'),
    tools: [publish],
  })
  const boss = supervisor({
    name: 'boss',
    model: scripted(call('delegate', { worker: 'writer', instructions: 'write' }), 'final'),
    workers: [writer],
    oversight: { mode: 'in-command' },
  })
  const outside = answering(({ kind }) =>
    kind === 'work' ? { decision: 'edit', input: 'write less' } : { decision: 'approve' },
  )
  diesEverywhere(teamScenario({ name: 'a worker that is asked about twice', agents: [boss], input: 'Go', outside }), {
    status: 'completed',
    output: 'final',
  })
})

describe('results', () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model: ({ messages }) => `draft ${messages.length}`,
    assess: (output) => ({ confidence: output === 'draft 3' ? 0.9 : 0.1 }),
  })
  const desk = router({
    name: 'desk',
    model: inOrder(call('transfer_to_agent', { agent_name: 'writer' }), 'final'),
    workers: [writer],
    oversight: { approval: { rounds: 2 } },
  })
  const outside = answering(() => ({ decision: 'retry', comment: 'again' }))
  diesEverywhere(teamScenario({ name: 'a result that is sent back', agents: [desk], input: 'Go', outside }), {
    status: 'completed',
  })
})

describe('failures in a row', () => {
  const broken = agent({
    name: 'broken',
    description: 'Fails.',
    run: () => {
      throw new FailureError(failure('agent.failed', 'no', 'internal'))
    },
  })
  const boss = agent({
    name: 'boss',
    workers: [broken],
    oversight: { escalate: { consecutiveFailures: 2 } },
    run: async (ctx) => {
      const ends: string[] = []
      for (let i = 0; i < 3; i++) {
        const outcome = await delegate(ctx, broken, 'go')
        ends.push(outcome.status === 'failed' ? outcome.failure.code : outcome.status)
      }
      return ends
    },
  })
  const outside = answering(() => ({ decision: 'reject' }))
  diesEverywhere(teamScenario({ name: 'a leader whose workers fail', agents: [boss], input: 'Go', outside }), {
    status: 'completed',
    output: ['agent.failed', 'agent.failed', 'work.rejected'],
  })
})
