/**
 * Writes the declarations of every package into a folder, as they stand in `packages/`. What they import of each other
 * is written as a path: nobody who installs Reeve has the packages. Plain JavaScript, because the build is.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folders = readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'src')))

/**
 * Compiles what has changed, and writes everything. Errors of the compiler are printed unless `quietly`. Returns its
 * exit code; what can be emitted is written all the same.
 * @param {string} into
 * @param {{ readonly quietly?: boolean }} [options]
 */
export function writeDeclarations(into, { quietly = false } = {}) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const compiled = spawnSync(process.execPath, [compiler, '-b', join(root, 'tsconfig.build.json')], {
    stdio: quietly ? 'ignore' : 'inherit',
  })
  const doors = doorsOfPackages()
  // the studio is a page, and nobody imports it
  for (const name of folders.filter((each) => each !== 'studio')) {
    const emitted = join(root, 'packages', name, '.types')
    const files = existsSync(emitted) ? readdirSync(emitted, { recursive: true, encoding: 'utf8' }) : []
    for (const file of files.filter((each) => each.endsWith('.d.ts') && isThere(name, each))) {
      const place = posix.join(name, 'src', file.replaceAll('\\', '/'))
      const text = readFileSync(join(emitted, file), 'utf8').replace(
        /(['"])(@reeve\/[\w/-]+)\1/g,
        (/** @type {string} */ written, /** @type {string} */ quote, /** @type {string} */ door) => {
          const path = doors.get(door)
          if (path === undefined) return written
          const from = posix.relative(posix.dirname(place), path)
          return `${quote}${from.startsWith('.') ? from : `./${from}`}${quote}`
        },
      )
      mkdirSync(dirname(join(into, place)), { recursive: true })
      writeFileSync(join(into, place), text)
    }
  }
  return compiled.status ?? 1
}

/**
 * What was emitted of a file that is gone stays beside what is emitted now.
 * @param {string} name
 * @param {string} file
 */
function isThere(name, file) {
  return existsSync(join(root, 'packages', name, 'src', file.replace(/\.d\.ts$/, '.ts')))
}

/**
 * What packages import of each other, and the file that is built of it.
 * @returns {Map<string, string>}
 */
function doorsOfPackages() {
  const found = folders.flatMap((name) => {
    /** @type {{ exports?: Record<string, string> }} */
    const { exports: doors = {} } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
    return Object.entries(doors).map(
      ([door, source]) =>
        /** @type {const} */ ([`@reeve/${name}${door.slice(1)}`, posix.join(name, source.replace(/\.ts$/, '.js'))]),
    )
  })
  return new Map(found)
}
