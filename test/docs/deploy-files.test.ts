/**
 * The files of `examples/deploy`, and of the template to deploy: what they say holds together, and the commands in them start, answer their probes and
 * end in order. Docker, Compose and Kubernetes themselves do not run here.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { defaultGraceMs } from '@reeve/engine/host'
import { begin, reeve, type Ended } from '../../packages/cli/test/command.ts'
import { freePort } from '../servers/place.ts'

vi.setConfig({ testTimeout: 120_000 })

const root = join(import.meta.dirname, '..', '..')
const place = join(root, 'examples', 'deploy')
const template = join(root, 'templates', 'service')
const fileOf = (name: string, folder = place): string => readFileSync(join(folder, name), 'utf8')

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly timeoutSeconds?: number
  readonly failureThreshold?: number
}
interface Container {
  readonly command: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
  readonly env: readonly { readonly name: string }[]
}
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly replicas?: number
    readonly selector: { readonly matchLabels?: Record<string, string> } & Record<string, unknown>
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly template?: {
      readonly metadata: { readonly labels: Record<string, string> }
      readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly Container[] }
    }
  }
}
interface Service {
  readonly command?: readonly string[]
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly ports?: readonly string[]
  readonly depends_on?: Record<string, unknown>
  readonly image?: string
}

const manifestsOf = (name: string): readonly Manifest[] =>
  parseAllDocuments(fileOf(name), { uniqueKeys: true, strict: true }).map((document) => {
    expect([...document.errors, ...document.warnings]).toEqual([])
    return document.toJS() as Manifest
  })
const manifests = ['kubernetes.yaml', 'kubernetes-sqlite.yaml'].flatMap(manifestsOf)
const workloads = manifests.filter(({ spec }) => spec.template !== undefined)
const composeIn = (folder: string) =>
  parse(fileOf('compose.yaml', folder), { merge: true, uniqueKeys: true, strict: true }) as {
    readonly services: Record<string, Service>
    readonly volumes: Record<string, unknown>
  }
/** The instructions of a Dockerfile. */
const instructionsIn = (folder: string): [string, string][] =>
  fileOf('Dockerfile', folder)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => /^([A-Z]+) (.+)$/.exec(line)!.slice(1) as [string, string])
const valuesOf = (name: string, folder = place): string[] =>
  instructionsIn(folder).flatMap(([each, value]) => (each === name ? [value] : []))
const listIn = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[]

const graceSeconds = defaultGraceMs / 1_000
/** A closing server gives answers in flight so many seconds before its runs. */
const answersSeconds = 5

