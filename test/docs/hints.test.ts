/**
 * Hints: what an error tells somebody to do. Every option, member, command, flag, package, door and file that one names
 * is there.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, visitorKeys, type Node } from 'oxc-parser'
import { beforeAll, expect, test } from 'vitest'
import { commandGroups } from '../../packages/cli/src/command-groups.ts'
import { main } from '../../packages/cli/src/program.ts'
import { fakeTerminal } from '../../packages/cli/test/fake-terminal.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const manifest = JSON.parse(read('package.json')) as Readonly<
  Record<string, Readonly<Record<string, unknown>> | undefined>
>

interface Hint {
  readonly where: string
  readonly text: string
}

function walk(node: Node, see: (node: Node) => void): void {
  see(node)
  for (const key of visitorKeys[node.type] ?? []) {
    const below = (node as unknown as Readonly<Record<string, Node | readonly (Node | null)[] | null>>)[key]
    for (const each of Array.isArray(below) ? (below as readonly (Node | null)[]) : [below as Node | null])
      if (each !== null && each !== undefined) walk(each, see)
  }
}

/** What stands for the way `reeve` was called is "reeve", anything else that is filled in is "…". */
const filledIn = (expression: Node | undefined): string =>
  expression?.type === 'Identifier' && expression.name === 'reeve' ? 'reeve' : '…'

/** The texts in an expression. */
function textsIn(node: Node): string[] {
  const texts: string[] = []
  walk(node, (each) => {
    if (each.type === 'Literal' && typeof each.value === 'string') texts.push(each.value)
    if (each.type === 'TemplateLiteral')
      texts.push(
        each.quasis
          .map(
            ({ value }, i) =>
              `${value.cooked ?? ''}${i < each.expressions.length ? filledIn(each.expressions[i]) : ''}`,
          )
          .join(''),
      )
  })
  return texts
}

/**
 * What says a hint: `hint:` of an error or a failure, the second word of `usage(…)`, a variable that is called hint.
 */
function hintIn(node: Node): Node | undefined {
  if (node.type === 'Property')
    return node.key.type === 'Identifier' && node.key.name === 'hint' ? node.value : undefined
  if (node.type === 'CallExpression')
    return node.callee.type === 'Identifier' && node.callee.name === 'usage' ? node.arguments[1] : undefined
  if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier' || !/^hint$|Hint$/.test(node.id.name))
    return undefined
  return node.init ?? undefined
}

