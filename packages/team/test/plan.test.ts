/** Validation of a plan: spec team 1.2, R-2, R-2b, R-3; everything that is wrong at once. Pure. */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { cyclesOf } from '../src/plan/cycles.ts'
import { recordable } from '../src/plan/plan.ts'
import { team } from '../src/index.ts'
import { RoleBook } from '../src/plan/roles.ts'
import { validatePlan, type PlanSurroundings, type Validated } from '../src/plan/validate.ts'
import { planIn, planningRules, planSchema, toldQuestion } from '../src/plan/planner-prompt.ts'
import { played } from './trace.ts'

const worker = agent({ name: 'worker', description: 'Works.', run: async () => 'done' })
const typed = agent({
  name: 'typed',
  description: 'Takes a number.',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  run: async () => 'done',
})
const roles = new RoleBook(
  't',
  { generalist: worker, researcher: worker, analyst: worker, typist: typed },
  undefined,
  undefined,
)
const look = (given: unknown, around?: PlanSurroundings): Validated => validatePlan(given, roles, around)
const tasks = (...list: object[]): Validated => look({ subtasks: list.map((each) => ({ description: 'Do', ...each })) })
const rolesOf = ({ plan }: Validated): unknown[] => plan.subtasks.map(({ role }) => role)

describe('who does what', () => {
  const three = [
    { id: 'a', description: 'A' },
    { id: 'b', description: 'B' },
    { id: 'c', description: 'C' },
  ]
  test('team C11: roles by place, then the default role, then the generalist', () => {
    expect(rolesOf(look({ subtasks: three, agentTypes: ['researcher', ''] }))).toEqual([
      'researcher',
      'generalist',
      'generalist',
    ])
    expect(rolesOf(look({ subtasks: three, agentTypes: ['researcher', ''] }, { defaultRole: 'analyst' }))).toEqual([
      'researcher',
      'analyst',
      'analyst',
    ])
    expect(rolesOf(look({ subtasks: three, agentTypes: ['  researcher ', '   ', null] }))).toEqual([
      'researcher',
      'generalist',
      'generalist',
    ])
  })
  test('team R-3: the place in agentTypes goes before the role of a task, that before the default role', () => {
    const own = three.map((task) => ({ ...task, role: ' analyst ' }))
    expect(rolesOf(look({ subtasks: own, agentTypes: ['researcher'] }, { defaultRole: 'typist' }))).toEqual([
      'researcher',
      'analyst',
      'analyst',
    ])
  })
  test('team C12: roles too many are ignored, with one warning', () => {
    const { warnings, problems, plan } = look({ subtasks: three, agentTypes: ['researcher', 'a', 'b', 'c', 'd'] })
    expect(problems).toEqual([])
    expect(warnings.filter((each) => each.includes('agentTypes'))).toEqual([
      'agentTypes has 5 roles for 3 tasks: the last 2 are ignored',
    ])
    expect(plan.subtasks).toHaveLength(3)
    expect(plan).not.toHaveProperty('agentTypes')
  })
  test('team R-3: an unknown role is one warning per role; without a generalist it is a problem', () => {
    expect(tasks({ id: 'a', role: 'poet' }, { id: 'b', role: 'poet' }, { id: 'c', role: 'Research' }).warnings).toEqual(
      ['unknown role "poet": the generalist does the work ("a", "b")'],
    )
    const alone = new RoleBook('t', { analyst: worker }, undefined, undefined)
    expect(
      validatePlan({ subtasks: [{ id: 'a', description: 'A', role: 'analist' }, three[1]!] }, alone).problems,
    ).toEqual([
      'task "a": there is no role "analist" here, and no generalist: did you mean "analyst"?',
      'task "b": it names no role, and there is no generalist here; there are analyst',
    ])
  })
  test('team R-2: the input of a task must be what its member takes', () => {
    expect(tasks({ id: 'a', role: 'typist', input: { n: 1 } }).problems).toEqual([])
    expect(
      tasks(
        { id: 'a', role: 'typist', input: { n: 'x' } },
        { id: 'b', role: 'typist' },
        { id: 'c', role: 'typist', input: null },
      ).problems,
    ).toEqual([
      'task "a": its input is not what "typist" takes: "n" must be a number, got a string',
      'task "b": "typist" takes a typed input, and the task has none',
      expect.stringContaining('task "c": its input is not what "typist" takes'),
    ])
  })
})

