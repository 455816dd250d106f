/** The record of an edge: what was read is written again byte for byte, whichever way the edge was made. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ActivationId, HistoryEntry, Json, JsonObject } from '@reeve/core'
import {
  encodeEdge,
  memberEdge,
  readEdge,
  recordedOversight,
  recordedSlot,
  rootEdge,
  toolEdge,
  workerEdge,
  type Assignment,
  type Edge,
  type EdgeMessage,
  type Limits,
  type Oversight,
  type Permissions,
} from '../src/index.ts'

/** Nothing, or one of these. */
const maybe = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> => fc.constantFrom(undefined, ...values)
const some = <T extends object>(members: { [K in keyof T]: fc.Arbitrary<T[K] | undefined> }): fc.Arbitrary<T> =>
  fc
    .record<object>(members)
    .map((made) => Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)) as T)

const leader = 'act_leader' as ActivationId
const said: readonly EdgeMessage[] = [{ role: 'assistant', text: 'hello', agent: 'a' }]
const entries: readonly HistoryEntry[] = [{ message: { role: 'user', content: 'go' } }]
const assignment: Assignment = {
  leader,
  member: 'm',
  role: 'r',
  task: 't',
  description: 'd',
  question: 'q',
  attempt: 1,
  inputs: {},
  verbs: [],
}
const limits = maybe<Limits>({}, { turns: 5, ownTurns: 2 }, { transfers: 3, depth: 1 })
const permissions = maybe<Permissions>({ tools: ['*'] }, { deny: ['pay'] })
const oversight = maybe<Oversight>({}, { mode: 'in-the-loop' })
const brief = fc.constantFrom({ instructions: 'go' }, { input: { a: 1 } })
const receiver = some({
  name: fc.constantFrom('w', 'x'),
  limits,
  oversight,
  team: maybe(() => ['b', 'a']),
  defaults: limits.map((each) => (each === undefined ? undefined : { limits: each })),
}) as fc.Arbitrary<Parameters<typeof workerEdge>[1]>
const hooks = maybe({ onIterationComplete: 'h' })
const versions = maybe({ w: { version: 'v2', limits: { turns: 1 } } })
const messages = maybe([{ role: 'user', content: 'before' } as const], [])

const root = fc
  .tuple(
    brief,
    some({ limits, permissions, oversight, versions, hooks, history: maybe(said, []), messages, extras: maybe({ values: { a: 1 } }) }), // prettier-ignore
    fc.option(receiver, { nil: undefined }),
  )
  .map((given) => rootEdge(...(given as Parameters<typeof rootEdge>)))

const grant = some({
  limits,
  permissions,
  oversight,
  context: maybe(said, []),
  entries: maybe(entries),
  turns: maybe(3),
  added: maybe('more'),
  metadata: maybe({ tenant: 't' }),
  report: maybe(true as const),
  slotOf: maybe(leader),
  threads: maybe(['[1]']),
  delegation: maybe('d1'),
  questionsTo: maybe(leader),
  assignment: maybe(assignment),
  hooks,
  admitted: maybe(true as const),
})
const flow = some({ hops: fc.nat(5), to: maybe([{ name: 'w', description: 'd' }]), lead: maybe(true as const), task: maybe('task') }) // prettier-ignore

/** What a leader notes before the worker begins: failures that no approver has seen. */
const noted = (edge: Edge, failures: number | undefined): Edge => {
  const { oversight: seen } = edge
  if (seen === undefined || seen.admitted === true || failures === undefined) return edge
  return { ...edge, oversight: { ...seen, failures } }
}

/** One crossing more. */
const crossing: fc.Arbitrary<(above: Edge) => Edge> = fc.oneof(
  fc.tuple(receiver, brief, grant, maybe(3)).map(
    ([worker, asked, given, failures]) =>
      (above: Edge) =>
        noted(workerEdge(above, worker, asked, given), failures),
  ),
  fc.tuple(receiver, brief, flow, some({ limits, permissions, oversight }), maybe(3)).map(
    ([member, asked, under, given, failures]) =>
      (above: Edge) =>
        noted(memberEdge(above, member, asked, entries, under, given), failures),
  ),
  fc.constant((above: Edge) => toolEdge(above, { a: 1 })),
)

/** Edges as they come down a tree. */
const edges = fc.tuple(root, fc.array(crossing, { maxLength: 4 })).map(([begun, all]) => all.reduce((edge, cross) => cross(edge), begun)) // prettier-ignore

const text = (edge: Edge): string => JSON.stringify(encodeEdge(edge))
const again = (edge: Edge): Edge => readEdge(JSON.parse(text(edge)) as Json)

describe('the record of an edge', () => {
  test('K12: what was read is the edge that was written, and is written again byte for byte', () => {
    fc.assert(
      fc.property(edges, (edge) => {
        const read = again(edge)
        expect({ ...read, order: edge.order }).toEqual(edge)
        expect(text(read)).toBe(text(edge))
      }),
      { numRuns: 3_000 },
    )
  })

  test('K12: what crosses from an edge that was read is recorded as from the edge itself', () => {
    fc.assert(
      fc.property(edges, crossing, (edge, cross) => {
        expect(text(cross(again(edge)))).toBe(text(cross(edge)))
      }),
      { numRuns: 3_000 },
    )
  })

  const all: Edge = {
    order: 'worker',
    work: {
      brief: { instructions: 'go' },
      context: said,
      entries,
      history: said,
      messages: [],
      added: 'more',
      turns: 3,
    },
    bounds: { depth: 1, maxDepth: 4, limits: {}, permissions: {} },
    oversight: { policy: {}, failures: 3, admitted: true },
    leader: { delegation: 'd1', report: true, slotOf: leader, questionsTo: leader, threads: [] },
    team: { roster: ['a'], assignment },
    run: { versions: {}, metadata: {}, hooks: {}, extras: {} },
    flow: { hops: 0 },
  }

  test.each<[Edge['order'], string]>([
    [
      'root',
      'brief depth maxDepth permissions limits oversight team versions hooks history messages root context entries permit asks assignment threads turns added metadata report delegation failures flow admitted',
    ],
    [
      'worker',
      'brief depth maxDepth limits permissions oversight admitted context entries permit asks assignment hooks versions threads team turns added metadata report delegation failures flow history messages root',
    ],
    [
      'member',
      'brief permissions oversight permit versions threads team metadata depth maxDepth entries flow turns added hooks asks assignment limits failures context report delegation history messages root admitted',
    ],
    [
      'tool',
      'brief depth maxDepth limits permissions oversight permit asks assignment versions threads metadata context entries hooks team turns added report delegation failures flow history messages root admitted',
    ],
  ])('K12: no member is lost, and the order of %s stays', (order, names) => {
    const recorded = encodeEdge({ ...all, order })
    expect(Object.keys(recorded).join(' ')).toBe(names)
    expect(readEdge(recorded)).toEqual({ ...all, order })
    expect(recorded).toMatchObject({ permit: leader, asks: { leader }, team: ['a'], root: {}, oversight: {} })
  })

  test('an input that is no edge states no oversight and uses no slot', () => {
    for (const input of [null, 'go', { permit: 7 }, []] satisfies Json[]) {
      expect(recordedOversight(input)).toBeUndefined()
      expect(recordedSlot(input)).toBeUndefined()
      expect(() => readEdge(input)).toThrow(expect.objectContaining({ code: 'input.invalid' }))
    }
    const input: JsonObject = encodeEdge(all)
    expect([recordedOversight(input), recordedSlot(input)]).toEqual([{}, leader])
  })
})