function sources(): string[] {
  return readdirSync(join(root, 'packages'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^[\w-]+\/src\/.*(?<!\.d)\.ts$/.test(file),
  )
}

function hints(): Hint[] {
  return sources().flatMap((file) => {
    const found: Hint[] = []
    walk(parseSync(file, read(join('packages', file))).program, (node) => {
      const hint = hintIn(node)
      for (const text of hint === undefined ? [] : textsIn(hint))
        if (text.trim() !== '') found.push({ where: file, text })
    })
    return found
  })
}

/**
 * Names that a user meets: exports, options and members of what is exported, and of types that they name without
 * exporting them; and those of the language.
 */
const declared = (text: string): string[] =>
  [...text.matchAll(/([A-Za-z_$][\w$]*)\??\s*[:(<]/g)].map(([, name]) => name!)
const api = read('api/reeve.api.md')
const exported = new Set(
  [...api.matchAll(/\b(?:const|function|class|interface|type) ([A-Za-z_$][\w$]*)/g)].map(([, name]) => name!),
)
const names = new Set([...exported, ...declared(api)])
const types = new Map(
  sources().flatMap((file) =>
    [...read(join('packages', file)).matchAll(/^export (?:interface|type) (\w+)[^]*?\n(?:\}|$)/gm)].map(
      ([whole, name]) => [name!, whole] as const,
    ),
  ),
)
const mentions = (text: string): string[] =>
  [...text.matchAll(/\b[A-Z]\w*\b/g)].flatMap(([name]) => (exported.has(name) ? [] : [name]))
const mentioned = new Set(mentions(api))
for (const name of mentioned) {
  const text = types.get(name) ?? ''
  for (const each of mentions(text)) mentioned.add(each)
  for (const each of declared(text)) names.add(each)
}
const ofLanguage = (name: string): boolean =>
  name in globalThis || [String.prototype, crypto, console].some((each) => name in Object(each))
const isName = (name: string): boolean => names.has(name) || ofLanguage(name)

/** What the command line prints of itself, by command; `''`: of the whole. */
const help = new Map<string, string>()
const helpOf = async (...args: string[]): Promise<string> => {
  const terminal = fakeTerminal()
  await main([...args, '--help'], { terminal, cwd: root, interrupted: new AbortController().signal, version: '0' })
  return terminal.written
}
const commandsIn = (page: string): string[] =>
  [
    ...page
      .slice(
        Math.max(page.indexOf('\nCommands:\n'), page.indexOf(`\n${commandGroups[0]!.heading}:\n`)) + 1 || page.length,
      )
      .matchAll(/^ {2}([a-z]+(?:-[a-z]+)*)(?: |$)/gm),
  ].map(([, name]) => name!)
beforeAll(async () => {
  help.set('', await helpOf())
  for (const name of commandsIn(help.get('')!)) {
    help.set(name, await helpOf(name))
    for (const below of commandsIn(help.get(name)!))
      if (below !== 'help') help.set(`${name} ${below}`, await helpOf(name, below))
  }
})

const packages = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((kind) =>
  Object.keys(manifest[kind] ?? {}),
)

/** What a hint names that is not there. */
function strangers(text: string): string[] {
  const wrong: string[] = []
  const must = (what: string, found: boolean): void => void (found || wrong.push(what))
  const installs = [...text.matchAll(/npm install ([^\n)]*)/g)]
  for (const [, list] of installs)
    for (const word of list!.split(' '))
      if (/^@?[a-z]/.test(word))
        must(
          `package ${word}`,
          word === 'reeve' || packages.includes(word.replace(/(?<=.)@.*$|[.,]$/g, '')) || word === '…',
        )
      else if (!/^(?:--save-dev|…)/.test(word)) break
  // what belongs to other programs is no word of ours
  const ours = installs
    .reduce((rest, [whole]) => rest.replace(whole, ''), text)
    .replaceAll(/`sqlite3 [^`]*`|\w+:\/\/\S+|'[\w.-]+\/[\w./-]+'/g, '')
  for (const [, door] of text.matchAll(/['"`]reeve(\/[a-z]+)?['"`]/g))
    must(`reeve${door ?? ''}`, `.${door ?? ''}` in manifest['exports']!)
  for (const [file] of text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)) must(file, existsSync(join(root, file)))
  for (const [, name, below] of ours.matchAll(/\breeve ([a-z]+(?:-[a-z]+)*)(?: (?:<\w+> )?([a-z]+))?/g)) {
    const command = help.get(name!)
    must(`command reeve ${name}`, command !== undefined)
    if (command !== undefined && below !== undefined && commandsIn(command).length > 0)
      must(`command reeve ${name} ${below}`, help.has(`${name} ${below}`))
  }
  for (const [flag] of ours.matchAll(/--[a-z][\w-]*/g))
    must(
      flag,
      [...help.values()].some((page) => page.includes(`${flag} `) || page.includes(`${flag}\n`)),
    )
  const identifiers = [
    ...ours.matchAll(/`([A-Za-z_]\w*)`/g), // in backticks
    ...ours.matchAll(/([A-Za-z_]\w*)\(/g), // called
    ...ours.matchAll(/(?<=[{,] |^|[\s(])"?([a-z]\w*)"?: (?=[[{'"0-9]|true|false)/g), // an option with a value
    ...ours.matchAll(/\b([a-z]+[A-Z]\w*)/g), // two words in one
    ...ours.matchAll(/\b[a-z]\w*\.([a-z]\w*)\b(?!\.(?:ts|md|db))/g), // a member
  ].map(([, name]) => name!)
  const extensions = new Set(['ts', 'md', 'db', 'json'])
  for (const name of new Set(identifiers)) if (!extensions.has(name)) must(name, isName(name))
  return wrong
}

test('every option, member, command, flag, package, door and file that a hint names is there', () => {
  const all = hints()
  expect(all.length).toBeGreaterThan(150)
  expect(all.flatMap(({ where, text }) => strangers(text).map((wrong) => `${where}: ${wrong}, in: ${text}`))).toEqual(
    [],
  )
})

test.each([
  ['Give it to createRuntime({ passKeys: [...] }).', 'passKeys'],
  ['Set `aPiKey`, or say again.', 'aPiKey'],
  ['List them: runtime.listAll().', 'listAll'],
  ['Look with reeve look.', 'command reeve look'],
  ['reeve audit forge <file>', 'command reeve audit forge'],
  ['reeve runs --everything', '--everything'],
  ['npm install left-pad', 'package left-pad'],
  ["import { x } from 'reeve/secrets'", 'reeve/secrets'],
  ['see docs/magic.md', 'docs/magic.md'],
])('what is not there is found: %s', (text, wrong) => {
  expect(strangers(text)).toContain(wrong)
})

test('who installs the package is not asked to allow a script, and what is packed is built before', () => {
  const scripts = Object.keys(manifest['scripts']!)
  expect(scripts.filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([])
  expect(scripts).toContain('prepack')
})
