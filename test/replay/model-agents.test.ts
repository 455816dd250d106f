/**
 * Model agents with a hook after each turn, scorers and summaries, their process dying at every point where it can; and
 * replayed without an engine.
 */
import { describe, expect, test } from 'vitest'
import { agent, judge, tool, type AgentFacts, type ModelAgentFacts, type ScorerInput } from '@reeve/agent'
import { completed, type Outcome } from '@reeve/core'
import type { Message, ModelRequest } from '@reeve/model'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import {
  inOrder,
  scripted,
  simulate,
  teamScenario,
  type ManualClock,
  type Scenario,
  type TeamScenario,
} from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const long = 'x'.repeat(400)
const read = tool({ name: 'read', effect: 'read', execute: (input) => `${JSON.stringify(input)}${long}` })
const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
const reads = (n: number) => ({ text: `reading ${n}`, calls: [{ name: 'read', input: { n } }] })
const said = (messages: readonly Message[], text: string): boolean =>
  messages.some(({ content }) => typeof content === 'string' && content.includes(text))
const modelAgent = (options: Omit<ModelAgentFacts, 'tools'> & Partial<AgentFacts<string, undefined, undefined>>) =>
  agent({ name: 'A', description: 'Works.', tools: [read, pay], ...options })

/** Approves whatever is asked. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions()) {
    const word =
      kind === 'approval'
        ? runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
        : runtime.settleDoubt({ id, happened: false })
    await word.catch(() => undefined) // somebody was faster: the person before the crash
  }
}
const passing = (_runtime: Runtime, clock: ManualClock): Promise<void> => Promise.resolve(void clock.advanceToNext())
const scenario = (name: string, root: TeamScenario['agents'][number], more: Partial<TeamScenario> = {}): Scenario =>
  teamScenario({ name, agents: [root], input: 'the task', outside: person, ...more })

/** Every word of the hook, in a run that also waits for a human. */
const iterations = scenario(
  'a hook after each turn',
  modelAgent({
    model: scripted(reads(1), { calls: [{ name: 'pay', input: {} }] }, 'half', reads(2), 'whole'),
    onIterationComplete: ({ turn, messages, finish }) =>
      turn === 1
        ? { feedback: 'go on' }
        : turn === 2
          ? undefined
          : turn === 3
            ? { continue: true }
            : turn === 4
              ? { feedback: `the end after ${finish} and ${messages.length} messages`, continue: false }
              : { continue: true },
  }),
)

const bailing = scenario(
  'a hook that ends the work of a worker',
  supervisor({
    name: 'boss',
    model: scripted({ calls: [{ name: 'delegate', input: { worker: 'A', instructions: 'x' } }] }, 'final'),
    workers: [
      modelAgent({
        model: scripted(reads(1), reads(2), 'never'),
        onIterationComplete: ({ turn }) => ({ continue: turn < 2 }),
      }),
    ],
  }),
)

const critic = judge({
  name: 'critic',
  criteria: 'is good',
  model: ({ messages }) =>
    said(messages, 'good work') ? '{"score":1,"reason":"fine"}' : '{"score":0.5,"reason":"not good"}',
})
const isLong = ({ text }: ScorerInput): number => (text.length > 3 ? 1 : 0)
const scorers = scenario(
  'scorers that refuse twice',
  modelAgent({ model: scripted('bad', reads(1), 'bad again', 'good work'), isComplete: { scorers: [isLong, critic] } }),
)
const oneByOne = scenario(
  'scorers one after the other',
  modelAgent({
    model: scripted('bad', 'good work'),
    isComplete: { scorers: [critic, isLong], parallel: false, strategy: 'any', onScored: () => undefined },
  }),
)

/** Its own model and one that is asked aside. */
const summaries = scenario(
  'summaries by its own model',
  modelAgent({
    model: inOrder(reads(1), reads(2), 'notes on 1', reads(3), 'notes on 2', reads(4), 'notes on 3', 'final'),
    compaction: { above: 250, keep: 2 },
  }),
)
const byOthers = scenario(
  'summaries by an agent, with an approval in between',
  modelAgent({
    model: inOrder(reads(1), reads(2), { calls: [{ name: 'pay', input: {} }] }, reads(3), 'final'),
    compaction: {
      above: 250,
      keep: 2,
      summarize: agent({ name: 'scribe', description: 'Writes.', model: () => 'its notes' }),
    },
  }),
)
const payer = ({ messages }: ModelRequest) =>
  said(messages, 'not accepted') ? 'whole' : said(messages, 'paid') ? '' : { calls: [{ name: 'pay', input: {} }] }
/** A leader that waits for the background before its last turn; its worker once answers without a word. */
const lastWords = scenario(
  'a last turn that waits for the background',
  supervisor({
    name: 'top',
    model: scripted(
      { calls: [{ name: 'delegate', input: { worker: 'boss', instructions: 'x', turns: 3 } }] },
      ({ messages }) => (said(messages, 'in time') ? 'final' : 'not so'),
    ),
    workers: [
      supervisor({
        name: 'boss',
        description: 'Leads.',
        model: inOrder(
          { calls: ['x', 'y'].map((instructions) => ({ name: 'delegate', input: { worker: 'A', instructions } })) },
          reads(1),
          ({ messages }) => (said(messages, 'works in the background') ? 'too early' : 'in time'),
        ),
        tools: [read],
        workers: [modelAgent({ model: payer, isComplete: { scorers: [isLong] } })],
        lastAnswer: true,
        delegation: { background: ['A'] },
      }),
    ],
  }),
)
let broken = 0
const failing = scenario(
  'a summary that fails',
  modelAgent({
    model: inOrder(reads(1), reads(2), reads(3), 'final'),
    compaction: {
      above: 250,
      keep: 2,
      summarize: () => {
        broken++
        throw new Error('disk full')
      },
    },
  }),
)

const ends: Readonly<Record<string, Outcome>> = {
  'a hook after each turn': completed('whole'),
  'scorers that refuse twice': completed('good work'),
  'scorers one after the other': completed('good work'),
}

describe('a process that dies while a model agent is looked after', () => {
  for (const played of [iterations, bailing, scorers, oneByOne, summaries, byOthers, lastWords, failing])
    diesEverywhere(played, ends[played.name] ?? completed('final'))

  test('the summary that fails was tried', () => expect(broken).toBeGreaterThan(0))

  test('K5: one that passes while another hangs: decided alike at every point where the process dies', async () => {
    const hangs = { name: 'hangs', score: () => new Promise<number>(() => {}) }
    const isComplete = { scorers: [hangs, isLong], strategy: 'any' } as const
    const { end, differences, repeated } = await simulate(
      scenario('any', modelAgent({ model: scripted('long enough'), isComplete }), { outside: person }),
    )
    expect(end.outcome).toEqual(completed('long enough'))
    expect([differences, repeated]).toEqual([[], []])
  }, 120_000)

  test('K5: scorers that hang: at every point where the process dies the deadline decides the same', async () => {
    const hangs = (name: string) => ({ name, score: () => new Promise<number>(() => {}) })
    const isComplete = { scorers: [hangs('a'), hangs('b')], timeoutMs: 1_000 }
    const hanging = scenario(
      'scorers that hang',
      modelAgent({ model: scripted('x', 'y'), isComplete, limits: { turns: 1 } }),
      {
        outside: passing,
      },
    )
    const { end, differences, repeated } = await simulate(hanging)
    expect(end.outcome).toMatchObject({
      status: 'limited',
      partial: 'x',
      message: expect.stringContaining('never satisfied') as string,
    })
    expect([differences, repeated]).toEqual([[], []])
  }, 120_000)
})
