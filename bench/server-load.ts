/**
 * What others wait for while a server is abused: readers that take nothing, bodies that are sent by half, and long runs
 * that are viewed, compared and audited without end.
 *
 *   npm run bench:server-load -- [--events 1000000] [--stalled 1000] [--bodies 1000] [--seconds 30] [--check]
 *
 * The server, the hostile callers and the caller whose waiting is measured have a process each. `--check` fails unless
 * the goal is met.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { agent, createRuntime, interrupt, step, tool, type Json } from '@reeve/public'
import { decode, encode, type JournalEvent } from '@reeve/journal'
import { createServer, listen } from '@reeve/server'
import { inFolder, megabytes, quantile, sleep } from './measure.ts'

const { values: options } = parseArgs({
  allowPositionals: true,
  options: {
    events: { type: 'string', default: '1000000' },
    stalled: { type: 'string', default: '1000' },
    bodies: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
    check: { type: 'boolean', default: false },
  },
})

/** The goal: milliseconds of waiting (p99), megabytes of memory, milliseconds by which a step comes late. */
const goal = { waitMs: 250, megabytes: 700, lateMs: 1_000 }

interface Served {
  readonly url: string
  readonly token: string
}

interface Measured {
  readonly rss: number
  readonly heap: number
  readonly buffers: number
  readonly cpuMs: number
  /** Of the event loop: how much later a timer came than it should. Milliseconds. */
  readonly loopP99: number
  readonly loopMax: number
  readonly lateMs: number
}

const large = 'B'.repeat(200_000)

async function serve(folder: string): Promise<void> {
  const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
  let lateMs = 0
  const agents = [
    agent({
      name: 'clerk',
      tools: [pay],
      model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] }),
    }),
    agent({
      name: 'long',
      run: async (ctx) => {
        await step(ctx, 'one', () => 0)
        await interrupt(ctx, 'Go on?')
        return 'done'
      },
    }),
    agent({
      name: 'heavy',
      run: async (ctx) => {
        for (let i = 0; i < 100; i++) await step(ctx, 'large', () => `${large}${i}`)
        await interrupt(ctx, 'Go on?')
        return 'done'
      },
    }),
    agent({
      name: 'ticker',
      run: async (ctx) => {
        for (;;) {
          const due = performance.now() + 100
          await step(ctx, 'tick', () => sleep(100).then(() => 0))
          lateMs = Math.max(lateMs, performance.now() - due)
        }
      },
    }),
  ] as const
  const store = join(folder, 'reeve.db')
  const before = await createRuntime({ store, agents })
  for (const [name, runId] of [
    ['long', 'long-1'],
    ['long', 'long-2'],
    ['heavy', 'heavy'],
  ] as const)
    await (await before.start(name, 'Go.', { runId })).until('waiting')
  await before.close()
  lengthen(store, ['long-1', 'long-2'], Number(options.events))
  const runtime = await createRuntime({ store, agents })
  const limits = { requestsPerSecond: 1_000_000, burst: 1_000_000, streams: 10_000 }
  const served = createServer({ runtime, limits })
  const server = await listen(served, { port: 0 })
  await runtime.start('ticker', 'Tick.', { runId: 'ticking', limits: { minutes: 60 } })
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  process.on('message', (word) => {
    if (word === 'begin') {
      delay.reset()
      lateMs = 0
    }
    const { user, system } = process.cpuUsage()
    process.send!({
      rss: process.memoryUsage.rss(),
      heap: process.memoryUsage().heapUsed,
      buffers: process.memoryUsage().external,
      cpuMs: (user + system) / 1_000,
      loopP99: delay.percentile(99) / 1e6,
      loopMax: delay.max / 1e6,
      lateMs,
    } satisfies Measured)
  })
  process.send!({ url: server.url, token: served.token! } satisfies Served)
  await once(process, 'disconnect')
  process.exit()
}

