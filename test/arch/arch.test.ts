/**
 * Holds `src/` to the house rules kept as data in `rooms.ts`. Every rule lists all its offenders at once, as `file:
 * what is wrong`.
 */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Adapter, adapters, drawers, frontDoor, frontDoors, maxDepth, type Room, rooms } from './rooms.ts'
import { cycles, type Module, readModule, readSource, readStudio } from './source.ts'
import { pageNowAndDue } from './table.ts'

const source = readSource()
const manifest = JSON.parse(readFileSync(posix.join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

describe('the house', () => {
  test('every file lives in a room', () =>
    expectNone(offenders((module) => (roomOf(module.path) ? [] : ['is in no room']))))
  test('rooms import only what they may', () => expectNone(offenders(strayImports)))
  test('another room is entered through its door', () => expectNone(offenders(backDoors)))
  test('the demo imports what the package exports', () => {
    const exported = new Set(
      Object.values(manifest.exports).flatMap((entry) =>
        typeof entry === 'string' ? [] : [entry.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')],
      ),
    )
    expectNone(
      offenders((module) =>
        roomOf(module.path) === 'demo'
          ? foreign(module).flatMap((file) => (exported.has(file) ? [] : [`imports ${file}`]))
          : [],
      ),
    )
  })
  test('the demo is imported by the commands that run it', () => {
    const importers = [...source.values()].filter(
      (module) =>
        roomOf(module.path) !== 'demo' &&
        module.imports.some(({ file }) => file !== undefined && roomOf(file) === 'demo'),
    )
    expect(importers.map(({ path }) => path)).toEqual([
      'packages/cli/src/command/demo.ts',
      'packages/cli/src/command/resume.ts',
      'packages/cli/src/next-command.ts',
    ])
  })
  test('the front doors are in package.json, under the paths that users import', () => {
    const entries = Object.entries(frontDoors).map(([name, file]) => {
      const built = file.replace('src/', './dist/').replace(/\.ts$/, '')
      return [name.replace('reeve', '.'), { types: `${built}.d.ts`, default: `${built}.js` }]
    })
    expect(manifest.exports).toMatchObject(Object.fromEntries(entries))
  })
  test('a front door holds explicit named exports, and each name is in one of them', () => {
    const text = (file: string): string => readFileSync(posix.join(import.meta.dirname, '../..', file), 'utf8')
    const exported = /^export (?:type )?\{([^}]*)\} from '[^']+'$/gm
    const rest = (file: string): string =>
      text(file)
        .replace(exported, '')
        .replace(/^\/\*\*[^]*?\*\/$/gm, '')
        .trim()
    expect(Object.values(frontDoors).map(rest)).toEqual(Object.values(frontDoors).map(() => ''))
    const names = Object.values(frontDoors).flatMap((file) =>
      [...text(file).matchAll(exported)].flatMap(([, list]) => list!.split(',').map((name) => name.trim())),
    )
    const all = names.filter((name) => name !== '')
    expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([])
  })
  test('packages and node: modules are imported only where they may be', () => expectNone(offenders(strayPackages)))
  test('an import names an existing file, with its extension', () => expectNone(offenders(deadImports)))
  test('the studio knows the client, the types of the wire, what is visible, how JSON is read, and React', () => {
    const mayImport = /^(?:studio\/src\/.+|src\/client\/index\.ts|src\/core\/(?:visible|json-text)\.ts)$/
    const types = (path: string): string => readFileSync(posix.join(import.meta.dirname, '../..', path), 'utf8')
    expectNone(
      [...readStudio().values()].flatMap(({ path, imports, opening }) => [
        ...imports.flatMap(({ specifier, file }) => {
          if (file === undefined)
            return /^react(?:-dom)?(?:\/|$)/.test(specifier) ? [] : [`${path}: imports ${specifier}`]
          if (mayImport.test(file) || file.endsWith('.css')) return []
          const typesAlone = new RegExp(`^import type [^;]*? from '${specifier.replaceAll('.', String.raw`\.`)}'$`, 'm')
          return file === 'packages/server/src/wire.ts' && typesAlone.test(types(path)) ? [] : [`${path}: imports ${file}`]
        }),
        ...(opening === undefined ? [`${path}: opens without a doc comment`] : []),
      ]),
    )
  })
  test('no file imports itself back', () => expect(cycles(source)).toEqual([]))
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
      (path) => /^src\/engine\/(?:(?:replay|fork)\/)?[^/]+\.ts$/.test(path) && path !== 'packages/engine/src/store.ts',
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
    expectNone(offenders(({ path }) => (path.split('/').length - 2 > maxDepth ? ['is too deep'] : []))))
  test('every module opens with a doc comment', () =>
    expectNone(offenders(({ opening }) => (opening === undefined ? ['opens without a doc comment'] : []))))
  test('every adapter is in the data', () =>
    expectNone(
      offenders(({ path }) =>
        adapterOf(path)?.adapter === undefined && roomOf(path) === 'adapters' ? ['is in no known adapter'] : [],
      ),
    ))
  test('docs/explanation/architecture.md shows these rooms (npm run docs:arch)', () => {
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

/** The name of the room a file is in; the front doors are one of their own. */
function roomOf(path: string): string | undefined {
  if (Object.values(frontDoors).includes(path)) return 'front door'
  const name = path.split('/')[1]!
  return path.split('/').length > 2 && Object.hasOwn(rooms, name) ? name : undefined
}

function rulesOf(path: string): Room {
  const name = roomOf(path) ?? ''
  return name === 'front door' ? frontDoor : (rooms[name] ?? { owns: '', imports: [] })
}

/** Two adapters are strangers to each other though they share a room. */
function ownerOf(path: string): string | undefined {
  return roomOf(path) === 'adapters' ? path.split('/').slice(1, 3).join('/') : roomOf(path)
}

/** The name and the data of the adapter that a file belongs to. */
function adapterOf(path: string): { name: string; adapter: Adapter | undefined } | undefined {
  if (roomOf(path) !== 'adapters') return undefined
  const name = path.split('/')[2]!
  return { name, adapter: Object.hasOwn(adapters, name) ? adapters[name] : undefined }
}

function foreign(module: Module): string[] {
  return module.imports.flatMap(({ file }) =>
    file !== undefined && ownerOf(file) !== ownerOf(module.path) ? [file] : [],
  )
}

function strayImports(module: Module): string[] {
  const room = roomOf(module.path)
  const own = adapterOf(module.path)
  const allowed = [...rulesOf(module.path).imports, ...(own?.adapter?.imports ?? [])]
  const isKin = (file: string): boolean => own?.adapter?.adapters?.includes(adapterOf(file)?.name ?? '') ?? false
  return foreign(module).flatMap((file) =>
    allowed.includes(roomOf(file) ?? file) || isKin(file)
      ? []
      : [`${own === undefined ? room : own.name} may not import ${file}`],
  )
}

function backDoors(module: Module): string[] {
  return foreign(module).flatMap((file) => {
    if (roomOf(file) === 'front door') return []
    const other = adapterOf(file)
    const doors = other === undefined ? rulesOf(file).doors : other.adapter?.doors
    const isDoor = (doors ?? ['index.ts']).some((door) => file === posix.join('src', ownerOf(file) ?? '', door))
    return isDoor ? [] : [`imports ${file}, which is not a door`]
  })
}

function strayPackages(module: Module): string[] {
  return module.imports.flatMap(({ specifier, file }) => {
    if (file !== undefined) return []
    if (specifier.startsWith('node:'))
      return isWithin(module.path, rulesOf(module.path).node) ? [] : [`may not import ${specifier}`]
    const packages = [...(rulesOf(module.path).packages ?? []), ...(adapterOf(module.path)?.adapter?.packages ?? [])]
    return packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
      ? []
      : [`may not import the package ${specifier}`]
  })
}

function deadImports(module: Module): string[] {
  return module.imports.flatMap(({ specifier, file }) =>
    file === undefined || source.has(file) ? [] : [`imports ${specifier}, which is not a source file`],
  )
}

function impurities(module: Module): string[] {
  if (isWithin(module.path, rulesOf(module.path).clock)) return []
  return module.impure.map(({ what, at }) => `line ${at} uses ${what}`)
}

function isWithin(path: string, folders: readonly string[] | undefined): boolean {
  return (folders ?? []).some((folder) => path.startsWith(`${posix.join('src', roomOf(path) ?? '', folder)}/`))
}

function drawerNames({ path }: Module): string[] {
  return path
    .replace(/\.ts$/, '')
    .split('/')
    .flatMap((name) => (drawers.includes(name) ? [`"${name}" says nothing about what is inside`] : []))
}
