/**
 * An agent of every kind as runtimes and leaders see it: versions, members, whom it reaches, what is wrong with its
 * definition. Versions are persistent (K4): a run that has begun finds its agent by them.
 *
 * `npx vitest run test/faces/kinds.test.ts -u` writes the file anew.
 */
import { expect, test } from 'vitest'
import { agent, isAgent, problemText, rename, tool, type Agent } from '@reeve/agent'
import { ReeveError } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { human, ledger, reflect, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const
const model = (): string => 'x'
const read = tool({ name: 'read', description: 'Reads.', effect: 'read', execute: () => 'text' })
const send = tool({ name: 'send', description: 'Sends.', execute: () => 'sent', background: true })
const common = {
  description: 'Does it.',
  limits: { turns: 7, usd: 2 },
  oversight: { approval: { notify: ['desk'] } },
  outputKey: 'kept',
  version: '3',
} as const
const assess = (): { readonly confidence: number } => ({ confidence: 0.5 })

const w = agent({ name: 'w', description: 'Works.', run: async () => 'done' })
const v = agent({ name: 'v', description: 'Writes.', model, tools: [read] })
const typed = agent({ name: 'typed', description: 'Takes a city.', input: schema, run: async () => 'done' })
const nested = supervisor({ name: 'nested', description: 'Leads.', workers: [w, v], model })

const kinds = {
  'model, little': () => agent({ name: 'a', model }),
  'model, everything': () =>
    agent({
      name: 'a',
      ...common,
      model,
      instructions: 'Be {tone}.',
      input: schema,
      output: schema,
      tools: [read, send, asTool(w, { limits: { usd: 1 } })],
      settings: { temperature: 0 },
      middleware: [{ name: 'm', instructions: 'Also this.', tools: [tool({ name: 'more', execute: () => '' })] }],
      templating: true,
      lastAnswer: true,
      onCut: 'fail',
      assess: 'report',
      onIterationComplete: () => undefined,
      isComplete: { scorers: [w] },
      compaction: { above: 100, keep: 2, summarize: v },
    }),
  'model, wrong': () => agent({ name: 'a b', model, temprature: 1, tools: [read, read], assess: 1 } as never),
  'code, little': () => agent({ name: 'c', run: async () => 'x' }),
  'code, everything': () =>
    agent({ name: 'c', ...common, assess, input: schema, output: schema, workers: [w, nested], run: async () => 'x' }),
  'code, open': () => agent({ name: 'c', workers: () => [w], run: async () => 'x' }),
  'code, wrong': () => agent({ name: 'c', workers: () => [1], run: async () => 'x', model: undefined, x: 1 } as never),
  'human, little': () => human({ name: 'h' }),
  'human, everything': () =>
    human({
      name: 'h',
      ...common,
      assess,
      input: schema,
      output: schema,
      channel: ['desk', 'mail'],
      timeoutMs: 5,
      onTimeout: { answer: { city: 'Bern' } },
      prompt: () => 'p',
    }),
  'human, wrong': () => human({ name: 'h', onTimeout: { answer: 1 }, channel: '', output: schema } as never),
  'human who leads': () =>
    human({ name: 'h', ...common, workers: [w, typed], channel: 'desk', delegation: { context: 'answers' } }),
  'human who leads, wrong': () => human({ name: 'h', workers: () => [w], channel: '', concurrency: 0 } as never),
  'supervisor, little': () => supervisor({ name: 's', workers: [w], model }),
  'supervisor, everything': () =>
    supervisor({
      name: 's',
      ...common,
      assess,
      input: schema,
      output: schema,
      model,
      instructions: 'Lead.',
      guidance: 'Your people: {workers}',
      tools: [read],
      workers: [nested, v],
      specialists: [typed],
      maxTeamSize: 4,
      concurrency: 2,
      verbs: { delegate: 'assign' },
      delegation: {
        context: 'answers',
        limits: { usd: 1 },
        background: { workers: ['nested'] },
        several: true,
        workers: { v: { limits: { usd: 0.5 } } },
      },
    }),
  'supervisor, open': () => supervisor({ name: 's', workers: () => [w, v], model }),
  'supervisor, wrong': () =>
    supervisor({
      name: 's',
      workers: () => [],
      model,
      tools: [tool({ name: 'delegate', execute: () => '' })],
    }),
  'supervisor, wrong at once': () => supervisor({ name: 's', workers: [w, w], model, concurency: 1 } as never),
  'supervisor on a model': () =>
    supervisor({ name: 's', base: v, workers: [w], delegation: { permissions: { deny: ['pay'] } } }),
  'supervisor on a supervisor': () => supervisor({ name: 's', base: nested, workers: [typed], limits: { turns: 3 } }),
  'supervisor on a reflection': () =>
    supervisor({ name: 's', base: reflect(v, { judge: () => 1 }), workers: [w], outputKey: 'k' }),
  'supervisor on code': () => supervisor({ name: 's', base: w, workers: [v] }),
  'supervisor by code, little': () => supervisor({ name: 's', workers: [w], run: async () => 'x' }),
  'supervisor by code, everything': () =>
    supervisor({
      name: 's',
      ...common,
      assess,
      input: schema,
      output: schema,
      workers: [w, nested],
      specialists: [typed],
      delegation: { context: 'answers', limits: { usd: 1 } },
      run: async () => ({ city: 'Bern' }),
    }),
  'supervisor by code, wrong': () =>
    supervisor({
      name: 's',
      workers: () => [w],
      run: async () => 'x',
      guidance: 'g',
      delegation: { background: {} },
    } as never),
  'reflection, little': () => reflect(v, { judge: () => 1 }),
  'reflection, everything': () =>
    reflect(nested, { name: 'r', ...common, assess, judge: w, attempts: 3, passAt: 0.5, memory: false }),
  'reflection, wrong': () => reflect(v, { judge: 1, attempts: 0 } as never),
  'round table, in turn': () => roundtable({ name: 't', agents: [w, v], speaker: 'round-robin' }),
  'round table, auto': () =>
    roundtable({
      name: 't',
      ...common,
      assess,
      agents: [w, nested],
      speaker: 'auto',
      model,
      repeats: true,
      maxRounds: 4,
      summary: v,
      output: schema,
      edge: { limits: { usd: 1 }, agents: { w: { context: 'brief' } } },
    }),
  'round table, random': () => roundtable({ name: 't', agents: () => [w, v], speaker: 'random', maxRounds: Infinity }),
  'round table, ledger': () => roundtable({ name: 't', agents: [w, v], speaker: ledger({ model }) }),
  'round table, function': () => roundtable({ name: 't', agents: [w, v], speaker: () => 'w', summary: () => 'x' }),
  'round table, wrong': () => roundtable({ name: 't', agents: [w, w], speaker: 'auto', onFailure: 'x' } as never),
  'sequence, little': () => sequential({ name: 'q', agents: [w, v] }),
  'sequence, everything': () =>
    sequential({
      name: 'q',
      ...common,
      assess,
      agents: [typed, nested],
      edge: { limits: { usd: 1 }, agents: { nested: { context: 'brief' } } },
    }),
  'sequence, open': () => sequential({ name: 'q', agents: () => [w, v] }),
  'sequence, wrong': () => sequential({ name: 'q', agents: [v, typed], edge: { context: 'x' } } as never),
  loop: () => loop({ name: 'l', agents: [w, v], maxIterations: 3, until: () => true, onBound: 'fail' }),
  'loop, wrong': () => loop({ name: 'l', agents: () => [w], onBound: 'fail' } as never),
  parallel: () => parallel({ name: 'p', agents: [typed, v], outputKey: 'k' }),
  'router, little': () => router({ name: 'd', workers: [w, v], model }),
  'router, everything': () =>
    router({
      name: 'd',
      ...common,
      assess,
      input: schema,
      output: schema,
      model,
      tools: [read, asTool(typed)],
      workers: [w, nested],
      transfer: { returns: 'on-request', limits: { usd: 1 }, agents: { w: { returns: 'never' } } },
      routes: { d: ['w', 'nested'] },
      sticky: true,
    }),
  'router by code': () => router({ name: 'd', workers: () => [w, v], run: async () => 'x' }),
  'router, wrong': () => router({ name: 'd', workers: [w, w], model, routes: { x: ['w'] }, stick: true } as never),
  'planned team, little': () => team({ name: 'p', roles: { work: w }, model }),
  'planned team, everything': () =>
    team({
      name: 'p',
      ...common,
      assess,
      output: schema,
      roles: { work: w, lead: nested },
      model,
      strategy: 'sequential',
      concurrency: 2,
      budget: { usd: 1 },
    }),
  'planned team, wrong': () => team({ name: 'p', roles: { work: w }, model, maxFailures: 'x', y: 1 } as never),
} satisfies Record<string, () => Agent>

/** Members that answer when they are called. */
const called = ['definition', 'members', 'team', 'tools', 'toolCount', 'undeclaredTools', 'usdCaps'] as const
/** Members that are not of the interface of agents, or are shown by lines of their own. */
const apart = ['kind', 'name', 'description', 'version', 'ownVersion', 'related', 'problems', 'agent', 'around']

const shown = (value: unknown): string =>
  JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === 'function') return 'a function'
    if (isAgent(each)) return `agent ${each.name}`
    if (key === 'work' || key === 'parameters' || key === 'spec') return 'left out'
    return each
  })

