/** Bounds for each caller and each moment: bodies, names, pages, streams. */
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { area, holds, short } from '../attack.ts'
import { tokenOf, type Person } from '../people.ts'
import { send, statusOf, until, type Answer, type World } from '../world.ts'

/** What this thread has worked so far, in milliseconds of the processor: a busy machine makes no difference. */
function worked(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** How much of the processor something took, in milliseconds, with what its caller took. */
async function work(what: () => Promise<unknown>): Promise<number> {
  const before = worked()
  await what()
  return worked() - before
}

/** The longest work during which nothing else could be answered, in milliseconds of the processor. */
async function longestSilence(what: () => Promise<unknown>): Promise<number> {
  let last = worked()
  let longest = 0
  const look = (): void => {
    const now = worked()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 5)
  await what()
  clearInterval(timer)
  look()
  return longest
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What is held after a collection, in MB. */
function memory(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

const million = 900_000

/** What is named by each protocol in a body, far too long. */
const longNames: Readonly<Record<string, (world: World, name: string) => Promise<Answer>>> = {
  'session-member': (world, name) => world.post(undefined, '/session', { [name]: 1 }),
  'start-member': (world, name) => world.post('alice', '/runs', { agent: 'echo', input: 'x', [name]: 1 }),
  'start-agent': (world, name) => world.post('alice', '/runs', { agent: name, input: 'x' }),
  'start-limits': (world, name) => world.post('alice', '/runs', { agent: 'echo', input: 'x', limits: { [name]: 1 } }),
  'start-versions': (world, name) =>
    world.post('alice', '/runs', { agent: 'echo', input: 'x', versions: { [name]: name } }),
  'start-values': (world, name) =>
    world.post('alice', '/runs', { agent: 'echo', input: 'x', session: 's', values: { [name]: 1 } }),
  'start-metadata': (world, name) =>
    world.post('alice', '/runs', { agent: 'echo', input: 'x', metadata: { [name]: 1 } }),
  'start-run-id': (world, name) => world.post('alice', '/runs', { agent: 'echo', input: 'x', runId: name }),
  'start-session': (world, name) => world.post('alice', '/runs', { agent: 'echo', input: 'x', session: name }),
  'fork-edit': async (world, name) => world.post('alice', `/runs/${await ended(world)}/fork`, { edit: { type: name } }),
  'fork-member': async (world, name) =>
    world.post('alice', `/runs/${await ended(world)}/fork`, { edit: { type: 'input', input: 1, [name]: 1 } }),
  'openai-model': (world, name) => world.say('openai', 'alice', name),
  'openai-role': (world, name) =>
    world.say('openai', 'alice', 'echo', { more: { messages: [{ role: name, content: 'x' }] } }),
  'responses-model': (world, name) => world.say('responses', 'alice', name),
  'responses-previous': (world, name) =>
    world.say('responses', 'alice', 'echo', { more: { previous_response_id: `resp_${name}` } }),
  'responses-item': (world, name) => world.say('responses', 'alice', 'echo', { more: { input: [{ type: name }] } }),
  'chat-agent': (world, name) => world.say('chat', 'alice', name),
  'chat-id': (world, name) => world.say('chat', 'alice', 'echo', { session: name }),
  'chat-role': (world, name) =>
    world.say('chat', 'alice', 'echo', { more: { messages: [{ id: 'm', role: name, parts: [] }] } }),
  'ag-ui-thread': (world, name) => world.say('ag-ui', 'alice', 'echo', { session: name }),
  'ag-ui-interrupt': (world, name) =>
    world.say('ag-ui', 'alice', 'echo', {
      more: { messages: [], resume: [{ interruptId: name, status: 'resolved' }] },
    }),
  'a2a-method': (world, name) => world.a2a('alice', 'echo', name, {}),
  'a2a-task': (world, name) => world.a2a('alice', 'echo', 'GetTask', { id: name }),
  'a2a-context': (world, name) => world.say('a2a', 'alice', 'echo', { session: name }),
  'mcp-tool': (world, name) => world.mcp('alice', name, {}),
  'mcp-method': (world, name) => world.mcpMethod('alice', name, {}),
  'mcp-agent': (world, name) => world.mcp('alice', 'start_run', { agent: name, input: 'x' }),
  'mcp-argument': (world, name) => world.mcp('alice', 'start_run', { agent: 'echo', input: 'x', [name]: 1 }),
  'mcp-run': (world, name) => world.mcp('alice', 'run_status', { run: name }),
  'decision-member': async (world, name) => {
    const { id } = await world.asked('alice', 'payer')
    return world.post('amy', `/approvals/${id}/decision`, { decision: 'approve', [name]: 1 })
  },
  'decision-grant': async (world, name) => {
    const { id } = await world.asked('alice', 'poster')
    return world.post('amy', `/approvals/${id}/decision`, { decision: 'approve', grant: name })
  },
  'batch-agent': (world, name) => world.post('alice', '/batches', { verb: 'retry', filter: { [name]: 1 } }),
}

async function ended(world: World): Promise<string> {
  const run = await world.start('alice', 'echo')
  await world.rest(run)
  return run
}

/** Every stream that a caller can open: what it asks. */
const streams: Readonly<
  Record<string, (run: string) => { readonly path: string; readonly method?: string; readonly body?: unknown }>
> = {
  feed: (run) => ({ path: `/api/runs/${run}/feed` }),
  live: (run) => ({ path: `/api/runs/${run}/live` }),
  changes: () => ({ path: '/api/changes' }),
  chat: () => ({ path: '/chat/s1/stream' }),
  responses: (run) => ({ path: `/v1/responses/${run.replace('run_', 'resp_')}?stream=true` }),
  a2a: (run) => ({
    path: '/a2a/chatty',
    method: 'POST',
    body: { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: run } },
  }),
  'ag-ui': () => ({
    path: '/ag-ui/chatty',
    method: 'POST',
    body: { threadId: 's1', runId: 'r', messages: [], resume: [{ interruptId: 'x', status: 'resolved' }] },
  }),
}

/** Sends a request on a socket of its own, and reads nothing of the answer. */
function stalled(world: World, who: Person, request: ReturnType<(typeof streams)[string]>): () => void {
  const { path, method = 'GET', body } = request
  const said = body === undefined ? '' : JSON.stringify(body)
  const socket = connect(world.server.port, '127.0.0.1')
  socket.on('error', () => {}).pause()
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${tokenOf(who)}\r\nA2A-Version: 1.0\r\n${
      said === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(said)}\r\n`
    }\r\n${said}`,
  )
  return () => socket.destroy()
}

export const bounds = area('Bounds for each caller and moment', [
  ...Object.entries(longNames).map(([where, send]) => ({
    id: `long-name-${where}`,
    holds: `A name of 900,000 characters costs little and is not sent back whole (${where}).`,
    async run(world: World) {
      await send(world, 'echo') // what is loaded at first use is loaded
      world.errors.length = 0
      let answer: Answer | undefined
      const name = 'echox'.repeat(million / 5)
      const ms = await work(async () => {
        answer = await send(world, name)
      })
      holds(answer!.status < 500, `${answer!.status} ${short(answer!.text)}`)
      holds(answer!.text.length < 20_000, `the answer has ${answer!.text.length} characters`)
      holds(ms < 400, `it took ${Math.round(ms)} ms of the processor`)
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  })),
  ...(['session', 'runs', 'metadata', 'values', 'versions', 'a2a', 'mcp', 'chat', 'openai'] as const).map((where) => ({
    id: `many-members-${where}`,
    holds: `A body of 60,000 members does not hold up the others for long (${where}).`,
    async run(world: World) {
      const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, i]))
      const send = {
        session: () => world.post(undefined, '/session', many),
        runs: () => world.post('alice', '/runs', { agent: 'echo', input: 'x', ...many }),
        metadata: () => world.post('alice', '/runs', { agent: 'echo', input: 'x', metadata: many }),
        values: () => world.post('alice', '/runs', { agent: 'echo', input: 'x', session: 's', values: many }),
        versions: () => world.post('alice', '/runs', { agent: 'echo', input: 'x', versions: many }),
        a2a: () => world.a2a('alice', 'echo', 'SendMessage', many),
        mcp: () => world.mcp('alice', 'start_run', { agent: 'echo', input: 'x', ...many }),
        chat: () =>
          world.ask('anton', 'POST', '/chat', {
            id: 'c',
            messages: [{ id: 'm', role: 'assistant', parts: [] }],
            answers: many,
          }),
        openai: () => world.say('openai', 'alice', 'echo', { more: many }),
      }[where]
      let answer: Answer | undefined
      const silence = await longestSilence(async () => {
        answer = await send()
      })
      holds(answer!.status < 500, `${answer!.status} ${short(answer!.text)}`)
      holds(answer!.text.length < 20_000, `the answer has ${answer!.text.length} characters`)
      holds(silence < 1_000, `nobody else was answered for ${Math.round(silence)} ms`)
    },
  })),
  {
    id: 'body-deep',
    holds: 'A body that nests 500,000 levels is refused on every door.',
    async run(world) {
      const deep = '['.repeat(450_000) + ']'.repeat(450_000)
      for (const [who, path] of [
        [undefined, '/api/session'],
        ['alice', '/api/runs'],
        ['alice', '/v1/chat/completions'],
        ['alice', '/v1/responses'],
        ['alice', '/chat'],
        ['alice', '/ag-ui/echo'],
        ['alice', '/a2a/echo'],
        ['alice', '/a2a/echo/message:send'],
        ['alice', '/mcp'],
      ] as const) {
        for (const body of [deep, `{"agent":"echo","input":${deep}}`]) {
          const answer = await world.ask(who, 'POST', path, body, {
            'A2A-Version': '1.0',
            Accept: 'application/json, text/event-stream',
          })
          holds(answer.status < 500, `${path}: ${answer.status}`)
        }
      }
      holds((await world.runtime.runs()).length === 0, 'a run was started')
    },
  },
  {
    id: 'body-too-large',
    holds: 'A body above the limit is refused on every door, with and without its length.',
    async run(world) {
      for (const path of ['/api/session', '/api/runs', '/v1/responses', '/chat', '/ag-ui/echo', '/a2a/echo', '/mcp']) {
        const response = await fetch(world.server.url + path, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${tokenOf('alice')}`,
            'Content-Type': 'application/json',
            'A2A-Version': '1.0',
          },
          body: new ReadableStream({
            pull: (controller) => controller.enqueue(Buffer.alloc(65_536, 0x20)),
          }),
          duplex: 'half',
          signal: AbortSignal.timeout(10_000),
        }).catch(() => undefined)
        await response?.text().catch(() => undefined)
        holds(
          response === undefined || response.status === 413 || response.status === 200,
          `${path}: ${response?.status}`,
        )
      }
    },
  },
  {
    id: 'body-of-stranger-small',
    holds: 'Of the body of a caller without a credential no more is read than a token needs.',
    async run(world) {
      const answer = await world.post(undefined, '/session', { token: 'x'.repeat(500_000) })
      holds(answer.status === 413 || answer.status === 400 || answer.status === 401, `${answer.status}`)
      const before = memory()
      const closers = Array.from({ length: 40 }, () => halfSent(world, 900_000))
      await until(async () => (await world.get(undefined, '/health')).status === 200)
      await new Promise((resolve) => setTimeout(resolve, 300))
      const grown = memory() - before
      for (const close of closers) close()
      holds(grown < 20, `40 strangers hold ${Math.round(grown)} MB`)
    },
  },
  {
    id: 'body-left-unfinished-is-no-error',
    holds: 'A caller who breaks off an upload is not reported as an error of the server.',
    async run(world) {
      for (let i = 0; i < 5; i++) {
        const close = halfSent(world, 1_000)
        await new Promise((resolve) => setTimeout(resolve, 50))
        close()
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
      await world.get('ada', '/me')
      holds(world.errors.length === 0, `${world.errors.length} errors: ${String(world.errors[0])}`)
    },
  },
  {
    id: 'bodies-in-flight',
    needs: 'load',
    // how long others wait is measured by `npm run bench:server`: here the senders work in the same process
    holds: '800 half-sent bodies of strangers hold less than 100 MB.',
    async run(world) {
      const before = memory()
      const closers = Array.from({ length: 800 }, () => halfSent(world, 983_040))
      const end = performance.now() + 6_000
      while (performance.now() < end) await world.get('ada', '/me').catch(() => undefined)
      const grown = memory() - before
      for (const close of closers) close()
      holds(grown < 100, `${Math.round(grown)} MB`)
    },
  },
  {
    id: 'body-compressed',
    holds: 'A body that says it is compressed is not unpacked.',
    async run(world) {
      for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'identity, gzip']) {
        const answer = await world.post(
          'alice',
          '/runs',
          { agent: 'echo', input: 'x' },
          { 'Content-Encoding': encoding },
        )
        holds(answer.status === 400 || answer.status === 415, `${encoding}: ${answer.status}`)
      }
    },
  },
  {
    id: 'query-filters',
    holds: 'Hundreds of filters in a query are answered or refused; the store is not asked what it cannot answer.',
    async run(world) {
      const run = await world.start('alice', 'echo', 'x', { metadata: { a: 1 } })
      await world.rest(run)
      for (const query of [
        Array.from({ length: 700 }, (_, i) => `metadata.a${i}=1`).join('&'),
        Array.from({ length: 700 }, () => 'status=running').join('&'),
        `status=${Array.from({ length: 1_500 }, () => 'running').join(',')}`,
        `metadata.${'a'.repeat(12_000)}=1`,
        `metadata.a=${'['.repeat(5_000)}${']'.repeat(5_000)}`,
        `metadata.a=${'9'.repeat(5_000)}`,
        'metadata.a=1e999',
        'metadata.=1',
        'metadata.__proto__=1',
        "metadata.a'%22$[0].b=1",
        'metadata.a%00b=1',
        'metadata.a=%22%5Cud800%22',
        `after=${'A'.repeat(12_000)}`,
        `user=${'%F0%9F%92%A9'.repeat(200)}`,
        'since=1e308&before=-1e308',
        'since=0.1&before=0.2&usdFrom=1e-320',
      ]) {
        const silence = await longestSilence(async () => {
          const answer = await world.get('alice', `/runs?${query}`)
          holds(answer.status < 500, `${short(query, 60)}: ${answer.status} ${short(answer.text)}`)
        })
        holds(silence < 1_000, `${short(query, 60)}: nobody else was answered for ${Math.round(silence)} ms`)
      }
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  },
  {
    id: 'query-search',
    holds: 'A search in a journal takes any text as a text.',
    async run(world) {
      const run = await ended(world)
      for (const find of ['(a+)+$', '%', '_', "'", '"', '\\', '\u0000', '\ud800', '*', '['.repeat(200)]) {
        const answer = await world.get('alice', `/runs/${run}/journal?find=${encodeURIComponent(find.toWellFormed())}`)
        holds(answer.status < 500, `${find}: ${answer.status}`)
      }
    },
  },
  ...(
    ['events?limit=1000', 'conversation?limit=500', 'audit', 'spans', 'journal?limit=500', '', 'diff/{run}'] as const
  ).map((path) => ({
    id: `page-bytes-${path.replace(/\W.*/, '') || 'view'}`,
    holds: `What is sent of a run of 10 MB at once is bounded in bytes (${path === '' ? 'its view' : path}).`,
    async run(world: World) {
      const { run } = await world.asked('alice', 'chatty')
      let answer: Answer | undefined
      const silence = await longestSilence(async () => {
        answer = await world.get('avery', `/runs/${run}${path === '' ? '' : `/${path.replace('{run}', run)}`}`)
      })
      holds(answer!.status === 200, `${answer!.status}`)
      holds(answer!.text.length < 5_000_000, `${(answer!.text.length / 1e6).toFixed(1)} MB`)
      holds(silence < 1_000, `nobody else was answered for ${Math.round(silence)} ms`)
    },
  })),
  ...Object.entries(streams).map(([name, request]) => ({
    id: `stalled-${name}`,
    holds: `Readers who take nothing hold little of a run of 10 MB, and hold nobody up (${name}).`,
    needs: 'load' as const,
    async run(world: World) {
      const { run, id } = await world.asked('anton', 'chatty', 'x', { session: 's1' })
      await world.get('anton', `/runs/${run}`)
      const asked = request(run)
      const fixed =
        name === 'ag-ui'
          ? { ...asked, body: JSON.parse(JSON.stringify(asked.body).replace('"x"', JSON.stringify(id))) as unknown }
          : asked
      const before = memory()
      const closers = Array.from({ length: 60 }, () => stalled(world, 'anton', fixed))
      let worst = 0
      const end = performance.now() + 4_000
      while (performance.now() < end) {
        const begin = performance.now()
        await world.ask(undefined, 'GET', '/api/health').catch(() => undefined)
        worst = Math.max(worst, performance.now() - begin)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const grown = memory() - before
      for (const close of closers) close()
      holds(grown < 150, `60 readers hold ${Math.round(grown)} MB`)
      holds(worst < 1_000, `GET /health waited ${Math.round(worst)} ms`)
    },
  })),
  {
    id: 'streams-counted',
    holds: 'Streams of one principal are counted over all routes and protocols, and given back when they end.',
    async run(world) {
      const server = await world.serve({ limits: { streams: 5 } })
      const controller = new AbortController()
      const { signal } = controller
      const token = tokenOf('alice')
      const open = (path: string): Promise<Response> =>
        send(server.url + path, { token, headers: { 'A2A-Version': '1.0' }, signal })
      const run = await world.start('alice', 'asker', 'x', { session: 's1' })
      await world.rest(run)
      const subscribe = `/a2a/asker/tasks/${run}:subscribe`
      for (const path of ['/api/changes', `/api/runs/${run}/feed`, `/api/runs/${run}/live`, subscribe, subscribe]) {
        const { status } = await open(path)
        holds(status === 200, `${path}: ${status}`)
      }
      for (const path of ['/api/changes', `/api/runs/${run}/feed`, subscribe])
        holds((await open(path)).status === 429, `a sixth was opened: ${path}`)
      controller.abort()
      await until(async () => (await statusOf(`${server.url}/api/changes`, { token })) === 200, 'streams given back')
    },
  },
  {
    id: 'waits-counted',
    holds: 'Requests of one principal that wait for the end of a run are counted as their streams are.',
    async run(world) {
      const server = await world.serve({ limits: { streams: 5 } })
      const run = await world.start('alice', 'asker')
      await world.rest(run)
      const controller = new AbortController()
      const statuses: number[] = []
      const waiting = Array.from({ length: 30 }, async () => {
        const { status } = await send(`${server.url}/api/runs/${run}/outcome?waitMs=60000`, {
          token: tokenOf('alice'),
          signal: controller.signal,
        }).catch(() => ({ status: 0 }))
        statuses.push(status)
      })
      await world.ask('alice', 'GET', '/api/me', undefined, {}, server)
      await new Promise((resolve) => setTimeout(resolve, 500))
      const refused = statuses.filter((status) => status === 429).length
      controller.abort()
      await Promise.all(waiting)
      holds(refused >= 20, `${30 - refused} of 30 wait at once`)
    },
  },
  {
    id: 'last-event-id',
    holds: 'A strange `Last-Event-ID` or position is refused, or is a position, on every stream.',
    async run(world) {
      const run = await ended(world)
      for (const id of [
        '-1',
        '1e5',
        '999999999999999',
        '9999999999999999',
        '0x10',
        '5, 6',
        'NaN',
        '__proto__',
        'x'.repeat(8_000),
        '0',
        '2',
        '1.5',
      ])
        for (const path of [`/api/runs/${run}/feed`, `/api/runs/${run}/live`, '/api/changes']) {
          const controller = new AbortController()
          const { status } = await send(world.server.url + path, {
            token: tokenOf('alice'),
            headers: { 'Last-Event-ID': id },
            signal: controller.signal,
          })
          controller.abort()
          holds(status < 500, `${path} ${short(id, 20)}: ${status}`)
        }
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  },
  {
    id: 'rate-by-principal',
    holds: 'A principal who asks too often is told to wait, and nobody else is.',
    async run(world) {
      const server = await world.serve({ limits: { requestsPerSecond: 1, burst: 20 } })
      const statuses: number[] = []
      for (let i = 0; i < 40; i++)
        statuses.push((await world.ask('alice', 'GET', '/api/me', undefined, {}, server)).status)
      holds(statuses.includes(429), 'nobody is told to wait')
      holds((await world.ask('gina', 'GET', '/api/me', undefined, {}, server)).status === 200, 'another tenant is')
    },
  },
  {
    id: 'journal-long',
    needs: 'load',
    holds: 'A run of 10,000 steps is viewed, diffed and audited while others are answered within 250 ms.',
    async run(world) {
      const run = await world.start('ada', 'lengthy')
      await world.rest(run, 110_000)
      for (const path of [
        '',
        '/control',
        '/delegations',
        '/audit',
        '/takeover-context',
        `/diff/${run}`,
        '/spans',
        '/journal?find=zzz',
      ]) {
        let status = 0
        const silence = await longestSilence(async () => {
          status = (await world.ask('vic', 'GET', `/api/runs/${run}${path}`)).status
        })
        holds(status === 200, `${path}: ${status}`)
        holds(silence < 250, `${path}: nobody else was answered for ${Math.round(silence)} ms`)
      }
    },
  },
])

/** One for all senders: what they have not sent yet is not what the server holds. */
const filler = Buffer.alloc(1_000_000, 0x20)

/** Begins a body of a stranger, and stops. Returns how the connection is closed. */
function halfSent(world: World, bytes: number): () => void {
  const socket = connect(world.server.port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  socket.write(
    `POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 10}\r\n\r\n`,
  )
  socket.write(filler.subarray(0, bytes))
  return () => socket.destroy()
}
