/**
 * Agents of every kind, a few of each: their versions are pinned by runs that wait, so a version that changes without a
 * change of the agent is a defect.
 */
import { z } from 'zod'
import { agent, asTool, human, loop, parallel, router, sequential, supervisor, team, tool, type Agent } from 'reeve'
import { breakLoop, judge, ledger, reflect, roundtable } from 'reeve/team'

const model = (): string => ''
const member = (name: string): Agent => agent({ name, description: `Does what ${name} does.`, model })
const [writer, critic] = [member('writer'), member('critic')]
const look = tool({
  name: 'look_up',
  description: 'Looks it up.',
  input: z.object({ topic: z.string() }),
  effect: 'read',
  execute: ({ topic }) => topic,
})
const pay = tool({ name: 'pay', effect: 'once', approval: true, execute: () => 'paid' })
const plan = {
  subtasks: [
    { id: 'facts', description: 'Find facts.', role: 'critic' },
    { id: 'text', description: 'Write it up.', role: 'writer', dependencies: ['facts'] },
  ],
}

/** By what each is. */
export const agentsOfEveryKind: Readonly<Record<string, Agent>> = {
  'a model agent': writer,
  'a model agent with tools, limits, typed output': agent({
    name: 'typed',
    description: 'Answers in JSON.',
    instructions: 'Answer in JSON.',
    model,
    tools: [look, pay],
    limits: { turns: 3, usd: 1 },
    outputKey: 'answer',
    output: z.object({ answer: z.string() }),
  }),
  'a model agent that is scored and compacted': agent({
    name: 'scored',
    model,
    isComplete: { scorers: [judge({ name: 'judge', model, criteria: ['It is short.'] })] },
    compaction: { above: 1_000, keep: 4 },
  }),
  'a code agent': agent({ name: 'code', run: () => 'done' }),
  'a code agent of another version': agent({ name: 'code', version: '2', run: () => 'done' }),
  'a human': human({ name: 'ann', description: 'Decides.' }),
  'an order': sequential({ name: 'order', agents: [writer, critic] }),
  'at once': parallel({ name: 'at_once', agents: [writer, critic] }),
  'a loop': loop({
    name: 'loop',
    agents: [agent({ name: 'breaker', run: () => breakLoop('enough') }), critic],
    maxIterations: 3,
  }),
  'a router led by a model': router({ name: 'desk', instructions: 'Route.', model, workers: [writer, critic] }),
  'a router led by code': router({ name: 'desk', workers: [writer, critic], run: (_ctx, _brief) => 'done' }),
  'an agent with an agent as a tool': agent({ name: 'asker', model, tools: [asTool(writer)] }),
  'a supervisor led by a model': supervisor({ name: 'boss', instructions: 'Lead.', model, workers: [writer, critic] }),
  'a supervisor with background, retries and hooks': supervisor({
    name: 'boss',
    model,
    workers: [writer, critic],
    delegation: {
      background: { workers: ['writer'], concurrency: 2, react: 'each' },
      timeoutMs: 60_000,
      retry: { attempts: 2, backoffMs: 1_000 },
      onStart: () => ({ proceed: true }),
    },
  }),
  'a supervisor led by code': supervisor({ name: 'boss', workers: [writer, critic], run: () => 'done' }),
  'a supervisor with a base': supervisor({ name: 'boss', base: writer, workers: [critic] }),
  'a reflecting supervisor': reflect(supervisor({ name: 'boss', model, workers: [writer] }), {
    name: 'careful',
    judge: judge({ name: 'judge', model, criteria: 'It is short.' }),
    attempts: 2,
  }),
  'a round table in turn': roundtable({
    name: 'table',
    agents: [writer, critic],
    speaker: 'round-robin',
    maxRounds: 2,
  }),
  'a round table with a ledger': roundtable({ name: 'table', agents: [writer, critic], speaker: ledger({ model }) }),
  'a team with a plan': team({ name: 'team', roles: { writer, critic, generalist: writer }, planner: plan }),
  'a team with a planning model and a budget': team({
    name: 'team',
    roles: { writer, critic, generalist: writer },
    planner: { model },
    synthesize: { model },
    budget: { tokens: 1_000 },
  }),
}