describe('what waits for what', () => {
  test('team C07: a cycle, a self-dependency and an unknown id are reported at once, the cycle with its path', () => {
    const { problems } = tasks(
      { id: 'A', dependencies: ['B'] },
      { id: 'B', dependencies: ['A'] },
      { id: 'C', dependencies: ['C'] },
      { id: 'D', dependencies: ['nobody'] },
    )
    expect(problems).toEqual([
      'task "C" depends on itself',
      'task "D" depends on "nobody", and there is no such task; there are A, B, C, D',
      'tasks wait for each other: A > B > A',
    ])
  })
  test('team C53: doubled ids are refused, also where they differ in white space; case counts', () => {
    expect(tasks({ id: 'a' }, { id: ' a ' }, { id: 'b' }, { id: 'b' }, { id: 'b' }).problems).toEqual([
      'two tasks have the id "a"',
      '3 tasks have the id "b"',
    ])
    expect(tasks({ id: 'a' }, { id: 'A' }).problems).toEqual([])
  })
  test('team R-2: all cycles are found, each once, wherever they meet', () => {
    const { problems } = tasks(
      { id: 'a', dependencies: ['b', 'c'] },
      { id: 'b', dependencies: ['a'] },
      { id: 'c', dependencies: ['d'] },
      { id: 'd', dependencies: ['a'] },
      { id: 'x', dependencies: ['y'] },
      { id: 'y', dependencies: ['z'] },
      { id: 'z', dependencies: ['x'] },
      { id: 'free', dependencies: ['a', 'x'] },
    )
    expect(problems.toSorted()).toEqual([
      'tasks wait for each other: a > b > a',
      'tasks wait for each other: a > c > d > a',
      'tasks wait for each other: x > y > z > x',
    ])
  })
  test('team R-2: topics make cycles too: consumers wait for producers', () => {
    expect(tasks({ id: 'a', produces: ['t'], dependencies: ['b'] }, { id: 'b', consumes: ['t'] }).problems).toEqual([
      'tasks wait for each other: a > b > a',
    ])
    expect(
      tasks({ id: 'a', produces: ['s'], consumes: ['t'] }, { id: 'b', produces: ['t'], consumes: ['s'] }).problems,
    ).toEqual(['tasks wait for each other: a > b > a'])
    expect(tasks({ id: 'a', produces: ['t'] }, { id: 'b', consumes: ['t'] }).problems).toEqual([])
  })
  test('team C08: a topic without another producer is a warning', () => {
    const { problems, warnings } = tasks(
      { id: 'a', consumes: ['facts'] },
      { id: 'b', produces: ['own'], consumes: ['own'] },
    )
    expect(problems).toEqual([])
    expect(warnings).toEqual([
      'task "a" consumes "facts", which no other task produces: it is not waited for',
      'task "b" consumes "own", which no other task produces: it is not waited for',
    ])
  })
  test('team R-2: tasks that are there already may be depended on, and are not doubled', () => {
    const existing = [{ id: 'old', description: 'Old' }]
    const add = (task: object): readonly string[] =>
      look({ subtasks: [{ description: 'New', ...task }] }, { existing }).problems
    expect(add({ id: 'new', dependencies: ['old'] })).toEqual([])
    expect(add({ id: 'old' })).toEqual(['there is a task "old" already'])
    expect(add({ id: 'new', dependencies: ['older'] })).toEqual([
      'task "new" depends on "older", and there is no such task: did you mean "old"?',
    ])
    const waiting = [{ id: 'old', description: 'Old', consumes: ['t'] }]
    expect(
      look(
        { subtasks: [{ id: 'new', description: 'N', produces: ['t'], dependencies: ['old'] }] },
        { existing: waiting },
      ).problems,
    ).toEqual(['tasks wait for each other: old > new > old'])
  })
  test('team R-2: names that objects have anyway are ids like others', () => {
    expect(
      tasks(
        { id: '__proto__' },
        { id: 'constructor', dependencies: ['__proto__'] },
        { id: 'b', dependencies: ['toString'] },
      ).problems,
    ).toEqual(['task "b" depends on "toString", and there is no such task; there are __proto__, constructor, b'])
  })
  test('team R-2: a long chain and a great tangle are looked at in no time', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => ({
      id: `t${i}`,
      description: 'D',
      ...(i === 0 ? {} : { dependencies: [`t${i - 1}`] }),
    }))
    expect(look({ subtasks: chain }).problems).toEqual([])
    const ring = look({ subtasks: [{ ...chain[0], dependencies: ['t19999'] }, ...chain.slice(1)] }).problems
    expect(ring).toHaveLength(1)
    const tangle = Array.from({ length: 150 }, (_, i) => ({
      id: `t${i}`,
      description: 'D',
      dependencies: Array.from({ length: 150 }, (_each, j) => `t${j}`).filter((id) => id !== `t${i}`),
    }))
    const { problems } = look({ subtasks: tangle })
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.length).toBeLessThanOrEqual(20)
  }, 5_000)
  test('team R-2: cycles begin with their first task, and self-edges are none', () => {
    expect(cyclesOf(new Map([['a', ['a']]]))).toEqual([])
    expect(cyclesOf(new Map([['a', []], ['b', ['c']], ['c', ['b', 'gone']]]))).toEqual([['b', 'c', 'b']]) // prettier-ignore
    expect(cyclesOf(new Map())).toEqual([])
  })
})

