/** What `npm run build` has made of the source: few files that share their classes, each thing in its place. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const dist = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}
const doors = Object.entries(manifest.exports).flatMap(([name, door]) =>
  typeof door === 'string' ? [] : [{ name: name.replace('.', 'reeve'), ...door }],
)

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-dist-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program inside the checkout, where `reeve` is its own package, and returns what it wrote. */
function run(program: string, ...flags: string[]): string {
  const code = program.replaceAll(/'(reeve[^']*)'/g, (_, name) =>
    JSON.stringify(join(root, doors.find((door) => door.name === name)!.default)),
  )
  const file = join(folder, 'program.mjs')
  writeFileSync(file, code)
  return execFileSync(process.execPath, ['--no-warnings', ...flags, file], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A built file and all files that it imports at once, `later`: or at any time; packages by their names. */
function loads(file: string, seen = new Set<string>(), later = false): ReadonlySet<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const imported = [
    ...text.matchAll(/^(?:import|export) [^;]*?"([^"]+)";?$/gm),
    ...(later ? text.matchAll(/\bimport\("([^"]+)"\)/g) : []),
  ]
  for (const [, from = ''] of imported)
    if (from.startsWith('.')) loads(join(dirname(file), from), seen, later)
    else seen.add(from)
  return seen
}

test('every door is there, with its types', () => {
  for (const door of doors)
    for (const file of [door.types, door.default]) expect(existsSync(join(root, file)), file).toBe(true)
})

test('what a module finds by its place is built there', async () => {
  const found: string[] = []
  for await (const file of glob('packages/*/src/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    if (!text.includes('import.meta.url')) continue
    for (const [, name] of text.matchAll(/'(\.\/[\w-]+\.js)'/g)) found.push(join(dirname(file), name!))
  }
  expect(found.length).toBeGreaterThan(0)
  for (const file of found) expect(existsSync(join(dist, relative('packages', file))), file).toBe(true)
})

test('a bundler finds nothing that it must resolve and cannot: optional peers, threads, the manifest', async () => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  const doorFiles = new Set(doors.flatMap((door) => [...loads(join(root, door.default), new Set(), true)]))
  const named = [...doorFiles].filter((name) => Object.keys(peerDependencies).some((peer) => name.startsWith(peer)))
  expect(named).toEqual([])
  for (const file of [...doorFiles].filter((name) => name.endsWith('.js') && existsSync(name))) {
    const text = readFileSync(file, 'utf8')
    expect(text, file).not.toMatch(/new Worker\(new URL|package\.json", *import\.meta/)
    expect(text, file).not.toMatch(/\bimport\([a-z]/i)
  }
})

test.each(doors.map(({ name }) => name).filter((name) => name !== 'reeve/client'))(
  '%s says which Node it needs before it does anything else',
  (name) => {
    const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })"
    expect(() => run(`import '${name}'`, '--import', `data:text/javascript,${encodeURIComponent(older)}`)).toThrow(
      /reeve needs Node 24 or newer; this is Node 22\.1\.0/,
    )
  },
)

test('the main door is few files, and loads no engine before a runtime is made', () => {
  const loaded = [...loads(join(dist, 'public/src/index.js'))].map((file) => relative(dist, file))
  expect(loaded.filter((file) => file.endsWith('.js') && !file.startsWith('..')).length).toBeLessThanOrEqual(4)
  expect(loaded.join()).not.toMatch(/node:sqlite|node:worker_threads|commander|hono|pg\b/)
})

test('what runs agents, and a run of a planned team, is not among what defines them', () => {
  const parts = [...loads(join(dist, 'public/src/index.js'))].filter((file) => file.startsWith(dist) && file.endsWith('.js'))
  const text = parts.map((file) => readFileSync(file, 'utf8')).join('\n')
  expect(text).toContain('// packages/agent/src/agent.ts')
  expect(text).toContain('// packages/team/src/team.ts')
  for (const module of ['engine/host/driver', 'engine/replay/activation', 'runtime/runtime', 'team/run', 'team/schedule/scheduler'])
    expect(text).not.toContain(`// src/${module}.ts`)
})

test('what a browser loads asks for nothing of Node', () => {
  expect([...loads(join(dist, 'client/src/index.js'))].filter((file) => /^node:/.test(file))).toEqual([])
})

test('all doors share their classes', () => {
  const said = run(`
import { ReeveError } from 'reeve'
import { postgres } from 'reeve/postgres'
import { createServer } from 'reeve/server'
import { scripted } from 'reeve/testing'
const thrownBy = async (act) => { try { await act() } catch (error) { return error } }
const tries = [() => postgres({ url: 'no url' }), () => createServer({})]
for (const act of tries) console.log((await thrownBy(act)) instanceof ReeveError)
console.log(typeof scripted)
`)
  expect(said).toBe('true\ntrue\nfunction\n')
})

test('a team runs on a file, with the threads that are built', () => {
  const said = run(`
import { agent, createRuntime, supervisor } from 'reeve'
const worker = agent({ name: 'worker', description: 'Works.', model: () => 'done' })
const lead = supervisor({ name: 'lead', workers: [worker], model: ({ messages }) => messages.at(-1).role === 'tool'
  ? 'all done' : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'go' } }] } })
await using runtime = await createRuntime({ store: 'team.db', agents: [lead] })
console.log((await runtime.run(lead, 'go')).output)
`)
  expect(said).toBe('all done\n')
})

test('a stack trace names the source by the maps', () => {
  const said = run(
    `
import { agent } from 'reeve'
try { agent({ name: '' }) } catch (error) { console.log(error.stack) }
`,
    '--enable-source-maps',
  )
  expect(said).toMatch(/packages\/agent\/src\/[\w/-]+\.ts:\d+/)
})
