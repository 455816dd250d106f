/**
 * Conversations that somebody leads, and questions of workers, with their process dying at every point where it can:
 * the same speak, the same is asked and answered, and nothing recorded runs again.
 */
import { describe } from 'vitest'
import { agent, askSupervisor, delegate, step, type Agent } from '@reeve/agent'
import { asText, completed, type Json, type Outcome } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { ledger, roundtable, supervisor, type Delegation } from '@reeve/supervisor'
import { scripted, teamScenario, type Scenario, type ScriptLine } from '@reeve/testing'
import type { Message, ModelFunction, ModelRequest } from '@reeve/model'
import { diesEverywhere } from './dying.ts'

const answer = async (runtime: Runtime): Promise<void> => {
  for (const { id } of await runtime.questions())
    await runtime.answer({ interruptId: id, value: 'yes' }).catch(() => undefined)
}
const scenario = (name: string, root: Agent, people = false): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', ...(people ? { outside: answer } : {}) })

const modelAgent = (name: string, ...script: readonly ScriptLine[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const person = agent({
  name: 'ann',
  description: 'A human.',
  run: async (ctx) => `ann says ${(await interrupt(ctx, 'and?')) as string}`,
})
const asker = (times = 1): Agent =>
  agent({
    name: 'w',
    description: 'Asks.',
    run: async (ctx) => {
      const told: string[] = []
      for (let n = 1; n <= times; n++) told.push((await askSupervisor(ctx, `question ${n}`)).text)
      return told.join('; ')
    },
  })
/** The text of a message; empty if it has none. */
const textOf = (message: Message | undefined): string => (typeof message?.content === 'string' ? message.content : '')
const lastOf = ({ messages }: ModelRequest): string => textOf(messages.at(-1))
const json = (value: object): string => JSON.stringify(value)
/** How often somebody has spoken, as a model that chooses is shown it. */
const spoken = ({ messages }: ModelRequest): number =>
  messages.filter(
    ({ content }) =>
      typeof content === 'string' && content.startsWith('For context: [') && !content.includes('[table]'),
  ).length

const chooses: ModelFunction = (request) => {
  const n = spoken(request)
  return json(
    n === 0
      ? { speaker: 'a', instruction: 'begin' }
      : n === 1
        ? { speaker: 'ann' }
        : n === 2
          ? { speaker: 'nobody' }
          : { done: true },
  )
}

const look = (done: boolean, progress: boolean): string =>
  json({
    is_request_satisfied: { reason: '', answer: done },
    is_in_loop: { reason: '', answer: false },
    is_progress_being_made: { reason: '', answer: progress },
    next_speaker: { reason: '', answer: 'a' },
    instruction_or_question: { reason: '', answer: 'go on' },
  })
/** One new plan, then it is done. */
const plans: ModelFunction = (request) => {
  const asked = lastOf(request)
  if (/survey/.test(asked)) return 'facts 1'
  if (/write the whole list again/.test(asked)) return 'facts 2'
  if (/Answer with the plan only/.test(asked)) return /facts 2/.test(asked) ? 'plan 2' : 'plan 1'
  if (/Write the answer/.test(asked)) return 'final'
  const isNew = request.messages.some((message) => textOf(message).includes('plan 2'))
  return look(isNew && spoken(request) > 0, isNew)
}

/** Delegates, answers aside, and then says what it was told. */
const leads =
  (calls: readonly { readonly worker: string }[]): ModelFunction =>
  (request) => {
    if (/asks you a question before it continues/.test(lastOf(request)))
      return `aside: ${/question \d/.exec(lastOf(request))![0]}`
    const results = request.messages.flatMap((message) => (message.role === 'tool' ? [asText(message.content)] : []))
    if (results.length > 0) return results.some((each) => each.includes('background')) ? 'waiting' : results.join(' + ')
    return {
      calls: calls.map(({ worker }, i) => ({
        name: 'delegate',
        input: { worker, instructions: 'go' } as Json,
        id: `c${i}`,
      })),
    }
  }
const boss = (
  workers: readonly Agent[],
  delegation: Delegation,
  calls = workers.map(({ name: worker }) => ({ worker })),
): Agent => supervisor({ name: 'boss', model: leads(calls), workers, delegation })

const cases: readonly (readonly [Scenario, Outcome])[] = [
  [
    scenario(
      'a model chooses, a human takes part, a choice that is none goes in turn',
      roundtable({
        name: 'table',
        agents: [modelAgent('a', 'a1', 'a2'), modelAgent('b', 'b1'), person],
        speaker: 'auto',
        model: chooses,
      }),
      true,
    ),
    completed('a2'),
  ],
  [
    scenario(
      'chance, a rule that ends it, a summary by code',
      roundtable({
        name: 'table',
        agents: [modelAgent('a', 'a', 'a', 'a', 'a'), modelAgent('b', 'b', 'b', 'b', 'b')],
        speaker: 'random',
        maxRounds: Infinity,
        until: ({ said }) => said.length > 3,
        summary: ({ said }) => said.length,
      }),
    ),
    completed(4),
  ],
  [
    scenario(
      'a function chooses, a member fails, an agent sums up',
      roundtable({
        name: 'table',
        agents: [modelAgent('a', new Error('down')), modelAgent('b', 'b1')],
        speaker: async ({ round }) =>
          round === 1 ? 'a' : round === 2 ? { speaker: 'b', instruction: 'then you' } : undefined,
        summary: modelAgent('clerk', 'minutes'),
      }),
    ),
    completed('minutes'),
  ],
  [
    scenario(
      'a ledger with a new plan',
      roundtable({
        name: 'table',
        agents: [modelAgent('a', 'try', 'again'), person],
        speaker: ledger({ model: plans, maxStalls: 1 }),
      }),
    ),
    completed('final'),
  ],
  [
    scenario(
      'a worker asks: code answers the first, the model the second, the third is too many',
      boss([asker(3)], { questions: { max: 2, onQuestion: ({ number }) => (number === 1 ? 'by code' : undefined) } }),
    ),
    completed('by code; aside: question 2; you have asked 2 questions already; go on with what you have'),
  ],
  [
    scenario('a background worker asks', boss([asker()], { questions: true, background: ['w'] })),
    completed('aside: question 1'),
  ],
  [
    scenario(
      'a worker asks while another works, one after the other in a queue of one',
      supervisor({
        name: 'boss',
        model: leads([{ worker: 'w' }, { worker: 'v' }]),
        workers: [asker(), modelAgent('v', 'v done')],
        delegation: { questions: true },
        concurrency: 1,
      }),
    ),
    completed('aside: question 1 + v done'),
  ],
  [
    scenario(
      'a leader that is code asks a human for the answer',
      agent({
        name: 'boss',
        workers: [asker(2)],
        run: async (ctx) => {
          const outcome = await delegate(ctx, asker(2), 'go', {
            onQuestion: async (question, at) =>
              question.endsWith('1')
                ? step(at, 'look up', () => 'found')
                : `ann: ${(await interrupt(at, question)) as string}`,
          })
          return outcome.status === 'completed' ? (outcome.output as string) : outcome.status
        },
      }),
      true,
    ),
    completed('found; ann: yes'),
  ],
]

describe('a process that dies while a conversation is led, or a question is open', () => {
  for (const [played, end] of cases) diesEverywhere(played, end)
})
