/**
 * Hostile clients of a server over the store that is tortured: they stall, send halves, break off, flood and guess.
 *
 * Owns: the clients, the process of the server, what went wrong with either. Does not own: the promises about runs
 * (audit.ts).
 * Holds: none of them may change anything: whatever is answered to a change is a refusal.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Principal } from '@reeve/server'
import type { Dice } from '../crash/kill/random.ts'

const childFile = fileURLToPath(new URL('./server-child.ts', import.meta.url))

/** Someone who may see everything and change nothing, and someone who may do everything in a tenant without runs. */
export const hostileTokens: Readonly<Record<string, Principal>> = {
  'token-of-the-hostile-viewer': { name: 'vic', roles: ['viewer'] },
  'token-of-the-hostile-tenant': { name: 'mallory', roles: ['admin'], tenant: 'nowhere' },
}
const [viewer, stranger] = Object.keys(hostileTokens) as [string, string]

export interface HostileOptions {
  readonly count: number
  /** Options of the engine as JSON. */
  readonly place: string
  readonly dice: Dice
  /** How many runs there are: they are called c0, c1, … */
  readonly runs: () => number
  /** Questions that were asked, by id. */
  readonly questions: () => readonly string[]
}

interface Said {
  readonly method?: string
  readonly path: string
  readonly token?: string
  readonly body?: object
  readonly headers?: string
}

export class Hostile {
  readonly problems: string[] = []
  readonly statuses: Record<string, number> = {}
  readonly #o: HostileOptions
  readonly #child: ChildProcess
  readonly #port: Promise<number>
  readonly #clients: Promise<void>[]
  readonly #open = new Set<Socket>()
  #over = false

