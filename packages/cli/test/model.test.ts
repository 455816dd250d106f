/**
 * `reeve demo --model`: the same team, led by a model over real HTTP. The model is a script behind a strict
 * Ollama.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json } from '@reeve/core'
import type { RunView } from '@reeve/runtime'
import {
  strictProvider,
  type ProviderAnswer,
  type ProviderCall,
  type StrictProvider,
} from '../../testing/src/providers/index.ts'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

const call = (name: string, input: Json): ProviderCall => ({ name, input })
const script: readonly ProviderAnswer[] = [
  { calls: ['inventory', 'checks'].map((worker) => call('delegate', { worker, instructions: 'Survey it.' })) },
  { calls: [call('recruit', { worker: 'monorepo', reason: 'it is a workspace' })] },
  { calls: [call('delegate', { worker: 'monorepo', instructions: 'Look at the members.' })] },
  { calls: [call('write_report', { report: '# In the words of a model\n' })] },
  { text: 'It is written.' },
]

let folder = ''
let provider: StrictProvider
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-model-')))
  await writeFile(join(folder, 'package.json'), '{"name":"root","workspaces":["packages/*"]}\n')
  provider = await strictProvider({ preset: 'ollama', answer: script.map((answer) => ({ ...answer, usage })) })
})
afterEach(async () => {
  await provider.close()
  await rm(folder, { recursive: true, force: true })
})
const usage = { input: 100, output: 10 }

test('a model leads the same team; the report waits for the same approval', async () => {
  const { env } = provider
  const ended = await begin(folder, ['demo', '--model', 'ollama/scripted', '--run', 'run_m'], undefined, env)
  expect(ended, ended.err + ended.out).toMatchObject({ code: 3 })
  expect(ended.out).toContain('leader: ollama/scripted')
  const view = JSON.parse((await reeve(folder, 'show', 'run_m', '--json')).out) as RunView
  expect(view.recruits).toMatchObject([{ worker: 'monorepo' }])
  expect(view.usage.find(({ model }) => model === 'ollama/scripted')).toMatchObject({
    calls: 4,
    input: 400,
    output: 40,
  })
  expect(await reeve(folder, 'approve', view.approvals[0]!.id)).toMatchObject({ code: 0 })
  expect(await begin(folder, ['resume', 'run_m'], undefined, env)).toMatchObject({ code: 0 })
  expect(await readFile(join(folder, 'REPORT.md'), 'utf8')).toBe('# In the words of a model\n')
  expect(provider.refused).toEqual([])
  expect(provider.requests).toHaveLength(5)
  expect(provider.requests[1]?.text).toContain('\\"monorepo\\":{')
  const tools = provider.requests[0]?.body.tools as readonly { readonly function: { readonly name: string } }[]
  const names = tools.map((tool) => tool.function.name)
  expect(names).toEqual(expect.arrayContaining(['delegate', 'recruit', 'write_report']))
})
