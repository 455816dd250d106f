/**
 * Builds `dist/`: the code of `packages/` in few files, its declarations, and the studio; and `llms-full.txt`. Plain
 * JavaScript, because an install may run it on a Node that cannot read TypeScript.
 *
 * The doors of package.json are built together, so that they share every class; what all of `reeve` needs is one file.
 * What is loaded as a file of its own (threads, the workflow of Temporal, whose sandbox takes nothing else) is built for
 * itself, where its source has it. Nothing is renamed or squeezed: a stack trace is read as it is, or by the source maps.
 *
 * It builds beside `dist/` and swaps at the end, so a reader of `dist/` never sees half of it. With `--if-possible` (how
 * `postprepare` calls it, after `npm ci` in a checkout) a folder without its tools or a type error does not fail an
 * install: what can be emitted is emitted, and the errors are printed. It is no `prepare`: npm would ask everybody who
 * installs the packed file to allow a script that has nothing to do there. With `--if-changed` nothing is done where
 * `dist/` is still what was built without an error of what is there now.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDeclarations } from './declarations.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lenient = process.argv.includes('--if-possible')
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')

/** Files that are loaded by their place, not imported. */
const alone = [
  'sqlite/src/heartbeat-thread',
  'postgres/src/heartbeat-thread',
  'demo/src/survey/thread',
  'temporal/src/workflow',
  'cli/src/loaded-files',
]

for (const needed of [join(root, 'packages', 'public', 'src', 'index.ts'), compiler]) {
  if (existsSync(needed)) continue
  console.error(`build: nothing built, there is no ${needed}`)
  process.exit(lenient ? 0 : 1)
}

/** What `dist/` was built of, and what it was then. `npm ci` removes it. */
const record = join(root, 'node_modules', '.cache', 'reeve-build')
const sources = hashOfSources()
if (process.argv.includes('--if-changed') && isBuilt()) process.exit(0)
rmSync(record, { force: true })

const next = join(root, `dist.${process.pid}`)
const quietly = ['--logLevel', 'warn']
/** @param {readonly string[]} args */
const run = (...args) => spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
const statuses = [
  writeDeclarations(next),
  await bundle(),
  // the published package has the page, and those who install it have neither Vite nor React
  run(
    vite,
    'build',
    '--config',
    join(root, 'packages', 'studio', 'vite.config.ts'),
    '--outDir',
    join(next, 'studio'),
    ...quietly,
  ),
  run('--no-warnings', join(root, 'scripts', 'docs-llms.ts'), '--full'),
]
if (existsSync(next)) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(next, join(root, 'dist'))
}
// what has changed meanwhile was not built, or only in part
if (Math.max(...statuses) === 0 && hashOfSources() === sources) {
  mkdirSync(dirname(record), { recursive: true })
  writeFileSync(record, `${sources} ${hashOfDist()}`)
}
process.exit(lenient ? 0 : Math.max(...statuses))

function isBuilt() {
  return existsSync(record) && readFileSync(record, 'utf8') === `${sources} ${hashOfDist()}`
}

/**
 * The files of a folder, by their paths.
 * @param {string} folder
 */
function filesIn(folder) {
  const found = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []
  return found
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort()
}

/** What is built, by what builds it. */
function hashOfSources() {
  const settings = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.package.json',
    'tsconfig.build.json',
    'scripts/build.js',
    'scripts/declarations.js',
  ]
  const files = [
    ...settings.map((name) => join(root, name)),
    ...filesIn(join(root, 'packages')).filter((file) => !/[\\/](\.types|test)[\\/]/.test(file)),
  ]
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(`\0${file}\0`).update(existsSync(file) ? readFileSync(file) : '')
  return hash.digest('hex')
}

function hashOfDist() {
  const hash = createHash('sha256')
  for (const file of filesIn(join(root, 'dist'))) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`\0${file} ${size} ${mtimeMs}`)
  }
  return hash.digest('hex')
}

