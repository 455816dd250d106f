/**
 * Leaders whose journals are kept: every fact that stands around a delegation is in one of them. Never changed (K12).
 */
import { agent, judge, step, tool, type Agent } from '@reeve/agent'
import type { ModelRequest } from '@reeve/model'
import type { Runtime } from '@reeve/runtime'
import { roundtable, supervisor } from '@reeve/supervisor'
import { scripted, teamScenario, type Scenario } from '@reeve/testing'

const delegates = (...list: readonly (readonly [worker: string, instructions: string])[]) => ({
  calls: list.map(([worker, instructions], i) => ({ id: `c${i}`, name: 'delegate', input: { worker, instructions } })),
})
const modelAgent = (name: string, ...script: readonly string[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })

/** Approves whatever is asked, for the session. */
async function approves(runtime: Runtime): Promise<void> {
  for (const { id: approvalId } of await runtime.approvals())
    await runtime.decide({ approvalId, decision: 'approve', approver: 'ann', grant: 'session' }).catch(() => undefined)
}

function scenario(name: string, root: Agent): Scenario {
  const made = teamScenario({ name, agents: [root], input: 'task', outside: approves })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

const pay = tool({ name: 'pay', effect: 'idempotent', approval: true, execute: () => 'paid' })

/**
 * Refused by a hook, changed by a hook, a hook that throws, an approval and then its grant, a worker in the background,
 * scorers that refuse once.
 */
const surrounded = scenario(
  'hooks, a grant, the background and scorers',
  supervisor({
    name: 'lead',
    model: ({ messages }: ModelRequest) => {
      const told = messages.flatMap((message) => (message.role === 'tool' ? [JSON.stringify(message.content)] : []))
      if (told.length === 0) return delegates(['no', 'a'], ['payer', 'b'], ['slow', 'c'])
      if (told.some((text) => text.includes('works in the background'))) return 'wait'
      return messages.at(-1)?.role === 'user' && JSON.stringify(messages.at(-1)).includes('short')
        ? 'short'
        : 'a long answer'
    },
    workers: [
      modelAgent('no', 'never'),
      agent({
        name: 'payer',
        description: 'Pays.',
        tools: [pay],
        model: scripted({ calls: [{ name: 'pay', input: {} }] }, { calls: [{ name: 'pay', input: {} }] }, 'paid twice'),
      }),
      modelAgent('slow', 'slow answer'),
    ],
    delegation: {
      onStart: ({ worker }) =>
        worker === 'no' ? { proceed: false, reason: 'not now' } : { prompt: `${worker}, go on`, metadata: { worker } },
      onComplete: ({ worker }) => {
        if (worker === 'slow') throw new Error('lost')
        return { result: `${worker} is done`, feedback: 'noted' }
      },
      hookErrors: 'lenient',
      background: { workers: ['slow'], react: 'all' },
    },
    isComplete: {
      scorers: [
        { name: 'short', score: ({ text }) => ({ score: text === 'short' ? 1 : 0, reason: 'short, please' }) },
        judge({ name: 'critic', model: scripted('{"score":1,"reason":"fine"}'), criteria: 'It answers.' }),
      ],
    },
  }),
)

/** A member who leads and takes the first of two, and whose conversation is compacted; who speaks is chosen in turn. */
const seated = scenario(
  'a round table with a race and a summary',
  roundtable({
    name: 'table',
    speaker: 'round-robin',
    maxRounds: 2,
    agents: [
      supervisor({
        name: 'racer',
        description: 'Races.',
        model: ({ messages }: ModelRequest) => {
          const shown = JSON.stringify(messages)
          if (shown.includes('"again"')) return 'raced'
          return shown.includes('first')
            ? { calls: [{ id: 'c2', name: 'delegate', input: { worker: 'one', instructions: 'again' } }] }
            : {
                calls: [
                  {
                    id: 'c1',
                    name: 'delegate_to_several',
                    input: { workers: ['one', 'two'], instructions: 'go', keep: 2 },
                  },
                ],
              }
        },
        workers: [modelAgent('one', 'first'), modelAgent('two', 'second')],
        delegation: { several: true },
        compaction: { above: 1, keep: 1, summarize: ({ messages }) => `${messages.length} messages` },
      }),
      modelAgent('talker', 'talked'),
    ],
  }),
)

/**
 * Delegations of one turn to a worker that remembers, as they were recorded when each of them stood in the line of its
 * thread from the beginning; a hook is asked between them.
 */
const remembering = scenario(
  'three delegations of one turn share a memory',
  supervisor({
    name: 'lead',
    model: ({ messages }: ModelRequest) => {
      const turns = messages.filter(({ role }) => role === 'assistant').length
      return turns === 0
        ? delegates(['w', 'one'], ['w', 'two'], ['w', 'three'])
        : turns === 1
          ? delegates(['w', 'four'])
          : 'final'
    },
    workers: [
      agent({ name: 'w', description: 'Counts.', model: ({ messages }: ModelRequest) => `shown ${messages.length}` }),
    ],
    delegation: { memory: 'continue', onComplete: () => ({ feedback: 'noted' }) },
  }),
)

/** What a delegation is made of, as rows: a model with a tool that changes something, and code with a step. */
const inRows = scenario(
  'entries that are rows',
  supervisor({
    name: 'lead',
    model: ({ messages }: ModelRequest) => {
      const told = messages.filter(({ role }) => role === 'tool').length
      return told === 0 ? delegates(['writer', 'a'], ['coder', 'b']) : told === 2 ? delegates(['writer', 'c']) : 'all'
    },
    workers: [
      agent({
        name: 'writer',
        description: 'Writes.',
        tools: [tool({ name: 'save', effect: 'idempotent', execute: () => ({ saved: true }) })],
        model: ({ messages }: ModelRequest) =>
          messages.at(-1)?.role === 'tool' ? 'written' : { calls: [{ id: 'c0', name: 'save', input: {} }] },
      }),
      agent({ name: 'coder', description: 'Counts.', run: (ctx) => step(ctx, 'count', () => ({ n: 1.5e-7 })) }),
    ],
    limits: { turns: 20 },
  }),
)

/** An answer without its form, one with a wrong member, and one that fits. */
const corrected = scenario(
  'an answer that is corrected twice',
  agent({
    name: 'counter',
    output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as never,
    model: scripted('one', '{"n":"one"}', '{"n":1}'),
  }),
)

export const delegationGoldens: readonly Scenario[] = [surrounded, seated, remembering, inRows, corrected]
