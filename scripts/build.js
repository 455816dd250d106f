/**
 * Builds `dist/` from `src/`, with declarations. Plain JavaScript, because `prepare` may run it on a Node that cannot read TypeScript.
 *
 * It builds beside `dist/` and swaps at the end, so a reader of `dist/` never sees half of it. With `--if-possible` (how `prepare` calls it) an
 * unpacked tarball, a folder without its tools or a type error does not fail an install: what can be emitted is emitted, and the errors are printed.
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
const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', next], { stdio: 'inherit' })
if (existsSync(next)) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(next, join(root, 'dist'))
}
process.exit(lenient ? 0 : (status ?? 1))
