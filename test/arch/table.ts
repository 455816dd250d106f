/**
 * Prints the rooms as a table and keeps it between the markers of `docs/explanation/architecture.md`. Run as a program (`npm run
 * docs:arch`) it writes the page; the architecture test only compares.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { adapters, frontDoor, maxDepth, type Room, rooms } from './rooms.ts'
import { readSource } from './source.ts'

const root = dirname(dirname(import.meta.dirname))
const page = join(root, 'docs', 'explanation', 'architecture.md')
const open = '<!-- rooms: written by `npm run docs:arch`, do not edit -->'
const close = '<!-- /rooms -->'
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
  const files = [...readSource().keys()]
  const rows = Object.entries(rooms).map(([name, room]) => {
    return row(`\`${name}/\``, room, files.some((path) => path.startsWith(`src/${name}/`)) ? '' : ' *(place kept)*')
  })
  const more = Object.entries(adapters).map(([name, adapter]) => {
    const kept = files.some((path) => path.startsWith(`src/adapters/${name}/`)) ? '' : ' *(place kept)*'
    const list = (all: readonly string[] | undefined): string =>
      (all ?? []).map((each) => `\`${each}\``).join(', ') || '–'
    const others = (adapter.adapters ?? []).map((each) => `\`${each}/\``)
    return `| \`${name}/\`${kept} | ${[...adapter.imports, ...others].join(', ')} | ${list(adapter.packages)} | ${list(adapter.doors ?? ['index.ts'])} |`
  })
  return [
    '| room | owns | may import | packages | `node:*` | clock, random |',
    '|---|---|---|---|---|---|',
    row('`index.ts`, `public/`', frontDoor, ''),
    ...rows,
    '',
    '| adapter | may import besides | packages | doors |',
    '|---|---|---|---|',
    ...more,
    '',
    'Type imports count. Rooms and adapters are entered through their doors (`index.ts` unless named otherwise); no import cycle anywhere.',
    `A path has at most ${maxDepth} folders under \`src/\`. Outside \`src/\`, the studio may import \`packages/client/src/\`, the types of \`packages/server/src/wire.ts\`, and \`packages/core/src/visible.ts\`.`,
  ].join('\n')
}

function row(name: string, room: Room, kept: string): string {
  const places = (folders: readonly string[] | undefined): string =>
    (folders ?? []).map((each) => (each === '.' ? 'yes' : `\`${each}/\``)).join(', ') || '–'
  const cells = [
    name,
    room.owns + kept,
    room.imports.join(', ') || 'nothing',
    room.packages?.map((each) => `\`${each}\``).join(', ') ?? '–',
    places(room.node),
    places(room.clock),
  ]
  return `| ${cells.join(' | ')} |`
}

if (import.meta.main) {
  mkdirSync(dirname(page), { recursive: true })
  writeFileSync(page, pageNowAndDue().due)
}
