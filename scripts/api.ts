/**
 * Writes, of every name that the public doors export, `api/reeve.api.md`: its signature as a user's compiler sees it;
 * and `docs/reference/api/`: a page for each door, with what is said of each name and member. With `--check` it writes
 * nothing and fails when a page is stale, when an exported function or constant has no doc comment (the name of a type
 * may say what it is), or when the declarations need a package users do not get.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix, relative } from 'node:path'
import { type Comment, type ModuleExportName, type Node, parseSync, type Statement, visitorKeys } from 'oxc-parser'
import { writeDeclarations } from './declarations.js'

const root = dirname(import.meta.dirname)
const page = join(root, 'api', 'reeve.api.md')
const reference = join(root, 'docs', 'reference', 'api')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly types: string } | string>>
  readonly dependencies: object
  readonly peerDependencies: object
}
/** Every import path, and its declarations. */
const doors: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[path.replace('.', 'reeve'), target.types.replace('./dist/', '')]],
  ),
)

/** A module of declarations: what it declares, what it takes from elsewhere, what it gives. */
interface Declarations {
  path: string
  text: string
  comments: Comment[]
  body: Statement[]
  declared: Map<string, Statement[]>
  imported: Map<string, { from: string; name: string }>
}
/** Where a name is declared; `in` is undefined when that is another package. */
interface Origin {
  name: string
  in: Declarations | undefined
  from: string
}

const emitted = mkdtempSync(join(tmpdir(), 'reeve-api-'))
const loaded = new Map<string, Declarations>()
/** What each module exports, once it is known: doors pass on what other doors pass on. */
const exported = new Map<string, ReadonlyMap<string, Origin>>()
try {
  const { due, undocumented } = report()
  const pages = new Map([[page, due], ...referencePages()])
  const written = existsSync(reference) ? readdirSync(reference).map((name) => join(reference, name)) : []
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(page), { recursive: true })
    rmSync(reference, { recursive: true, force: true })
    mkdirSync(reference, { recursive: true })
    for (const [path, text] of pages) writeFileSync(path, text)
  } else
    for (const path of new Set([...pages.keys(), ...written]))
      if (!existsSync(path) || readFileSync(path, 'utf8') !== pages.get(path)) {
        console.error(
          `api: ${relative(root, path)} is not what the source exports. If the change is meant, run \`npm run api\`, read the difference, and commit it.`,
        )
        process.exitCode = 1
      }
  for (const name of undocumented) console.error(`api: ${name} is exported without a doc comment`)
  for (const wrong of strangers()) console.error(`api: ${wrong}`)
  if (undocumented.length > 0 || strangers().length > 0) process.exitCode = 1
} finally {
  rmSync(emitted, { recursive: true, force: true })
}

function report(): { due: string; undocumented: string[] } {
  writeDeclarations(emitted, { quietly: true })
  const sections = [
    '# The public API\n\nWritten by `npm run api` from the declarations a user gets. A difference here is a change of the API.',
  ]
  const undocumented: string[] = []
  const there = Object.values(doors).filter((path) => existsSync(join(emitted, path)))
  const known = new Set(there.flatMap((path) => [...exportsOf(path).values()].map(keyOf)))
  for (const [door, path] of Object.entries(doors)) {
    if (!there.includes(path)) {
      sections.push(`## \`${door}\`\n\nNot there yet.`)
      continue
    }
    const found = [...exportsOf(path)].sort(([left], [right]) => (left < right ? -1 : 1))
    const shown = found.map(([name, origin]) => `### ${name}\n\n\`\`\`ts\n${signature(origin)}\n\`\`\``)
    const silent = silentTypes(
      found.map(([, origin]) => origin),
      known,
    )
    if (silent.length > 0) shown.push(`### Named above, not exported\n\n${silent.join(', ')}`)
    sections.push(`## \`${door}\` (${found.length})`, ...shown)
    for (const [name, origin] of found)
      if (origin.in && !isType(origin) && !isDocumented(origin)) undocumented.push(`${name} (${origin.in.path})`)
  }
  return { due: `${sections.join('\n\n')}\n`, undocumented: [...new Set(undocumented)] }
}

