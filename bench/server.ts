/**
 * What the server costs: requests beside those of a bare Hono handler that answers the same bytes, and a thousand readers
 * of one run.
 *
 *   npm run bench:server -- [--seconds 1] [--turns 2] [--readers 1000] [--decisions 200]
 *
 * The servers are in a process of their own, which also says how much CPU it has used; the requests come from this one.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { agent, createRuntime, step, tool, type Json } from '@reeve/public'
import { createServer, listen } from '@reeve/server'
import { inFolder, megabytes, quantile } from './measure.ts'

/** Where the two servers are, and a run that has ended, as Reeve answers it. */
interface Served {
  readonly reeve: string
  readonly bare: string
  /** What lets a caller in. */
  readonly token: string
}

interface Used {
  readonly cpuMs: number
  readonly rss: number
}

const ticks = 5

async function serve(folder: string): Promise<void> {
  const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
  const clerk = agent({
    name: 'clerk',
    tools: [pay],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] }),
  })
  const echo = agent({ name: 'echo', model: () => 'Hello.' })
  const ticker = agent({
    name: 'ticker',
    run: async (ctx) => {
      await step(ctx, 'begin', () => once(process, 'SIGUSR2').then(() => 0))
      for (let i = 0; i < ticks; i++)
        await step(ctx, 'tick', () => new Promise<number>((resolve) => setTimeout(() => resolve(i), 500)))
      return 'done'
    },
  })
  const runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [clerk, echo, ticker] })
  await runtime.run(echo, 'Hi.', { runId: 'seen' })
  const view = JSON.stringify(await runtime.handle('seen').view())
  // the load comes from one caller
  const limits = { requestsPerSecond: 1_000_000, burst: 1_000_000, streams: 10_000 }
  const served = createServer({ runtime, limits })
  const server = await listen(served, { port: 0 })
  const reeve = server.url
  const app = new Hono()
  app.get('/api/runs/:run', () => new Response(view, { headers: { 'content-type': 'application/json' } }))
  app.post('/api/*', async (context) => context.json({ run: JSON.stringify(await context.req.json()).length }, 201))
  const plain = createAdaptorServer({ fetch: app.fetch })
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  process.on('message', (word) => {
    if (word === 'collect') globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    process.send!({ cpuMs: (user + system) / 1_000, rss: process.memoryUsage.rss() } satisfies Used)
  })
  const bare = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`
  process.send!({ reeve, bare, token: served.token! } satisfies Served)
  await once(process, 'disconnect')
  plain.close()
  await server.close()
  await runtime.close()
}

const options = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '1' },
    turns: { type: 'string', default: '2' },
    readers: { type: 'string', default: '1000' },
    decisions: { type: 'string', default: '200' },
  },
}).values

const connections = 16
const sockets = new Agent({ keepAlive: true, maxSockets: connections })

/** What lets these requests in. */
let authorization = ''

/** One request; resolves to its status and body. */
function ask(method: string, url: string, body?: Json): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const asked = request(url, { method, agent: sockets, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** What a kind of request costs. */
interface Cost {
  readonly perSecond: number
  readonly p99: number
  readonly cpuMs: number
}

/** Requests one after the other on each connection, until `next` gives none. */
async function load(child: ChildProcess, next: () => readonly [string, string, Json?] | undefined): Promise<Cost> {
  const before = await used(child)
  const begun = performance.now()
  const times: number[] = []
  const one = async (): Promise<void> => {
    for (let call = next(); call !== undefined; call = next()) {
      const from = performance.now()
      const { status, body } = await ask(...call)
      times.push(performance.now() - from)
      if (status >= 300) throw new Error(`${call[0]} ${call[1]}: ${status} ${body}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  const ms = performance.now() - begun
  const cpuMs = ((await used(child)).cpuMs - before.cpuMs) / times.length
  return { perSecond: (times.length * 1_000) / ms, p99: quantile(times, 0.99), cpuMs }
}

async function used(child: ChildProcess, word = 'used'): Promise<Used> {
  child.send(word)
  return ((await once(child, 'message')) as [Used])[0]
}

const during = (call: readonly [string, string, Json?]): (() => readonly [string, string, Json?] | undefined) => {
  const until = performance.now() + Number(options.seconds) * 1_000
  return () => (performance.now() < until ? call : undefined)
}

