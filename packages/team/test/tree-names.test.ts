/**
 * Names are unique in a tree: two different agents of one name are refused where the tree is made, however deep, in
 * every way of working together.
 */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import type { Agent } from '@reeve/agent'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { createRuntime } from '@reeve/runtime'
import { reflect, roundtable, supervisor } from '@reeve/supervisor'
import { team } from '../src/index.ts'

const writer = (says: string): Agent => agent({ name: 'writer', description: 'Writes.', run: () => says })
const model = (): string => 'done'
const desk = (name: string, worker: Agent): Agent =>
  supervisor({ name, description: 'A desk.', model, workers: [worker] })
const one = writer('one')
const refused = expect.objectContaining({
  code: 'team.invalid',
  message: 'two different agents are called "writer"',
}) as Error

test.each<[string, (a: Agent, b: Agent) => Agent]>([
  ['supervisor', (a, b) => supervisor({ name: 'top', model, workers: [desk('a', a), desk('b', b)] })],
  ['code supervisor', (a, b) => supervisor({ name: 'top', run: () => '', workers: [desk('a', a), desk('b', b)] })],
  ['router', (a, b) => router({ name: 'top', model, workers: [desk('a', a), desk('b', b)] })],
  ['sequential', (a, b) => sequential({ name: 'top', agents: [desk('a', a), b] })],
  ['parallel', (a, b) => parallel({ name: 'top', agents: [desk('a', a), desk('b', b)] })],
  ['loop', (a, b) => loop({ name: 'top', agents: [desk('a', a), b], maxIterations: 2 })],
  [
    'round table',
    (a, b) => roundtable({ name: 'top', agents: [desk('a', a), desk('b', b)], speaker: 'round-robin', maxRounds: 1 }),
  ],
  ['reflection', (a, b) => reflect(desk('a', a), { judge: desk('judge', b) })],
  [
    'planned team',
    (a, b) =>
      team({ name: 'top', roles: { x: desk('a', a), y: desk('b', b) }, planner: () => ({ tasks: [] }) as never }),
  ],
  ['agent as a tool', (a, b) => supervisor({ name: 'top', model, workers: [desk('a', a)], tools: [asTool(b)] })],
])('%s', (_way, make) => {
  expect(() => make(one, writer('two'))).toThrow(refused)
  expect(() => make(one, one)).not.toThrow() // one agent in two places is one agent
})

test('a team that is given as a function is asked when a runtime is made, and not before', async () => {
  let asked = 0
  const late = (name: string, worker: Agent): Agent =>
    supervisor({ name, description: 'A desk.', model, workers: () => (asked++, [worker]) })
  const top = supervisor({ name: 'top', model, workers: [late('a', one), late('b', writer('two'))] })
  expect(asked).toBe(0)
  await expect(createRuntime({ agents: [top] })).rejects.toThrow(refused)
})

test('a later member is checked with all below it', () => {
  const top = supervisor({ name: 'top', model, workers: [desk('a', one)] })
  expect(() => top.add(desk('b', writer('two')))).toThrow(refused)
  expect(top.team()).toEqual(['a'])
  top.add(desk('b', one))
  expect(top.team()).toEqual(['a', 'b'])
})
