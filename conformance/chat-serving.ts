/** Servers under test: in this process, or in one of their own that is killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Agent, type Runtime } from '@reeve/public'
import { createServer, listen, type BearerTokens, type Protocol } from '@reeve/server'

export const tokenOf = (name: string): string => `token-of-${name}`.padEnd(24, '-')

/** Ann and Bob start and decide; Vic looks. */
export const auth: BearerTokens = {
  tokens: {
    [tokenOf('ann')]: { name: 'ann', roles: ['operator', 'approver'] },
    [tokenOf('bob')]: { name: 'bob', roles: ['operator', 'approver'] },
    [tokenOf('vic')]: { name: 'vic', roles: ['viewer'] },
  },
}

export const as = (name: string): Record<string, string> => ({ Authorization: `Bearer ${tokenOf(name)}` })

const open: (() => unknown)[] = []

/** Closes what the tests opened. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close()
}

/** A folder for a store, removed by `closeAll`. */
export function storeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-conformance-'))
  open.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'reeve.db')
}

/** A server in this process. */
export async function serving(
  agents: readonly Agent[],
  protocols: readonly Protocol[],
): Promise<{ readonly url: string; readonly runtime: Runtime; readonly errors: unknown[] }> {
  const runtime = await createRuntime({ store: storeFile(), agents })
  open.push(() => runtime.close())
  const errors: unknown[] = []
  const server = await listen(createServer({ runtime, auth, protocols, onError: (error) => errors.push(error) }), {
    port: 0,
  })
  open.push(() => server.close())
  return { url: server.url, runtime, errors }
}

/** A server in a process of its own (server-child.ts). */
export async function servedApart(
  store: string,
  port = 0,
): Promise<{ readonly url: string; readonly kill: () => Promise<void> }> {
  const file = new URL('server-child.ts', import.meta.url).pathname
  const child: ChildProcess = spawn(process.execPath, ['--no-warnings', file, store, String(port)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  open.push(kill)
  const [url] = (await once(child, 'message')) as [string]
  return { url, kill }
}
