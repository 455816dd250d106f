/** `reeve dev`: the config of a folder in a process that is started again after each change of its code. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type ReeveClient } from '../../client/src/index.ts'
import { reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder = ''
let dev: ChildProcess | undefined
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-dev-test-')))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'reeve.config.ts'),
    "import { asker } from './team.ts'\nexport const store = './own.db'\nexport const agents = [asker]\n",
  )
  await writeFile(join(folder, 'team.ts'), team('first'))
})
afterEach(async () => {
  dev?.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const index = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
const team = (word: string): string => `import { agent } from ${index}
export const asker = agent({ name: 'asker', run: async (ctx) => \`${word}: \${await ctx.interrupt('How many?')}\` })
`

let said = ''
/** Starts it on a port that is free. */
function begin(...args: readonly string[]): ChildProcess {
  said = ''
  const entry = join(import.meta.dirname, '..', 'src', 'main.ts')
  dev = spawn(process.execPath, [entry, 'dev', ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', (piece: Buffer) => (said += piece.toString()))
  return dev
}

/** Resolves when this was said so often; gives all that was found. */
const saying = (what: RegExp, times = 1): Promise<readonly string[]> =>
  vi.waitFor(
    () => {
      const found = [...said.matchAll(new RegExp(what, 'g'))].map(([whole]) => whole)
      expect(found.length, said).toBeGreaterThanOrEqual(times)
      return found
    },
    { timeout: 40_000, interval: 20 },
  )

const link = /http:\S+#token=\S+/
async function clientOf(times: number): Promise<{ readonly at: string; readonly client: ReeveClient }> {
  const at = (await saying(link, times)).at(-1)!
  const [baseUrl, token] = at.split('/#token=')
  return { at, client: createClient({ baseUrl: baseUrl!, token: token! }) }
}

test('a change restarts it at the same address; a run that waits goes on with the new code; an error is shown and mended', async () => {
  const process = begin()
  const first = await clientOf(1)
  const run = await first.client.runs.start('asker', 'go')
  await vi.waitFor(async () => expect((await first.client.questions.list()).items).toHaveLength(1), 25_000)

  await writeFile(join(folder, 'team.ts'), `${team('second')}export const broken = ((\n`)
  await saying(/team\.ts has changed/)
  await saying(/could not be loaded: [^\n]*team\.ts:\d+/)
  await saying(/the last file that it read is team\.ts\. Waiting for a change/)

  await writeFile(join(folder, 'team.ts'), team('second'))
  const second = await clientOf(2)
  expect(second.at).toBe(first.at)
  // what a run writes beside the code is no change
  await writeFile(join(folder, 'result.json'), '{}')
  const [question] = (await second.client.questions.list()).items
  await second.client.questions.answer({ interruptId: question!.id, value: 3 })
  expect(await second.client.run(run.id).outcome()).toMatchObject({ status: 'completed', output: 'second: 3' })
  expect(await saying(/has changed/)).toHaveLength(2)

  process.kill('SIGINT')
  expect(await once(process, 'exit')).toEqual([130, null])
  expect(await readdir(folder)).not.toContain('.token')
  await expect(first.client.agents()).rejects.toMatchObject({ code: 'server.unreachable' })
})

test('Ctrl-C parks what waits; a process whose parent was killed ends by itself', async () => {
  const process = begin('--token-file', '.token')
  const [at] = await saying(/studio http:\S+\n/)
  const token = (await readFile(join(folder, '.token'), 'utf8')).trim()
  const client = createClient({ baseUrl: at!.replace('studio', '').trim(), token })
  await client.runs.start('asker', 'go', { runId: 'kept' })
  process.kill('SIGKILL')
  await saying(/its runs are parked\.\n/)
  expect(await reeve(folder, 'runs', '--json')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/"run":"kept".*"status":"(?:running|waiting)"/) as string,
  })
})

test('a folder without a config is told what to do', async () => {
  await rm(join(folder, 'reeve.config.ts'))
  expect(await reeve(folder, 'dev')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/config not found[^]*reeve init/) as string,
  })
})
