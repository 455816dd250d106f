/**
 * What a fan-out does first: on a store whose commits cost nothing, the first workers are at work while others are yet to
 * begin; on any other, all begin in one (K5).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { runId } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-first-effects-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const workers = 64

test.each([
  ['in memory', 'while others are yet to begin'],
  ['in a file', 'when all have begun'],
] as const)('K5: a store %s: the first worker is at work %s, and all end', async (where, when) => {
  const engine = createEmbeddedEngine({ file: where === 'in memory' ? ':memory:' : join(folder, 'store.db') })
  const run = runId('fan-out')
  /** How many workers have got as far as asking their model, whenever one is asked. */
  const seen: number[] = []
  const worker = agent({
    name: 'worker',
    description: 'works',
    model: () => {
      const events = engine.store.reader.feed(run, 0)
      seen.push(
        events.filter(({ activation, event }) => event.type === 'model.requested' && activation.includes('>')).length,
      )
      return 'done'
    },
  })
  const lead = supervisor({
    name: 'lead',
    workers: [worker],
    limits: { turns: 4 * workers },
    model: ({ messages }) =>
      messages.length > 3
        ? 'That is all.'
        : {
            calls: Array.from({ length: workers }, (_, i) => ({
              name: 'delegate',
              input: { worker: 'worker', instructions: `part ${i}` },
            })),
          },
  })
  await using runtime = await createRuntime({ agents: [lead], engine })
  expect(await runtime.run(lead, 'Write a book.', { runId: run })).toMatchObject({
    status: 'completed',
    output: 'That is all.',
  })
  expect(seen).toHaveLength(workers)
  expect(seen[0] === workers).toBe(when === 'when all have begun')
})
