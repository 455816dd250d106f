/**
 * Holds the packages to their manifests and to the rules kept as data in `rules.ts`. Every rule lists all its offenders
 * at once, as `file: what is wrong`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packages, publicDoors } from '../../scripts/packages.ts'
import { circles, clock, drawers, grounds, maxDepth, maxLines, node } from './rules.ts'
import { cycles, type Module, readModule, readSource, readStudio } from './source.ts'
import { pageNowAndDue } from './table.ts'

const source = readSource()
const root = posix.join(import.meta.dirname, '../..')
const byName = new Map(packages.map((each) => [each.name, each]))
/** The front doors: explicit named exports, nothing else. */
const frontDoors = [...source.keys()].filter((path) => path.startsWith('packages/public/src/'))

describe('the house', () => {
  test('a package imports what its manifest says, and nothing is there in vain', () => {
    expectNone(offenders(strayImports))
    const used = [...source.values(), ...readStudio().values()].flatMap(({ path, imports }) =>
      imports.map(
        ({ specifier, file }) => `${packageOf(path)} ${file === undefined ? nameIn(specifier) : packageOf(file)}`,
      ),
    )
    expectNone(
      packages.flatMap(({ name, imports, others }) =>
        [...imports, ...others].flatMap((each) =>
          used.includes(`${name} ${each}`) ? [] : [`packages/${name}/package.json: nothing imports ${each}`],
        ),
      ),
    )
  })
  test('what is derived from the manifests is theirs (npm run packages)', () => {
    const command = ['--no-warnings', posix.join(root, 'scripts/packages.ts'), '--check']
    expect(spawnSync(process.execPath, command, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  })
  test('another package is entered through its door', () => expectNone(offenders(backDoors)))
  test('in a package of strangers a folder imports its own, and what it may', () => expectNone(offenders(strayFolders)))
  test('a package is what one person can own', () => {
    const lines = new Map<string, number>()
    for (const module of source.values())
      lines.set(packageOf(module.path), (lines.get(packageOf(module.path)) ?? 0) + module.lines)
    expectNone([...lines].flatMap(([name, count]) => (count > maxLines ? [`packages/${name}: ${count} lines`] : [])))
  })
  test('the demo imports what the package exports', () => {
    expect(byName.get('demo')!.imports).toEqual(['public'])
  })
  test('the demo is imported by the commands that run it', () => {
    const importers = [...source.values()].filter(
      (module) =>
        packageOf(module.path) !== 'demo' &&
        module.imports.some(({ file }) => file !== undefined && packageOf(file) === 'demo'),
    )
    expect(importers.map(({ path }) => path)).toEqual([
      'packages/cli/src/command/demo.ts',
      'packages/cli/src/command/resume.ts',
      'packages/cli/src/next-command.ts',
    ])
  })
  test('every front door is exported, and what is exported is there', () => {
    expect(Object.values(publicDoors)).toEqual(expect.arrayContaining(frontDoors))
    expect(Object.values(publicDoors).filter((path) => !source.has(path))).toEqual([])
  })
  test('a front door holds explicit named exports, and each name is in one of them', () => {
    const text = (file: string): string => readFileSync(posix.join(root, file), 'utf8')
    const exported = /^export (?:type )?\{([^}]*)\} from '[^']+'$/gm
    const rest = (file: string): string =>
      text(file)
        .replace(exported, '')
        .replace(/^\/\*\*[^]*?\*\/$/gm, '')
        .trim()
    expect(frontDoors.map(rest)).toEqual(frontDoors.map(() => ''))
    const names = frontDoors.flatMap((file) =>
      [...text(file).matchAll(exported)].flatMap(([, list]) => list!.split(',').map((name) => name.trim())),
    )
    const all = names.filter((name) => name !== '')
    expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([])
  })
  test('node: modules are imported only where they may be', () => expectNone(offenders(strayNode)))
  test('one module imports data: the version of the manifest, which the build inlines', () => {
    const imported = [...source.values()].flatMap(({ path, data }) => data.map((file) => [path, file]))
    expect(imported).toEqual([['packages/core/src/version.ts', 'package.json']])
  })
  test('an import names an existing file, with its extension', () => expectNone(offenders(deadImports)))
  test('the studio knows the client, the types of the wire, what is visible, how JSON is read, when a text begins anew, the modes of oversight, the lines of events, the page of errors, React and markdown-it', () => {
    const mayImport =
      /^packages\/(?:studio\/src\/.+|client\/src\/index\.ts|core\/src\/(?:visible|json-text|seen-text|oversight-mode)\.ts|journal\/src\/event-lines\.ts)$/
    const types = (path: string): string => readFileSync(posix.join(root, path), 'utf8')
    expectNone(
      [...readStudio().values()].flatMap(({ path, imports, opening }) => [
        ...imports.flatMap(({ specifier, file }) => {
          if (file === undefined)
            return /^(?:react(?:-dom)?|markdown-it)(?:\/|$)/.test(specifier) ? [] : [`${path}: imports ${specifier}`]
          if (mayImport.test(file) || file.endsWith('.css') || file === 'docs/reference/errors.md?raw') return []
          const typesAlone = new RegExp(`^import type [^;]*? from '${specifier.replaceAll('.', String.raw`\.`)}'$`, 'm')
          return file === 'packages/server/src/wire.ts' && typesAlone.test(types(path))
            ? []
            : [`${path}: imports ${file}`]
        }),
        ...(opening === undefined ? [`${path}: opens without a doc comment`] : []),
      ]),
    )
  })
  test('no file imports itself back', () => expect(cycles(source)).toEqual([]))
  test('inside a package no folder imports back up', () =>
    expect(Object.fromEntries(packages.flatMap(({ name }) => knotsIn(name)))).toEqual(circles))
  test('time and randomness come from core', () => expectNone(offenders(impurities)))
  // V8 allocates a function literal that is assigned to a member in the old generation
  // (`CheckAssigningFunctionLiteralToProperty` in its parser): what it references waits for a major collection
  test('no function literal is assigned to a member', () =>
    expectNone(offenders(({ assigned }) => assigned.map((at) => `line ${at} assigns a function literal to a member`))))
  // A store may answer later: what acts between an arrival and the commit has all that it needs in memory (decision
  // 0011).
  test('K5: nothing is read from a store inside a tick', () => {
    const inTick = [
      'children',
      'crash-loop-guard',
      'effect-dispatcher',
      'inbox',
      'questions',
      'loaded-run',
      'run-accounts',
      'split',
      'delivery-turn',
    ].map((name) => `packages/engine/src/host/${name}.ts`)
    expect(inTick.filter((path) => !source.has(path))).toEqual([])
    const kernel = [...source.keys()].filter(
      (path) =>
        /^packages\/engine\/src\/(?:(?:replay|fork)\/)?[^/]+\.ts$/.test(path) && !/src\/stor(?:e|age)\.ts$/.test(path),
    )
    const reads = [...inTick, ...kernel].filter((path) => /\breader\b|StoreReader/.test(readFileSync(path, 'utf8')))
    expect(reads).toEqual([])
  })
  test('no two classes or interfaces have one name', () => {
    const bearers = new Map<string, string[]>()
    for (const { path, declares } of source.values())
      for (const name of declares) bearers.set(name, [...(bearers.get(name) ?? []), path])
    const repeated = [...bearers].filter(([, paths]) => paths.length > 1)
    expectNone(repeated.map(([name, paths]) => `${name}: ${paths.join(', ')}`))
  })
  test('no file is a drawer', () => expectNone(offenders(drawerNames)))
  test('no folder is too deep', () =>
    expectNone(offenders(({ path }) => (path.split('/').length - 4 > maxDepth ? ['is too deep'] : []))))
  test('every module opens with a doc comment', () =>
    expectNone(offenders(({ opening }) => (opening === undefined ? ['opens without a doc comment'] : []))))
  test('docs/explanation/architecture.md shows these packages (npm run docs:arch)', () => {
    const { now, due } = pageNowAndDue()
    expect(now).toBe(due)
  })
})