async function pending(reeve: string, count: number): Promise<readonly string[]> {
  const start = Array.from({ length: count }, () => ask('POST', `${reeve}/api/runs`, { agent: 'clerk', input: 'Pay.' }))
  await Promise.all(start)
  for (;;) {
    const { body } = await ask('GET', `${reeve}/api/questions?limit=1000`)
    const { items } = JSON.parse(body) as { readonly items: readonly { readonly id: string }[] }
    if (items.length >= count) return items.map(({ id }) => id)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Delays of all events to all readers, from when they were recorded. */
async function readers(child: ChildProcess, reeve: string, count: number): Promise<void> {
  await ask('POST', `${reeve}/api/runs`, { agent: 'ticker', input: 'Tick.', runId: 'ticking' })
  const before = await used(child, 'collect')
  const delays: number[] = []
  const responses: { destroy(): void }[] = []
  let begun = false
  let ended = 0
  await new Promise<void>((connected, reject) => {
    for (let i = 0; i < count; i++)
      get(`${reeve}/api/runs/ticking/feed`, { agent: false, headers: { authorization } }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`a reader was refused: ${response.statusCode}`))
        responses.push(response)
        if (responses.length === count) connected()
        response.setEncoding('utf8')
        response.on('data', (piece: string) => {
          const now = Date.now()
          if (begun) for (const [, at] of piece.matchAll(/"at":(\d{13})/g)) delays.push(now - Number(at))
          if (piece.includes('"type":"end"')) ended++
        })
      }).on('error', reject)
  })
  const open = await used(child, 'collect')
  begun = true
  const from = performance.now()
  child.kill('SIGUSR2')
  while (ended < count) await new Promise((resolve) => setTimeout(resolve, 20))
  const seconds = (performance.now() - from) / 1_000
  const after = await used(child)
  for (const each of responses) each.destroy()
  const events = Math.round(delays.length / count)
  console.log(
    `${count} readers of one run: ${events} events each in ${seconds.toFixed(1)} s; delay p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms`,
  )
  console.log(
    `  ${((megabytes(open.rss - before.rss) * 1024) / count).toFixed(0)} kB a reader (${megabytes(open.rss).toFixed(0)} MB with all of them); CPU of the server ${(after.cpuMs - open.cpuMs).toFixed(0)} ms, ${(((after.cpuMs - open.cpuMs) * 1_000) / delays.length).toFixed(0)} µs an event and reader`,
  )
}

async function main(): Promise<void> {
  const child = fork(import.meta.filename, ['serve'], { execArgv: ['--no-warnings', '--expose-gc'] })
  const [{ reeve, bare, token }] = (await once(child, 'message')) as [Served]
  authorization = `Bearer ${token}`
  const decide = { decision: 'approve' }
  const kinds: readonly (readonly [string, () => Promise<readonly [Cost, Cost]>])[] = [
    [
      'GET /runs/{run}',
      async () => [
        await load(child, during(['GET', `${reeve}/api/runs/seen`])),
        await load(child, during(['GET', `${bare}/api/runs/seen`])),
      ],
    ],
    [
      'POST /runs',
      async () => [
        await load(child, during(['POST', `${reeve}/api/runs`, { agent: 'echo', input: 'Hi.' }])),
        await load(child, during(['POST', `${bare}/api/runs`, { agent: 'echo', input: 'Hi.' }])),
      ],
    ],
    [
      'POST /approvals/{id}/decision',
      async () => {
        const ids = [...(await pending(reeve, Number(options.decisions)))]
        const next = (): readonly [string, string, Json] | undefined => {
          const id = ids.pop()
          return id === undefined ? undefined : ['POST', `${reeve}/api/approvals/${id}/decision`, decide]
        }
        return [
          await load(child, next),
          await load(child, during(['POST', `${bare}/api/approvals/x/decision`, decide])),
        ]
      },
    ],
  ]
  console.log(`${connections} connections; Reeve beside a bare Hono handler`)
  for (const [name, measure] of kinds) {
    const turns: (readonly [Cost, Cost])[] = []
    for (let turn = 0; turn <= Number(options.turns); turn++) turns.push(await measure())
    const middle = (side: 0 | 1, figure: keyof Cost): number =>
      quantile(
        turns.slice(1).map((each) => each[side][figure]),
        0.5,
      )
    const shown = (figure: keyof Cost, unit: string, digits: number): string =>
      `${middle(0, figure).toFixed(digits)} ${unit} (bare ${middle(1, figure).toFixed(digits)}, × ${(middle(0, figure) / middle(1, figure)).toFixed(2)})`
    console.log(
      `${name}: ${shown('perSecond', 'requests/s', 0)}, p99 ${shown('p99', 'ms', 1)}, CPU ${shown('cpuMs', 'ms', 3)}`,
    )
  }
  await readers(child, reeve, Number(options.readers))
  sockets.destroy()
  child.disconnect()
  await once(child, 'exit')
}

await (process.argv[2] === 'serve' ? inFolder(serve) : main())
