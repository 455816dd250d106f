/**
 * Writes `docs/reference/events.md`: every journal event, with its version, its fields and when it is recorded, as its
 * declaration in `packages/journal/src/events/` says. `node scripts/events.ts` writes the page, a test compares.
 *
 * Owns: the page. Does not own: the events, their kinds and versions (packages/journal/src/events).
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  parseSync,
  type Comment,
  type Node,
  type TSInterfaceDeclaration,
  type TSTypeAliasDeclaration,
} from 'oxc-parser'
import { eventTypes, kindOf, versions, type JournalEvent } from '@reeve/journal'

const root = dirname(import.meta.dirname)
const folder = join(root, 'packages', 'journal', 'src', 'events')
const page = join(root, 'docs', 'reference', 'events.md')

interface Source {
  readonly text: string
  readonly comments: readonly Comment[]
}
interface Declared<T> {
  readonly source: Source
  readonly node: T
}
interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly type: string
  readonly about: string
}

type EventType = JournalEvent['type']

/** The kinds of events, in the order of the page. */
const kinds = [
  ['lifecycle', 'Lifecycle', 'The beginning and the end of an activation.'],
  [
    'command',
    'Commands',
    'What the code of an activation asked for. On replay the same code asks again and claims them by their `address`.',
  ],
  ['arrival', 'Arrivals', 'What came in, in the order in which the code saw it.'],
  ['note', 'Notes', 'What the engine did by itself. The code does not see them; views do.'],
] as const

/** Names that events record and that core owns. */
const coreFiles = ['oversight-mode.ts', 'risk.ts'].map((name) => join(root, 'packages', 'core', 'src', name))

const interfaces = new Map<string, Declared<TSInterfaceDeclaration>>()
const aliases = new Map<string, Declared<TSTypeAliasDeclaration>>()
for (const file of [
  ...coreFiles,
  ...readdirSync(folder)
    .sort()
    .map((name) => join(folder, name)),
]) {
  const text = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file, text)
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (node?.type === 'TSInterfaceDeclaration') interfaces.set(node.id.name, { source: { text, comments }, node })
    if (node?.type === 'TSTypeAliasDeclaration') aliases.set(node.id.name, { source: { text, comments }, node })
  }
}

/** The text of a node on one line, without comments. */
function plain({ text, comments }: Source, { start, end }: Node): string {
  let shown = text.slice(start, end)
  for (const comment of comments.filter((each) => each.start >= start && each.end <= end))
    shown = shown.replace(text.slice(comment.start, comment.end), '')
  return shown.replaceAll('readonly ', '').replaceAll(/\s+/g, ' ').trim()
}

/** The doc comment that ends right before a node, as one paragraph. */
function aboutOf({ text, comments }: Source, start: number): string {
  const comment = comments.findLast(({ end }) => end <= start)
  if (comment === undefined || !comment.value.startsWith('*')) return ''
  const between = text.slice(comment.end, start).trim()
  if (between !== '' && between !== 'export') return ''
  return comment.value
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .join(' ')
    .trim()
}