describe('kubernetes', () => {
  test('each object is of a kind and version that exists, and has a name of its own kind once', () => {
    const known = ['apps/v1 Deployment', 'apps/v1 StatefulSet', 'v1 Service', 'policy/v1 PodDisruptionBudget']
    for (const { apiVersion, kind, metadata } of manifests) {
      expect(known).toContain(`${apiVersion} ${kind}`)
      expect(metadata.name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
    }
  })

  test.each(workloads.map((each) => [each.metadata.name, each] as const))(
    '%s: labels, ports, probes and times fit together',
    (_name, { spec }) => {
      const { metadata, spec: pod } = spec.template!
      expect(metadata.labels).toMatchObject(spec.selector.matchLabels!)
      for (const container of pod.containers) {
        const port = container.command[container.command.findIndex((word) => /^--(probe-)?port$/.test(word)) + 1]
        const [named] = container.ports
        expect(String(named!.containerPort)).toBe(port)
        const isServer = container.command.includes('serve')
        const base = isServer ? '/api' : ''
        for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
          expect(probe.httpGet.port).toBe(named!.name)
        expect(container.startupProbe.httpGet.path).toBe(`${base}/live`)
        // a store that is away is no reason to restart the process
        expect(container.livenessProbe.httpGet.path).toBe(`${base}/live`)
        expect(container.readinessProbe.httpGet.path).toBe(`${base}/ready`)
        const before = (container.lifecycle?.preStop.sleep.seconds ?? 0) + (isServer ? answersSeconds : 0)
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(before + graceSeconds)
      }
    },
  )

  test('services and disruption budgets are of pods that there are', () => {
    for (const file of ['kubernetes.yaml', 'kubernetes-sqlite.yaml']) {
      const all = manifestsOf(file)
      const pods = all.flatMap(({ spec }) => (spec.template === undefined ? [] : [spec.template]))
      for (const { kind, spec } of all.filter((each) => each.spec.template === undefined)) {
        const wanted = (kind === 'Service' ? spec.selector : spec.selector.matchLabels!) as Record<string, string>
        const found = pods.filter(({ metadata }) =>
          Object.entries(wanted).every(([name, value]) => metadata.labels[name] === value),
        )
        expect(found.length).toBe(1)
        for (const { targetPort } of spec.ports ?? [])
          expect(found[0]!.spec.containers[0]!.ports.map(({ name }) => name)).toContain(targetPort)
      }
    }
  })

  test('a store in a file is held by one pod at a time', () => {
    const [file] = manifestsOf('kubernetes-sqlite.yaml')
    expect(file).toMatchObject({ kind: 'StatefulSet', spec: { replicas: 1 } })
  })

  test('every name that the config reads is given, and no other', () => {
    const read = /const \{ (.+) \} = process\.env/.exec(fileOf('reeve.config.ts'))![1]!.split(', ')
    const keys = ['ANTHROPIC_API_KEY']
    for (const { spec } of workloads)
      for (const { env } of spec.template!.spec.containers)
        for (const { name } of env) expect([...read, ...keys]).toContain(name)
    for (const name of read) expect(fileOf('compose.yaml')).toContain(name)
  })
})

describe.each([
  ['examples/deploy', place],
  ['templates/service', template],
])('%s', (_name, folder) => {
  const { services } = composeIn(folder)
  const [command] = valuesOf('CMD', folder).map(listIn)

  test('compose: each service of ours has a command, a probe, and more time to end than its calls', () => {
    for (const name of ['server', 'worker']) {
      const { command: own = command, stop_grace_period: grace = '', healthcheck, depends_on: needs } = services[name]!
      expect(own!.slice(0, 2)).toEqual(['node', 'node_modules/.bin/reeve'])
      expect(Number(/^(\d+)s$/.exec(grace)![1])).toBeGreaterThan(graceSeconds + answersSeconds)
      expect(healthcheck!.test.slice(0, 4)).toEqual(['CMD', 'node', 'node_modules/.bin/reeve', 'probe'])
      for (const needed of Object.keys(needs!)) expect(services).toHaveProperty(needed)
    }
    // the server is reached from this machine alone
    for (const port of services['server']!.ports!) expect(port).toMatch(/^127\.0\.0\.1:/)
    expect(services['database']!.image).toMatch(/^postgres:\d+(\.\d+)?$/)
  })

  test('the image: known instructions, versions that are named, no root, and signals that reach the process', () => {
    const known = [
      'FROM',
      'WORKDIR',
      'COPY',
      'RUN',
      'ENV',
      'VOLUME',
      'USER',
      'EXPOSE',
      'STOPSIGNAL',
      'HEALTHCHECK',
      'CMD',
    ]
    for (const [name] of instructionsIn(folder)) expect(known).toContain(name)
    for (const image of valuesOf('FROM', folder)) expect(image).toMatch(/^node:24(\.\d+\.\d+)?-slim( AS \w+)?$/)
    expect(valuesOf('USER', folder)).toEqual(['node'])
    expect(valuesOf('STOPSIGNAL', folder)).toEqual(['SIGTERM'])
    expect([services['server']!.command ?? command]).toEqual([command])
  })
})

test('the template: what its Compose asks for is explained, no secret is sent to the image', () => {
  const asked = [...fileOf('compose.yaml', template).matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
  const explained = [...fileOf('.env.example', template).matchAll(/^(\w+)=/gm)].map(([, name]) => name!)
  expect(new Set(asked)).toEqual(new Set(explained))
  const left = fileOf('.dockerignore', template).split('\n')
  for (const name of ['.env', '.token', 'node_modules', '*.test.ts']) expect(left).toContain(name)
})

test('systemd gives it more time than its calls, and restarts what fails alone', () => {
  const unit: Record<string, string> = Object.fromEntries(
    [...fileOf('reeve-worker.service').matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name!, value!]),
  )
  expect(Number(unit['TimeoutStopSec'])).toBeGreaterThan(graceSeconds)
  expect(unit).toMatchObject({ KillSignal: 'SIGTERM', KillMode: 'mixed', Restart: 'on-failure' })
})

describe('the commands', () => {
  let folder = ''
  let write: (from: string) => Promise<void>
  const children = new Set<ChildProcess>()
  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-deploy-')))
    const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'packages', 'public', 'src', 'index.ts'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    write = async (from) => {
      for (const name of readdirSync(from).filter((each) => each.endsWith('.ts') && !each.includes('.test.')))
        await writeFile(
          join(folder, name),
          (await readFile(join(from, name), 'utf8')).replace("from 'reeve'", `from ${source}`),
        )
    }
  })
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    children.clear()
    await rm(folder, { recursive: true, force: true })
  })

  const commands = [
    ...workloads.flatMap(({ metadata, spec }) =>
      spec.template!.spec.containers.map(({ command, ports, readinessProbe, livenessProbe }) => ({
        of: `kubernetes ${metadata.name}`,
        command,
        probes: [livenessProbe, readinessProbe].map(
          ({ httpGet }) => `http://127.0.0.1:${ports[0]!.containerPort}${httpGet.path}`,
        ),
      })),
    ),
    ...[place, template].flatMap((from) =>
      Object.entries(composeIn(from).services).flatMap(([name, { command, healthcheck }]) =>
        name === 'database'
          ? []
          : [
              {
                of: `compose ${name} of ${basename(from)}`,
                from,
                command: command ?? listIn(valuesOf('CMD', from)[0]!),
                probes: [healthcheck!.test.at(-1)!],
              },
            ],
      ),
    ),
    { of: 'the image', command: listIn(valuesOf('CMD')[0]!), probes: [listIn(valuesOf('HEALTHCHECK')[0]!).at(-1)!] },
    {
      of: 'systemd',
      command: /^ExecStart=\/usr\/bin\/(.+)$/m.exec(fileOf('reeve-worker.service'))![1]!.split(' '),
      probes: [],
    },
  ]

  test.each(commands)(
    'of $of: starts, answers its probes, and ends in order on SIGTERM',
    async ({ command, probes, from = place }: (typeof commands)[number] & { readonly from?: string }) => {
      await write(from)
      expect(command.slice(0, 2)).toEqual(['node', 'node_modules/.bin/reeve'])
      // another process of this machine may have the port
      const port = await freePort()
      const own = command.slice(2).map((word) => (/^\d{4}$/.test(word) ? String(port) : word))
      const env = {
        REEVE_STORE: join(folder, 'own.db'),
        DATABASE_URL: '',
        REEVE_TOKEN: 't'.repeat(32),
        REEVE_HOST: 'reeve.example.com',
      }
      let ended: Promise<Ended> | undefined
      const started = new Promise<ChildProcess>((resolve, reject) => {
        ended = begin(
          folder,
          own,
          (out, child) => {
            children.add(child)
            if (out.includes('Ctrl-C')) resolve(child)
          },
          { ...env, ANTHROPIC_API_KEY: 'none' },
        )
        ended.then(({ out, err }) => reject(new Error(`it ended: ${out}${err}`)), reject)
      })
      const child = await started
      for (const probe of probes) {
        const asked = await reeve(folder, 'probe', probe.replace(/:\d{4}\//, `:${port}/`))
        expect(asked).toMatchObject({ code: 0, out: '200 {"ok":true}\n' })
      }
      child.kill('SIGTERM')
      expect(await ended).toMatchObject({ code: 0, signal: null })
    },
  )
})
