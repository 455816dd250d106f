/**
 * What a user gets: the packed tarball installed into an empty folder, its size and packages, and how long its import
 * takes in a new process.
 */
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inFolder, median, type Row } from './measure.ts'

const root = dirname(import.meta.dirname)
const output = (command: string, args: readonly string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

interface Weight {
  bytes: number
  packages: number
}

/** Bytes of all files, and packages: folders with a package.json directly under a node_modules. */
function weigh(folder: string, isModules: boolean, weight: Weight = { bytes: 0, packages: 0 }): Weight {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isSymbolicLink()) continue
    if (!entry.isDirectory()) {
      weight.bytes += lstatSync(path).size
      continue
    }
    const isScope = isModules && entry.name.startsWith('@')
    if (isModules && !isScope && readdirSync(path).includes('package.json')) weight.packages++
    weigh(path, isScope || entry.name === 'node_modules', weight)
  }
  return weight
}

function importMs(folder: string, what: string): number {
  const code = `const t = performance.now(); await import(${JSON.stringify(what)}); console.log(performance.now() - t)`
  const seen = Array.from({ length: 11 }, () =>
    Number(output(process.execPath, ['--input-type=module', '-e', code], folder)),
  )
  return median(seen)
}

export const run = (): Promise<Row[]> =>
  inFolder((folder) => {
    const tarball = output('npm', ['pack', '--silent', '--pack-destination', folder], root).trim().split('\n').at(-1)!
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    output('npm', ['install', '--no-audit', '--no-fund', join(folder, tarball)], folder)
    const { bytes, packages } = weigh(join(folder, 'node_modules'), true)
    return Promise.resolve([
      { figure: 'installed', value: bytes / 1e6, unit: 'MB', budget: { atMost: 10 } },
      { figure: 'installed packages', value: packages, unit: '', budget: { atMost: 5 } },
      {
        figure: 'import',
        value: importMs(folder, 'reeve'),
        unit: 'ms',
        side: { what: 'node:sqlite alone', value: importMs(folder, 'node:sqlite') },
        budget: { atMost: 40 },
      },
    ])
  })
