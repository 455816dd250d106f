/** The options of a team: everything that is wrong with them at once, before anything runs. */
import { expect, test } from 'vitest'
import { ReeveError } from '@reeve/core'
import { agent } from '@reeve/agent'
import { createRuntime } from '@reeve/runtime'
import { team } from '../src/index.ts'

const worker = agent({ name: 'worker', description: 'Works.', run: async () => 'done' })
const sound = { name: 't', roles: { generalist: worker }, planner: { subtasks: [] } }
const problemsOf = (more: object): readonly string[] => {
  try {
    team({ ...sound, ...more })
    return []
  } catch (thrown) {
    if (!ReeveError.is(thrown, 'team.invalid')) throw thrown
    return thrown.message.split('\n')
  }
}

test('team R-2: what is right is taken, at the bounds too', () => {
  for (const more of [
    {},
    { concurrency: 1, maxTeamSize: 0, maxFailures: 1, timeoutMs: 0, tolerance: 0 },
    { tolerance: 100 },
    { tolerance: 'critical' },
    { route: 'simple', strategy: 'sequential', fallback: true, approvePlan: false },
    { routing: { simpleBelow: 0, teamAbove: 0, dynamic: true, communicating: false, dependenciesImplyTeam: false } },
    { routing: { simpleBelow: 1 } },
    { dependencies: { policy: 'fail', timeoutMs: 0, passAll: true } },
    {
      mailbox: {
        maxMessages: 1,
        maxPerRecipient: 1,
        overflow: 'drop-oldest',
        quota: 0,
        maxExchanges: 0,
        policy: () => 'allow',
      },
    },
    { recruit: { counts: 'active', perMember: 0, depth: 0, countFailures: true, policy: () => 'deny' } },
    { retry: { backoffMs: 0 } },
    { retry: { attempts: 1, backoffMs: 0 } },
    { planner: () => ({ subtasks: [] }) },
    { planner: worker },
    { planner: undefined, model: () => 'x' },
    { planner: undefined, fallback: true },
    { planner: { model: () => 'x', instructions: 'Plan.', repairs: 0 } },
    { planner: { instructions: 'Plan.' }, model: () => 'x' },
    { planner: { subtasks: [], agent_types: ['x'], mode: 'standard' } },
    {
      memory: { recall: () => ({}), record: () => {} },
      advisor: () => undefined,
      lead: () => [],
      policy: () => 'allow',
    },
  ])
    expect(problemsOf(more)).toEqual([])
})

test('team R-2: everything that is wrong is told at once, one sentence each', () => {
  expect(
    problemsOf({
      concurency: 3,
      concurrency: 0,
      maxTeamSize: -1,
      maxFailures: 0,
      tolerance: 50.5,
      timeoutMs: NaN,
      fallback: 'yes',
      approvePlan: 1,
      route: 'tream',
      strategy: 7,
      policy: 'allow',
      lead: {},
      defaultRole: ' ',
      version: '',
    }),
  ).toEqual([
    'team "t" has no option "concurency": did you mean "concurrency"?',
    'team "t": defaultRole is the text " ", expected a text that is not empty',
    'team "t": fallback is the text "yes", expected true or false',
    'team "t": route is the text "tream", expected "simple", "dag" or "team": did you mean "team"?',
    'team "t": strategy is 7, expected "parallel", "sequential" or "hybrid"',
    'team "t": concurrency is 0, expected a whole number of at least 1',
    'team "t": maxTeamSize is -1, expected a whole number of at least 0',
    'team "t": tolerance is 50.5, expected a whole number of percent between 0 and 100, or a preset',
    'team "t": maxFailures is 0, expected a whole number of at least 1',
    'team "t": timeoutMs is NaN, expected milliseconds, or 0 for no limit',
    'team "t": policy is the text "allow", expected a function',
    'team "t": approvePlan is 1, expected true or false',
    'team "t": lead is an object, expected a function',
    'team "t": version is the text "", expected a text that is not empty',
  ])
})

test('team R-12: an invalid memory or advisor is refused', () => {
  for (const memory of ['redis', 7, null, [], {}, { recall: () => ({}) }])
    expect(problemsOf({ memory }).join()).toContain('team "t": memory')
  for (const advisor of ['wise', 7, null, []]) expect(problemsOf({ advisor }).join()).toContain('team "t": advisor is')
})

test('team R-10: a tolerance is a whole percentage, or a preset that there is', () => {
  for (const tolerance of [-1, 101, 33.3, NaN, Infinity, null, true, '50'])
    expect(problemsOf({ tolerance })).toHaveLength(1)
  expect(problemsOf({ tolerance: 'reserch' })).toEqual([
    'team "t": tolerance is the text "reserch", expected "research", "data_analysis" or "critical": did you mean "research"?',
  ])
})

