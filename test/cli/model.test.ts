/**
 * `reeve demo --model`: the same team, led by a model over real HTTP. The model is a script behind the protocol that
 * local servers speak.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunView } from '../../src/runtime/index.ts'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

const call = (name: string, input: object): { name: string; input: object } => ({ name, input })
const script: readonly (string | readonly { name: string; input: object }[])[] = [
  ['inventory', 'checks'].map((worker) => call('delegate', { worker, instructions: 'Survey it.' })),
  [call('recruit', { worker: 'monorepo', reason: 'it is a workspace' })],
  [call('delegate', { worker: 'monorepo', instructions: 'Look at the members.' })],
  [call('write_report', { report: '# In the words of a model\n' })],
  'It is written.',
]

let folder = ''
let server: Server
const requests: { messages: { role: string; content?: unknown }[]; tools?: { function: { name: string } }[] }[] = []
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-model-')))
  await writeFile(join(folder, 'package.json'), '{"name":"root","workspaces":["packages/*"]}\n')
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => {
      const asked = JSON.parse(body) as (typeof requests)[number]
      requests.push(asked)
      const turn = script[asked.messages.filter(({ role }) => role === 'assistant').length] ?? ''
      const delta =
        typeof turn === 'string'
          ? { content: turn }
          : {
              tool_calls: turn.map(({ name, input }, index) => ({
                index,
                id: `c${requests.length}_${index}`,
                type: 'function',
                function: { name, arguments: JSON.stringify(input) },
              })),
            }
      const chunk = (choice: object, more: object = {}): string =>
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [choice], ...more })}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ index: 0, delta: { role: 'assistant', ...delta } }))
      response.write(
        chunk(
          { index: 0, delta: {}, finish_reason: typeof turn === 'string' ? 'stop' : 'tool_calls' },
          { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } },
        ),
      )
      response.end('data: [DONE]\n\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(folder, { recursive: true, force: true })
})

test('a model leads the same team; the report waits for the same approval', async () => {
  const env = { OLLAMA_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
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
  expect(requests).toHaveLength(5)
  expect(JSON.stringify(requests[1])).toContain('\\"monorepo\\":{')
  const names = (i: number): string[] => (requests[i]?.tools ?? []).map((tool) => tool.function.name)
  expect(names(0)).toEqual(expect.arrayContaining(['delegate', 'recruit', 'write_report']))
})
