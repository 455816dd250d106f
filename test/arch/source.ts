/**
 * Reads the packages into facts the architecture rules can judge: what each module imports (types and dynamic imports too),
 * how long its functions are, which globals it calls, and how it opens. It judges nothing itself.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import {
  type ArrowFunctionExpression,
  type Function as NamedFunction,
  type Node,
  parseSync,
  visitorKeys,
} from 'oxc-parser'
import { packages } from '../../scripts/packages.ts'

export interface Module {
  /** from the root of the repository: `packages/core/src/ids.ts` */
  path: string
  lines: number
  /** the doc comment it opens with */
  opening: string | undefined
  /** the specifier as written, and the file it means when it is one of ours */
  imports: { specifier: string; file: string | undefined }[]
  /** the files of data that it imports, from the root of the repository */
  data: string[]
  functions: { name: string; lines: number; at: number }[]
  /** classes and interfaces at the top of the module, exported or not */
  declares: string[]
  /** calls that take time or randomness from the platform: `Date.now`, `new Date()` */
  impure: { what: string; at: number }[]
  /** lines in which a member is assigned a function that is written there: `this.end = () => …` */
  assigned: number[]
}

const root = dirname(dirname(import.meta.dirname))
const clocks = [
  'Date.now',
  'Math.random',
  'performance.now',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'process.hrtime',
]

const doors: Readonly<Record<string, string>> = Object.assign({}, ...packages.map((each) => each.doors))

/** Every module under `packages/<name>/src/`, by path; without the studio, which has rules of its own. */
export const readSource = (): Map<string, Module> =>
  new Map(packages.filter(({ name }) => name !== 'studio').flatMap(({ name }) => [...modulesOf(name)]))

/** Every module of the studio, by path. */
export const readStudio = (): Map<string, Module> => modulesOf('studio')

function modulesOf(name: string): Map<string, Module> {
  const folder = posix.join('packages', name, 'src')
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((each) => posix.join(folder, each.replaceAll('\\', '/')))
    .filter((path) => /\.tsx?$/.test(path))
  return new Map(paths.sort().map((path) => [path, readModule(path, readFileSync(join(root, path), 'utf8'))]))
}

/** The facts of one module. */
export function readModule(path: string, text: string): Module {
  const { program, comments, module, errors } = parseSync(path, text, { sourceType: 'module' })
  if (errors[0]) throw new Error(`${path} does not parse: ${errors[0].message}`)
  const line = (offset: number): number => text.slice(0, offset).split('\n').length
  const specifiers = new Set<string>()
  for (const each of module.staticImports) specifiers.add(each.moduleRequest.value)
  for (const entry of module.staticExports.flatMap((each) => each.entries))
    if (entry.moduleRequest) specifiers.add(entry.moduleRequest.value)

  const first = comments[0]
  const opensDocumented =
    first?.type === 'Block' &&
    first.value.startsWith('*') &&
    text.slice(0, first.start).replace(/^#!.*/, '').trim() === ''
  const found: Module = {
    path,
    lines: line(text.trimEnd().length),
    opening: opensDocumented ? first.value : undefined,
    imports: [],
    data: [],
    functions: [],
    declares: program.body.flatMap(declaredBy),
    impure: [],
    assigned: [],
  }
  walk(program, undefined, (node, parent) => {
    if (node.type === 'ImportExpression' && node.source.type === 'Literal') specifiers.add(String(node.source.value))
    if (node.type === 'TSImportType') specifiers.add(node.source.value)
    if (isFunction(node))
      found.functions.push({
        name: nameOf(node, parent),
        lines: line(node.end) - line(node.start) + 1,
        at: line(node.start),
      })
    if (
      node.type === 'AssignmentExpression' &&
      node.operator === '=' &&
      node.left.type === 'MemberExpression' &&
      isFunction(node.right)
    )
      found.assigned.push(line(node.start))
    const impure = impurity(node)
    if (impure) found.impure.push({ what: impure, at: line(node.start) })
  })
  for (const specifier of specifiers) {
    if (specifier.endsWith('.json')) found.data.push(posix.join(posix.dirname(path), specifier))
    else
      found.imports.push({
        specifier,
        file: specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : doors[specifier],
      })
  }
  return found
}

/** The class or interface that a statement declares. */
function declaredBy(statement: Node): string[] {
  const declared =
    statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
      ? statement.declaration
      : statement
  return (declared?.type === 'ClassDeclaration' || declared?.type === 'TSInterfaceDeclaration') && declared.id
    ? [declared.id.name]
    : []
}

/** The largest knots of files, or folders, that import each other, each as what is in it. */
export function cycles(
  modules: ReadonlyMap<string, { readonly imports: readonly { readonly file: string | undefined }[] }>,
): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const knots: string[][] = []
  const visit = (path: string): number => {
    order.set(path, order.size)
    low.set(path, order.size - 1)
    stack.push(path)
    for (const { file } of modules.get(path)?.imports ?? []) {
      if (file === undefined || !modules.has(file)) continue
      if (!order.has(file)) low.set(path, Math.min(low.get(path)!, visit(file)))
      else if (stack.includes(file)) low.set(path, Math.min(low.get(path)!, order.get(file)!))
      if (file === path) knots.push([path])
    }
    if (low.get(path) === order.get(path)) {
      const knot = stack.splice(stack.indexOf(path))
      if (knot.length > 1) knots.push(knot.sort())
    }
    return low.get(path)!
  }
  for (const path of modules.keys()) if (!order.has(path)) visit(path)
  return knots
}

function impurity(node: Node): string | undefined {
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    if (
      node.callee.type === 'Identifier' &&
      node.callee.name === 'Date' &&
      (node.type === 'CallExpression' || node.arguments.length === 0)
    )
      return 'Date()'
  }
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') return undefined
  const { object } = node
  const owner =
    object.type === 'Identifier'
      ? object.name
      : object.type === 'MemberExpression' && object.property.type === 'Identifier'
        ? object.property.name
        : ''
  const what = `${owner}.${node.property.name}`
  return clocks.includes(what) ? what : undefined
}

type FunctionNode = NamedFunction | ArrowFunctionExpression

function isFunction(node: Node): node is FunctionNode {
  return (
    node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
  )
}

function nameOf(node: FunctionNode, parent: Node | undefined): string {
  if (node.id) return node.id.name
  if (parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier') return parent.id.name
  if (parent?.type === 'MethodDefinition' || parent?.type === 'Property' || parent?.type === 'PropertyDefinition') {
    if (parent.key.type === 'Identifier' || parent.key.type === 'PrivateIdentifier') return parent.key.name
  }
  return '(anonymous)'
}

function walk(node: Node, parent: Node | undefined, see: (node: Node, parent: Node | undefined) => void): void {
  see(node, parent)
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, unknown>)[key]
    for (const each of Array.isArray(child) ? (child as unknown[]) : [child]) if (isNode(each)) walk(each, node, see)
  }
}

/** Whether a member of a syntax tree is a node of it. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
