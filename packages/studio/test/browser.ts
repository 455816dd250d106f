/** A real browser on a real server: both are started once for a file of tests, and ended after it. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { people } from './people.ts'

/** `REEVE_CHROMIUM` names another browser than that of Debian. */
const executablePath = process.env['REEVE_CHROMIUM'] ?? '/usr/bin/chromium'
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launchBrowser = (): Promise<Browser> => chromium.launch({ executablePath, args: flags })

/** The process that serves, on a store that outlives it. */
export class StudioServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'reeve-studio-'))
  #child: ChildProcess | undefined
  #port = 0
  url = ''

  /** Starts it, on the same port as before. */
  async start(): Promise<void> {
    const child = fork(
      join(import.meta.dirname, 'server-child.ts'),
      [join(this.#folder, 'reeve.db'), `${this.#port}`],
      {
        execArgv: ['--no-warnings'],
      },
    )
    this.#child = child
    const [{ url, port }] = (await Promise.race([once(child, 'message'), failedStart(child)])) as [
      { readonly url: string; readonly port: number },
    ]
    this.url = url
    this.#port = port
  }

  /** As a machine that loses its power: nothing is closed. */
  async kill(): Promise<void> {
    const child = this.#child!
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Calls a route as a person, without a browser; resolves to its answer. */
  async call(method: 'GET' | 'POST', path: string, body?: object, name = 'ann'): Promise<unknown> {
    const response = await fetch(`${this.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${people.find((person) => person.name === name)!.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Starts runs of an agent; their ids. */
  async run(
    agent: string,
    count = 1,
    caller: { readonly user?: string; readonly session?: string } = {},
  ): Promise<readonly string[]> {
    const { runs } = await this.#ask<{ readonly runs: readonly string[] }>({ start: agent, count, ...caller })
    return runs
  }

  /** Starts a run of an agent for each input; their ids. */
  async runEach(
    agent: string,
    inputs: readonly object[],
    caller: { readonly user?: string; readonly session?: string } = {},
  ): Promise<readonly string[]> {
    const { runs } = await this.#ask<{ readonly runs: readonly string[] }>({ start: agent, inputs, ...caller })
    return runs
  }

  /** Lets one agent of `crew.ts` through a door: the one that has waited longest there, or the next that comes. */
  async open(door: string): Promise<void> {
    await this.#ask({ open: door })
  }

  /** Resolves when an agent of a run has something of this name under way. */
  async waiting(run: string, name: string): Promise<void> {
    await this.#ask({ waiting: run, name })
  }

  /** Resolves when so many workers of a run have ended. */
  async settled(run: string, workers: number): Promise<void> {
    await this.#ask({ settled: run, workers })
  }

  /** Resolves when a run has ended. */
  async ended(run: string): Promise<void> {
    await this.#ask({ ended: run })
  }

  /** What agents of `chat-agents.ts` have really paid. */
  async paid(): Promise<readonly unknown[]> {
    return (await this.#ask<{ readonly paid: readonly unknown[] }>({ paid: 'all' })).paid
  }

  /** Cancels every run that has not ended. */
  async cancelAll(): Promise<void> {
    await this.#ask({ cancel: 'all' })
  }

  async #ask<T>(message: object): Promise<T> {
    const child = this.#child!
    const told = once(child, 'message') as Promise<[T & { readonly failed?: string }]>
    child.send(message)
    const [said] = await told
    if (said.failed !== undefined) throw new Error(said.failed)
    return said
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function failedStart(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number]
  throw new Error(`the server ended with ${code} before it listened`)
}

export interface View {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

/** A browser of one person, signed in; `problems` are what its console said. */
export interface Visit {
  readonly context: BrowserContext
  readonly page: Page
  readonly problems: string[]
}

/** Opens a path as a person, as `reeve studio` would: by a link with a token in its fragment. */
export async function visit(
  browser: Browser,
  server: StudioServer,
  path = '/',
  { name = 'ann', scheme = 'light', width = 1_280, height = 800 }: View & { readonly name?: string } = {},
): Promise<Visit> {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } })
  context.setDefaultTimeout(25_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  const { token } = people.find((person) => person.name === name)!
  await page.goto(`${server.url}${path}#token=${token}`)
  return { context, page, problems }
}

/** What axe finds wrong, a line each; empty if nothing. `within`: a selector of the part that is new. */
export async function axeProblems(page: Page, within?: string): Promise<readonly string[]> {
  const builder = new AxeBuilder({ page })
  const { violations } = await (within === undefined ? builder : builder.include(within)).analyze()
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  )
}
