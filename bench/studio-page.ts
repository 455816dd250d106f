/**
 * What it costs a browser to look: the list of 10,000 runs, and a run of 100,000 events that still goes on and streams 500
 * pieces a second, in a real Chromium.
 *
 *   npm run bench:studio -- [--runs 10000] [--events 100000] [--pieces 500] [--seconds 10] [--profile <folder>]
 *
 * The server is in a process of its own. Times are of the page itself, from its navigation. `--profile`: a CPU profile of
 * each opening and of the stream, which the tools of Chromium show.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { agent, createRuntime, supervisor, tool, type Model } from '@reeve/public'
import { createServer, listen } from '@reeve/server'
import { launchBrowser } from '../packages/studio/test/browser.ts'
import { people } from '../packages/studio/test/people.ts'
import { setup } from '../packages/studio/test/setup.ts'
import { inFolder, median, megabytes, sleep } from './measure.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '10000' },
    events: { type: 'string', default: '100000' },
    pieces: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    profile: { type: 'string' },
  },
})
const large = 'large'
/** How often a page is opened for one figure. */
const turns = 5

interface Served {
  readonly url: string
  readonly port: number
  readonly events: number
}

/** Serves; on a new store it first makes the runs, of which the large one goes on. */
async function serve(store: string, port: number): Promise<void> {
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  /** Streams so many pieces a second until it is stopped. */
  const talk: Model = {
    id: 'acme/talker',
    price: { usdPerMillionTokens: { input: 1, output: 1 } },
    async call({ emit, signal }) {
      await begun
      const every = 20
      const pieces = Math.max(1, Math.round((Number(options.pieces) * every) / 1_000))
      for (let said = 0; !signal.aborted;) {
        for (let i = 0; i < pieces; i++, said++)
          emit?.({ type: 'text.delta', id: 't', text: said % 12 === 11 ? 'words.\n' : 'some more ' })
        await sleep(every)
      }
      throw signal.reason
    },
  }
  const look = tool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen '.repeat(40) })
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    tools: [look],
    model: ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').length < 6
        ? { calls: [{ name: 'look', input: { at: 'x'.repeat(50) } }] }
        : 'found '.repeat(30),
  })
  const talker = agent({ name: 'talker', description: 'Talks.', model: talk })
  const greeter = agent({ name: 'greeter', description: 'Greets.', model: () => 'hello' })
  let left = Math.ceil(Number(options.events) / 30 / 50)
  const delegate = (
    to: string,
  ): { readonly name: string; readonly input: { worker: string; instructions: string } } => ({
    name: 'delegate',
    input: { worker: to, instructions: 'look at it '.repeat(10) },
  })
  const lead = supervisor({
    name: 'lead',
    workers: [worker, talker],
    limits: { turns: 1_000_000, tokens: 1e9 },
    model: () => ({ calls: left-- > 0 ? Array.from({ length: 50 }, () => delegate('worker')) : [delegate('talker')] }),
  })
  const runtime = await createRuntime({ store, agents: [greeter, lead] })
  if ((await runtime.runs({ limit: 1 })).length === 0) {
    const count = Number(options.runs)
    for (let made = 0; made < count; made += 500)
      await Promise.all(
        Array.from({ length: Math.min(500, count - made) }, () =>
          runtime.run(greeter, 'Hi.', { user: 'mia@example.com' }),
        ),
      )
    const run = await runtime.start(lead, 'Go.', { runId: large })
    for (;;) {
      const { activations } = await run.view()
      if (activations.some(({ agent: name, open }) => name === 'talker' && open.length > 0)) break
      await sleep(2_000)
    }
  }
  const { events } = (await runtime.handle(large).view()) as { readonly events?: number }
  const server = createServer({
    runtime,
    auth: { tokens: { [people[0]!.token]: { name: people[0]!.name, roles: people[0]!.roles } } },
    session: { secret: 'a secret of the bench of the studio, long enough' },
    assets: join(import.meta.dirname, '../dist/studio'),
  })
  const listening = await listen(server, { port })
  process.on('message', (word) => {
    if (word === 'begin') return begin()
    const { user, system } = process.cpuUsage()
    process.send!((user + system) / 1_000)
  })
  process.send!({ url: listening.url, port: listening.port, events: events ?? 0 } satisfies Served)
}

async function started(store: string, port = 0): Promise<{ readonly child: ChildProcess; readonly served: Served }> {
  const passed = Object.entries(options).flatMap(([name, value]) => (name === 'profile' ? [] : [`--${name}`, value]))
  const child = fork(import.meta.filename, [...passed, 'serve', store, `${port}`], { execArgv: ['--no-warnings'] })
  const failed = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`the server ended with ${code as number}`)),
  )
  failed.catch(() => {})
  const [served] = (await Promise.race([once(child, 'message'), failed])) as [Served]
  return { child, served }
}

