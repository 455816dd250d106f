/**
 * People who work and lead, with their process dying at every point where it can: the same is asked, each answer counts
 * once, and nothing recorded runs again. K5, K10.
 */
import { describe } from 'vitest'
import { agent, step, type Agent } from '@reeve/agent'
import { isObject, type Json } from '@reeve/core'
import type { Runtime } from '@reeve/runtime'
import { human, supervisor } from '@reeve/supervisor'
import { scripted, teamScenario, type ManualClock, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

/** What somebody says to a question: undefined, nothing yet. */
type Person = (question: { readonly [name: string]: Json }) => Json | undefined

/** Answers and decides whatever is open. */
const outside =
  (person: Person) =>
  async (runtime: Runtime, clock: ManualClock): Promise<void> => {
    const open = await runtime.questions()
    for (const { id, kind, body } of open) {
      const question = (body as { readonly question?: Json }).question
      const value = isObject(question) ? person(question) : undefined
      const word =
        kind === 'approval'
          ? runtime.decide({ approvalId: id, decision: 'reject', comment: 'shorter', approver: 'ann' })
          : value === undefined
            ? undefined
            : runtime.answer({ interruptId: id, value, by: 'ann' })
      await word?.catch(() => undefined) // somebody was faster: the person before the crash
    }
    if (open.every(({ body }) => (body as { readonly until?: number }).until !== undefined)) clock.advanceToNext()
  }
const scenario = (name: string, root: Agent, person: Person): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', outside: outside(person) })

const ann = human({ name: 'ann', description: 'Knows.', output: { type: 'number' } })

describe('a person as a worker, who answers wrongly first', () => {
  diesEverywhere(
    scenario(
      'a person works',
      supervisor({
        name: 'boss',
        model: scripted(
          { calls: [{ name: 'delegate', input: { worker: 'ann', instructions: 'How many?' } }] },
          'final',
        ),
        workers: [ann],
      }),
      (question) => ('problem' in question ? 3 : 'many'),
    ),
    { status: 'completed', output: 'final' },
  )
})

const finder = agent({
  name: 'finder',
  description: 'Finds.',
  run: (ctx, brief) => step(ctx, 'find', () => `found ${brief}`),
})
const adder = agent({
  name: 'adder',
  description: 'Adds.',
  input: { type: 'number' },
  run: (_ctx, n) => (n as number) + 1,
})
/** Says the same to the same question, in whichever process. */
const leads: Person = ({ problem, question, results }) => {
  if (problem !== undefined)
    return {
      delegate: [
        { worker: 'finder', instructions: 'ravens' },
        { worker: 'adder', input: 1 },
      ],
    }
  const count = (results as readonly Json[] | undefined)?.length ?? 0
  return question === undefined && count === 0
    ? { delegate: { worker: 'nobody', instructions: 'x' } }
    : count === 2
      ? { forward: 'd1' }
      : undefined
}

describe('a person who leads, and is wrong first', () => {
  diesEverywhere(scenario('a person leads', human({ name: 'lead', workers: [finder, adder] }), leads), {
    status: 'completed',
    output: 'found ravens',
  })
})

/** Asks for two things at once, twice. */
const asker = agent({
  name: 'asker',
  run: async (ctx) => {
    const both = (n: number) =>
      Promise.all([ctx.approve('publish', { input: { n } }), ctx.interrupt({ n }), ctx.step('look', () => n)])
    return [await both(1), await both(2)]
  },
})

describe('two questions at once, twice', () => {
  diesEverywhere(
    scenario('asking as methods', asker, ({ n }) => (n === 1 ? 0 : '')),
    {
      status: 'completed',
      output: [
        [{ approved: false, feedback: 'shorter' }, 0, 1],
        [{ approved: false, feedback: 'shorter' }, '', 2],
      ],
    },
  )
})

describe('an unanswered question', () => {
  diesEverywhere(
    scenario(
      'a deadline',
      human({ name: 'kind', workers: [finder], timeoutMs: 60_000, onTimeout: { answer: 'by itself' } }),
      () => undefined,
    ),
    { status: 'completed', output: 'by itself' },
    5,
  )
})
