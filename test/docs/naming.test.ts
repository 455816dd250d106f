/**
 * Holds every declared name of the packages against the page of names: types, functions, constants, members, files.
 *
 * Owns: reading the page, the exceptions with their reasons. Does not own: which words are wrong
 * (docs/reference/naming-conventions.md), sentences.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Node, parseSync, visitorKeys } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { packages } from '../../scripts/packages.ts'
import { isNode } from '../arch/source.ts'
import { type Exception, exceptions } from './naming-exceptions.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/reference/naming-conventions.md'), 'utf8')

/** A name, and where it is declared. */
interface Declared {
  readonly name: string
  readonly file: string
  /** Declared at the top of its module, or the name of the module itself. */
  readonly isTop: boolean
}

/** The rows of the table under a heading, as cells. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.includes('|---'))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '))
}

/** The entries of a cell: a comma inside a remark or a phrase separates nothing. */
const entriesOf = (cell: string): readonly string[] =>
  (cell.match(/(?:"[^"]*"|\([^)]*\)|[^,])+/g) ?? []).map((entry) => entry.trim())

/** The words that no name may have. */
function forbidden(): readonly string[] {
  const rows = rowsUnder('Words')
  const terms = new Set(rows.flatMap(([term = '']) => [...term.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word]) => word)))
  return rows
    .flatMap(([, , cell = '']) => entriesOf(cell))
    .filter((entry) => /^[a-z][a-z -]*$/.test(entry) && !terms.has(entry))
}

/** The words that say too little to be the whole name of something. */
const vague = (): readonly string[] => rowsUnder('Words that are no name').flatMap(([cell = '']) => entriesOf(cell))

/** A name as its words: `wordsOf('RunLocation')` is `['run', 'location']`. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')

/** Whether a name has a term, or its plural. */
const hasTerm = (name: string, term: string): boolean =>
  new RegExp(` ${term.replaceAll('-', ' ')}(?:s|es)? `).test(` ${wordsOf(name).join(' ')} `)

/** Whether an exception covers a name: by itself, or by the file or folder that it is in. */
const covers = ({ names = [], within }: Exception, { name, file }: Declared): boolean =>
  names.includes(name) || (within !== undefined && file.startsWith(within))

function declaredIn(folder: string): readonly Declared[] {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return paths
    .filter((path) => /\.tsx?$/.test(path))
    .flatMap((path) => {
      const file = join(folder, path)
      const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'), { sourceType: 'module' })
      const names: Declared[] = [{ name: basename(file).replace(/\.tsx?$/, ''), file, isTop: true }]
      walk(program, 0, (name, isTop) => names.push({ name, file, isTop }))
      return names
    })
}

/** Calls `see` for each name that is declared; what is declared inside a function is the function's own affair. */
function walk(node: Node, depth: number, see: (name: string, isTop: boolean) => void): void {
  const name = nameOf(node)
  if (name !== undefined) see(name, depth === 0)
  if (node.type === 'BlockStatement') return
  const inside =
    depth + (node.type === 'ClassBody' || node.type === 'TSInterfaceBody' || node.type === 'TSTypeLiteral' ? 1 : 0)
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, unknown>)[key]
    for (const each of Array.isArray(child) ? (child as unknown[]) : [child]) if (isNode(each)) walk(each, inside, see)
  }
}

function nameOf(node: Node): string | undefined {
  switch (node.type) {
    case 'ClassDeclaration':
    case 'FunctionDeclaration':
      return node.id?.name
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return node.id.name
    case 'VariableDeclarator':
      return node.id.type === 'Identifier' ? node.id.name : undefined
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'TSPropertySignature':
    case 'TSMethodSignature':
      return node.key.type === 'Identifier' || node.key.type === 'PrivateIdentifier' ? node.key.name : undefined
    default:
      return undefined
  }
}

const declared = packages.flatMap((each) => declaredIn(join('packages', each.name, 'src')))

describe('the names', () => {
  test('the page lists words that no name may have', () => {
    expect(forbidden()).toEqual(expect.arrayContaining(['wish', 'word', 'permit', 'outlet', 'main agent', 'sub-run']))
    expect(forbidden()).not.toContain('transfer')
    expect(forbidden().filter((term) => term.includes('('))).toEqual([])
  })
  test('a name is split into its words', () => {
    expect(wordsOf('RecruitWishView')).toEqual(['recruit', 'wish', 'view'])
    expect(hasTerm('AAgentOutlets', 'outlet')).toBe(true)
    expect(hasTerm('subRuns', 'sub-run')).toBe(true)
    expect(hasTerm('permission', 'permit')).toBe(false)
  })
  test('no declared name has a word that the page forbids', () => {
    const terms = forbidden()
    const offends = new Map(
      [...new Set(declared.map(({ name }) => name))].flatMap((name) => {
        const found = terms.filter((term) => hasTerm(name, term))
        return found.length === 0 ? [] : [[name, found] as const]
      }),
    )
    const found = declared.flatMap((each) =>
      (offends.get(each.name) ?? [])
        .filter((term) => !exceptions.some((exception) => exception.term === term && covers(exception, each)))
        .map((term) => `${each.file}: ${each.name} says "${term}"`),
    )
    expect([...new Set(found)]).toEqual([])
  })
  test('a word that says too little is no whole name of a type, a function, a constant or a file', () => {
    const words = vague()
    const found = declared
      .filter(({ name, isTop }) => isTop && words.includes(name.toLowerCase()))
      .map(({ name, file }) => `${file}: ${name}`)
    expect(words.length).toBeGreaterThan(5)
    expect(found).toEqual([])
  })
  test('every exception is needed', () => {
    const terms = forbidden()
    const stale = exceptions.flatMap(({ term, names = [], within }) => [
      ...(terms.includes(term) ? [] : [`"${term}" is no word that the page forbids`]),
      ...names.filter((name) => !hasTerm(name, term) || !declared.some((each) => each.name === name)),
      ...(within === undefined || declared.some(({ name, file }) => file.startsWith(within) && hasTerm(name, term))
        ? []
        : [`"${term}" in ${within}`]),
    ])
    expect(stale).toEqual([])
  })
})