interface Seen {
  /** Milliseconds after the navigation until what is looked for was drawn. */
  readonly firstMs: number
  /** Processor time of the tab's main thread, up to half a second after that. */
  readonly cpuMs: number
  readonly longTasks: readonly number[]
}

/** Runs in the page, before everything else: when something is first there, and which tasks are long. */
const watching = `(() => {
  const seen = (window.seen = { firstMs: undefined, longTasks: [], frames: 0, longestFrame: 0 })
  new PerformanceObserver((list) => seen.longTasks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: 'longtask', buffered: true })
  let last = performance.now()
  const look = () => {
    const now = performance.now()
    seen.frames++
    seen.longestFrame = Math.max(seen.longestFrame, now - last)
    last = now
    if (seen.firstMs === undefined && window.name !== '' && document.querySelector(window.name) !== null) seen.firstMs = now
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})()`

const print = (figure: string, value: number, unit: string, atMost?: number): void => {
  const shown = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
  const judged = atMost === undefined ? '' : value <= atMost ? `≤ ${atMost} | met` : `≤ ${atMost} | **not met**`
  console.log(`| ${figure} | ${shown} ${unit} | ${judged === '' ? ' | ' : judged} |`)
}

/** Asks from outside, since the page's policy allows no evaluation inside. */
async function until(page: Page, holds: string): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await page.evaluate<boolean>(holds))) {
    if (performance.now() > end) throw new Error(`after a minute it does not hold: ${holds}`)
    await sleep(50)
  }
}

/** Opens a path in a new page, and sees when this is there. */
async function open(
  context: BrowserContext,
  url: string,
  what: string,
): Promise<{ page: Page; cdp: CDPSession } & Seen> {
  const page = await context.newPage()
  await page.addInitScript(`window.name = ${JSON.stringify(what)}`)
  await page.addInitScript(watching)
  const cdp = await context.newCDPSession(page)
  // the processor's time, which other work on the machine does not lengthen
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  if (options.profile !== undefined) {
    await cdp.send('Profiler.enable')
    await cdp.send('Profiler.start')
  }
  await page.goto(url)
  await until(page, 'window.seen.firstMs !== undefined')
  await sleep(500)
  const seen = await page.evaluate<Seen>('window.seen')
  return { page, cdp, firstMs: seen.firstMs, cpuMs: await cpuOf(cdp), longTasks: seen.longTasks }
}

const longest = (tasks: readonly number[]): number => Math.max(0, ...tasks)

async function cpuOf(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value
}

/** Processor time that the server has used so far, in milliseconds. */
async function serverCpu(child: ChildProcess): Promise<number> {
  const told = once(child, 'message')
  child.send('cpu')
  const [used] = (await told) as [number]
  return used
}

async function heapOf(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = (await cdp.send('Runtime.getHeapUsage')) as { readonly usedSize: number }
  return megabytes(usedSize)
}

async function keepProfile(cdp: CDPSession, name: string): Promise<void> {
  if (options.profile === undefined) return
  const { profile } = await cdp.send('Profiler.stop')
  mkdirSync(options.profile, { recursive: true })
  writeFileSync(join(options.profile, `${name}.cpuprofile`), JSON.stringify(profile))
}

async function bench(): Promise<void> {
  setup()
  await inFolder(async (folder) => {
    const store = join(folder, 'reeve.db')
    let { child, served } = await started(store)
    const browser = await launchBrowser()
    try {
      const context = await browser.newContext({ viewport: { width: 1_360, height: 850 } })
      const entry = await context.newPage()
      await entry.goto(`${served.url}/#token=${people[0]!.token}`)
      await entry.getByText('live', { exact: true }).waitFor()
      await entry.close()
      console.log('| figure | value | budget | |\n|---|---|---|---|')
      await list(context, served.url)
      await largeRun(context, served.url, child)
      await stream(context, served.url, child)
      await reconnect(context, served, child, async () => {
        ;({ child, served } = await started(store, served.port))
      })
    } finally {
      await browser.close()
      child.kill('SIGKILL')
    }
  })
}

async function list(context: BrowserContext, url: string): Promise<void> {
  const seen: Seen[] = []
  for (let turn = 0; turn < turns; turn++) {
    const { page, cdp, ...each } = await open(context, `${url}/runs`, '.rows [role=row]')
    await keepProfile(cdp, `list-${turn}`)
    seen.push(each)
    await page.close()
  }
  print(
    `${Number(options.runs).toLocaleString('en')} runs: the first rows`,
    median(seen.map(({ firstMs }) => firstMs)),
    'ms',
    300,
  )
  print('… processor time of the tab', median(seen.map(({ cpuMs }) => cpuMs)), 'ms')
  print('… the longest task meanwhile', longest(seen.flatMap(({ longTasks }) => longTasks)), 'ms')
}

