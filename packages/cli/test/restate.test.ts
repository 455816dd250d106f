/** `reeve restate dev` and `reeve restate status`, as processes, with real servers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RestateClient } from '@reeve/restate/client'
import { freePort, restateServer, type TestServer } from '../../restate/test/harness.ts'
import { probeWorker, type ProbeWorker } from '../../restate/test/probe.ts'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let cwd = ''
let server: TestServer
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'reeve-cli-restate-'))
  server = await restateServer()
})
afterAll(async () => {
  await server.dispose()
  await rm(cwd, { recursive: true, force: true })
})

describe('reeve restate dev', () => {
  const ports = async (): Promise<string[]> =>
    ['ingress', 'admin', 'node'].reduce<Promise<string[]>>(
      async (list, each) => [...(await list), `--${each}-port`, String(await freePort())],
      Promise.resolve([]),
    )

  test('serves until Ctrl-C, says how it is used, and leaves nothing behind', async () => {
    const given = await ports()
    const ingress = `http://127.0.0.1:${given[1]}`
    const admin = `http://127.0.0.1:${given[3]}`
    let version: Promise<{ version: string }> | undefined
    const ended = await begin(cwd, ['restate', 'dev', ...given], (out, child) => {
      if (version !== undefined || !out.includes('Ctrl-C')) return
      version = new RestateClient({ ingress, admin }).check()
      void version.finally(() => child.kill('SIGINT')).catch(() => {})
    })
    expect(ended, ended.err).toMatchObject({ code: 130, signal: null })
    expect((await version)?.version).toMatch(/^\d/)
    for (const said of [
      `ingress   ${ingress}`,
      `admin     ${admin}`,
      join('.reeve', 'restate'),
      'createRuntime({ engine',
      'reeve restate status',
    ])
      expect(ended.out).toContain(said)
    await expect(new RestateClient({ ingress, admin }).check()).rejects.toMatchObject({ code: 'engine.unreachable' })
  })

  test('does not outlive a kill -9 of the command', async () => {
    const given = await ports()
    const ended = await begin(cwd, ['restate', 'dev', '--dir', 'other', ...given], (out, child) => {
      if (out.includes('Ctrl-C')) child.kill('SIGKILL')
    })
    expect(ended, ended.err).toMatchObject({ signal: 'SIGKILL' })
    const client = new RestateClient({ ingress: `http://127.0.0.1:${given[1]}`, admin: `http://127.0.0.1:${given[3]}` })
    await vi.waitFor(() => expect(client.check()).rejects.toMatchObject({ code: 'engine.unreachable' }), 5_000)
  })

  test('a taken port, an invalid port', async () => {
    const { port } = new URL(server.ingress)
    const taken = await reeve(cwd, 'restate', 'dev', '--ingress-port', port)
    expect(taken).toMatchObject({ code: 1, out: '' })
    expect(taken.err).toContain(`the port ${port} is taken on 127.0.0.1`)
    expect(await reeve(cwd, 'restate', 'dev', '--admin-port', '70000')).toMatchObject({ code: 2, out: '' })
  })
})

describe('reeve restate status', () => {
  const status = (...args: string[]): ReturnType<typeof reeve> =>
    reeve(cwd, 'restate', 'status', '--ingress', server.ingress, '--admin', server.admin, ...args)

  test('no server there; not a Restate server', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`
    const lost = await reeve(cwd, 'restate', 'status', '--ingress', nobody, '--admin', nobody)
    expect(lost).toMatchObject({ code: 1, out: '' })
    expect(lost.err).toContain(`cannot be reached at ${nobody}`)
    expect(lost.err).toContain('reeve restate dev')
    const swapped = await reeve(cwd, 'restate', 'status', '--ingress', server.admin, '--admin', server.ingress)
    expect(swapped).toMatchObject({ code: 2, out: '' })
    expect(swapped.err).toContain('looks like the')
  })

  describe('with workers', () => {
    const workers: ProbeWorker[] = []
    afterAll(() => {
      for (const each of workers) each.close()
    })

    test('no worker; then workers, open invocations, and why some do not get on', async () => {
      const empty = await status()
      expect(empty).toMatchObject({ code: 0, err: '' })
      expect(empty.out).toContain('No worker is registered under the namespace "reeve".')
      expect(empty.out).toContain('Open invocations: none')

      const client = new RestateClient(server)
      for (const namespace of ['reeve', 'reeves']) {
        const worker = await probeWorker('w', namespace)
        workers.push(worker)
        await client.register(worker.uri)
        await client.send(`${namespace}.Calls`, 'stubborn', null)
      }
      await client.send('reeve.Calls', 'wait', null)
      await vi.waitFor(async () => expect((await status()).out).toContain('no luck today'), {
        timeout: 10_000,
        interval: 100,
      })
      const { out } = await status()
      expect(out).toContain(`${workers[0]!.uri}/`)
      expect(out).not.toContain(workers[1]!.uri)
      expect(out).toMatch(/Open invocations: .*1 backing-off/)
      expect(out).toMatch(
        /backing-off +reeve\.Calls\/\/stubborn +after \d+ attempts, next at .*no luck today \(inv_\w+\)/,
      )
      const json = JSON.parse((await status('--json')).out) as { invocations: unknown[]; deployments: unknown[] }
      expect([json.deployments.length, json.invocations.length]).toEqual([1, 2])
      expect(
        (JSON.parse((await status('--json', '--namespace', 'reeves')).out) as { invocations: unknown[] }).invocations,
      ).toHaveLength(1)
    })
  })
})
