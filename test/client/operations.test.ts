/** Every route of the server has a method of the client, and no method asks for a route that there is not. */
import { expect, test } from 'vitest'
import { createClient, type StreamOptions } from 'reeve/client'
import { routes } from '../../src/server/routes/index.ts'

/** Paths of decision 0013 that are not in the table of this server yet: each leaves this list when it is. */
const promised: ReadonlySet<string> = new Set([
  'DELETE /session',
  'GET /links/{}',
  'GET /live',
  'GET /me',
  'GET /runs/{}/conversation',
  'GET /runs/{}/journal',
  'GET /runs/{}/live',
  'GET /runs/{}/spans',
  'GET /system',
  'POST /approvals/{}/link',
  'POST /links/{}',
  'POST /runs/retry',
  'POST /runs/{}/retry',
  'POST /session',
])

/** What every method of the client asks for, with `x` for each name in a path. */
async function asked(): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  const client = createClient({
    baseUrl: 'http://localhost',
    retries: 0,
    fetch: (url, init) => {
      const { pathname } = new URL(url instanceof Request ? url.url : url)
      seen.add(`${init!.method} ${pathname.slice('/api'.length).replace(/(?<=\/)x(?=\/|$)/g, '{}')}`)
      return Promise.reject(new Error('no network'))
    },
  })
  const walk = async (node: object): Promise<void> => {
    for (const [name, member] of Object.entries(node) as [string, unknown][]) {
      if (typeof member === 'object' && member !== null) await walk(member)
      else if (typeof member === 'function' && !endless.has(name))
        await Promise.resolve((member as Method)(...argumentsOf(name, node === client.links))).catch(() => {})
    }
  }
  await walk(client)
  await walk(client.run('x'))
  // streams and waits go on for as long as the server is away
  const run = client.run('x')
  const streams = [
    (options: StreamOptions) => client.live(options),
    (options: StreamOptions) => run.live(options),
    (options: StreamOptions) => run.feed(options),
  ]
  for (const stream of streams) {
    const left = new AbortController()
    for await (const each of stream({ signal: left.signal, onState: (state) => state === 'waiting' && left.abort() }))
      void each
  }
  await client
    .run('x')
    .status()
    .catch(() => {})
  return seen
}

type Method = (...given: readonly unknown[]) => unknown
const endless: ReadonlySet<string> = new Set(['run', 'live', 'feed', 'events', 'parts', 'text', 'outcome', 'pages'])

const argumentsOf = (name: string, isLink: boolean): readonly unknown[] =>
  !isLink && ['decide', 'answer'].includes(name)
    ? [{ approvalId: 'x', interruptId: 'x' }]
    : ['set', 'incident'].includes(name)
      ? [{ trust: 'x' }]
      : name === 'conversation' || name === 'recruit'
        ? [{}]
        : name === 'list'
          ? []
          : ['x', {}]

test('the client asks for the routes of the server, for all of them and for no others', async () => {
  const there = new Set(routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`))
  const wanted = await asked()
  expect([...there].filter((each) => !wanted.has(each))).toEqual([])
  expect([...wanted].filter((each) => !there.has(each) && !promised.has(each))).toEqual([])
})