/** Builds the code. Returns an exit code. */
async function bundle() {
  try {
    const { RolldownMagicString, rolldown } = await import('rolldown')
    const options = {
      cwd: root,
      platform: /** @type {const} */ ('node'),
      // packages are those that the user has installed
      /** @param {string} id */
      external: (id) => /^[^./]/.test(id) && !id.startsWith('@reeve/') && !isAbsolute(id),
      treeshake: { moduleSideEffects: false },
    }
    const output = {
      dir: next,
      format: /** @type {const} */ ('esm'),
      sourcemap: true,
      sourcemapExcludeSources: true,
      comments: false,
      // V8 keeps a source with a single wide character in two bytes for each of its characters
      charset: /** @type {const} */ ('ascii'),
      entryFileNames: '[name].js',
      chunkFileNames: 'shared/[name].js',
    }
    /** @param {string} name */
    const source = (name) => join(root, 'packages', `${name}.ts`)
    for (const name of alone) {
      const built = await rolldown({ ...options, input: { [name]: source(name) } })
      await built.write({ ...output, codeSplitting: false })
    }
    const built = await rolldown({
      ...options,
      input: Object.fromEntries([...exported(), 'cli/src/main'].map((name) => [name, source(name)])),
      plugins: [ownPlaces(RolldownMagicString)],
    })
    // once to see what each door needs of what the others need, once to put that together
    const parts = (await built.generate(output)).output
    const ofAll = loadedBy('public/src/index.js', parts)
    const ofClients = loadedBy('client/src/index.js', parts)
    await built.write({
      ...output,
      codeSplitting: {
        groups: [
          // what a browser loads, too, stands by itself
          { name: 'client', test: (id) => ofClients.has(id) && ofAll.has(id), priority: 2 },
          { name: 'reeve', test: (id) => ofAll.has(id), priority: 1 },
        ],
      },
    })
    return 0
  } catch (thrown) {
    console.error(`build: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    return 1
  }
}

/** The doors of package.json, as their sources: `public/src/team`. */
function exported() {
  /** @type {{ exports: Record<string, string | { default: string }> }} */
  const { exports: doors } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.values(doors).flatMap((door) =>
    typeof door === 'string' ? [] : [door.default.replace(/^\.\/dist\/|\.js$/g, '')],
  )
}

/**
 * The modules in a file and in all files that it imports at once.
 * @param {string} file
 * @param {readonly import('rolldown').OutputChunk[] | import('rolldown').RolldownOutput['output']} parts
 */
function loadedBy(file, parts) {
  const byName = new Map(parts.flatMap((part) => (part.type === 'chunk' ? [[part.fileName, part]] : [])))
  const files = new Set([file])
  /** @type {Set<string>} */
  const modules = new Set()
  for (const name of files) {
    const part = byName.get(name)
    for (const id of part?.moduleIds ?? []) modules.add(id)
    for (const next of part?.imports ?? []) files.add(next)
  }
  return modules
}

/**
 * A module keeps its own place, in whatever file it ends: what it finds beside itself, or up to package.json, is there.
 * @param {typeof import('rolldown').RolldownMagicString} Text
 * @returns {import('rolldown').Plugin}
 */
function ownPlaces(Text) {
  const marked = /__ownPlace__\("([^"]*)"\)/g
  return {
    name: 'own places',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return null
      const place = relative(join(root, 'packages'), id).replaceAll('\\', '/').replace(/\.ts$/, '.js')
      return { code: new Text(code).replaceAll('import.meta.url', `__ownPlace__("${place}")`) }
    },
    renderChunk(code, { fileName }) {
      if (!code.includes('__ownPlace__')) return null
      const text = new Text(code)
      for (const { 0: mark, 1: place = '', index } of code.matchAll(marked)) {
        const from = posix.relative(posix.dirname(fileName), place)
        const url = `new URL("${from.startsWith('.') ? from : `./${from}`}", import.meta.url).href`
        text.update(index, index + mark.length, url)
      }
      return text
    },
  }
}