describe('the reader behind the rules', () => {
  const read = (text: string, path = 'src/core/x.ts'): Module => readModule(path, text)

  test('sees every way of importing', () => {
    const ways = [
      "import a from './1.ts'",
      "import type { B } from './2.ts'",
      "export { c } from './3.ts'",
      "export * from './4.ts'",
      "await import('./5.ts')",
    ]
    const text = [...ways, "type F = import('../journal/6.ts').F", "import 'node:fs'", "// import './not.ts'"].join(
      '\n',
    )
    const found = read(text).imports.map(({ file, specifier }) => file ?? specifier)
    expect(found.sort()).toEqual([
      'node:fs',
      'src/core/1.ts',
      'src/core/2.ts',
      'src/core/3.ts',
      'src/core/4.ts',
      'src/core/5.ts',
      'src/journal/6.ts',
    ])
  })
  test('sees platform time and randomness, and not a given date', () => {
    const impure = (text: string): string[] => read(text).impure.map(({ what }) => what)
    expect(
      impure('Date.now(); new Date(); Math.random(); globalThis.performance.now(); const now = Date.now'),
    ).toHaveLength(5)
    expect(impure('new Date(0); clock.now(); // Date.now()')).toEqual([])
  })
  test('sees function literals that are assigned to members', () => {
    const text = 'a.b = () => 1\na.#c = function () {}\nconst d = () => 1\na.b = d\na.e = { d: () => 1 }'
    expect(readModule('src/core/x.ts', `class A { #c; f(a) { ${text} } }`).assigned).toEqual([1, 2])
  })
  test('sees classes and interfaces, exported or not', () =>
    expect(
      read('class A {}\nexport interface B {}\nexport default class C {}\ntype D = A\nconst E = class {}').declares,
    ).toEqual(['A', 'B', 'C']))
  test('measures functions and finds the opening', () => {
    const module = read('/** Owns x. */\nconst f = () => {\n\n}\nclass A { g() {\n} }\n')
    expect(module.functions.map(({ name, lines }) => [name, lines])).toEqual([
      ['f', 3],
      ['g', 2],
    ])
    expect([module.lines, module.opening]).toEqual([6, '* Owns x. '])
    expect(read('import x from "./x.ts"\n/** Late. */').opening).toBeUndefined()
  })
  test('finds knots of any size', () => {
    const knot = new Map(
      [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'b'],
        ['d', 'd'],
      ].map(([from, to]) => [`src/${from}.ts`, read(`import './${to}.ts'`, `src/${from}.ts`)]),
    )
    expect(cycles(knot)).toEqual([['src/b.ts', 'src/c.ts'], ['src/d.ts']])
  })
})

