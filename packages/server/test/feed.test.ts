/** The feed of a run over HTTP: nothing twice, nothing missing (K1, K9), whoever drives the run and whatever is killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRuntime } from '@reeve/runtime'
import { createServer } from '../src/index.ts'
import { asker } from '../../runtime/test/hand.ts'
import { sentEvents, serving, type Sent } from './serving.ts'
import { childToken, stepper } from './stepper.ts'

let store = ''
const children: ChildProcess[] = []
beforeEach(() => {
  store = join(mkdtempSync(join(tmpdir(), 'reeve-feed-')), 'reeve.db')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(join(store, '..'), { recursive: true, force: true })
})

/** Starts a process on the store; resolves to the line that it says. `heldAt`: a step that does not end in it. */
async function child(
  role: 'serve' | 'drive',
  heldAt = Infinity,
): Promise<{ readonly said: string; readonly kill: () => Promise<void> }> {
  const file = join(import.meta.dirname, 'server-child.ts')
  const started = spawn(process.execPath, ['--no-warnings', file, role, store, `${heldAt}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(started)
  const [said] = (await once(createInterface(started.stdout), 'line')) as [string]
  return {
    said,
    async kill() {
      const gone = once(started, 'exit')
      started.kill('SIGKILL')
      await gone
    },
  }
}

const bearer = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` })

/** Reads so many events of a feed after a position, then leaves; all of them to the end if the number is large. */
async function read(
  url: string,
  from: number,
  most: number,
  token = childToken,
): Promise<{ readonly sent: readonly Sent[]; readonly ended: boolean }> {
  const left = new AbortController()
  const response = await fetch(url, {
    signal: left.signal,
    headers: { ...bearer(token), ...(from === 0 ? {} : { 'Last-Event-ID': String(from) }) },
  })
  const sent: Sent[] = []
  try {
    for await (const each of sentEvents(response)) {
      const { type } = each.data as { readonly type: string }
      if (type === 'end') return { sent, ended: true }
      if (type === 'event') sent.push(each)
      if (sent.length >= most) break
    }
  } finally {
    left.abort()
  }
  return { sent, ended: false }
}

/** Reads a feed in pieces, each a connection of its own. */
async function inPieces(url: string, token: string): Promise<readonly (number | undefined)[]> {
  const ids: (number | undefined)[] = []
  for (;;) {
    const { sent, ended } = await read(url, ids.at(-1) ?? 0, 7, token)
    ids.push(...sent.map(({ id }) => id))
    if (ended) return ids
  }
}

test('K9: a feed that is read in pieces while another process drives has every event once, in order', async () => {
  await child('drive')
  const { server, runtime, post, token } = await serving({ store, agents: [stepper], drive: false })
  await post('/runs', { agent: 'stepper', input: 'go', runId: 'r1' })
  const ids = await inPieces(`${server.url}/api/runs/r1/feed`, token)
  expect(ids).toEqual((await runtime.handle('r1').journal()).map(({ position }) => position))
  expect(ids.length).toBeGreaterThan(60)
}, 60_000)

test('K1, K9: a thousand readers of a run whose process is killed twice have every event once, in order', async () => {
  // the run cannot end before both kills, however late this process comes to them
  let driver = await child('drive', 12)
  const limits = { streams: 2_000 }
  const { server, runtime, post, token } = await serving({ store, agents: [stepper], drive: false }, { limits })
  await post('/runs', { agent: 'stepper', input: 'go', runId: 'r1' })
  const url = `${server.url}/api/runs/r1/feed`
  const readers = Array.from({ length: 1_000 }, () => read(url, 0, Number.MAX_SAFE_INTEGER, token))
  const recorded = async (): Promise<number> => (await runtime.handle('r1').journal()).length
  let before = 0
  for (const heldAt of [24, Infinity]) {
    await vi.waitUntil(async () => (await recorded()) > before + 8, 60_000)
    await driver.kill()
    before = await recorded()
    driver = await child('drive', heldAt)
  }
  const found = new Set(
    (await Promise.all(readers)).map(({ sent, ended }) => `${ended} ${sent.map(({ id }) => id).join()}`),
  )
  const positions = (await runtime.handle('r1').journal()).map(({ position }) => position)
  expect([...found]).toEqual([`true ${positions.join()}`])
  expect(positions.length).toBeGreaterThan(60)
}, 180_000)

test('K9: a browser that connects again goes on after its last event, whatever its address says', async () => {
  const { server, runtime, token } = await serving({ agents: [stepper] })
  await runtime.run(stepper, 'go', { runId: 'r1' })
  const positions = (await runtime.handle('r1').journal()).map(({ position }) => position)
  const { sent } = await read(`${server.url}/api/runs/r1/feed?from=${positions[3]}`, positions[9]!, 1_000, token)
  expect(sent.map(({ id }) => id)).toEqual(positions.slice(10))
  expect((await read(`${server.url}/api/runs/r1/feed?from=${positions[3]}`, 0, 1_000, token)).sent[0]?.id).toBe(
    positions[4],
  )
})

test('a stream ends with the credential of its reader', async () => {
  const auth = Object.assign(() => ({ name: 'ann', roles: ['viewer' as const] }), { until: () => Date.now() + 300 })
  const { server, runtime, errors } = await serving({ agents: [asker] }, { auth })
  await runtime.start(asker, 'go', { runId: 'r1' })
  for (const path of ['/changes', '/runs/r1/live', '/runs/r1/feed']) {
    const sent: unknown[] = []
    // it ends: nothing else does that here
    for await (const { data } of sentEvents(await fetch(`${server.url}/api${path}`))) sent.push(data)
    expect(sent, path).not.toContainEqual({ type: 'end' })
  }
  expect(errors).toEqual([])
})

test('a stream ends when the browser that reads it is signed out, and no other one does', async () => {
  const { server, runtime, token, post } = await serving({ agents: [asker] })
  await runtime.start(asker, 'go', { runId: 'r1' })
  const signIn = async (): Promise<string> => {
    const signed = await post('/session', { token }, { Authorization: '' })
    return signed.headers.get('set-cookie')!.split(';')[0]!
  }
  const [mine, other] = [await signIn(), await signIn()]
  const headersOf = (cookie: string): Record<string, string> => ({ cookie, 'x-reeve': '1' })
  const open = (headers: Record<string, string>): Promise<Response> => fetch(`${server.url}/api/changes`, { headers })
  const [read, otherRead, byBearer] = [
    await open(headersOf(mine)),
    await open(headersOf(other)),
    await open(bearer(token)),
  ]
  const signedOut = await fetch(`${server.url}/api/session`, { method: 'DELETE', headers: headersOf(mine) })
  expect(signedOut.status).toBe(204)
  // it ends: nothing else does that here
  for await (const { data } of sentEvents(read)) expect(data).not.toMatchObject({ type: 'end' })
  await runtime.start(asker, 'go', { runId: 'r2' })
  for (const still of [otherRead, byBearer])
    for await (const { data } of sentEvents(still)) if (JSON.stringify(data).includes('runs')) break
})

test('K1: after kill -9 of the server, the next one goes on where Last-Event-ID says', async () => {
  const first = await child('serve')
  await fetch(`${first.said}/api/runs`, {
    method: 'POST',
    headers: { ...bearer(childToken), 'Content-Type': 'application/json' },
    body: JSON.stringify({ agent: 'stepper', input: 'go', runId: 'r1' }),
  })
  const before = await read(`${first.said}/api/runs/r1/feed`, 0, 12)
  await first.kill()
  const second = await child('serve')
  const ids = before.sent.map(({ id }) => id)
  const after = await read(`${second.said}/api/runs/r1/feed`, ids.at(-1)!, Number.MAX_SAFE_INTEGER)
  expect(after.ended).toBe(true)
  await second.kill()
  await using runtime = await createRuntime({ store, drive: false })
  const events = await runtime.handle('r1').journal()
  expect([...ids, ...after.sent.map(({ id }) => id)]).toEqual(events.map(({ position }) => position))
  expect(await runtime.handle('r1').outcome()).toMatchObject({ status: 'completed' })
}, 60_000)

test('parts come between the events of their step, with their agent', async () => {
  const { server, post, token } = await serving({ agents: [stepper] })
  await post('/runs', { agent: 'stepper', input: 'go', runId: 'r1' })
  const items: string[] = []
  for await (const { data } of sentEvents(await fetch(`${server.url}/api/runs/r1/feed`, { headers: bearer(token) }))) {
    const { type, part, event } = data as {
      readonly type: string
      readonly part?: { readonly address: string; readonly agent: string; readonly epoch?: number }
      readonly event?: { readonly event: { readonly type: string; readonly address?: string } }
    }
    items.push(`${type} ${part?.address ?? event?.event.address ?? ''} ${event?.event.type ?? part?.agent ?? ''}`)
    expect(part?.epoch).toBeUndefined()
  }
  expect(items.at(-1)).toBe('end  ')
  const at = items.findIndex((item) => item.startsWith('part step20'))
  expect(items[at]).toBe('part step20 stepper')
  expect(items.indexOf('event step20 step.started')).toBeLessThan(at)
  expect(items.indexOf('event step20 step.settled')).toBeGreaterThan(at)
}, 30_000)

test('a stream that has nothing to say sends comments, and ends without "end" when the server closes', async () => {
  const { server, post, token } = await serving({ agents: [asker] }, { heartbeatMs: 20 })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  const response = await fetch(`${server.url}/api/runs/r1/feed`, { headers: bearer(token) })
  let comments = 0
  let closed: Promise<void> | undefined
  const types: string[] = []
  const sent = sentEvents(response, () => {
    if (++comments === 3) closed = server.close()
  })
  for await (const { data } of sent) types.push((data as { readonly type: string }).type)
  await closed
  expect(comments).toBeGreaterThanOrEqual(3)
  expect(types).not.toContain('end')
})

test('K9: a reader that takes nothing is dropped, and one that leaves changes nothing', async () => {
  await using runtime = await createRuntime({ agents: [asker] })
  const handler = createServer({ runtime, heartbeatMs: 5, readerTimeoutMs: 30 })
  const headers = bearer(handler.token!)
  const run = await runtime.start(asker, 'ask', { runId: 'r1' })
  await run.until('waiting')
  const response = await handler.fetch(new Request('http://127.0.0.1/api/runs/r1/feed', { headers }))
  const reader = response.body!.getReader()
  expect(await reader.closed.catch(String)).toContain('the reader took nothing')
  const second = await handler.fetch(new Request('http://127.0.0.1/api/runs/r1/feed', { headers }))
  await second.body!.cancel()
  expect(
    await handler.fetch(new Request('http://127.0.0.1/api/runs/r1/feed', { method: 'HEAD', headers })),
  ).toMatchObject({
    status: 200,
    body: null,
  })
  expect((await run.summary()).status).toBe('waiting')
})

test.each(['abc', '-1', '1e3', '99999999999999999999'])('refuses Last-Event-ID %s', async (given) => {
  const { get, post } = await serving({ agents: [asker] })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  expect(await get('/runs/r1/feed', { 'Last-Event-ID': given })).toMatchObject({ status: 400 })
})
