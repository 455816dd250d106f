/** `reeve docs`: for a person at a terminal, and for a client that starts it. */
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, expect, test, vi } from 'vitest'
import { reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

const open: Client[] = []
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

test('words are searched; a page, a section and an example are shown; what is not found is said', async () => {
  const found = await reeve(tmpdir(), 'docs', 'retry', 'failed', 'runs')
  expect(found.out.split('\n')[0]).toMatch(/^docs\/how-to\/fork-and-retry\.md/)
  expect((await reeve(tmpdir(), 'docs', 'how-to/tools.md')).out).toMatch(/^# Tools/)
  expect((await reeve(tmpdir(), 'docs', '02-approval')).out).toContain("from 'reeve'")
  const nothing = await reeve(tmpdir(), 'docs', 'zzzzqqqq')
  expect(nothing).toMatchObject({ code: 2, err: expect.stringContaining('nothing is found for "zzzzqqqq"') as string })
  expect((await reeve(tmpdir(), 'docs', '--mcp', 'words')).code).toBe(2)
})

test('a client that starts it searches, and reads what was found', async () => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  open.push(client)
  const entry = join(import.meta.dirname, '..', 'src', 'main.ts')
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [entry, 'docs'], cwd: tmpdir(), stderr: 'ignore' }),
  )
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['search', 'page', 'example'])
  const call = async (name: string, given: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { structuredContent, isError = false } = await client.callTool({ name, arguments: given })
    return { isError, ...(structuredContent as Record<string, unknown>) }
  }
  const { found } = (await call('search', { question: 'how do I give a tool an approval?' })) as unknown as {
    readonly found: readonly { readonly address: string }[]
  }
  expect(found.map(({ address }) => address)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^docs\/how-to\/(tools|approvals)\.md/)]),
  )
  const page = await call('page', { address: found[0]!.address })
  expect(page['text']).toEqual(expect.any(String))
  expect((await call('example', { name: 'nothing' }))['isError']).toBe(true)
  expect((await call('example', { name: '2' }))['text']).toContain('createRuntime')
  expect(await call('page', { address: '../package.json' })).toMatchObject({
    isError: true,
    error: 'There is no page "../package.json": search, or list all pages.',
  })
  // a long page comes in parts
  const first = await call('page', { address: 'docs/reference/errors.md' })
  const second = await call('page', { address: 'docs/reference/errors.md', from: first['next'] })
  expect((first['text'] as string).length).toBe(40_000)
  expect((second['text'] as string).length).toBeGreaterThan(0)
})