/** The fields of an interface, those that it inherits last. */
function fieldsOf({ source, node }: Declared<TSInterfaceDeclaration>): readonly Field[] {
  const own = node.body.body.flatMap((member): Field[] => {
    if (member.type !== 'TSPropertySignature' || member.key.type !== 'Identifier' || !member.typeAnnotation) return []
    const { name } = member.key
    const type = plain(source, member.typeAnnotation.typeAnnotation)
    return [{ name, type, isOptional: member.optional, about: aboutOf(source, member.start) }]
  })
  const inherited = node.extends.flatMap(({ expression }) => {
    const base = expression.type === 'Identifier' ? interfaces.get(expression.name) : undefined
    return base === undefined ? [] : fieldsOf(base)
  })
  return [...own, ...inherited]
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
const anchor = (event: string): string => event.replaceAll('.', '')

interface Event {
  readonly type: EventType
  readonly about: string
  readonly fields: readonly Field[]
}

/** The declarations of events, by the literal of their `type`. */
const declarations = new Map(
  [...interfaces.values()].flatMap((declared) => {
    const literal = fieldsOf(declared).find(({ name }) => name === 'type')?.type
    return literal === undefined ? [] : [[literal, declared] as const]
  }),
)

function eventOf(type: EventType): Event {
  const declared = declarations.get(`'${type}'`)
  if (declared === undefined) throw new Error(`${type}: no interface has this type`)
  return { type, about: aboutOf(declared.source, declared.node.start), fields: fieldsOf(declared) }
}

const sectionOf = ({ type, about, fields }: Event): string =>
  [`### ${type}`, '', `Version ${versions[type]}. ${about}`, '', ...fieldTable(fields)].join('\n')

function fieldTable(fields: readonly Field[]): readonly string[] {
  const rows = fields
    .filter(({ name }) => name !== 'type' && name !== 'op')
    .map(
      (field) =>
        `| \`${field.name}\`${field.isOptional ? '' : ' *'} | \`${cell(field.type)}\` | ${cell(field.about)} |`,
    )
  return rows.length === 0 ? ['No fields.'] : ['| field | type | |', '|---|---|---|', ...rows]
}

/** The types of the house that fields name, and those that these name, by name. */
function typesNamed(texts: readonly string[], known = new Set<string>()): ReadonlySet<string> {
  for (const name of texts.flatMap((text) => text.match(/\b[A-Z]\w+\b/g) ?? [])) {
    if (known.has(name) || name.endsWith('Event')) continue
    const [declared, alias] = [interfaces.get(name), aliases.get(name)]
    if (declared === undefined && alias === undefined) continue
    known.add(name)
    typesNamed(
      declared === undefined
        ? [plain(alias!.source, alias!.node.typeAnnotation)]
        : fieldsOf(declared).map(({ type }) => type),
      known,
    )
  }
  return known
}

function typeSection(name: string): string {
  const declared = interfaces.get(name)
  if (declared !== undefined)
    return [
      `### ${name}`,
      '',
      aboutOf(declared.source, declared.node.start),
      '',
      ...fieldTable(fieldsOf(declared)),
    ].join('\n')
  const { source, node } = aliases.get(name)!
  return `### ${name}\n\n${aboutOf(source, node.start)}\n\n\`${plain(source, node.typeAnnotation).replace(/^\| /, '')}\``
}

/** The page as it is to be. */
export function eventsPage(): string {
  const events = eventTypes.map(eventOf)
  const parts = kinds.map(([kind, title, about]) => {
    const family = events.filter(({ type }) => kindOf(type) === kind)
    const list = family.map(({ type }) => `[${type}](#${anchor(type)})`).join(' · ')
    return [`## ${title}`, about, list, ...family.map(sectionOf)].join('\n\n')
  })
  return `<!-- written by \`npm run docs:events\`, do not edit -->

# Journal events

Everything that a journal holds: ${events.length} events. \`run.events()\`, \`runtime.feed()\`, \`reeve events\` and the server's feed give them as \`{ position, activation, seq, at, event }\`: \`position\` orders the run,
\`seq\` has no gap within an activation, \`at\` is milliseconds since 1970. Each event has its \`type\`. A field with * is always there.

A released event is never edited: a newer version of Reeve reads the versions before it ([architecture](../explanation/architecture.md)). \`address\` names an operation within its activation: its end has the same one.

${parts.join('\n\n')}

## Types

What fields are made of. \`Json\`, \`Outcome\`, \`Failure\`, \`Usage\` and ids are in [the API](api/reeve.md).

${[...typesNamed(events.flatMap(({ fields }) => fields.map(({ type }) => type)))].sort().map(typeSection).join('\n\n')}
`
}

if (import.meta.main) writeFileSync(page, eventsPage())