/** The page of a door. */
function fileOf(door: string): string {
  return `${door.replace(/^reeve\//, '').replaceAll('/', '-')}.md`
}

/** The pages of the reference: one for each door, and their list. */
function referencePages(): readonly (readonly [string, string])[] {
  const head = '<!-- written by `npm run api`, do not edit -->\n\n'
  const pages = Object.entries(doors).map(([door, path]) => {
    const found = [...exportsOf(path)].sort(([left], [right]) => (left < right ? -1 : 1))
    const sections = found.map(
      ([name, origin]) => `## ${name}\n\n${saidOf(origin)}\n\n\`\`\`ts\n${signature(origin, true)}\n\`\`\``,
    )
    return { door, count: found.length, text: `${head}# ${door}\n\n${sections.join('\n\n')}\n` }
  })
  const rows = pages.map(({ door, count }) => `| [\`${door}\`](${fileOf(door)}) | ${count} |`)
  const list = `${head}# The API\n\nA page for each import path: every name, what it is for, its declaration as the compiler sees it.\n\n| import path | names |\n|---|---|\n${rows.join('\n')}\n`
  return [
    ...pages.map(({ door, text }) => [join(reference, fileOf(door)), text] as const),
    [join(reference, 'README.md'), list],
  ]
}

/** The doc comment of a name, as text. */
function saidOf({ name, in: module, from }: Origin): string {
  if (!module) return `From \`${from}\`.`
  const start = module.declared.get(name)?.[0]?.start ?? 0
  const comment = module.comments.findLast(({ end }) => end <= start)
  if (comment === undefined || module.text.slice(comment.end, start).trim() !== '') return ''
  const lines = comment.value.split('\n').map((line) => line.replace(/^\s*\*\s?/, '').trimEnd())
  return lines.join('\n').trim()
}

/** Packages the declarations import that an install of ours does not bring: their types would silently be `any`. */
function strangers(): string[] {
  const brought = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]
  return [...loaded.values()].flatMap(({ path, body }) => {
    const specifiers = body.flatMap((statement) =>
      'source' in statement && statement.source ? [statement.source.value] : [],
    )
    const strange = specifiers.filter(
      (each) => !/^\.|^node:/.test(each) && !brought.some((name) => each === name || each.startsWith(`${name}/`)),
    )
    return strange.map((each) => `the declarations of ${path} import ${each}, which is no dependency`)
  })
}

function load(path: string): Declarations {
  const known = loaded.get(path)
  if (known) return known
  const text = readFileSync(join(emitted, path), 'utf8')
  const { program, comments } = parseSync(path, text, { sourceType: 'module' })
  const module: Declarations = { path, text, comments, body: program.body, declared: new Map(), imported: new Map() }
  for (const statement of module.body) {
    if (statement.type === 'ImportDeclaration') {
      for (const each of statement.specifiers) {
        const name =
          each.type === 'ImportSpecifier'
            ? nameOf(each.imported)
            : each.type === 'ImportDefaultSpecifier'
              ? 'default'
              : '*'
        module.imported.set(each.local.name, { from: statement.source.value, name })
      }
    }
    for (const name of declaredBy(statement))
      module.declared.set(name, [...(module.declared.get(name) ?? []), statement])
  }
  loaded.set(path, module)
  return module
}

/** The names a statement declares, exported or not. */
function declaredBy(statement: Statement): string[] {
  const node =
    statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
      ? statement.declaration
      : statement
  if (!node) return []
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  return 'id' in node && node.id && 'name' in node.id ? [node.id.name] : []
}

function exportsOf(path: string): ReadonlyMap<string, Origin> {
  const known = exported.get(path) ?? readExports(path)
  exported.set(path, known)
  return known
}

function readExports(path: string): ReadonlyMap<string, Origin> {
  const module = load(path)
  const found = new Map<string, Origin>()
  for (const statement of module.body) {
    if (statement.type === 'ExportAllDeclaration') {
      const all = exportsFrom(module, statement.source.value)
      if (statement.exported)
        found.set(nameOf(statement.exported), { name: '*', in: undefined, from: statement.source.value })
      else for (const [name, origin] of all) if (name !== 'default') found.set(name, origin)
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const name of declaredBy(statement)) found.set(name, { name, in: module, from: path })
      for (const { local, exported } of statement.specifiers) {
        const name = nameOf(local)
        found.set(
          nameOf(exported),
          statement.source
            ? originFrom(module, statement.source.value, name)
            : (originOf(module, name) ?? missing(module, name)),
        )
      }
    }
  }
  return found
}

