/**
 * Every route of the server has a method of the client, and no method asks for a route that there is not, or with what
 * it does not take. Pages for people have none.
 */
import { expect, test, vi } from 'vitest'
import { createClient, type StreamOptions } from 'reeve/client'
import { routes } from '../../server/src/routes/index.ts'
import { agent } from '@reeve/public'
import { asker, echo } from '../../runtime/test/hand.ts'
import { serving } from '../../server/test/serving.ts'

/** Paths of decision 0013 that are not in the table of this server yet: each leaves this list when it is. */
const promised: ReadonlySet<string> = new Set(['GET /system'])

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
        await Promise.resolve((member as Method)(...argumentsOf(name))).catch(() => {})
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
const endless: ReadonlySet<string> = new Set([
  'run',
  'runClientTools',
  'live',
  'feed',
  'events',
  'parts',
  'text',
  'outcome',
  'pages',
])

const argumentsOf = (name: string): readonly unknown[] =>
  ['decide', 'answer'].includes(name)
    ? [{ approvalId: 'x', interruptId: 'x' }]
    : ['set', 'incident'].includes(name)
      ? [{ trust: 'x' }]
      : name === 'conversation' || name === 'recruit'
        ? [{}]
        : name === 'list'
          ? []
          : name === 'revokeLink'
            ? ['x', 'x']
            : ['x', {}]

test('the client asks for the routes of the server, for all of them and for no others', async () => {
  const there = new Set(
    routes
      .filter(({ isPage, isProbe }) => isPage !== true && isProbe !== true)
      .map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`),
  )
  const wanted = await asked()
  expect([...there].filter((each) => !wanted.has(each))).toEqual([])
  expect([...wanted].filter((each) => !there.has(each) && !promised.has(each))).toEqual([])
})

test('the server takes every option that the client offers', async () => {
  const fails = agent({ name: 'fails', run: () => Promise.reject(new Error('no')) })
  const { runtime, server, token } = await serving({ agents: [echo, asker, fails] })
  const client = createClient({ baseUrl: server.url, token })
  await runtime.run(echo, 'hi', { runId: 'r1', session: 's1' })
  await runtime.run(fails, 'hi', { runId: 'r2', metadata: { order: 7 } })
  const run = client.run('r1')
  const activation = 'act_r1'
  expect((await run.journal({ from: 0, limit: 1, activation, family: 'step', find: 'echo' })).rows).toHaveLength(1)
  expect((await run.conversation({ activation, after: 0, limit: 5 })).activation).toBe(activation)
  expect((await run.conversation()).activation).toBe(activation)
  expect((await run.spans({ after: 0, limit: 1 })).spans.length).toBeLessThanOrEqual(1)
  expect((await run.recorded({ after: 1, limit: 1 })).items).toHaveLength(1)
  expect((await client.sessions.list({ user: 'ann' })).items).toEqual([])
  expect((await client.sessions.get('s1', { user: 'ann' })).items).toEqual([])
  const all = {
    status: ['failed'],
    agent: 'fails',
    metadata: { order: '7' },
    since: 0,
    before: 1e15,
    usdFrom: 0,
  } as const
  expect((await client.runs.list({ ...all, limit: 5, user: 'ann', session: 's1' })).items).toEqual([])
  expect((await client.questions.list({ run: 'r1', kind: ['approval', 'interrupt'], limit: 5 })).items).toEqual([])
  const { usdFrom: _usdFrom, ...failed } = all
  const begun = await client.batches.start(
    'retry',
    { ...failed, metadata: { order: 7 } },
    { reason: 'the network is back' },
  )
  const batch = await vi.waitUntil(async () => {
    const view = await client.batches.get(begun.id)
    return view.status === 'completed' ? view : undefined
  }, 25_000)
  expect(batch).toMatchObject({ verb: 'retry', total: 1, done: 1, refused: 0, left: 0 })
  expect((await client.batches.list({ limit: 5 })).items).toEqual([batch])
  await expect(client.batches.cancel(begun.id, 'too late')).rejects.toMatchObject({ code: 'run.ended' })
  const again = await client.run('r2').retry({ reason: 'again' })
  expect(again.from.agent).toBe('fails')
  expect((await client.run('r2').retry({ again: true, runId: 'r3', reason: 'again' })).id).toBe('r3')
})
