/**
 * Workers that remember, standing grants and published versions, with their process dying at every point where it can;
 * and replayed without an engine.
 */
import { describe } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { asText, completed, runId } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { registerAgents, startRequest, type Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { scripted, teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

/** Answers every question, and says yes for the session. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions()) {
    const word =
      kind === 'approval'
        ? runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann', grant: 'session' })
        : runtime.answer({ interruptId: id, value: 'yes' })
    await word.catch(() => undefined) // somebody was faster: the person before the crash
  }
}

const call = (name: string, input: object, id: string) => ({ name, input: input as never, id })
const gives = (worker: string, instructions: string, id: string) => call('delegate', { worker, instructions }, id)
const modelAgent = (name: string, ...script: readonly string[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const asker = agent({
  name: 'asker',
  description: 'Asks.',
  run: async (ctx, brief) => `${brief}: ${(await interrupt(ctx, 'well?')) as string}`,
})
const team = (name: string, root: Agent): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', session: 's', user: 'ann', outside: person })

const oneThread = team(
  'two delegations and a third wait for one thread',
  supervisor({
    name: 'lead',
    model: scripted(
      { calls: [gives('asker', 'one', 'a'), gives('asker', 'two', 'b')] },
      { calls: [gives('asker', 'three', 'c')] },
      'final',
    ),
    workers: [asker],
    delegation: { memory: 'continue', onComplete: () => ({ feedback: 'noted' }) },
  }),
)

const w = modelAgent('w', 'first', 'second', 'third')
const sideBySide = team(
  'leaders side by side share a worker',
  supervisor({
    name: 'top',
    model: scripted({ calls: [gives('A', 'x', 'a'), gives('B', 'y', 'b')] }, 'final'),
    workers: ['A', 'B'].map((name) =>
      supervisor({
        name,
        description: 'Leads.',
        model: scripted({ calls: [gives('w', name, 'c')] }, 'done'),
        workers: [w],
        delegation: { memory: { thread: 'archive' } },
      }),
    ),
  }),
)

const belowThreads = team(
  'leaders with threads of their own share a worker',
  supervisor({
    name: 'top',
    model: scripted({ calls: [gives('A', 'x', 'a'), gives('B', 'y', 'b')] }, 'final'),
    workers: ['A', 'B'].map((name) =>
      supervisor({
        name,
        description: 'Leads.',
        model: scripted({ calls: [gives('w', name, 'c')] }, 'done'),
        workers: [w],
        delegation: { memory: { thread: 'archive' } },
      }),
    ),
    delegation: { memory: 'continue' },
  }),
)

const elsewhere = team(
  'a memory elsewhere, which cannot save the second time',
  supervisor({
    name: 'lead',
    model: scripted({ calls: [gives('w', 'one', 'a')] }, { calls: [gives('w', 'two', 'b')] }, 'final'),
    workers: [w],
    delegation: {
      memory: {
        recall: ({ prompt }) => `before ${prompt}`,
        save: ({ prompt }) => {
          if (prompt === 'two') throw new Error('full')
        },
      },
    },
  }),
)

const send = tool({
  name: 'send',
  effect: 'idempotent',
  approval: {},
  input: { type: 'object' },
  execute: () => 'sent',
})
const allowed = team(
  'the first call is approved for the session, the second passes',
  agent({
    name: 'a',
    tools: [send],
    model: scripted({ calls: [call('send', {}, 'a')] }, { calls: [call('send', { n: 2 }, 'b')] }, 'final'),
  }),
)

/** What was chosen is in the root's edge; here by hand, because a simulation has no store before it begins. */
function pinned(): Scenario {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    instructions: 'code',
    model: scripted(({ messages }) => asText(messages[0]!.content)),
  })
  const lead = supervisor({
    name: 'lead',
    model: scripted({ calls: [gives('writer', 'x', 'a')] }, ({ messages }) =>
      messages.at(-1)!.content === 'v1' ? 'final' : 'wrong version',
    ),
    workers: [writer],
  })
  const registry = registerAgents([lead], [], 'park')
  const revisions = { writer: { version: 'v1', base: writer.version, instructions: 'v1' } }
  const choice = {
    revisions,
    unknown: [{ agent: 'lead', asked: 'v9', known: [] }],
    chosen: { versions: { writer: 'v1', lead: 'v9' } },
  }
  return {
    name: 'a run that was begun with a version',
    registry,
    start: startRequest(lead, 'go', { runId: runId('simulated') }, choice),
  }
}

describe('a process that dies while workers remember', () => {
  for (const scenario of [oneThread, sideBySide, belowThreads, elsewhere, allowed, pinned()])
    diesEverywhere(scenario, completed('final'), 20)
})