describe('the fields of a plan', () => {
  test('team R-2: unknown fields are reported with a suggestion; in fixed plans they are refused', () => {
    const wrong = {
      steps: 1,
      subtasks: [
        { id: 'a', description: 'A', agent: 'analyst', expected_output: 'B', colour: 'red', nothing: null },
        { id: 'b', description: 'B', dependsOn: ['a'], rle: 'analyst' },
      ],
    }
    const sentences = [
      'the plan has no field "steps": did you mean "subtasks"?',
      'task "a" has no field "expected_output": did you mean "description"?',
      expect.stringContaining('task "a" has no field "colour"; there are id, description') as string,
      'task "b" has no field "rle": did you mean "role"?',
    ]
    const lenient = look(wrong)
    expect(lenient).toMatchObject({ problems: [], warnings: sentences })
    expect(rolesOf(lenient)).toEqual(['analyst', 'generalist'])
    expect(lenient.plan.subtasks[1]?.dependencies).toEqual(['a'])
    const { problems, warnings } = look(wrong, { unknownFields: 'refused' })
    expect(warnings).toEqual([])
    expect(problems).toHaveLength(6)
    expect(problems).toEqual(
      expect.arrayContaining([
        ...sentences,
        'task "a" has no field "agent": did you mean "role"?',
        'task "b" has no field "dependsOn": did you mean "dependencies"?',
      ]),
    )
  })
  test('team R-2: a plan of code or a function with such a field is refused before any task begins', async () => {
    const subtasks = [{ id: 'a', description: 'A' }, { id: 'b', description: 'B', depends_on: ['a'] }] // prettier-ignore
    for (const planner of [{ subtasks }, () => ({ subtasks })]) {
      const { outcome } = await played(team({ name: 't', roles: { generalist: worker }, planner }))
      expect(outcome).toMatchObject({
        status: 'failed',
        failure: {
          code: 'plan.invalid',
          message: expect.stringContaining('"depends_on": did you mean "dependencies"?') as string,
        },
      })
    }
  })
  test('team R-2: what is no plan at all is told, and cannot be read', () => {
    for (const [given, said] of [
      [undefined, 'undefined'],
      [null, 'null'],
      ['do it', 'the text "do it"'],
      [[], 'a list'],
      [7, '7'],
    ] as const)
      expect(look(given)).toMatchObject({
        unreadable: true,
        problems: [`the plan is ${said}, expected an object with subtasks`],
      })
    expect(look({}).problems).toEqual(['subtasks is missing, expected a list of tasks'])
    expect(look({ subtasks: 'a, b' }).problems).toEqual(['subtasks is the text "a, b", expected a list of tasks'])
    expect(look({ subtasks: [] })).toMatchObject({ problems: [], plan: { subtasks: [], complexity: 0.5 } })
  })
  test('team R-2: ids and descriptions that are missing, empty or no texts', () => {
    expect(
      look({
        subtasks: [
          { description: 'A' },
          { id: '  ', description: 'A' },
          { id: 3, description: 'A' },
          { id: 'd' },
          { id: 'e', description: ' ' },
          { id: 'f', description: 4 },
          'g',
          null,
        ],
      }).problems,
    ).toEqual([
      'subtasks[0]: id is missing, expected a text',
      'subtasks[1]: id is empty, expected a text',
      'subtasks[2]: id is 3, expected a text',
      'task "d": description is missing, expected what is to be done',
      'task "e": description is empty, expected what is to be done',
      'task "f": description is 4, expected what is to be done',
      'subtasks[6] is the text "g", expected a task',
      'subtasks[7] is null, expected a task',
    ])
  })
  test('team R-2: every field of the wrong type is told at once', () => {
    const { problems } = look({
      subtasks: [
        {
          id: 'a',
          description: 'A',
          role: 1,
          dependencies: 'b',
          onMissing: 'maybe',
          produces: [1],
          consumes: {},
          critical: 'yes',
          estimate: 'much',
          tools: ['', 'x'],
          toolParameters: [],
          taskType: {},
          input: new Date(0),
        },
        {
          id: 'b',
          description: 'B',
          onMissing: { a: 'never' },
          estimate: { tokens: 'ten', usd: true },
          dependencies: ['a', null],
        },
      ],
      agentTypes: [1],
      complexity: 'high',
      strategy: 4,
    })
    expect(problems).toEqual([
      'strategy is 4, expected "parallel", "sequential" or "hybrid"',
      'task "a": role is 1, expected a text',
      'task "a": taskType is an object, expected a text',
      'task "a": dependencies is the text "b", expected a list of names',
      'task "a": produces[0] is 1, expected a name',
      'task "a": consumes is an object, expected a list of names',
      'task "a": tools[0] is empty, expected a name',
      'task "a": onMissing is the text "maybe", expected "tolerate", "require" or "fail"',
      'task "a": critical is the text "yes", expected true or false',
      'task "a": estimate is the text "much", expected { tokens, usd }',
      'task "a": toolParameters is a list, expected an object',
      'task "a": input is an instance of Date, not plain JSON',
      'task "b": dependencies[1] is null, expected a name',
      'task "b": onMissing.a is the text "never", expected "tolerate", "require" or "fail"',
      'task "b": estimate.tokens is the text "ten", expected a number',
      'task "b": estimate.usd is true, expected a number',
      'agentTypes[0] is 1, expected a role',
      'complexity is the text "high", expected a number between 0 and 1',
    ])
  })
  test.each([
    [-0.1, 0],
    [1.01, 1],
    [7, 1],
    [Infinity, 1],
    [-Infinity, 0],
    [NaN, 0.5],
  ])('team R-2: a complexity of %d becomes %d, with a warning', (complexity, taken) => {
    const { plan, warnings, problems } = look({ subtasks: [], complexity })
    expect(plan.complexity).toBe(taken)
    expect(warnings).toEqual([`complexity is ${complexity}, expected a number between 0 and 1: ${taken} is taken`])
    expect(problems).toEqual([])
    // a function's plan is recorded before it is looked at
    expect(look(recordable({ subtasks: [], complexity }))).toEqual(look({ subtasks: [], complexity }))
  })
  test('team R-2: 0, 1 and what is between them stand; none is 0.5', () => {
    for (const complexity of [0, 0.3, 1])
      expect(look({ subtasks: [], complexity })).toMatchObject({ plan: { complexity }, warnings: [] })
    expect(look({ subtasks: [], complexity: null })).toMatchObject({ plan: { complexity: 0.5 }, warnings: [] })
  })
  test('team R-2: estimates that are no amounts are dropped, with a warning', () => {
    const { plan, warnings, problems } = tasks(
      { id: 'a', estimate: { tokens: NaN, usd: -1 } },
      { id: 'b', estimate: { tokens: Infinity, usd: 0.5 } },
      { id: 'c', estimate: { tokens: 0, usd: 0 } },
      { id: 'd', estimate: {} },
      { id: 'e', estimated_tokens: 300 },
      { id: 'f', estimated_tokens: -300 },
    )
    expect(problems).toEqual([])
    expect(warnings).toEqual([
      'task "a": estimate.tokens is NaN, and is ignored',
      'task "a": estimate.usd is -1, and is ignored',
      'task "b": estimate.tokens is Infinity, and is ignored',
      'task "f": estimate.tokens is -300, and is ignored',
    ])
    expect(plan.subtasks.map(({ estimate }) => estimate)).toEqual([
      undefined,
      { usd: 0.5 },
      { tokens: 0, usd: 0 },
      undefined,
      { tokens: 300 },
      undefined,
    ])
  })
  test('team R-2b: an invalid limit is ignored, and never becomes 1', () => {
    for (const concurrencyLimit of [0, -1, 2.5, NaN, Infinity, '3', true]) {
      const { plan, warnings, problems } = look({ subtasks: [], concurrencyLimit })
      expect(plan.concurrencyLimit).toBeUndefined()
      expect(warnings).toHaveLength(1)
      expect(problems).toEqual([])
    }
    expect(look({ subtasks: [] })).toMatchObject({ warnings: [] })
    expect(look({ subtasks: [] }).plan.concurrencyLimit).toBeUndefined()
    expect(look({ subtasks: [], concurrencyLimit: 3 }).plan.concurrencyLimit).toBe(3)
  })
  test('team R-2: an unknown strategy is hybrid, with a warning', () => {
    expect(look({ subtasks: [], strategy: 'swarm' })).toMatchObject({
      plan: { strategy: 'hybrid' },
      warnings: ['unknown strategy "swarm": "hybrid" is used'],
    })
    expect(look({ subtasks: [], strategy: ' Sequential ' }).plan.strategy).toBe('sequential')
    expect(look({ subtasks: [] }).plan).not.toHaveProperty('strategy')
  })
  test('team 1.2: Shannon’s names are understood, ours take precedence, invented fields are ignored', () => {
    const { plan, problems, warnings } = look({
      mode: 'standard',
      complexity_score: 0.7,
      execution_strategy: 'sequential',
      concurrency_limit: 2,
      agent_types: ['analyst'],
      cognitive_strategy: 'decompose',
      subtasks: [
        {
          id: 'a',
          description: 'A',
          suggested_tools: ['search', 'search'],
          tool_parameters: { q: 1 },
          task_type: 'synthesis',
          estimated_tokens: 5,
          search_budget: { max_queries: 10 },
          dependencies: null,
        },
      ],
    })
    expect({ problems, warnings }).toEqual({ problems: [], warnings: [] })
    expect(plan).toEqual({
      complexity: 0.7,
      strategy: 'sequential',
      concurrencyLimit: 2,
      subtasks: [
        {
          id: 'a',
          description: 'A',
          role: 'analyst',
          tools: ['search'],
          toolParameters: { q: 1 },
          taskType: 'synthesis',
          estimate: { tokens: 5 },
        },
      ],
    })
    expect(look({ subtasks: [], complexity: 0.1, complexity_score: 0.9 }).plan.complexity).toBe(0.1)
  })
  test('team 1.2: a task that depends on others loses its parameters, with a warning', () => {
    const { plan, warnings } = tasks(
      { id: 'a', toolParameters: { q: 1 } },
      { id: 'b', dependencies: ['a'], toolParameters: { q: 2 } },
    )
    expect(plan.subtasks.map(({ toolParameters }) => toolParameters)).toEqual([{ q: 1 }, undefined])
    expect(warnings).toEqual(['task "b" depends on others, so its toolParameters are left out'])
  })
  test('team X3: a model that calls its plan difficult and writes no task has written none, with a warning', () => {
    const { plan, warnings } = look({ subtasks: [], complexity: 0.3 }, { author: 'model' })
    expect(plan.subtasks).toEqual([])
    expect(warnings).toEqual(['the plan has no tasks, and a complexity of 0.3: the whole question is its one task'])
    expect(look({ subtasks: [], complexity: 0.29 }, { author: 'model' }).warnings).toEqual([])
    expect(look({ subtasks: [], complexity: 0.9 }).warnings).toEqual([])
  })
  test('team R-2: lists hold each name once, without white space; what was given stays as it is', () => {
    const given = {
      subtasks: [
        { id: ' a ', description: 'A' },
        { id: 'b', description: 'B', dependencies: [' a', 'a'], input: { deep: [1] } },
      ],
    }
    const before = structuredClone(given)
    const { plan } = look(given)
    expect(plan.subtasks[1]).toMatchObject({ dependencies: ['a'] })
    ;(plan.subtasks[1]!.input as { deep: number[] }).deep.push(2)
    expect(given).toEqual(before)
  })
  test('team R-2: onMissing that speaks of nothing it depends on is a warning', () => {
    expect(
      tasks(
        { id: 'a' },
        { id: 'b', dependencies: ['a'], consumes: ['t'], onMissing: { a: 'require', t: 'fail', c: 'fail' } },
      ).warnings,
    ).toContain('task "b": onMissing speaks of "c", which it does not depend on')
  })
})

