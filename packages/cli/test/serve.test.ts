/** `reeve serve`: a server as a process of its own: how it begins, what it lets happen to it, how it ends (K1). */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { once } from 'node:events'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sentEvents } from '../../server/test/serving.ts'
import { begin, reeve, type Ended } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder = ''
const children = new Set<ChildProcess>()
const sockets = new Set<Socket>()
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-serve-')))
  const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
  await writeFile(
    join(folder, 'reeve.config.ts'),
    `import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { agent, step } from ${source}
const note = (text: string) => appendFileSync(new URL('./notes', import.meta.url), text + '\\n')
export const store = './own.db'
export const agents = [
  agent({ name: 'slow', description: 'Posts a letter.', run: async (ctx) => {
    await step(ctx, 'post', async () => {
      note('begun')
      while (!existsSync(new URL('./may-post', import.meta.url))) await later(5)
      note('posted')
    }, { effect: 'once' })
    await step(ctx, 'file', () => 'in the folder')
    return 'filed'
  } }),
]
`,
  )
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const socket of sockets) socket.destroy()
  children.clear()
  sockets.clear()
  await rm(folder, { recursive: true, force: true })
})

interface Serving {
  readonly child: ChildProcess
  readonly url: string
  readonly port: number
  readonly headers: Record<string, string>
  readonly ended: Promise<Ended>
}

/** A server that says where it is. */
function serve(...args: string[]): Promise<Serving> {
  return new Promise((resolve, reject) => {
    let served: { readonly child: ChildProcess; readonly api: string; readonly token: string } | undefined
    const ended = begin(folder, ['serve', '--port', '0', ...args], (out, child) => {
      children.add(child)
      const api = /API +(\S+)/.exec(out)?.[1]
      const token = /token +(\S+)/.exec(out)?.[1]
      if (served !== undefined || api === undefined || token === undefined || !out.includes('Ctrl-C')) return
      served = { child, api, token }
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      resolve({ child, url: api, port: Number(new URL(api).port), headers, ended })
    })
    ended.then(({ out, err }) => reject(new Error(`it ended: ${out}${err}`)), reject)
  })
}

const start = ({ url, headers }: Serving, runId: string): Promise<Response> =>
  fetch(`${url}/runs`, { method: 'POST', headers, body: JSON.stringify({ agent: 'slow', input: 'go', runId }) })
/** Lets the letter go that its step has in hand. */
const mayPost = (): Promise<void> => writeFile(join(folder, 'may-post'), '')
/** Resolves when it takes no request any more. */
const refuses = ({ url, headers }: Serving): Promise<void> =>
  vi.waitFor(
    () =>
      fetch(url, { headers }).then(
        () => Promise.reject(new Error('open')),
        () => {},
      ),
    25_000,
  )
const notes = async (): Promise<string> => readFile(join(folder, 'notes'), 'utf8').catch(() => '')

describe('it ends', () => {
  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const)(
    'K1: by %s: streams end, the step in hand is finished, its run is parked and goes on with the next server',
    async (signal, code) => {
      const first = await serve()
      expect((await start(first, 'r1')).status).toBe(201)
      const stream = sentEvents(await fetch(`${first.url}/runs/r1/feed`, { headers: first.headers }))
      const reading = (async () => {
        const types: unknown[] = []
        for await (const { data } of stream) types.push((data as { readonly type: string }).type)
        return types
      })()
      await vi.waitFor(async () => expect(await notes()).toBe('begun\n'), 25_000)
      first.child.kill(signal)
      await refuses(first)
      await mayPost()
      const ended = await first.ended
      expect({ code: ended.code, signal: ended.signal }).toEqual({ code, signal: null })
      expect(ended.err).toContain('The server stops')
      expect(await reading).not.toContain('end')
      expect(await notes()).toBe('begun\nposted\n')
      const second = await serve()
      await vi.waitFor(async () => {
        const answer = await fetch(`${second.url}/runs/r1/outcome`, { headers: second.headers })
        expect(await answer.json()).toMatchObject({ outcome: { status: 'completed', output: 'filed' } })
      }, 25_000)
      expect(await notes()).toBe('begun\nposted\n')
    },
  )

  test('a second signal does not wait for the step in hand', async () => {
    const first = await serve()
    await start(first, 'r1')
    await vi.waitFor(async () => expect(await notes()).toBe('begun\n'), 25_000)
    first.child.kill('SIGINT')
    await refuses(first)
    first.child.kill('SIGINT')
    await first.ended
    // it was cut off: whether the letter was posted is a question
    expect(await notes()).toBe('begun\n')
    const second = await serve()
    await vi.waitFor(async () => {
      const answer = await fetch(`${second.url}/questions`, { headers: second.headers })
      expect(await answer.json()).toMatchObject({ items: [{ kind: 'in-doubt', run: 'r1' }] })
    }, 25_000)
  })
})

describe('it is let alone', () => {
  test('a thousand connections that never finish a request keep nobody from it, and do not keep it from ending', async () => {
    const served = await serve()
    const open = Array.from({ length: 1_000 }, async () => {
      const socket = connect(served.port, '127.0.0.1')
      sockets.add(socket)
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write('POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nX-Slow: ')
    })
    await Promise.all(open)
    const answer = await fetch(`${served.url}/runs`, { headers: served.headers })
    expect(answer.status).toBe(200)
    served.child.kill('SIGTERM')
    expect((await served.ended).code).toBe(0)
  })

  test('a port that is taken, and one that none has: said in a line, nothing opened', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const taken = await reeve(folder, 'serve', '--port', String(port))
    other.close()
    expect(taken.code).toBe(2)
    expect(taken.err).toContain(`cannot listen on 127.0.0.1:${port}`)
    expect(taken.err).toContain('Choose another port')
    expect(taken.err).not.toContain('    at ')
    const none = await reeve(folder, 'serve', '--port', '70000')
    expect(none.code).toBe(2)
    expect(none.err).not.toContain('    at ')
  })

  test('an address that others reach, without authentication: refused', async () => {
    const { code, err } = await reeve(folder, 'serve', '--port', '0', '--host', '0.0.0.0')
    expect(code).toBe(2)
    expect(err).toContain('there is no authentication')
  })
})
