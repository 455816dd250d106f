/** The client over the death of its server: a real process, killed with SIGKILL while its stream is read. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createRuntime } from 'reeve'
import { createClient, type StreamState } from 'reeve/client'

const alive = new Set<ChildProcess>()
const folders: string[] = []
afterEach(async () => {
  for (const child of alive) await killed(child)
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function killed(child: ChildProcess): Promise<void> {
  alive.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Resolves to the process and where it is reached. */
async function served(store: string, port: number): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const file = new URL('server-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--no-warnings', file, store, String(port)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  alive.add(child)
  const [url] = (await once(child, 'message')) as [string]
  return { child, url }
}

test(
  'K9: a server is killed twice while its feed is read: nothing twice, nothing missing',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-client-'))
    folders.push(folder)
    const store = join(folder, 'reeve.db')
    const { child: first, url } = await served(store, 0)
    let child = first
    const { port } = new URL(url)
    const client = createClient({ baseUrl: url, token: 'a-token-of-the-test-of-the-client' })
    const run = await client.runs.start('author', 'a book', { runId: 'book' })
    const outcome = run.outcome()
    const states: StreamState[] = []
    const count = (wanted: StreamState): number => states.filter((state) => state === wanted).length
    const seen: number[] = []
    let kills = 0
    let sinceOpen = 0
    const onState = (state: StreamState): void => {
      states.push(state)
      sinceOpen = 0
    }
    for await (const { position } of run.events({ onState })) {
      seen.push(position)
      // what was received before it died is still read
      if (++sinceOpen < 5 || kills === 2 || count('open') <= kills) continue
      kills++
      await killed(child)
      child = (await served(store, Number(port))).child
    }
    expect(await outcome).toMatchObject({ status: 'completed', output: '30 chapters' })
    await killed(child)
    await using runtime = await createRuntime({ store, drive: false })
    const recorded: number[] = []
    for await (const { position } of runtime.handle('book').events()) recorded.push(position)
    expect(seen).toEqual(recorded)
    expect(kills).toBe(2)
    expect(count('open')).toBeGreaterThanOrEqual(2)
  },
)

test(
  'K2: a server is killed while its run waits for the client: the same call is run, once',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-client-'))
    folders.push(folder)
    const store = join(folder, 'reeve.db')
    const { child, url } = await served(store, 0)
    const client = createClient({ baseUrl: url, token: 'a-token-of-the-test-of-the-client' })
    const run = await client.runs.start('picker', 'go')
    const openIds = async () => (await client.questions.list({ run: run.id })).items.map(({ id }) => id)
    await expect.poll(openIds, { timeout: 10_000 }).toHaveLength(1)
    const before = await openIds()
    await killed(child)
    await served(store, Number(new URL(url).port))
    expect(await openIds()).toEqual(before)
    const seen: string[] = []
    await client.runClientTools(run, { pick: (_input, { id }) => (seen.push(id), 'a.txt') })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'picked "a.txt"' })
    expect(seen).toEqual(before)
  },
)
