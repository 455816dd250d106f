/** How a plan is carried out: spec team 1.1, R-1. Pure. */
import { expect, test } from 'vitest'
import type { Plan, Subtask } from '../src/plan/plan.ts'
import { needsTools, routeOf, type RouteHints } from '../src/plan/route.ts'

const tasks = (count: number): Subtask[] =>
  Array.from({ length: count }, (_, i) => ({ id: `t${i}`, description: 'Do' }))
const plan = (subtasks: Subtask[], complexity: number): Plan => ({ subtasks, complexity })
const route = (given: Plan, hints?: RouteHints): string => routeOf(given, hints).route

test('team C01: five independent tasks are a dag, six are a team', () => {
  expect(route(plan(tasks(5), 0.6))).toBe('dag')
  expect(route(plan(tasks(6), 0.6))).toBe('team')
  expect(routeOf(plan(tasks(6), 0.6)).reasons).toEqual(['6 tasks are more than 5'])
})

test('team C02: a dependency makes a team of two tasks, unless it is told not to', () => {
  const two = plan([tasks(1)[0]!, { id: 'b', description: 'B', dependencies: ['t0'] }], 0.4)
  expect(route(two)).toBe('team')
  expect(routeOf(two).reasons).toEqual(['tasks depend on each other'])
  expect(route(two, { dependenciesImplyTeam: false })).toBe('dag')
  expect(route(plan([{ id: 'a', description: 'A', consumes: ['facts'] }], 0.4))).toBe('team')
  expect(route(plan([{ id: 'a', description: 'A', produces: ['facts'] }], 0.4))).toBe('dag')
})

test('team C03: one task without tools is simple below 0.3, and not at 0.3, nor with a tool', () => {
  expect(route(plan(tasks(1), 0.29))).toBe('simple')
  expect(route(plan(tasks(1), 0.2999999))).toBe('simple')
  expect(route(plan(tasks(1), 0.3))).toBe('dag')
  expect(route(plan([{ id: 'a', description: 'A', tools: ['search'] }], 0.29))).toBe('dag')
  expect(route({ subtasks: tasks(1) })).toBe('dag')
})

test('team C05: two tasks without tools are not simple, however easy they are', () => {
  expect(route(plan(tasks(2), 0.05))).toBe('dag')
  expect(route(plan(tasks(2), 0))).toBe('dag')
})

test('team X3: without tasks it is simple, at any complexity', () => {
  for (const complexity of [0, 0.3, 0.9, 1]) expect(route(plan([], complexity))).toBe('simple')
})

test('team R-1: what the caller insists on goes before everything, hints before the shape', () => {
  expect(routeOf(plan(tasks(9), 1), { dynamic: true }, 'simple')).toEqual({
    route: 'simple',
    reasons: ['the caller asks for "simple"'],
  })
  expect(routeOf(plan([], 0), {}, 'team').route).toBe('team')
  expect(routeOf(plan(tasks(1), 0.1), { dynamic: true })).toEqual({
    route: 'team',
    reasons: ['members may be recruited'],
  })
  expect(routeOf(plan([], 0.1), { communicating: true })).toEqual({
    route: 'team',
    reasons: ['members talk to each other'],
  })
  expect(routeOf(plan(tasks(1), 0.1), { dynamic: true, communicating: true }).reasons).toHaveLength(2)
  expect(route(plan(tasks(1), 0.1), { dynamic: false, communicating: false })).toBe('simple')
})

test('team R-1: every reason for a team is told', () => {
  const seven = [...tasks(6), { id: 'x', description: 'X', dependencies: ['t1'] }]
  expect(routeOf(plan(seven, 0.5)).reasons).toEqual(['7 tasks are more than 5', 'tasks depend on each other'])
})

test('team R-1: the bounds can be moved', () => {
  expect(route(plan(tasks(1), 0.5), { simpleBelow: 0.6 })).toBe('simple')
  expect(route(plan(tasks(1), 0), { simpleBelow: 0 })).toBe('dag')
  expect(route(plan(tasks(1), 1), { simpleBelow: 1 })).toBe('dag')
  expect(route(plan(tasks(3), 0.5), { teamAbove: 2 })).toBe('team')
  expect(route(plan(tasks(1), 0.5), { teamAbove: 0 })).toBe('team')
  expect(route(plan(tasks(200), 0.5), { teamAbove: 200 })).toBe('dag')
})

test('team X5: a tool, dependency, topic or parameters make a task need tools; empty lists do not', () => {
  const task = (more: Partial<Subtask>): Subtask => ({ id: 'a', description: 'A', ...more })
  for (const more of [
    { tools: ['x'] },
    { dependencies: ['b'] },
    { produces: ['t'] },
    { consumes: ['t'] },
    { toolParameters: { a: 1 } },
  ])
    expect(needsTools(task(more))).toBe(true)
  expect(needsTools(task({ tools: [], dependencies: [], produces: [], consumes: [], toolParameters: {} }))).toBe(false)
  expect(needsTools(task({}))).toBe(false)
})
