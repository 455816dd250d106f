/** Commands that are printed are what the caller would type. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { asTyped, invocation } from '../src/invocation.ts'

const npm = { npm_command: 'exec', npm_config_user_agent: 'npm/11.0.0 node/v24.0.0 linux x64' }
const agent = (name: string): { readonly npm_config_user_agent: string } => ({ npm_config_user_agent: `${name}/1.0.0` })

test.each([
  ['a global install', '/usr/local/bin/reeve', {}, 'reeve'],
  ['npx', '/app/node_modules/.bin/reeve', npm, 'npx reeve'],
  ['an npm script', '/app/node_modules/.bin/reeve', { ...npm, npm_command: 'run-script' }, 'npx reeve'],
  ['its path', '/app/node_modules/.bin/reeve', {}, 'npx reeve'],
  ['npx on Windows', String.raw`C:\app\node_modules\reeve\bin\reeve.js`, npm, 'npx reeve'],
  ['npx in a checkout', '/checkout/bin/reeve.js', npm, 'npx reeve'],
  ['pnpm', '/app/node_modules/.bin/reeve', agent('pnpm'), 'pnpm exec reeve'],
  ['yarn', '/app/node_modules/.bin/reeve', agent('yarn'), 'yarn reeve'],
  ['bun', '/app/node_modules/.bin/reeve', agent('bun'), 'bunx reeve'],
  ['an unknown manager', '/app/node_modules/.bin/reeve', agent('constructor'), 'npx reeve'],
  ['a program that embeds the commands', '/app/main.ts', npm, 'reeve'],
  ['no script', undefined, npm, 'reeve'],
])('called by %s', (_, script, env, said) => {
  expect(invocation({ script, env })).toBe(said)
})

test('a hint that names a command names it as the caller types it', () => {
  const typed = (text: string): string => asTyped(text, ['runs', 'show'], 'npx reeve')
  expect(typed('List the runs: reeve runs, or runtime.runs().')).toBe(
    'List the runs: npx reeve runs, or runtime.runs().',
  )
  expect(typed('npx reeve show <run>; reeve --help')).toBe('npx reeve show <run>; npx reeve --help')
  for (const other of ['the package "reeve" is missing', 'reeve runsomething', '/opt/reeve show'])
    expect(typed(other)).toBe(other)
  expect(asTyped('reeve runs', ['runs'], 'reeve')).toBe('reeve runs')
})

test('help names commands as the caller types them: usage, examples and what lists an id', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-invocation-'))
  try {
    const script = join(folder, 'reeve.js')
    const main = join(import.meta.dirname, '..', 'src', 'main.ts')
    await writeFile(script, `import(${JSON.stringify(main)})`)
    const help = (env: Readonly<Record<string, string>>, ...args: string[]): string => {
      const { npm_command: _, ...own } = process.env
      const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', script, ...args], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...own, NO_COLOR: '1', ...env },
      })
      return stdout + stderr
    }
    for (const args of [['--help'], ['settle', '--help'], ['aprove']]) {
      const typed = help(npm, ...args)
      expect(typed).toContain('npx reeve ')
      expect(typed).not.toMatch(/(?<!npx )reeve (?:\[|--help|approve|answer|questions|settle|demo|work)/)
    }
    expect(help({}, '--help')).toContain('  $ reeve approve')
    expect(help({}, '--help')).not.toContain('npx')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}, 60_000)
