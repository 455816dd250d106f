/** `reeve start`: a run of a config's agent, from a terminal. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { begin, lines, reeve } from './command.ts'

vi.setConfig({ testTimeout: 30_000 })

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-start-')))
  const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
  await writeFile(
    join(folder, 'reeve.config.ts'),
    `import { agent } from ${source}
export const store = './own.db'
export const agents = [
  agent({ name: 'echo', description: 'Says it again.', run: (_, input) => input }),
  agent({ name: 'payer', description: 'Asks first.', run: async (ctx) => {
    const { approved } = await ctx.approve('pay', { input: { amount: 7 } })
    return approved
  } }),
]
`,
  )
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a text or JSON is the input; the run is found by what was said of it', async () => {
  const said = await reeve(folder, 'start', 'echo', 'good morning', '--run', 'r1', '--user', 'ann', '--meta', 'n=1')
  expect(said).toMatchObject({ code: 0, out: expect.stringContaining('good morning') as string })
  const typed = await reeve(folder, 'start', 'echo', '{"order":7}', '--json')
  expect(lines(typed.out).at(-1)).toMatchObject({ event: { outcome: { status: 'completed', output: { order: 7 } } } })
  const text = await reeve(folder, 'start', 'echo', '{"order":7}', '--text', '--json')
  expect(lines(text.out).at(-1)).toMatchObject({ event: { outcome: { output: '{"order":7}' } } })
  const found = await reeve(folder, 'runs', '--user', 'ann', '--meta', 'n=1', '--store', './own.db')
  expect(found.out).toContain('r1')
})

test('K2: an id starts one run; another input under it is refused', async () => {
  const again = (): Promise<unknown> => reeve(folder, 'start', 'echo', 'one', '--run', 'r1')
  expect(await again()).toMatchObject({ code: 0 })
  expect(await again()).toMatchObject({ code: 0 })
  const other = await reeve(folder, 'start', 'echo', 'two', '--run', 'r1')
  expect(other.code).not.toBe(0)
  expect(other.err).toContain('r1')
})

test('what waits for a person is left parked, and goes on with resume', async () => {
  const asked = await reeve(folder, 'start', 'payer', 'go', '--run', 'r1')
  expect(asked).toMatchObject({ code: 3, out: expect.stringContaining('approve') as string })
  expect(await reeve(folder, 'start', 'payer', 'go', '--run', 'r2', '--yes')).toMatchObject({ code: 0 })
})

test('with --detach a worker drives it', async () => {
  const left = await reeve(folder, 'start', 'echo', 'later', '--run', 'r1', '--detach')
  expect(left).toMatchObject({ code: 0, out: expect.stringContaining('Started r1.') as string })
  expect((await reeve(folder, 'show', 'r1', '--store', './own.db')).out).not.toContain('later\n')
  let worker: ChildProcess | undefined
  const worked = begin(folder, ['work'], (_, child) => (worker = child))
  const shown = async (): Promise<string> => (await reeve(folder, 'show', 'r1', '--store', './own.db')).out
  await vi.waitUntil(async () => (await shown()).includes('completed'), 20_000)
  worker?.kill('SIGTERM')
  expect((await worked).code).toBe(0)
})

test('an agent that is not there: which ones are', async () => {
  const said = await reeve(folder, 'start', 'eccho', 'x')
  expect(said).toMatchObject({ code: 2 })
  expect(said.err).toContain('It exports: echo, payer')
})