test('team R-2b: nothing that is no limit passes for one', () => {
  for (const concurrency of [0, -1, 1.5, NaN, Infinity, '5', null, 2 ** 53])
    expect(problemsOf({ concurrency })).toHaveLength(1)
})

test('team R-2: options within options are looked at, their names too', () => {
  expect(
    problemsOf({
      routing: { dynamic: 1, simpleBelow: 1.1, teamAbove: -1, teamabove: 3 },
      dependencies: { policy: 'tolerant', timeoutMs: -5, passAll: 'no' },
      mailbox: {
        maxMessages: 0,
        maxPerRecipient: -1,
        overflow: 'drop',
        maxBytes: 0.5,
        quota: -1,
        maxExchanges: NaN,
        policy: 1,
      },
      recruit: { counts: 'all', perMember: -1, depth: 1.5, countFailures: 0, polcy: 1 },
      budget: { tokens: -1, usd: NaN, mode: 'firm', onExhausted: 'stop', perTask: { tokens: 'x', usd: -1, hours: 1 } },
      retry: { attempts: 0, tries: 1 },
    }),
  ).toEqual(
    expect.arrayContaining([
      'team "t": routing has no option "teamabove": did you mean "teamAbove"?',
      'team "t": routing.dynamic is 1, expected true or false',
      'team "t": routing.simpleBelow is 1.1, expected a number between 0 and 1',
      'team "t": routing.teamAbove is -1, expected a whole number of at least 0',
      'team "t": dependencies.policy is the text "tolerant", expected "tolerate", "require" or "fail": did you mean "tolerate"?',
      'team "t": dependencies.timeoutMs is -5, expected milliseconds, or 0 for no limit',
      'team "t": dependencies.passAll is the text "no", expected true or false',
      'team "t": mailbox.maxMessages is 0, expected a whole number of at least 1',
      'team "t": mailbox.maxPerRecipient is -1, expected a whole number of at least 1',
      'team "t": mailbox.overflow is the text "drop", expected "keep-newest-half", "drop-oldest" or "drop-newest"',
      'team "t": mailbox.maxBytes is 0.5, expected a whole number of at least 1',
      'team "t": mailbox.quota is -1, expected a whole number of at least 0',
      'team "t": mailbox.maxExchanges is NaN, expected a whole number of at least 0',
      'team "t": mailbox.policy is 1, expected a function',
      'team "t": recruit has no option "polcy": did you mean "policy"?',
      'team "t": recruit.counts is the text "all", expected "ever" or "active"',
      'team "t": recruit.perMember is -1, expected a whole number of at least 0',
      'team "t": recruit.depth is 1.5, expected a whole number of at least 0',
      'team "t": recruit.countFailures is 0, expected true or false',
      'team "t": budget.tokens is -1, expected a whole number of at least 0',
      'team "t": budget.mode is the text "firm", expected "hard" or "soft"',
      'team "t": budget.onExhausted is the text "stop", expected "synthesise", "abort" or "ask"',
      'team "t": budget.perTask has no option "hours"; it has tokens, usd',
      'team "t": budget.perTask.usd is -1, expected a number of at least 0',
      'team "t": retry has no option "tries"; it has attempts, backoffMs, maxBackoffMs, jitter, maxWaitMs',
      'team "t": retry.attempts is 0, expected a whole number of at least 1',
    ]),
  )
  for (const each of ['routing', 'dependencies', 'mailbox', 'recruit', 'budget', 'retry'])
    for (const wrong of [null, [], 5]) expect(problemsOf({ [each]: wrong }).join()).toContain(`${each} is`)
  expect(problemsOf({ retry: 'never' })).toEqual(['team "t": retry is the text "never", expected "none" or an object'])
})

test('team C10: a missing or invalid planner is refused', () => {
  expect(problemsOf({ planner: undefined })).toEqual([
    'team "t" has neither a planner nor a model to make a plan; with `fallback: true` the whole question is one task',
  ])
  expect(problemsOf({ planner: { instructions: 'Plan.' } })).toEqual([
    'team "t": planner has no model, and neither has the team',
  ])
  for (const planner of ['me', 7, [], null, true])
    expect(problemsOf({ planner }).join()).toContain('team "t": planner is')
  expect(problemsOf({ planner: { model: 'no model', instructions: 5, repairs: -1, repair: 1 } })).toEqual([
    'team "t": planner has no option "repair": did you mean "repairs"?',
    'team "t": planner.model: "no model" is not a model id',
    'team "t": planner.instructions is 5, expected a text that is not empty',
    'team "t": planner.repairs is -1, expected a whole number of at least 0',
  ])
})

