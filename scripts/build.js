/**
 * Builds `dist/` from `src/`, with declarations, and `dist/studio` from `studio/`. Plain JavaScript, because an install may run it on a Node that cannot read TypeScript.
 *
 * It builds beside `dist/` and swaps at the end, so a reader of `dist/` never sees half of it. With `--if-possible` (how `postprepare` calls it, after `npm ci` in a checkout) a
 * folder without its tools or a type error does not fail an install: what can be emitted is emitted, and the errors are printed. It is no `prepare`: npm would ask everybody who
 * installs the packed file to allow a script that has nothing to do there.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lenient = process.argv.includes('--if-possible')
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

for (const needed of [join(root, 'src', 'index.ts'), compiler]) {
  if (existsSync(needed)) continue
  console.error(`build: nothing built, there is no ${needed}`)
  process.exit(lenient ? 0 : 1)
}

const next = join(root, `dist.${process.pid}`)
const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', next], {
  stdio: 'inherit',
})
// the published package has the page, and those who install it have neither Vite nor React
const studio = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'vite', 'bin', 'vite.js'),
    'build',
    '--config',
    join(root, 'studio', 'vite.config.ts'),
    '--outDir',
    join(next, 'studio'),
    '--logLevel',
    'warn',
  ],
  { stdio: 'inherit' },
)
if (existsSync(next)) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(next, join(root, 'dist'))
}
process.exit(lenient ? 0 : (status ?? 1) || (studio.status ?? 1))