function offenders(rule: (module: Module) => string[]): string[] {
  return [...source.values()].flatMap((module) => rule(module).map((wrong) => `${module.path}: ${wrong}`))
}

function expectNone(found: string[]): void {
  expect(found, found.join('\n')).toEqual([])
}

/** The name of the package a file is in. */
function packageOf(path: string): string {
  return path.split('/')[1]!
}

/** The package of others that a specifier means. */
function nameIn(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** The folder below `src/` that a file is in; `''` for a file that lies loose. */
function folderOf(path: string): string {
  const [, , , ...rest] = path.split('/')
  return rest.length > 1 ? rest[0]! : ''
}

function strayImports(module: Module): string[] {
  const own = packageOf(module.path)
  const { imports = [], others = [] } = byName.get(own) ?? {}
  return module.imports.flatMap(({ specifier, file }) => {
    if (file === undefined)
      return specifier.startsWith('node:') || others.includes(nameIn(specifier)) ? [] : [`may not import ${specifier}`]
    const other = packageOf(file)
    return other === own || imports.includes(other) ? [] : [`${own} may not import ${other}`]
  })
}

function backDoors(module: Module): string[] {
  return module.imports.flatMap(({ specifier, file }) =>
    file !== undefined && specifier.startsWith('.') && packageOf(file) !== packageOf(module.path)
      ? [`imports ${specifier}, which is no door`]
      : [],
  )
}

/** The circles among the folders and the loose files of a package, as one entry; none if they are floors. */
function knotsIn(name: string): readonly (readonly [string, readonly string[]])[] {
  const start = `packages/${name}/src/`
  const inside = (path: string | undefined): string | undefined =>
    path?.startsWith(start) === true ? path.slice(start.length).split('/')[0] : undefined
  const folders = new Map<string, { imports: { file: string | undefined }[] }>()
  for (const { path, imports } of source.values()) {
    const own = inside(path)
    if (own === undefined) continue
    const folder = folders.get(own) ?? { imports: [] }
    for (const { file } of imports) if (inside(file) !== own) folder.imports.push({ file: inside(file) })
    folders.set(own, folder)
  }
  const inCircles = cycles(folders).flat().sort()
  return inCircles.length === 0 ? [] : [[name, inCircles]]
}

function strayFolders(module: Module): string[] {
  const name = packageOf(module.path)
  const all = Object.hasOwn(grounds, name) ? grounds[name]! : undefined
  if (all === undefined) return []
  const own = folderOf(module.path)
  if (own === '') return ['is in no folder']
  const below = all.includes(own) ? all.slice(0, all.indexOf(own)) : all
  return module.imports.flatMap(({ file }) => {
    if (file === undefined || packageOf(file) !== name || folderOf(file) === own) return []
    const isDoor = file === `packages/${name}/src/${folderOf(file)}/index.ts`
    return below.includes(folderOf(file)) && isDoor ? [] : [`may not import ${file}`]
  })
}

function strayNode(module: Module): string[] {
  if (isWithin(module.path, node)) return []
  return module.imports.flatMap(({ specifier }) =>
    specifier.startsWith('node:') ? [`may not import ${specifier}`] : [],
  )
}

function deadImports(module: Module): string[] {
  return module.imports.flatMap(({ specifier, file }) =>
    file === undefined
      ? specifier.startsWith('@reeve/')
        ? [`imports ${specifier}, which is no door`]
        : []
      : source.has(file)
        ? []
        : [`imports ${specifier}, which is not a source file`],
  )
}

function impurities(module: Module): string[] {
  if (isWithin(module.path, clock)) return []
  return module.impure.map(({ what, at }) => `line ${at} uses ${what}`)
}

function isWithin(path: string, folders: Readonly<Record<string, readonly string[]>>): boolean {
  const name = packageOf(path)
  const own = Object.hasOwn(folders, name) ? folders[name]! : []
  return own.some((folder) => path.startsWith(`${posix.join('packages', name, 'src', folder)}/`))
}

function drawerNames({ path }: Module): string[] {
  return path
    .replace(/\.ts$/, '')
    .split('/')
    .flatMap((name) => (drawers.includes(name) ? [`"${name}" says nothing about what is inside`] : []))
}
