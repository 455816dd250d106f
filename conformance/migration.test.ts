/**
 * The programs of the migration guides (docs/how-to/coming-from-*.md): a support desk in four frameworks, with their
 * real packages, and in Reeve. All of them speak to one model over HTTP and end in the same way.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startModelServer } from './migration/model-server.ts'

const home = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'reeve-migration-'))
let server: Awaited<ReturnType<typeof startModelServer>>

beforeAll(async () => {
  server = await startModelServer()
  process.chdir(folder)
})
afterAll(async () => {
  process.chdir(home)
  rmSync(folder, { recursive: true, force: true })
  await server.stop()
})

/** What a program prints. */
async function printed(program: () => Promise<unknown>): Promise<readonly string[]> {
  vi.stubEnv('OPENAI_API_KEY', 'no-key')
  vi.stubEnv('OPENAI_BASE_URL', `${server.url}/v1`)
  vi.stubEnv('OPENAI_AGENTS_DISABLE_TRACING', '1')
  const lines: string[] = []
  vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => void lines.push(words.map(String).join(' ')))
  await program()
  return lines
}

const asked = 'approve? refund {"order":7,"dollars":40}'
const done = ['refunded order 7: $40', 'Order 7 is refunded: $40.']

test.each([
  ['Reeve', () => import('./migration/support.reeve.ts'), asked],
  ['Mastra', () => import('./migration/support.mastra.ts'), asked],
  ['LangGraph', () => import('./migration/support.langgraph.ts'), asked],
  ['OpenAI Agents', () => import('./migration/support.openai-agents.ts'), asked],
  // its subagents cannot ask: what is approved is a brief
  ['AI SDK', () => import('./migration/support.ai-sdk.ts'), 'approve? refunds {"brief":"Refund $40 for order 7."}'],
] as const)('%s: one question, one refund, one answer', async (_name, program, question) => {
  expect(await printed(program)).toEqual([question, ...done])
  expect(server.refused()).toEqual([])
})
