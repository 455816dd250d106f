/** What a server holds and answers is bounded, however long a run is and whoever stands still. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { agent, interrupt, step, tool } from '@reeve/public'
import { diffOf, verifyAudit, type AuditDocument, type Recorded } from '@reeve/runtime'
import { serving } from './serving.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  vi.restoreAllMocks()
})

/** A step says `length` characters; then the run waits. */
const talker = (steps: number, length: number, word = 'x') =>
  agent({
    name: 'talker',
    run: async (ctx) => {
      for (let i = 0; i < steps; i++) await step(ctx, 'say', () => `${i} ${word.repeat(length)}`)
      await interrupt(ctx, 'Go on?')
      return 'done'
    },
  })

/** Asks for a path and takes nothing of the answer. */
async function stalled(url: string, token: string, path: string): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /api${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

test('K9: readers that take nothing hold little, are dropped without a word, and others are answered meanwhile', async () => {
  const readers = 40
  const { runtime, server, token, get, errors } = await serving(
    { agents: [talker(60, 200_000)] },
    { readerTimeoutMs: 2_000, limits: { streams: readers } },
  )
  const said = vi.spyOn(console, 'error')
  await (await runtime.start('talker', 'go', { runId: 'r1' })).until('waiting')
  const held = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external
  const before = held()
  for (let i = 0; i < readers; i++) await stalled(server.url, token, '/runs/r1/feed')
  const another = async (): Promise<number> => {
    const headers = { Authorization: `Bearer ${token}` }
    const response = await fetch(`${server.url}/api/runs/r1/feed`, { headers })
    await response.body?.cancel()
    return response.status
  }
  await expect.poll(another).toBe(429)
  let most = 0
  await expect
    .poll(
      async () => {
        expect((await get('/health')).status).toBe(200)
        most = Math.max(most, held() - before)
        return another()
      },
      { timeout: 60_000 },
    )
    .toBe(200)
  // what they were to read is 40 times 12 MB
  expect(most / 2 ** 20).toBeLessThan(200)
  expect(said).not.toHaveBeenCalled()
  expect(errors).toEqual([])
})

test('a page of events ends after the one that makes it long, and the next one goes on there', async () => {
  const { runtime, get } = await serving({ agents: [talker(20, 100_000)] })
  const run = await runtime.start('talker', 'go', { runId: 'r1' })
  await run.until('waiting')
  const pages: (readonly Recorded[])[] = []
  for (let after: string | undefined = '0'; after !== undefined;) {
    const { body } = await get(`/runs/r1/events?limit=1000&after=${after}`)
    const page = body as { readonly items: readonly Recorded[]; readonly next?: string }
    pages.push(page.items)
    after = page.next
  }
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.every((page) => JSON.stringify(page).length < 700_000)).toBe(true)
  expect(pages.flat()).toEqual(await run.journal())
})

test('the difference of two runs lists what comes first, and counts the rest', async () => {
  const steps = 1_300
  const { runtime, get } = await serving({
    agents: [
      agent({
        name: 'counter',
        run: async (ctx, input) => {
          for (let i = 0; i < steps; i++) await step(ctx, 'count', () => (i % 2 === 0 ? `${String(input)} ${i}` : i))
          await interrupt(ctx, 'Go on?')
          return 'done'
        },
      }),
    ],
  })
  const [one, other] = await Promise.all(['a', 'b'].map((input) => runtime.start('counter', input, { runId: input })))
  await Promise.all([one!.until('waiting'), other!.until('waiting')])
  const whole = diffOf(await one!.journal(), await other!.journal())
  // of each second step the end is another one, and so is the beginning of the run
  expect(whole.differences.length).toBe(steps / 2 + 1)
  expect((await get('/runs/a/diff/b')).body).toEqual(JSON.parse(JSON.stringify(whole)))
  expect((await get('/runs/a/diff/a')).body).toEqual({
    one: 'a',
    other: 'a',
    same: whole.same + steps / 2 + 1,
    differences: [],
  })
})

test('a difference that is long ends, and says how much is left out', async () => {
  const said = 'x'.repeat(100_000)
  const sayer = agent({
    name: 'sayer',
    run: async (ctx, input) => {
      for (let i = 0; i < 15; i++) await step(ctx, 'say', () => `${String(input)} ${said}`)
      await interrupt(ctx, 'Go on?')
      return 'done'
    },
  })
  const { runtime, get } = await serving({ agents: [sayer] })
  for (const runId of ['a', 'b']) await (await runtime.start(sayer, runId, { runId })).until('waiting')
  const { body } = await get('/runs/a/diff/b')
  const { differences, more = 0 } = body as { readonly differences: readonly unknown[]; readonly more?: number }
  // each says 100,000 characters of both runs
  expect([differences.length, more]).toEqual([11, 5])
})

test('an audit that is long is sent in pieces, and passes its check', async () => {
  const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
  const note = 'n'.repeat(300_000)
  const clerk = agent({
    name: 'clerk',
    tools: [pay],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : { calls: [1, 2, 3].map((n) => ({ name: 'pay', input: { n, note } })) },
  })
  const { runtime, get } = await serving({ agents: [clerk] })
  const run = await runtime.start('clerk', 'Pay.', { runId: 'r1' })
  await run.until('waiting')
  const { status, headers, body } = await get('/runs/r1/audit')
  const { document, report } = body as { readonly document: AuditDocument; readonly report: unknown }
  expect([status, headers.get('content-length')]).toEqual([200, null])
  expect(document).toEqual(JSON.parse(JSON.stringify(await runtime.audit('r1'))))
  expect(report).toEqual(JSON.parse(JSON.stringify(await verifyAudit(document))))
  expect(report).toMatchObject({ ok: true })
})

test('sessions, the runs of one and versions in use come by the page', async () => {
  const { runtime, get } = await serving({ agents: [agent({ name: 'brief', run: () => Promise.resolve('done') })] })
  for (let i = 0; i < 6; i++)
    await (await runtime.start('brief', i, { runId: `r${i}`, session: `s${i % 2}`, user: 'ann' })).outcome()
  interface Row {
    readonly run?: string
    readonly session?: string
  }
  const paged = async (path: string, member: string): Promise<readonly (readonly Row[])[]> => {
    const pages: (readonly Row[])[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
      const { body } = await get(`${path}?limit=2${cursor}`)
      pages.push((body as Record<string, readonly Row[]>)[member]!)
      after = (body as { readonly next?: string }).next
    }
    return pages
  }
  const sessions = await paged('/sessions', 'items')
  // each page of two runs has a run of each session
  expect(sessions.map((page) => page.map(({ session }) => session))).toEqual([
    ['s1', 's0'],
    ['s1', 's0'],
    ['s1', 's0'],
  ])
  const runsIn = (pages: readonly (readonly Row[])[]) => pages.map((page) => page.map(({ run }) => run))
  expect(runsIn(await paged('/sessions/s1', 'items'))).toEqual([['r5', 'r3'], ['r1']])
  expect(runsIn(await paged('/versions/uses', 'runs'))).toEqual([
    ['r5', 'r4'],
    ['r3', 'r2'],
    ['r1', 'r0'],
  ])
  expect(await get('/sessions?after=nowhere')).toMatchObject({ status: 400 })
})
