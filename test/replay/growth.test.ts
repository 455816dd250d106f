/** What is stored grows with the work, not with its square: twice as much work takes twice as many bytes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agent, type Agent } from '@reeve/agent'
import { loop, sequential } from '@reeve/flow'
import type { ModelFunction } from '@reeve/model'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'

let dir = ''
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'reeve-growth-'))))
afterAll(() => rmSync(dir, { recursive: true }))

let stores = 0

/** All bytes of all journals of one run and what it leaves: its own, and those of its values. */
async function bytesOf(root: Agent): Promise<number> {
  const store = join(dir, `${stores++}.db`)
  const runtime = await createRuntime({ agents: [root], store, durability: 'relaxed' })
  const outcome = await runtime.run(root, 'go')
  await runtime.close()
  expect(outcome.status).toBe('completed')
  const db = new DatabaseSync(store)
  const { bytes } = db.prepare('SELECT sum(length(body)) AS bytes FROM log').get() as { bytes: number }
  db.close()
  return bytes
}

const a = agent({ name: 'a', run: () => 1 })
const b = agent({ name: 'b', run: () => 2 })
const looping = (count: number): Agent =>
  loop({ name: 'loop', maxIterations: count, edge: { context: 'brief' }, agents: [a, b] })
const nested = (count: number): Agent =>
  loop({
    name: 'outer',
    maxIterations: count,
    edge: { context: 'brief' },
    agents: [
      sequential({
        name: 'line',
        edge: { context: 'brief' },
        agents: [a, loop({ name: 'inner', maxIterations: 2, agents: [b] })],
      }),
    ],
  })

/** So many delegations to one worker, in one turn or one after the other. */
function delegating(count: number, at: 'once' | 'turns'): Agent {
  const call = { name: 'delegate', input: { worker: 'w', instructions: 'x' } }
  const model: ModelFunction = ({ messages }) => {
    const done = messages.filter(({ role }) => role === 'tool').length
    if (done >= count) return 'done'
    return { calls: Array.from({ length: at === 'once' ? count : 1 }, () => call) }
  }
  const w = agent({ name: 'w', description: 'Works.', model: () => 'W' })
  return supervisor({
    name: 'lead',
    model,
    workers: [w],
    delegation: { memory: { shown: 5 } },
    limits: { turns: 3 * count + 3 },
  })
}

/** So many delegations of one turn, each to another worker; `below`: by a leader that has a thread itself. */
function different(count: number, at: 'the top' | 'below'): Agent {
  const workers = Array.from({ length: count }, (_, i) =>
    agent({ name: `w${i}`, description: 'Works.', model: () => 'W' }),
  )
  const model: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: workers.map(({ name }) => ({ name: 'delegate', input: { worker: name, instructions: 'x' } })) }
  const lead = supervisor({
    name: 'lead',
    description: 'Leads.',
    model,
    workers,
    delegation: { memory: 'continue' },
    limits: { turns: 3 * count + 3 },
  })
  if (at === 'the top') return lead
  const top: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: [{ name: 'delegate', input: { worker: 'lead', instructions: 'x' } }] }
  return supervisor({
    name: 'top',
    model: top,
    workers: [lead],
    delegation: { memory: 'continue' },
    limits: { turns: 3 * count + 9 },
  })
}

test.each<[string, (count: number) => Agent, number]>([
  ['iterations of a loop', looping, 60],
  ['iterations of a loop with a loop in it', nested, 40],
  ['delegations of one turn to a worker that remembers', (count) => delegating(count, 'once'), 30],
  ['delegations of one turn to different workers that remember', (count) => different(count, 'the top'), 50],
  [
    'delegations of one turn to different workers that remember, below a thread',
    (count) => different(count, 'below'),
    50,
  ],
  ['delegations, one a turn, to a worker that remembers', (count) => delegating(count, 'turns'), 30],
])(
  'twice as many %s take twice as many bytes',
  async (_what, make, count) => {
    const once = await bytesOf(make(count))
    const twice = await bytesOf(make(2 * count))
    expect(twice / once).toBeLessThan(2.15)
  },
  60_000,
)
