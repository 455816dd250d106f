/** Who does what kind of work: spec team 1.3, R-3, and exercise 3 (the role of a recruit). */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { RoleBook, type Roles } from '../src/plan/roles.ts'
import { team } from '../src/index.ts'

const worker = (name: string) => agent({ name, description: `Is ${name}.`, run: async () => name })
const rule = (): string => 'done'
const plan = { subtasks: [{ id: 'a', description: 'A' }] }
const book = (roles: Roles, model?: typeof rule): RoleBook => new RoleBook('t', roles, model, undefined)

test('team R-3: a role is found in any case, with any outer white space', () => {
  const roles = book({ Analyst: worker('ann'), generalist: worker('gen') })
  expect(roles.find(' analyst ')).toMatchObject({
    role: 'analyst',
    resolved: 'Analyst',
    standsIn: false,
    agent: { name: 'ann' },
  })
  expect(roles.find('ANALYST')?.agent.name).toBe('ann')
})

test('team R-3: an unknown role keeps its name, and the generalist does its work', () => {
  const roles = book({ generalist: { agent: worker('gen'), instructions: 'Be brief.' } })
  expect(roles.find('pricing_analyst')).toMatchObject({
    role: 'pricing_analyst',
    resolved: 'generalist',
    standsIn: true,
    added: 'Your role on a team: pricing_analyst. Be brief.',
  })
  expect(roles.find('generalist')?.standsIn).toBe(false)
  expect(book({ writer: worker('w') }).find('analyst')).toBeUndefined()
})

test('team 1.3: another word for the same work means the role that is there, and never one that is not', () => {
  const roles = book({ researcher: worker('r'), analyst: worker('a'), generalist: worker('g') })
  expect(roles.find('research')).toMatchObject({ role: 'research', resolved: 'researcher', standsIn: false })
  expect(roles.find('Analysis')?.agent.name).toBe('a')
  expect(roles.find('coder')).toMatchObject({ resolved: 'generalist', standsIn: true })
  expect(book({ coder: worker('c'), generalist: worker('g') }).find('developer')?.agent.name).toBe('c')
  const both = book({ research: worker('one'), researcher: worker('two') })
  expect(both.find('research')?.agent.name).toBe('one')
  expect(both.find('researcher')?.agent.name).toBe('two')
})

test('team 1.3: a team with a model has five roles of its own, which it may replace in any spelling', () => {
  const roles = book({ Writer: worker('w') }, rule)
  expect(roles.problems).toEqual([])
  expect(roles.list.map(({ name }) => name).sort()).toEqual([
    'Writer',
    'analyst',
    'generalist',
    'researcher',
    'strategist',
  ])
  expect(roles.find('writer')?.agent.name).toBe('w')
  expect(roles.find('analyst')?.agent.name).toBe('t_analyst')
})

test('team R-3: names that differ only in case are refused, with all problems of all roles', () => {
  const given = {
    Writer: worker('w'),
    writer: worker('v'),
    'no name': worker('x'),
    a: {},
    b: { agent: worker('y'), model: rule },
    c: { agent: 'somebody', instructions: 5, description: 6, tool: [] },
    d: null,
    e: { agent: worker('z'), tools: ['ok', 'not ok'], limits: { turns: -1 } },
  } as unknown as Roles
  const { problems } = book(given)
  const all = problems.join('\n')
  for (const part of [
    '"Writer" and "writer" differ in nothing but case',
    'the name of a role is the text "no name", expected a letter',
    'roles.a has no agent, and the team has no model',
    'roles.b has both an agent and a model',
    'roles.c has no option "tool": did you mean "tools"?',
    'roles.c.instructions is 5, expected a text',
    'roles.c.description is 6, expected a text',
    'roles.c.agent is the text "somebody", expected an agent',
    'roles.d is null, expected an agent or options',
    'roles.e.tools[1] is the text "not ok", expected a tool name',
    'limits.turns is -1',
  ])
    expect(all).toContain(part)
  expect(() => team({ name: 't', roles: given, planner: plan })).toThrow('differ in nothing but case')
  for (const roles of [null, [], 'x', worker('w')])
    expect(() => team({ name: 't', roles: roles as never, planner: plan })).toThrow('roles is')
})

test('team R-3: a team without workers is refused', () => {
  expect(() => team({ name: 't', planner: plan })).toThrow('no roles and no model')
  expect(() => team({ name: 't', roles: {}, planner: plan })).toThrow('no roles and no model')
})

test('team R-3: those who work for the model of two teams have different names, also where names are long', () => {
  const names = (name: string): string[] =>
    new RoleBook(name, undefined, rule, undefined).agents.map((each) => each.name)
  const long = 'x'.repeat(64)
  const all = [...names('one'), ...names('two'), ...names(long), ...names(`${'x'.repeat(63)}y`)]
  expect(new Set(all).size).toBe(20)
  expect(all.every((name) => name.length <= 64)).toBe(true)
  expect(names(long)).toEqual(names(long))
  expect(names('one')[0]).toBe('one_generalist')
})

test('team exercise 3: a role resolves for its requester: registered, another word, else the generalist', () => {
  const roles = book({ data_engineer: worker('d'), generalist: worker('g') })
  expect(roles.find('Data_Engineer')?.agent.name).toBe('d')
  expect(roles.find('lawyer')).toMatchObject({ standsIn: true, agent: { name: 'g' } })
})

test('team 1.3: a whole question goes to the default role, else the generalist, else the first role', () => {
  expect(book({ a: worker('a'), generalist: worker('g') }).forWhole(undefined, 'Q')).toEqual({ role: 'generalist' })
  expect(book({ a: worker('a'), b: worker('b') }).forWhole('b', 'Q')).toEqual({ role: 'b' })
  expect(book({ a: worker('a'), b: worker('b') }).forWhole(undefined, 'Q')).toEqual({ role: 'a' })
  const typed = agent({ name: 'typed', description: 'T', input: { type: 'object' }, run: async () => 1 })
  expect(book({ a: typed }).forWhole(undefined, { n: 1 })).toEqual({ role: 'a', input: { n: 1 } })
})

test('team 1.3: an alias, an instruction or a tool of a role is part of the version', () => {
  const version = (instructions: string, tools?: string[]): string =>
    team({
      name: 't',
      roles: { generalist: { agent: worker('w'), instructions, ...(tools === undefined ? {} : { tools }) } },
      planner: plan,
    }).version
  expect(version('A')).toBe(version('A'))
  expect(version('A')).not.toBe(version('B'))
  expect(version('A')).not.toBe(version('A', ['x']))
  const planned = (description: string): string =>
    team({ name: 't', roles: { generalist: worker('w') }, planner: { subtasks: [{ id: 'a', description }] } }).version
  expect(planned('A')).not.toBe(planned('B'))
})