/** Writes steps into runs that are parked, until each has so many events. */
function lengthen(store: string, runs: readonly string[], events: number): void {
  const db = new DatabaseSync(store)
  const insert = db.prepare('INSERT INTO log(position, act, seq, at, body) VALUES (?, ?, ?, ?, ?)')
  for (const run of runs) {
    const { num } = db.prepare('SELECT num FROM activation WHERE id = ?').get(`act_${run}`) as { readonly num: number }
    const rows = db.prepare('SELECT seq, body FROM log WHERE act = ? ORDER BY seq').all(num) as unknown as {
      readonly seq: number
      readonly body: string
    }[]
    const steps = rows
      .map(({ body }) => decode(body))
      .filter(({ type }) => type === 'step.begun' || type === 'step.settled')
    let { position } = db.prepare('SELECT max(position) AS position FROM log').get() as { readonly position: number }
    let { seq } = rows.at(-1)!
    db.exec('BEGIN')
    for (let i = rows.length; i < events; i++) {
      const event = steps[i % steps.length]!
      const address = `more#${Math.floor(i / steps.length)}`
      insert.run(++position, num, ++seq, Date.now(), encode({ ...event, address } as JournalEvent))
    }
    db.exec('COMMIT')
  }
  db.close()
}

const sockets = new Agent({ keepAlive: true })

