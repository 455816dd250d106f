/** The end of a worker: what is under way has its time, other workers go on meanwhile, and probes know of it. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { begin, reeve } from './command.ts'
import { begun, configOf, endsInOrder, fiveDeploys, killWorkers, starter, worker } from './deploys.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder = ''
let store = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-end-')))
  store = join(folder, 'own.db')
})
afterEach(async () => {
  killWorkers()
  await rm(folder, { recursive: true, force: true })
})

test('a worker that is told to end waits for its model call, and the next one leaves it to it', async () => {
  expect(await endsInOrder(folder, store)).toEqual({ model: 7, tool: 5 })
})

test('five deploys in a row begin no call twice', async () => {
  expect(await fiveDeploys(folder, store)).toEqual({ model: 6, tool: 5 })
})

test('the config says how long; what has not ended by then begins again with the next worker', async () => {
  await writeFile(join(folder, 'reeve.config.ts'), `${configOf(store)}\nexport const graceMs = 50\n`)
  const old = await worker(folder)
  await using runtime = await starter(folder, store)
  const run = await runtime.start('gated', 'go')
  await expect.poll(() => begun(folder), { timeout: 25_000 }).toMatchObject({ model: 1 })
  old.child.kill('SIGTERM')
  expect((await old.ended).code).toBe(0)
  await writeFile(join(folder, 'answer'), '')
  const next = await worker(folder)
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'answered' })
  expect(await begun(folder)).toMatchObject({ model: 2 })
  next.child.kill('SIGTERM')
  await next.ended
})

test('a second signal ends it at once', async () => {
  await writeFile(join(folder, 'reeve.config.ts'), configOf(store))
  const old = await worker(folder)
  await using runtime = await starter(folder, store)
  await runtime.start('gated', 'go')
  await expect.poll(() => begun(folder), { timeout: 25_000 }).toMatchObject({ model: 1 })
  old.child.kill('SIGTERM')
  await old.said('Waiting for 1 model call')
  old.child.kill('SIGTERM')
  expect((await old.ended).code).toBe(130)
})

test('the probe port of a worker: live and ready, then live and closing, until it has ended', async () => {
  await writeFile(join(folder, 'reeve.config.ts'), configOf(store))
  const { child, out, ended, said } = await worker(folder, '--probe-port', '0')
  const at = /probes (http:\/\/127\.0\.0\.1:\d+)/.exec(out)![1]!
  const asked = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(`${at}${path}`, init)
    return [answer.status, await answer.text()]
  }
  for (const path of ['/live', '/ready', '/api/ready/']) expect(await asked(path)).toEqual([200, '{"ok":true}'])
  expect(await asked('/ready', { method: 'HEAD' })).toEqual([200, ''])
  expect(await asked('/ready', { method: 'POST' })).toEqual([405, ''])
  expect(await asked('/api/runs')).toMatchObject([404, expect.any(String)])
  expect(await reeve(folder, 'probe', `${at}/ready`)).toMatchObject({ code: 0, out: '200 {"ok":true}\n' })
  await using runtime = await starter(folder, store)
  await runtime.start('gated', 'go')
  await expect.poll(() => begun(folder), { timeout: 25_000 }).toMatchObject({ model: 1 })
  child.kill('SIGTERM')
  await said('Waiting for 1 model call')
  expect(await asked('/live')).toEqual([200, '{"ok":true}'])
  expect(await asked('/ready')).toEqual([503, '{"ok":false,"reason":"closing"}'])
  expect(await reeve(folder, 'probe', `${at}/ready`)).toMatchObject({ code: 1 })
  await writeFile(join(folder, 'answer'), '')
  expect((await ended).code).toBe(0)
  expect(await reeve(folder, 'probe', `${at}/ready`)).toMatchObject({
    code: 1,
    err: expect.stringContaining('does not answer') as string,
  })
})

test('a probe of what is no address, and a probe port that is taken, are mistakes of the caller', async () => {
  await writeFile(join(folder, 'reeve.config.ts'), configOf(store))
  expect(await reeve(folder, 'probe', 'localhost:4040')).toMatchObject({ code: 2 })
  const first = await worker(folder, '--probe-port', '0')
  const port = /probes http:\/\/127\.0\.0\.1:(\d+)/.exec(first.out)![1]!
  const second = await begin(folder, ['work', '--probe-port', port])
  expect(second).toMatchObject({ code: 2, err: expect.stringContaining(`127.0.0.1:${port}`) as string })
})