  constructor(options: HostileOptions) {
    this.#o = options
    this.#child = spawn(process.execPath, [childFile, options.place], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child.on('exit', (code, signal) => {
      if (!this.#over) this.problems.push(`the server ended: ${code ?? signal}`)
    })
    this.#port = new Promise((resolve) => {
      this.#child.on('message', (message: { readonly port?: number; readonly error?: string }) => {
        if (message.port !== undefined) resolve(message.port)
        // the store is taken away now and then: that is told as what it is
        else if (!/Reeve|store|engine|aborted/i.test(message.error ?? ''))
          this.problems.push(`the server failed: ${message.error}`)
      })
    })
    const kinds = [
      () => this.#stall(),
      () => this.#sendHalf(),
      () => this.#breakOff(),
      () => this.#flood(),
      () => this.#guess(),
    ]
    this.#clients = Array.from({ length: options.count }, (_, i) => this.#attack(kinds[i % kinds.length]!))
  }

  /** Whether the server still answers, however slowly: true or false. */
  async answers(): Promise<boolean> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const status = await this.#ask({ path: '/api/me', token: viewer }).catch(() => 0)
      if (status === 200) return true
      await sleep(500)
    }
    return false
  }

  /** No client goes on; says whether the server answers a caller after all this. */
  async end(): Promise<void> {
    this.#over = true
    for (const socket of this.#open) socket.destroy()
    await Promise.all(this.#clients)
    if (!(await this.answers())) this.problems.push('the server does not answer any more')
  }

  async close(): Promise<void> {
    this.#over = true
    for (const socket of this.#open) socket.destroy()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  async #attack(kind: () => Promise<void>): Promise<void> {
    await this.#port
    while (!this.#over) {
      try {
        await kind()
      } catch {
        // a connection that is cut is what it is about
        await sleep(20)
      }
    }
  }

  /** Opens a stream, or asks for a whole journal, and reads nothing. */
  async #stall(): Promise<void> {
    const socket = await this.#send({ path: this.#one(this.#reads()), token: viewer })
    socket.pause()
    await this.#wait(500, 8_000)
    socket.destroy()
  }

  /** Sends a head, and half of a body. */
  async #sendHalf(): Promise<void> {
    const path = this.#one(['/api/session', '/api/runs', `/api/runs/${this.#run()}/messages`])
    const socket = await this.#send({
      method: 'POST',
      path,
      token: this.#one([viewer, stranger]),
      headers: 'Content-Length: 1000000\r\n',
    })
    socket.write('{"token":"'.padEnd(this.#o.dice.between(1, 500_000), 'x'))
    await this.#wait(200, 6_000)
    socket.destroy()
  }

  /** Asks for much, and leaves at once. */
  async #breakOff(): Promise<void> {
    const socket = await this.#send({ path: this.#one(this.#reads()), token: viewer })
    await this.#wait(0, 30)
    socket.destroy()
  }

  /** Asks twenty things at once, over and over. */
  async #flood(): Promise<void> {
    const asked = Array.from({ length: 20 }, () =>
      this.#ask({ path: this.#one(this.#reads()), token: this.#one([viewer, stranger]) }),
    )
    await Promise.allSettled(asked)
    await this.#wait(10, 100)
  }

  /** Tries to change what is not theirs. */
  async #guess(): Promise<void> {
    const run = this.#run()
    const question = this.#one([...this.#o.questions(), 'apr_none'])
    const token = this.#one([viewer, stranger, 'wrong-token-wrong-token-wrong'])
    const change = this.#one<Said>([
      { path: `/api/approvals/${question}/decision`, body: { decision: 'approve' } },
      { path: `/api/interrupts/${question}/answer`, body: { value: 'yes' } },
      { path: `/api/questions/${question}/settle`, body: { happened: true } },
      { path: `/api/approvals/${question}/link`, body: { approver: 'mallory' } },
      { path: `/api/runs/${run}/cancel`, body: {} },
      { path: `/api/runs/${run}/pause`, body: {} },
      { path: `/api/runs/${run}/fork`, body: {} },
      { path: `/api/runs/${run}/messages`, body: { to: `act_${run}`, message: { type: '$stop', by: 'operator' } } },
      { method: 'DELETE', path: `/api/runs/${run}` },
      { path: `/api/links/${'A'.repeat(43)}`, body: { decision: 'approve' } },
    ])
    const status = await this.#ask({ method: 'POST', ...change, token })
    if (status >= 200 && status < 300) this.problems.push(`${change.path} by ${token}: ${status}`)
  }

  #reads(): readonly string[] {
    const run = this.#run()
    return [
      '/api/changes',
      '/api/questions',
      '/api/runs?limit=1000',
      '/api/sessions',
      ...[
        '',
        '/feed',
        '/live',
        '/events?limit=1000',
        '/audit',
        '/journal?find=a',
        '/spans',
        '/conversation',
        `/diff/${this.#run()}`,
      ].map((path) => `/api/runs/${run}${path}`),
    ]
  }

  async #send({ method = 'GET', path, token, body, headers = '' }: Said): Promise<Socket> {
    const socket = connect(await this.#port, '127.0.0.1')
    this.#open.add(socket)
    socket.on('error', () => {}).on('close', () => this.#open.delete(socket))
    const said = body === undefined ? '' : JSON.stringify(body)
    const length = said === '' ? '' : `Content-Length: ${said.length}\r\n`
    const credential = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${await this.#port}\r\n${credential}Content-Type: application/json\r\n${length}${headers}\r\n${said}`,
    )
    return socket
  }

  /** The status of an answer; its body is not read to its end. */
  async #ask(said: Said): Promise<number> {
    const socket = await this.#send(said)
    try {
      const [head] = (await once(socket, 'data', { signal: AbortSignal.timeout(10_000) }).catch((thrown: unknown) => {
        this.#count('no answer')
        throw thrown
      })) as [Buffer]
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head.toString('latin1'))?.[1] ?? 0)
      this.#count(status)
      if (status >= 500 && status !== 503) this.problems.push(`${said.path}: ${status}`)
      return status
    } finally {
      socket.destroy()
    }
  }

  #count(met: number | string): void {
    this.statuses[met] = (this.statuses[met] ?? 0) + 1
  }

  #run(): string {
    return `c${this.#o.dice.between(0, Math.max(0, this.#o.runs() - 1))}`
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#o.dice.between(0, of.length - 1)]!
  }

  async #wait(least: number, most: number): Promise<void> {
    for (const until = Date.now() + this.#o.dice.between(least, most); Date.now() < until && !this.#over;)
      await sleep(20)
  }
}