async function largeRun(context: BrowserContext, url: string, child: ChildProcess): Promise<void> {
  const before = await serverCpu(child)
  const first = await open(context, `${url}/runs/${large}`, '[role=treeitem]')
  await keepProfile(first.cdp, 'run-first')
  print('a run of 100,000 events opens, the first time after its server has started', first.firstMs, 'ms', 1_000)
  print('… processor time of the server', (await serverCpu(child)) - before, 'ms')
  print('… processor time of the tab', first.cpuMs, 'ms')
  await first.page.close()
  const tabs = [
    ['', '[role=treeitem]'],
    ['/timeline', '.run-timeline canvas'],
    ['/conversation', '.run-entry'],
    ['/cost', '.plain-table'],
    ['/journal', '.run-line'],
    ['/audit', '.run-framed, .run-bar'],
    ['/take-over', '.run-takeover'],
  ] as const
  for (const [tab, what] of tabs) {
    const seen: (Seen & { readonly heap: number })[] = []
    for (let turn = 0; turn < 3; turn++) {
      const { page, cdp, ...each } = await open(context, `${url}/runs/${large}${tab}`, what)
      await until(page, `document.querySelector('.spinner') === null`)
      await sleep(1_500)
      const { longTasks } = await page.evaluate<Seen>('window.seen')
      await keepProfile(cdp, `run${tab.replace('/', '-')}-${turn}`)
      seen.push({ ...each, longTasks, heap: await heapOf(cdp) })
      await page.close()
    }
    const name = tab === '' ? 'overview' : tab.slice(1)
    print(`… ${name}`, median(seen.map(({ firstMs }) => firstMs)), 'ms', 1_000)
    print(`… ${name}: processor time of the tab`, median(seen.map(({ cpuMs }) => cpuMs)), 'ms')
    print(`… ${name}: the longest task`, median(seen.map(({ longTasks }) => longest(longTasks))), 'ms')
    print(`… ${name}: heap of the tab`, median(seen.map(({ heap }) => heap)), 'MB', 200)
  }
}

async function stream(context: BrowserContext, url: string, child: ChildProcess): Promise<void> {
  child.send('begin')
  const talker = (await (
    await context.request.get(`${url}/api/runs/${large}/journal?family=activation&find=talker&from=0&limit=5`)
  ).json()) as {
    readonly rows: readonly { readonly activation: string; readonly agent: string }[]
  }
  const chosen = talker.rows.find((row) => row.agent === 'talker')!.activation
  for (const [name, tab] of [
    ['overview', ''],
    ['conversation', '/conversation'],
    ['timeline', '/timeline'],
  ] as const) {
    const { page, cdp } = await open(
      context,
      `${url}/runs/${large}${tab}?agent=${encodeURIComponent(chosen)}`,
      '[role=tabpanel] *',
    )
    await sleep(2_000)
    await page.evaluate('Object.assign(window.seen, { longTasks: [], frames: 0, longestFrame: 0 })')
    const [cpuBefore, began] = [await cpuOf(cdp), performance.now()]
    await sleep(Number(options.seconds) * 1_000)
    const took = (performance.now() - began) / 1_000
    const cpu = (await cpuOf(cdp)) - cpuBefore
    const seen = await page.evaluate<{ longTasks: readonly number[]; frames: number; longestFrame: number }>(
      'window.seen',
    )
    await keepProfile(cdp, `stream-${name}`)
    print(
      `${options.pieces} pieces a second, ${name}: tasks over 50 ms in ${options.seconds} s`,
      seen.longTasks.length,
      '',
      0,
    )
    print('… the longest task', longest(seen.longTasks), 'ms')
    print('… processor time of the tab for one second', cpu / took, 'ms')
    print('… frames a second', seen.frames / took, '')
    print('… heap of the tab', await heapOf(cdp), 'MB', 200)
    await page.close()
  }
}

async function reconnect(
  context: BrowserContext,
  { url }: Served,
  child: ChildProcess,
  again: () => Promise<void>,
): Promise<void> {
  const { page } = await open(context, `${url}/runs/${large}`, '[role=treeitem]')
  const ended = once(child, 'exit')
  const killed = performance.now()
  child.kill('SIGKILL')
  await ended
  await page.getByText('the server is away, reconnecting').waitFor()
  print('kill -9 of the server: the page says so after', performance.now() - killed, 'ms')
  await again()
  const back = performance.now()
  await page.getByText('the server is away, reconnecting').waitFor({ state: 'detached', timeout: 60_000 })
  print('… it is live again, once the server listens, after', performance.now() - back, 'ms')
  await page.close()
}

if (positionals[0] === 'serve') await serve(positionals[1]!, Number(positionals[2]))
else await bench()