describe('the plan in an answer', () => {
  test('team 1.2: an object, JSON, a fence, JSON among words; else the answer as it is', () => {
    const plan = { subtasks: [] }
    expect(planIn(plan, 'Ask.')).toBe(plan)
    expect(planIn('{"subtasks":[]}', 'Ask.')).toEqual(plan)
    expect(planIn('```json\n{"subtasks":[]}\n```', 'Ask.')).toEqual(plan)
    expect(planIn('Here is my plan: {"subtasks":[]}. Good luck!', 'Ask.')).toEqual(plan)
    expect(planIn('I have no plan', 'Ask.')).toBe('I have no plan')
    expect(planIn('} no {', 'Ask.')).toBe('} no {')
    expect(planIn('', 'Ask.')).toBe('')
  })
})

describe('what a planner is told', () => {
  test('team R-12: advice stands in the question, as hints; without it the question is alone', () => {
    expect(toldQuestion({ question: 'Why?', roles: [] })).toBe('Why?')
    expect(toldQuestion({ question: { n: 1 }, roles: [] })).toBe('{"n":1}')
    const told = toldQuestion({
      question: 'Why?',
      roles: [],
      advice: {
        strategy: 'parallel',
        confidence: 0.7,
        source: 'Why not?',
        subtasks: [{ id: 'a', description: 'Look' }],
        warnings: ['it took long'],
      },
    })
    for (const part of [
      'Why?\n\n## ',
      'hints, no orders',
      'parallel order',
      '0.7',
      'Why not?',
      '"description":"Look"',
      'Mind: it took long',
    ])
      expect(told).toContain(part)
  })
  test('team 1.3: roles with their descriptions, and what they take where that is no text', () => {
    const rules = planningRules('t', roles.list)
    expect(rules).toContain('- generalist: Works.')
    expect(rules).toContain('- typist: Takes a number. Its tasks need an input that fits {"type":"object"')
  })
  test('team R-2: every field that a model is shown is read, and its answer is checked in one place', () => {
    const { properties } = (planSchema.json['properties'] as { subtasks: { items: { properties: object } } }).subtasks
      .items
    const values = { critical: true, toolParameters: { q: 1 }, input: { n: 1 }, estimate: { tokens: 1 } } as Record<
      string,
      unknown
    >
    const texts = { id: 'a', description: 'A', role: 'typist', taskType: 'synthesis' } as Record<string, unknown>
    const task = Object.fromEntries(Object.keys(properties).map((name) => [name, values[name] ?? texts[name] ?? ['x']]))
    const { plan } = look({ subtasks: [{ ...task, dependencies: [] }] })
    expect(Object.keys(plan.subtasks[0]!).toSorted()).toEqual(
      Object.keys(properties)
        .filter((name) => name !== 'dependencies')
        .toSorted(),
    )
    expect(planSchema.check('no plan')).toEqual({ ok: true, value: 'no plan' })
  })
})