/** One request; resolves to its status and body. */
function ask(
  { url, token }: Served,
  method: string,
  path: string,
  body?: Json,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { authorization: `Bearer ${token}`, ...type }
    const asked = request(`${url}/api${path}`, { method, agent: sockets, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        // of a long answer its beginning is enough
        if (text.length < 100_000) text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const hostilePaths = [
  '/runs/long-1',
  '/runs/long-1/diff/long-2',
  '/runs/long-2/audit',
  '/runs/long-2/control',
  '/runs/long-1/delegations',
  '/runs/long-2/takeover-context',
  '/runs/heavy/events?limit=1000',
  '/runs/long-1/events?limit=1000',
  '/sessions?limit=1000',
  '/versions/uses?limit=1000',
]

/** Opens what stands still, then asks for long runs again and again. */
async function abuse(served: Served): Promise<void> {
  const { hostname, port } = new URL(served.url)
  const open = async (head: string, body = ''): Promise<void> => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.pause()
    socket.write(`${head}\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${served.token}\r\n\r\n${body}`)
  }
  for (let i = 0; i < Number(options.stalled); i++)
    await open(`GET /api/runs/${i % 2 === 0 ? 'heavy' : 'long-1'}/feed?from=${i % 2 === 0 ? 0 : i} HTTP/1.1`)
  for (let i = 0; i < Number(options.bodies); i++)
    await open(
      'POST /api/session HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000000',
      '{"token":"'.padEnd(500_000, 'x'),
    )
  process.send!('open')
  const times = new Map<string, number[]>()
  const again = async (path: string): Promise<never> => {
    for (;;) {
      const begun = performance.now()
      const { status } = await ask(served, 'GET', path).catch(() => ({ status: 0 }))
      times.set(`${status} ${path}`, [...(times.get(`${status} ${path}`) ?? []), performance.now() - begun])
      // one that is refused at once is not asked for without end
      await sleep(50)
    }
  }
  for (const path of hostilePaths) again(path).catch(() => process.exit(1))
  process.on('message', () => {
    process.send!(
      [...times].map(([what, all]) => `${what}: ${all.length} answers, median ${Math.round(quantile(all, 0.5))} ms`),
    )
  })
  await once(process, 'disconnect')
  process.exit()
}

const asked = async <T>(child: ChildProcess, word: string): Promise<T> => {
  child.send(word)
  return ((await once(child, 'message')) as [T])[0]
}

/** Ids of approvals that wait. */
async function pending(served: Served, count: number): Promise<readonly string[]> {
  for (let i = 0; i < count; i++) await ask(served, 'POST', '/runs', { agent: 'clerk', input: 'Pay.' })
  for (;;) {
    const { body } = await ask(served, 'GET', '/questions?limit=1000')
    const ids = [...body.matchAll(/"id":"(apr_[^"]+)"/g)].map(([, id]) => id!)
    if (ids.length >= count) return [...new Set(ids)]
    await sleep(50)
  }
}

/** What others waited for. */
interface Waits {
  readonly health: readonly number[]
  readonly decisions: readonly number[]
  readonly most: Measured
}

/** Asks for the health of the server, and decides approvals, one after the other. */
async function waits(server: ChildProcess, served: Served, ids: readonly string[], seconds: number): Promise<Waits> {
  const health: number[] = []
  const decisions: number[] = []
  await asked(server, 'begin')
  const begun = performance.now()
  let rss = 0
  for (let now = begun; now - begun < seconds * 1_000; now = performance.now()) {
    const { status } = await ask(served, 'GET', '/health')
    health.push(performance.now() - now)
    if (status !== 200) throw new Error(`health: ${status}`)
    const due = (ids.length * (now - begun)) / (seconds * 1_000)
    if (decisions.length < due) {
      const from = performance.now()
      const path = `/approvals/${ids[decisions.length]!}/decision`
      const decided = await ask(served, 'POST', path, { decision: 'approve' })
      decisions.push(performance.now() - from)
      if (decided.status >= 300) throw new Error(`decision: ${decided.status} ${decided.body}`)
    }
    rss = Math.max(rss, (await asked<Measured>(server, 'now')).rss)
    await sleep(50)
  }
  return { health, decisions, most: { ...(await asked<Measured>(server, 'now')), rss } }
}

function shownWaits(what: string, { health, decisions, most }: Waits, cpuMs: number): void {
  const p = (values: readonly number[], q: number): string => quantile(values, q).toFixed(0)
  console.log(
    `${what}: health p50 ${p(health, 0.5)}, p99 ${p(health, 0.99)} ms (${health.length}); decision p50 ${p(decisions, 0.5)}, p99 ${p(decisions, 0.99)} ms (${decisions.length}); a step late by ${most.lateMs.toFixed(0)} ms at most`,
  )
  console.log(
    `  resident ${megabytes(most.rss).toFixed(0)} MB at most, heap ${megabytes(most.heap).toFixed(0)}, buffers ${megabytes(most.buffers).toFixed(0)} MB at the end; event loop delay p99 ${most.loopP99.toFixed(0)}, at most ${most.loopMax.toFixed(0)} ms; CPU ${(cpuMs / 1_000).toFixed(1)} s`,
  )
}

async function main(): Promise<void> {
  const seconds = Number(options.seconds)
  const flags = ['--events', options.events, '--stalled', options.stalled, '--bodies', options.bodies]
  const start = (part: string, more: readonly string[] = []): ChildProcess =>
    fork(import.meta.filename, [part, ...flags, ...more], { execArgv: ['--no-warnings'] })
  const server = start('serve')
  const [served] = (await once(server, 'message')) as [Served]
  const ids = await pending(served, 80)
  console.log(
    `${options.stalled} stalled readers, ${options.bodies} half bodies, runs of ${options.events} events, ${seconds} s`,
  )
  const before = await asked<Measured>(server, 'now')
  const rest = await waits(server, served, ids.slice(40), Math.min(10, seconds))
  shownWaits('at rest', rest, rest.most.cpuMs - before.cpuMs)
  const callers = start('abuse', [JSON.stringify(served)])
  await once(callers, 'message')
  const abused = await waits(server, served, ids.slice(0, 40), seconds)
  shownWaits('abused', abused, abused.most.cpuMs - rest.most.cpuMs)
  for (const line of await asked<readonly string[]>(callers, 'report')) console.log(`  ${line}`)
  const { health, decisions, most } = abused
  const missed = [
    quantile(health, 0.99) > goal.waitMs && `GET /health takes more than ${goal.waitMs} ms (p99)`,
    quantile(decisions, 0.99) > goal.waitMs && `a decision takes more than ${goal.waitMs} ms (p99)`,
    megabytes(most.rss) > goal.megabytes && `more than ${goal.megabytes} MB are resident`,
    most.lateMs > goal.lateMs && `a step is late by more than ${goal.lateMs} ms`,
  ].filter((each) => each !== false)
  console.log(missed.length === 0 ? 'the goal is met' : `the goal is not met: ${missed.join('; ')}`)
  callers.disconnect()
  server.disconnect()
  sockets.destroy()
  await Promise.all([once(callers, 'exit'), once(server, 'exit')])
  if (options.check && missed.length > 0) process.exitCode = 1
}

const [part] = process.argv.slice(2)
if (part === 'serve') await inFolder(serve)
else if (part === 'abuse') await abuse(JSON.parse(process.argv.at(-1)!) as Served)
else await main()
