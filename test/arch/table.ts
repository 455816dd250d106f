/**
 * Prints the packages as a table and keeps it between the markers of `docs/explanation/architecture.md`. Run as a program (`npm run
 * docs:arch`) it writes the page; the architecture test only compares.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Package, packages } from '../../scripts/packages.ts'
import { clock, maxDepth, node } from './rules.ts'

const root = dirname(dirname(import.meta.dirname))
const page = join(root, 'docs', 'explanation', 'architecture.md')
const open = '<!-- packages: written by `npm run docs:arch`, do not edit -->'
const close = '<!-- /packages -->'
const blank = `# Architecture\n\n${open}\n${close}\n`

/** What `docs/explanation/architecture.md` holds now, and what it should hold. */
export function pageNowAndDue(): { now: string; due: string } {
  const now = existsSync(page) ? readFileSync(page, 'utf8') : ''
  const text =
    now.includes(open) && now.includes(close) ? now : now === '' ? blank : `${now.trimEnd()}\n\n${open}\n${close}\n`
  return {
    now,
    due: text.slice(0, text.indexOf(open) + open.length) + `\n\n${table()}\n\n` + text.slice(text.indexOf(close)),
  }
}

function table(): string {
  return [
    '| package | owns | may import | packages of others | `node:*` | clock, random |',
    '|---|---|---|---|---|---|',
    ...inOrder().map(row),
    '',
    'Type imports count. A package is entered through the doors of its `package.json`; no import cycle anywhere. The compiler holds it (`npm run check:types`).',
    `A path has at most ${maxDepth} folders under \`src/\`.`,
  ].join('\n')
}

/** Every package after those that it imports. */
function inOrder(): Package[] {
  const order = new Set<Package>()
  const put = (each: Package): void => {
    for (const name of each.imports) put(packages.find((other) => other.name === name)!)
    order.add(each)
  }
  for (const each of packages) put(each)
  return [...order]
}

function row({ name, description, imports, others }: Package): string {
  const places = (folders: readonly string[] | undefined): string =>
    (folders ?? []).map((each) => (each === '.' ? 'yes' : `\`${each}/\``)).join(', ') || '–'
  const cells = [
    `\`${name}\``,
    description,
    imports.join(', ') || 'nothing',
    others.map((each) => `\`${each}\``).join(', ') || '–',
    places(node[name]),
    places(clock[name]),
  ]
  return `| ${cells.join(' | ')} |`
}

if (import.meta.main) {
  mkdirSync(dirname(page), { recursive: true })
  writeFileSync(page, pageNowAndDue().due)
}
