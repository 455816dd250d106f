/**
 * K5, K6, K7 over random trees: however often its process dies, a run ends as the oracle says, and does what the oracle
 * says, once. `npm run fuzz` plays as many as one likes.
 */
import { expect, test } from 'vitest'
import { play } from './play.ts'
import { expectedOf, partsOf, randomTree, type Tree } from './trees.ts'

const count = 60

test.each(Array.from({ length: count }, (_, i) => i + 1))(
  'K6: a random tree ends as the oracle says under any crash, seed %d',
  async (seed) => {
    const { tree, wrong } = await play(seed)
    expect(wrong, JSON.stringify(tree)).toEqual([])
  },
  60_000,
)

test('the seeds of this file have every kind of agent, of end and of effect among them', () => {
  const kindsOf = (tree: Tree): string[] => {
    if (tree.type === 'leaf') return [tree.end, ...(tree.steps > 0 ? [tree.effect] : [])]
    const more = (['retries', 'memory', 'mail', 'apart', 'background', 'hedges'] as const).filter(
      (name) => (tree as Readonly<Record<string, unknown>>)[name] === true,
    )
    return [tree.type, ...more, ...(tree.type === 'caller' && tree.asks !== false ? [tree.asks] : [])]
  }
  const trees = Array.from({ length: count }, (_, i) => randomTree(i + 1))
  const found = new Set([
    ...trees.flatMap(partsOf).flatMap(kindsOf),
    ...trees.map((tree) => expectedOf(tree).end.status),
  ])
  const all = [
    'caller',
    'approve',
    'reject',
    'sequential',
    'parallel',
    'loop',
    'supervisor',
    'router',
    'team',
    'answer',
    'ask',
    'fail',
    'flaky',
    'retries',
    'memory',
    'mail',
    'apart',
    'background',
    'hedges',
    'exit',
    'break',
    'read',
    'idempotent',
    'once',
  ]
  expect([...all, 'completed', 'failed'].filter((each) => !found.has(each))).toEqual([])
})