/** The members that it has, its own and inherited. */
function membersOf(each: Agent): readonly (readonly [string, unknown])[] {
  const names = new Set<string>()
  for (let at: object | null = each; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at)) names.add(name)
  for (const name of ['constructor', 'madeVersion', ...apart]) names.delete(name)
  return [...names]
    .sort()
    .map((name) => [name, (each as never as { readonly [name: string]: unknown })[name]] as const)
    .filter(([, value]) => value !== undefined)
}

const faceOf = (each: Agent): readonly string[] => [
  `name ${each.name}: ${each.description}`,
  `version ${each.version}, its own ${each.ownVersion}`,
  ...membersOf(each).map(([name, value]) =>
    typeof value !== 'function'
      ? `${name} ${shown(value)}`
      : (called as readonly string[]).includes(name)
        ? `${name}() ${shown((value as () => unknown).call(each))}`
        : `${name}()`,
  ),
  ...each.related().map((other) => `reaches ${isAgent(other) ? `${other.name} ${other.version}` : shown(other)}`),
  ...each.problems().map((problem) => `problem ${problemText(problem)}`),
]

function linesOf(make: () => Agent): readonly string[] {
  try {
    const made = make()
    const again = rename(made, 'renamed')
    return [...faceOf(made), `renamed ${again.name} ${again.version}`]
  } catch (thrown) {
    if (!(thrown instanceof ReeveError)) throw thrown
    return [`throws ${thrown.code}: ${thrown.message}`, `hint ${thrown.hint}`]
  }
}

test('K4: an agent of every kind has the version, the reach and the problems that it had', async () => {
  const text = Object.entries(kinds)
    .map(([what, make]) => [`# ${what}`, ...linesOf(make), ''].join('\n'))
    .join('\n')
  await expect(text).toMatchFileSnapshot('kinds.txt')
})
