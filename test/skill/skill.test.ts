/**
 * The skill for coding agents: programs that were written from `skills/reeve/SKILL.md` alone, each for a task of every
 * day. They compile in the folder of a user, against the types of the package, and print what their authors wanted.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

/** What is wanted, the program, what it prints. */
const tasks: readonly (readonly [task: string, program: string, printed: readonly string[]])[] = [
  ['a supervisor with two workers', 'supervisor', ['Take an umbrella, and the train at nine.']],
  ['a typed pipeline', 'pipeline', ['customer/Orbit 1250']],
  [
    'a loop that fails at its bound',
    'loop',
    ['failed', 'loop.not-reached "polish": until was not true after 3 iterations'],
  ],
  [
    'an approval that code decides',
    'approval',
    ["asked: refund { order: 'A-7', eur: 40 }", 'You have your money back.'],
  ],
  ['a question, answered', 'question', ['interrupt true', '3 nights in Bern']],
  ['a session with two runs', 'session', ['I have heard 1.', 'I have heard 2.']],
  ['a failed run, retried', 'retry', ['shipped charged 1']],
  ['agents in parallel', 'parallel', ['Rabe, corbeau']],
  ['a test with scripted models, at every crash', 'simulation', ['no crash changes anything']],
  ['a limit that is reached', 'limits', ['limited', 'watcher']],
  ['an agent by code, with steps and a payment once', 'code-agent', ['2 33.00 24']],
  ['a log that is too large, a picture, a client tool, a search of tools', 'tools', ['gap@70000 chart.png 3 tabs']],
  ['a chain of models', 'fallback', ['The second one answers.']],
]

const folder = mkdtempSync(join(tmpdir(), 'reeve-skill-'))
/** What the compiler says of each program. */
let compiled: { readonly status: number | null; readonly stdout: string }

beforeAll(() => {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  mkdirSync(join(folder, 'node_modules'))
  for (const [name, path] of [
    ['reeve', root],
    ['zod', join(root, 'node_modules', 'zod')],
    ['@types', join(root, 'node_modules', '@types')],
  ] as const)
    symlinkSync(path, join(folder, 'node_modules', name))
  for (const [, program] of tasks)
    copyFileSync(join(import.meta.dirname, `${program}.ts`), join(folder, `${program}.ts`))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
  }
  const strict = { strict: true, noUncheckedIndexedAccess: true, noEmit: true, skipLibCheck: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...compilerOptions, ...strict } }))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  compiled = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], { cwd: folder, encoding: 'utf8' })
}, 180_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('each program of the folder is one of the tasks', () => {
  const programs = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  expect(tasks.map(([, program]) => `${program}.ts`).toSorted()).toEqual(programs.toSorted())
})

test('the compiler has nothing to say', () => {
  expect(compiled).toMatchObject({ status: 0, stdout: '' })
})

test.each(tasks)('%s', { timeout: 60_000 }, (_, program, printed) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${program}.ts`], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: undefined },
  })
  expect({ status, stderr, printed: stdout.trim().split('\n') }).toEqual({ status: 0, stderr: '', printed })
})
