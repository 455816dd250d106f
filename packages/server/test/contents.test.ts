/** Contents over real HTTP: the route, the client, whose they are. A handle of the runtime reads the same. */
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { agent, type Runtime } from '@reeve/public'
import { serving, type Answer, type Serving } from './serving.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const auth = {
  tokens: {
    [tokenOf('ann')]: { name: 'ann', roles: ['viewer'], tenant: 'acme' },
    [tokenOf('eve')]: { name: 'eve', roles: ['admin'], tenant: 'globex' },
  },
} as const
const as = (name: string): Record<string, string> => ({ Authorization: `Bearer ${tokenOf(name)}` })

const text = `<script>alert(1)</script>${'x'.repeat(262_118)}\u{1f600}${'y'.repeat(300_000)}`
const keeper = agent({
  name: 'keeper',
  run: (ctx) => ctx.step('keep', async ({ contents }) => (await contents.keep(text, 'text')).$content),
})

async function kept(): Promise<Serving & { readonly name: string }> {
  const all = await serving({ agents: [keeper] }, { auth })
  const { output } = (await all.runtime.run('keeper', 'go', { runId: 'one', tenant: 'acme' })) as { output: string }
  await all.runtime.run('keeper', 'go', { runId: 'of-eve', tenant: 'globex' })
  return { ...all, name: output }
}
const codeOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (body as { readonly error: { readonly code: string } }).error.code,
]
const joined = async (pieces: AsyncIterable<string>): Promise<string> => {
  let all = ''
  for await (const piece of pieces) {
    expect(piece.length).toBeLessThanOrEqual(262_144)
    expect(piece.isWellFormed()).toBe(true)
    all += piece
  }
  return all
}

test('a content is read in parts, as JSON that no browser shows as a page', async () => {
  const { get, name } = await kept()
  const first = await get(`/runs/one/contents/${name}`, as('ann'))
  expect(first).toMatchObject({
    status: 200,
    body: { $content: name, type: 'text', size: text.length, from: 0, to: 262_143 },
  })
  expect((first.body as { readonly text: string }).text).toBe(text.slice(0, 262_143))
  expect(first.headers.get('content-type')).toMatch(/^application\/json/)
  expect(first.headers.get('x-content-type-options')).toBe('nosniff')
  const part = await get(`/runs/one/contents/${name}?from=8&to=25`, as('ann'))
  expect(part.body).toMatchObject({ from: 8, to: 25, text: text.slice(8, 25) })
  const end = await get(`/runs/one/contents/${name}?from=${text.length - 2}&to=999999999`, as('ann'))
  expect(end.body).toMatchObject({ to: text.length, text: 'yy' })
  const beyond = await get(`/runs/one/contents/${name}?from=9999999`, as('ann'))
  expect(beyond.body).toMatchObject({ from: 9_999_999, to: 9_999_999, text: '' })
  expect(codeOf(await get(`/runs/one/contents/${name}?from=-1`, as('ann')))).toEqual([400, 'input.invalid'])
})

test('another tenant’s run is unknown, and so is a name that the run does not have', async () => {
  const { get, name, runtime } = await kept()
  expect(codeOf(await get(`/runs/one/contents/${name}`, as('eve')))).toEqual([404, 'run.unknown'])
  const none = `result-${'0'.repeat(32)}`
  expect(codeOf(await get(`/runs/one/contents/${none}`, as('ann')))).toEqual([404, 'content.unknown'])
  expect(codeOf(await get('/runs/one/contents/..%2F..%2Fetc', as('ann')))).toEqual([404, 'content.unknown'])
  await expect(runtime.handle('one').content(none)).rejects.toMatchObject({ code: 'content.unknown' })
  await expect(runtime.handle('none').content(none)).rejects.toMatchObject({ code: 'run.unknown' })
  await expect(joined(runtime.handle('one').contentPieces(none))).rejects.toMatchObject({ code: 'content.unknown' })
  await expect(runtime.handle('one').content(name, { from: 0.5 })).rejects.toMatchObject({ code: 'input.invalid' })
})

test('the whole is the same through the handle and through the client; with its run it is gone', async () => {
  const { server, name, runtime } = await kept()
  const client = createClient({ baseUrl: server.url, token: tokenOf('ann') })
  const wholeOf = (of: Runtime, run: string): Promise<string> => joined(of.handle(run).contentPieces(name))
  expect(await wholeOf(runtime, 'one')).toBe(text)
  expect(await joined(client.run('one').contentPieces(name))).toBe(text)
  expect(await client.run('one').content(name, { from: 1, to: 7 })).toMatchObject({ text: 'script', type: 'text' })
  await runtime.remove('one')
  await expect(client.run('one').content(name)).rejects.toMatchObject({ code: 'run.unknown' })
  expect(await wholeOf(runtime, 'of-eve')).toBe(text)
})
