/** Edges: what a worker gets is never more than its leader has. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completed, failed, failure, type Outcome } from '@reeve/core'
import {
  accountLimits,
  briefOf,
  briefText,
  crossing,
  encodeEdge,
  limitsCheck,
  narrow,
  needsApproval,
  permissionsCheck,
  allowsTool,
  readEdge,
  rootEdge,
  tighter,
  formatToolResult,
  workerEdge,
  formatWorkerResult,
  type Permissions,
} from '../src/index.ts'

describe('permissions', () => {
  const name = fc.constantFrom('search', 'search_web', 'sea', 'send', 'pay', 'x')
  const pattern = fc.oneof(
    name,
    name.map((each) => `${each}*`),
    fc.constant('*'),
    fc.constant('se*'),
  )
  const permissions: fc.Arbitrary<Permissions | undefined> = fc.option(
    fc.record(
      {
        tools: fc.array(pattern, { maxLength: 3 }),
        deny: fc.array(pattern, { maxLength: 2 }),
        approval: fc.oneof(fc.constant('all' as const), fc.array(pattern, { maxLength: 2 })),
      },
      { requiredKeys: [] },
    ),
    { nil: undefined },
  )
  test('narrowed, they permit exactly what both permit and ask for every approval that either asks for', () => {
    fc.assert(
      fc.property(permissions, permissions, name, (leader, grant, tool) => {
        const both = narrow(leader, grant)
        expect(allowsTool(both, tool)).toBe(allowsTool(leader, tool) && allowsTool(grant, tool))
        expect(needsApproval(both, tool)).toBe(needsApproval(leader, tool) || needsApproval(grant, tool))
      }),
      { numRuns: 2_000 },
    )
  })
  test('patterns are names and beginnings', () => {
    expect(allowsTool({ tools: ['se*'] }, 'send')).toBe(true)
    expect(allowsTool({ tools: [] }, 'send')).toBe(false)
    expect(permissionsCheck({ tools: ['a*b'], deny: ['*'], approval: ['ok'] }, 'here: permissions')).toEqual([
      expect.stringContaining('"a*b"'),
    ])
  })
})

describe('limits', () => {
  test('the tighter of both holds, one by one', () => {
    expect(tighter({ turns: 5, usd: 1 }, { turns: 3, tokens: 10 })).toEqual({ turns: 3, usd: 1, tokens: 10 })
    expect(tighter(undefined, undefined)).toBeUndefined()
    expect(accountLimits({ depth: 3 })).toBeUndefined()
    expect(accountLimits({ depth: 3, turns: 1 })).toEqual({ turns: 1 })
    expect(limitsCheck({ turns: 1.5, usd: Number.NaN, minutes: 0.5 }, 'x: limits')).toHaveLength(2)
  })
})

describe('edges', () => {
  const worker = { name: 'w' }
  test('a root has its own limits and those of the caller; a worker never more than its leader', () => {
    const root = rootEdge(
      { instructions: 'go' },
      { limits: { usd: 1 } },
      { name: 'boss', defaults: { limits: { turns: 20, depth: 2 } }, team: () => ['w'] },
    )
    expect(encodeEdge(root)).toEqual({
      brief: { instructions: 'go' },
      depth: 0,
      maxDepth: 2,
      limits: { usd: 1, turns: 20, depth: 2 },
      team: ['w'],
    })
    const edge = workerEdge(
      { ...root, bounds: { ...root.bounds, permissions: { deny: ['pay'] } } },
      worker,
      { instructions: 'x' },
      { permissions: { tools: ['*'] }, limits: { usd: 5, tokens: 7 } },
    )
    expect(encodeEdge(edge)).toEqual({
      brief: { instructions: 'x' },
      depth: 1,
      maxDepth: 2,
      limits: { usd: 1, turns: 20, depth: 2, tokens: 7 },
      permissions: { tools: ['*'], deny: ['pay'] },
    })
  })
  test("a worker's own depth counts from itself", () => {
    const root = rootEdge({ instructions: 'go' })
    const { brief } = root.work
    expect(workerEdge(root, { name: 'w', limits: { depth: 0 } }, brief).bounds.maxDepth).toBe(1)
    expect(workerEdge(root, { name: 'w', limits: { depth: 9 } }, brief).bounds.maxDepth).toBe(4)
  })
  test('briefs', () => {
    const given = { a: [1] }
    const brief = briefOf(given)
    given.a.push(2)
    expect([brief, briefText(brief), briefOf('x'), briefText({ input: 'text' })]).toEqual([
      { input: { a: [1] } },
      '{"a":[1]}',
      { instructions: 'x' },
      'text',
    ])
    expect(() => readEdge({ brief: 'x' })).toThrow(expect.objectContaining({ code: 'input.invalid' }))
  })
  test("a policy that needs no view does not make one, and a function's extras do not cross", () => {
    const view = (): never => {
      throw new Error('not needed')
    }
    expect(crossing('brief', 'boss', view)).toBeUndefined()
    const crossed = crossing(
      ({ messages }) => messages,
      'boss',
      () => ({ worker: 'w', brief: 'b', messages: [{ role: 'user', text: 'x', secret: 1 } as never] }),
    )
    expect(crossed).toEqual([{ role: 'user', text: 'x' }])
  })
})

describe('what a model is told of an end', () => {
  const ends: Outcome[] = [
    completed(''),
    completed(null),
    completed('  \n'),
    completed(0),
    failed(failure('tool.failed', '', 'unknown')),
    failed(failure('model.unavailable', 'secret', 'transport')),
    { status: 'limited', limit: 'usd', message: 'm', partial: '' },
    { status: 'timed-out', message: '' },
    { status: 'cancelled', reason: '' },
  ]
  test('an answer of a plan of which something is missing says so, and what', () => {
    const of = (task: string, status: 'succeeded' | 'failed' | 'skipped', more = {}) =>
      ({ task, member: task, role: 'r', status, attempts: 1, usage: [], ...more }) as const
    const results = (...tasks: ReturnType<typeof of>[]) => ({
      coverage: { succeeded: 1, planned: 2 },
      partial: true,
      tasks,
    })
    const two = results(of('a', 'succeeded'), of('b', 'skipped'), of('c', 'failed', { recruited: true }))
    const told = '[partial: 1 of 2 parts; missing: b]'
    expect(formatWorkerResult('w', { status: 'completed', output: 'It rains.', results: two })).toEqual({
      content: `It rains.\n${told}`,
    })
    expect(formatWorkerResult('w', { status: 'completed', output: { n: 1 }, results: two })).toEqual({
      content: `{"n":1}\n${told}`,
    })
    expect(
      formatWorkerResult('w', { status: 'completed', output: 'All.', results: { ...two, partial: false } }),
    ).toEqual({
      content: 'All.',
    })
    const many = results(...Array.from({ length: 12 }, (_, i) => of(`t${i}`, 'failed')))
    expect(formatWorkerResult('w', { status: 'completed', output: '', results: many }).content).toContain(
      'without an answer',
    )
    expect(formatWorkerResult('w', { status: 'completed', output: 'x', results: many }).content).toContain(
      't9, 2 more]',
    )
  })
  test.each(ends)("%j: never empty, never a provider's words", (outcome) => {
    for (const told of [formatWorkerResult('w', outcome), formatToolResult('t', outcome)]) {
      const marked = told.isError === true && JSON.stringify(told.content).startsWith('"[')
      expect(marked).toBe(outcome.status !== 'completed')
      expect(JSON.stringify(told)).not.toContain('secret')
    }
    expect(formatWorkerResult('w', outcome).content).not.toBe('')
  })
})