function exportsFrom(module: Declarations, specifier: string): ReadonlyMap<string, Origin> {
  if (!specifier.startsWith('.')) return new Map()
  return exportsOf(posix.join(posix.dirname(module.path), specifier).replace(/\.(ts|js)$/, '.d.ts'))
}

function originFrom(module: Declarations, specifier: string, name: string): Origin {
  if (!specifier.startsWith('.')) return { name, in: undefined, from: specifier }
  return exportsFrom(module, specifier).get(name) ?? missing(module, name)
}

/** Where a name used in a module comes from, or undefined for a global or a type parameter. */
function originOf(module: Declarations, name: string): Origin | undefined {
  if (module.declared.has(name)) return { name, in: module, from: module.path }
  const imported = module.imported.get(name)
  return imported && originFrom(module, imported.from, imported.name)
}

function missing(module: Declarations, name: string): never {
  throw new Error(`${module.path} exports ${name}, which nothing declares`)
}

/** The declarations of a name, without the words every declaration has, and without comments unless they are kept. */
function signature({ name, in: module, from }: Origin, keepsComments = false): string {
  if (!module) return `${name} // from ${from}`
  const shown = (module.declared.get(name) ?? []).map(({ start, end }) => {
    let text = ''
    let at = start
    const left = module.comments.filter((each) => !keepsComments && each.start >= start && each.end <= end)
    for (const comment of left) {
      text += module.text.slice(at, comment.start)
      at = comment.end
    }
    text += module.text.slice(at, end)
    return text.replace(/^(export )?(declare )?/, '').replace(/^[ \t]*\n/gm, '')
  })
  return shown.join('\n')
}

/** Whether a name is only a type: what it holds is said at its members. */
function isType({ name, in: module }: Origin): boolean {
  const [statement] = module?.declared.get(name) ?? []
  const node = statement?.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  return node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration'
}

function isDocumented({ name, in: module }: Origin): boolean {
  const start = module?.declared.get(name)?.[0]?.start ?? 0
  const before = module?.comments.findLast(({ end }) => end <= start)
  return (
    before !== undefined &&
    before.type === 'Block' &&
    before.value.startsWith('*') &&
    module?.text.slice(before.end, start).trim() === ''
  )
}

function keyOf(origin: Origin): string {
  return `${origin.in?.path}#${origin.name}`
}

/**
 * Types of ours that exported declarations name, though no door exports them: a user can receive one but not write it
 * down.
 */
function silentTypes(origins: Origin[], known: ReadonlySet<string>): string[] {
  const silent = new Map<string, string>()
  for (const { name, in: module } of origins) {
    for (const statement of module?.declared.get(name) ?? []) {
      for (const used of typesNamedIn(statement)) {
        const origin = module && originOf(module, used)
        if (origin?.in && !known.has(keyOf(origin)))
          silent.set(
            keyOf(origin),
            `\`${origin.name}\` (${origin.in.path.replace('/src/', '/').replace(/\.d\.ts$/, '.ts')})`,
          )
      }
    }
  }
  return [...silent.values()].sort()
}

function typesNamedIn(node: Node): string[] {
  if (node.type === 'TSTypeReference' && node.typeName.type === 'Identifier')
    return [node.typeName.name, ...(node.typeArguments ? typesNamedIn(node.typeArguments) : [])]
  if (node.type === 'TSInterfaceHeritage' && node.expression.type === 'Identifier')
    return [node.expression.name, ...(node.typeArguments ? typesNamedIn(node.typeArguments) : [])]
  return (visitorKeys[node.type] ?? []).flatMap((key) => {
    const child = (node as unknown as Record<string, unknown>)[key]
    return (Array.isArray(child) ? (child as unknown[]) : [child]).flatMap((each) =>
      isNode(each) ? typesNamedIn(each) : [],
    )
  })
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function nameOf(name: ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}
