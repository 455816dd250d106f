/** A server under test for official clients, with a key that opens it. Closed after each test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type RuntimeOptions } from 'reeve'
import { createServer, listen, type Protocol } from 'reeve/server'
import { afterEach } from 'vitest'

/** Lets in as an admin. */
export const token = 'the-token-of-the-conformance-tests'
export const auth = { tokens: { [token]: { name: 'ann', roles: ['admin'] as const } } }

const open: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Done after the test, the last one first. */
export const afterwards = (close: () => Promise<unknown> | void): void => void open.push(close)

/** A folder that is removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'reeve-conformance-'))
  afterwards(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Serves these agents over these protocols. */
export async function serve(
  agents: NonNullable<RuntimeOptions['agents']>,
  protocols: readonly Protocol[],
  origins: readonly string[] = [],
) {
  const runtime = await createRuntime({ store: join(folder(), 'reeve.db'), agents, strict: true })
  afterwards(() => runtime.close())
  const errors: unknown[] = []
  const { url, close } = await listen(
    createServer({ runtime, auth, protocols, origins, onError: (error) => errors.push(error) }),
    { port: 0 },
  )
  afterwards(close)
  return { runtime, url, errors }
}
