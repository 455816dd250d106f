/** What the compiler says of mistakes: one message where one is enough, at the option that is wrong, in words that help. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mistakes } from './mistakes.ts'

const root = join(import.meta.dirname, '..', '..')
const names = [
  'agent',
  'createRuntime',
  'delegate',
  'loop',
  'sequential',
  'step',
  'supervisor',
  'team',
  'tool',
  'unwrap',
]

/** What is said of each, by its file. */
function compiled(): ReadonlyMap<string, readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-mistakes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compilerOptions = { noEmit: true, noUnusedLocals: false, incremental: false }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [], compilerOptions }),
  )
  const ofFolders = "import { defineAgent, defineLeader, defineTool } from 'reeve/folder'\n"
  const head = `import { ${names.join(', ')} } from 'reeve'\n${ofFolders}import { z } from 'zod'\n`
  const files = Object.values(mistakes)
  for (const [at, program] of files.entries()) writeFileSync(join(folder, `m${at}.ts`), `${head}${program}\n`)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  const said = new Map<string, string[]>()
  for (const line of stdout.split('\n').filter((each) => each !== '')) {
    const [, file, row, column, message] = /^(m\d+)\.ts\((\d+),(\d+)\): error (.*)$/.exec(line) ?? []
    if (file !== undefined) {
      const rest = files[Number(file.slice(1))]!.split('\n')[Number(row) - 4]!.slice(Number(column) - 1)
      said.set(file, [...(said.get(file) ?? []), `at ${rest.slice(0, 40)}`, `  ${message}`])
    } else said.get([...said.keys()].at(-1) ?? '')?.push(`  ${line}`)
  }
  return said
}

test('each mistake has its message, at its place', { timeout: 180_000 }, async () => {
  const said = compiled()
  const text = Object.entries(mistakes).map(([what, program], at) =>
    [`== ${what}`, program, '', ...(said.get(`m${at}`) ?? ['nothing is said']), ''].join('\n'),
  )
  await expect(text.join('\n')).toMatchFileSnapshot('mistakes.txt')
  const several = Object.keys(mistakes).filter(
    (_, at) => (said.get(`m${at}`) ?? []).filter((line) => line.startsWith('at ')).length > 1,
  )
  expect(several).toEqual([])
})
