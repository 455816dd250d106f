/**
 * What a compiler pays for `import … from 'reeve'`: memory, types and instantiations over a file without imports, of the
 * built declarations. `node bench/types.ts [package]`, to see another package (`ai`) beside it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

/** Figures of `tsc --extendedDiagnostics` for one file. */
function weigh(source: string): Readonly<Record<'Types' | 'Instantiations' | 'Memory used', number>> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-types-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'a.ts'), source)
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--types',
      'node',
    ]
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, ...options, '--extendedDiagnostics', 'a.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    if (stdout.includes('error TS')) throw new Error(stdout)
    const figure = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+([\\d,]+)`, 'm').exec(stdout)?.[1]?.replaceAll(',', ''))
    return { Types: figure('Types'), Instantiations: figure('Instantiations'), 'Memory used': figure('Memory used') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const program = (name: string): string =>
  name === 'reeve'
    ? `import { agent, createRuntime, supervisor } from '${join(root, 'dist', 'public', 'src', 'index.js')}'
const writer = agent({ name: 'writer', description: 'Writes.', model: 'openai/gpt-5-mini' })
const editor = supervisor({ name: 'editor', workers: [writer], model: 'openai/gpt-5-mini' })
export const runtime = await createRuntime({ agents: [editor] })
export const outcome = await runtime.run(editor, 'x')`
    : `import * as all from '${name}'\nexport const x = Object.keys(all)`

const empty = weigh('export const x = 1\n')
for (const name of ['reeve', ...process.argv.slice(2)]) {
  const its = weigh(program(name))
  const over = (what: keyof typeof empty): number => its[what] - empty[what]
  console.log(
    `${name}: +${Math.round(over('Memory used') / 1024)} MB, +${over('Types')} types, +${over('Instantiations')} instantiations over a file without imports`,
  )
}
