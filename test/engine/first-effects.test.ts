/**
 * What a fan-out does first: on a store whose commits are through at once, the first workers are at work while others
 * are yet to begin; where a commit waits for the disk, all begin in one (K5).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent } from '../../src/agent/index.ts'
import { createEmbeddedEngine } from '../../src/engine/embedded/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import { sqliteOf } from './sqlite-of.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-first-effects-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const workers = 64

test.each([
  ['full', 'while others are yet to begin'],
  ['strict', 'when all have begun'],
] as const)('K5: durability %s: the first worker is at work %s, and all end', async (durability, when) => {
  const engine = createEmbeddedEngine({ file: join(folder, 'store.db'), durability })
  const begun = sqliteOf(engine).db.prepare(
    "SELECT count(*) AS n FROM log JOIN activation ON num = act WHERE id LIKE '%>%' AND body LIKE '%model.requested%'",
  )
  /** How many workers have got as far as asking their model whenever one is asked. */
  const seen: number[] = []
  const worker = agent({
    name: 'worker',
    description: 'works',
    model: () => {
      seen.push((begun.get() as { n: number }).n)
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
  expect(await runtime.run(lead, 'Write a book.')).toMatchObject({ status: 'completed', output: 'That is all.' })
  expect(seen).toHaveLength(workers)
  const [first = 0] = seen
  if (when === 'when all have begun') expect(first).toBe(workers)
  else expect(first).toBeLessThan(workers)
})
