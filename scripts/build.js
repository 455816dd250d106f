/**
 * Builds `dist/`: the code of `packages/` in few files, its declarations, and the studio; and `llms-full.txt`. Plain
 * JavaScript, because an install may run it on a Node that cannot read TypeScript.
 *
 * The doors of package.json are built together, so that they share every class; what all of `reeve` needs is one file.
 * What is loaded as a file of its own (the workflow of Temporal, whose sandbox takes nothing else) is built for itself,
 * where its source has it. Nothing is renamed or squeezed: a stack trace is read as it is, or by the source maps.
 *
 * What users import can be bundled again, and then runs where none of these files are: a thread is a text inside the code
 * that starts it, a package that is imported by a value is left to run time, and the version is inlined. The syntax is
 * one that older Nodes can read, so that they say what is wrong with them.
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
const alone = ['temporal/src/workflow', 'cli/src/loaded-files']

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
      external: (id) => /^[^./]/.test(id) && !/^@(reeve|oxc-project\/runtime)\//.test(id) && !isAbsolute(id),
      treeshake: { moduleSideEffects: false },
      transform: { target: 'es2022' },
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
      plugins: [
        ownPlaces(RolldownMagicString),
        threadTexts(RolldownMagicString, (file) => threadText(rolldown, options, file)),
        importsAtRunTime(),
      ],
    })
    // once to see what each door needs of what the others need, once to put that together
    const parts = (await built.generate(output)).output
    const ofAll = loadedBy('public/src/index.js', parts)
    const ofClients = loadedBy('client/src/index.js', parts)
    await built.write({
      ...output,
      plugins: [nodeVersions()],
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

/** The manifest of the package. */
function manifest() {
  /** @type {{ readonly exports: Record<string, string | { default: string }>, readonly engines: { readonly node: string } }} */
  const read = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return read
}

/** The doors of package.json, as their sources: `public/src/team`. */
function exported() {
  return Object.values(manifest().exports).flatMap((door) =>
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

/**
 * A thread is started from a text: a bundle has no file beside it. Where a source starts one from a file, as
 * `new Worker(new URL('./thread.ts', import.meta.url), { … })`, the code of that file stands in the place of its address.
 * @param {typeof import('rolldown').RolldownMagicString} Text
 * @param {(file: string) => Promise<string>} textOf
 * @returns {import('rolldown').Plugin}
 */
function threadTexts(Text, textOf) {
  const started = /new Worker\(new URL\('([^']+)', import\.meta\.url\), \{/g
  return {
    name: 'thread texts',
    transform: {
      order: 'pre',
      async handler(code, id) {
        if (!code.includes('new Worker(new URL(')) return null
        const text = new Text(code)
        for (const { 0: start, 1: file = '', index } of code.matchAll(started))
          text.update(
            index,
            index + start.length,
            `new Worker(${JSON.stringify(await textOf(join(dirname(id), file)))}, { eval: true,`,
          )
        return { code: text }
      },
    },
  }
}

/**
 * The code of a thread as one script, with everything that it needs but Node's own modules.
 * @param {typeof import('rolldown').rolldown} rolldown
 * @param {import('rolldown').InputOptions} options
 * @param {string} file
 */
async function threadText(rolldown, options, file) {
  const built = await rolldown({
    ...options,
    input: file,
    external: /^node:/,
    plugins: [],
  })
  const { output } = await built.generate({ format: 'cjs', codeSplitting: false, comments: false })
  return `${output[0].code}//# sourceURL=reeve/${relative(join(root, 'packages'), file).replaceAll('\\', '/')}\n`
}

/**
 * A module that is imported by a value is none that a bundler can know: webpack, Turbopack and Vite are told so. The
 * comments are written at the end, because those of the sources are left out.
 * @returns {import('rolldown').Plugin}
 */
function importsAtRunTime() {
  const ignored = '/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */'
  return {
    name: 'imports at run time',
    generateBundle(_, parts) {
      for (const part of Object.values(parts))
        if (part.type === 'chunk') part.code = part.code.replace(/\bimport\((?=[a-z])/gi, `import(${ignored} `)
    },
  }
}

/**
 * What is said on an older Node, instead of an error of syntax. The first of our files that runs says it: nothing is
 * imported at once that an older Node does not have, for that fails before anything runs.
 * @returns {import('rolldown').Plugin}
 */
function nodeVersions() {
  const needed = Number(/\d+/.exec(manifest().engines.node)?.[0])
  /** @param {number} oldest @param {string} what */
  const check = (oldest, what) =>
    `if (Number.parseInt(globalThis.process?.versions?.node ?? "${oldest}") < ${oldest}) throw new Error(` +
    `"${what}; this is Node " + process.versions.node + " (" + process.execPath + "). ` +
    'Install a newer one: nodejs.org, nvm, fnm or volta.");\n'
  // browsers load the client, and it asks less of Node
  const checks = new Map([
    ['shared/reeve.js', check(needed, `reeve needs Node ${needed} or newer`)],
    ['shared/client.js', check(20, `reeve needs Node ${needed} or newer, reeve/client Node 20`)],
  ])
  const newer = /^import \{ ([^}]+) \} from "(node:(?:crypto|sqlite|zlib))";$/gm
  return {
    name: 'node versions',
    generateBundle(_, parts) {
      for (const part of Object.values(parts)) {
        if (part.type !== 'chunk') continue
        part.code =
          (checks.get(part.fileName) ?? '') +
          part.code.replace(
            newer,
            (/** @type {string} */ _, /** @type {string} */ names, /** @type {string} */ id) =>
              `const { ${names.replaceAll(' as ', ': ')} } = process.getBuiltinModule("${id}");`,
          )
      }
      const missing = [...checks.keys()].filter((name) => parts[name] === undefined)
      if (missing.length > 0) throw new Error(`no file says which Node is needed: ${missing.join(', ')} is gone`)
    },
  }
}