test('team R-2: what people who know other tools write: they are told what it is called here', () => {
  const subtasks = [{ id: 'a', description: 'A' }]
  expect(problemsOf({ workers: [], plan: {}, maxConcurrency: 3, dependencyPolicy: 'fail', concurency: 2 })).toEqual([
    'team "t" has no option "workers": did you mean "roles"?',
    'team "t" has no option "plan": did you mean "planner"?',
    'team "t" has no option "maxConcurrency": did you mean "concurrency"?',
    'team "t" has no option "dependencyPolicy": did you mean "dependencies.policy"?',
    'team "t" has no option "concurency": did you mean "concurrency"?',
  ])
  expect(problemsOf({ retry: 3, budget: 1000, dependencies: 'require', tolerance: '50%' })).toEqual(
    expect.arrayContaining([
      'team "t": retry is 3: say `retry: { attempts: 3 }`',
      'team "t": budget is 1000: say `budget: { tokens: 1000 }`',
      'team "t": dependencies is the text "require": say `dependencies: { policy: \'require\' }`',
      'team "t": tolerance is the text "50%": say a whole number of percent: `tolerance: 50`',
    ]),
  )
  expect(problemsOf({ planner: 'openai/gpt-5' }).join()).toContain(
    'planner is the text "openai/gpt-5": say `planner: { model: \'openai/gpt-5\' }`',
  )
  expect(problemsOf({ planner: { model: () => 'x', subtasks } })).toEqual([
    'team "t": planner has both subtasks and model, expected a plan { subtasks, … } or { model, instructions, repairs }',
  ])
  expect(problemsOf({ planner: { tasks: subtasks } })).toEqual(
    expect.arrayContaining([
      'team "t": planner has no option "tasks": did you mean "subtasks"?',
      'team "t": planner is a plan { subtasks, … } or { model, instructions, repairs }',
    ]),
  )
  expect(problemsOf({ limits: { tokens: -1 } })).toEqual([
    'team "t": limits.tokens is -1, expected a whole number of at least 0',
  ])
})

test('team R-3: a default role that there is not is refused where no generalist stands in', () => {
  expect(problemsOf({ roles: { analyst: worker }, defaultRole: 'analist' })).toEqual([
    'team "t": defaultRole is the text "analist", and there is no such role: did you mean "analyst"?',
  ])
  expect(problemsOf({ defaultRole: 'analyst' })).toEqual([])
})

test('team R-20: a limit in dollars needs a price for the planner’s model, which the runtime may know', async () => {
  const model = 'openai/gpt-unheard-of'
  for (const more of [{ limits: { usd: 1 } }, { budget: { usd: 1 } }]) {
    const crew = team({ ...sound, planner: { model }, ...more })
    await expect(createRuntime({ agents: [crew] })).rejects.toThrow(`the price of "${model}" (its planner, agent "t")`)
    const prices = { [model]: { usdPerMillionTokens: { input: 1, output: 1 } } }
    await (await createRuntime({ agents: [crew], prices })).close()
  }
  expect(problemsOf({ planner: { model } })).toEqual([])
  expect(problemsOf({ planner: { model: () => 'x' }, limits: { usd: 1 } })).toEqual([])
  expect(problemsOf({ planner: null, limits: { usd: 1 } }).join()).toContain('planner is null')
})

test('team R-2: an invalid name, model or tool hides no other problem', () => {
  const wrong = {
    name: 'no name',
    model: 'nothing',
    tools: [5],
    concurrency: 0,
    roles: { 'a b': 1, ok: { model: 'neither' } },
  }
  const problems = problemsOf(wrong).join('\n')
  for (const part of [
    'team "no name": name is the text "no name", expected a letter',
    'team "no name": concurrency is 0',
    'team "no name": model: "nothing" is not a model id',
    'team "no name": tools[0] is not a tool, but 5',
    'roles.a b is 1, expected an agent or options',
    'roles.ok.model: "neither" is not a model id',
  ])
    expect(problems).toContain(part)
  expect(problemsOf({ name: undefined }).join()).toContain('name is missing, expected a letter')
  expect(problemsOf({ name: undefined, roles: undefined, model: () => 'x' }).join()).not.toContain('no roles')
  for (const given of [null, undefined, 'team', []]) expect(() => team(given as never)).toThrow('team() was given')
})
