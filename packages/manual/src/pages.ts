/**
 * The pages and examples of the documentation, as they lie in the package.
 *
 * Owns: which files are pages, their order, titles and sections. Does not own: their content (docs/), which page is for
 * what (docs/README.md, whose words are read here).
 * Holds: only files below the given folder are read, whatever name is asked for.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { ReeveError } from '@reeve/core'

/** A page. */
export interface ManualPage {
  /** From the root of the package: `docs/how-to/tools.md`. */
  readonly path: string
  readonly title: string
  /** What people want who are sent to it, in the words of the index; empty if it names none. */
  readonly wanted: string
  readonly text: string
}

/** A program that runs. */
export interface Example {
  /** Its file name without `.ts`: `02-approval`. */
  readonly name: string
  /** What it shows: its opening comment, on one line. */
  readonly about: string
  readonly text: string
}

/** What there is to read. */
export interface Manual {
  /** In the order of the index; pages that it does not name follow. */
  readonly pages: readonly ManualPage[]
  readonly examples: readonly Example[]
}

/** A part of a page under one heading. */
export interface Section {
  /** `docs/how-to/tools.md#effects`; of the beginning of a page its path alone. */
  readonly address: string
  readonly heading: string
  readonly text: string
}

/** Rules and reasons for those who build Reeve, and lists that only machines read: nobody who uses it asks for them. */
const isOfBuilders = (path: string): boolean =>
  /^docs\/(decisions|spec)\/|^docs\/reference\/(attacks|conformance|coverage|naming-conventions)\.md$/.test(path)

/** Reads the documentation below the root of the package. Throws `config.invalid` where it is not there. */
export function readManual(root: string): Manual {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  if (!existsSync(join(root, 'docs', 'README.md')))
    throw new ReeveError(
      'config.invalid',
      `the documentation is not beside this program: there is no docs/ in ${root}`,
      {
        hint: 'Run it from the installed package: a bundle does not have its documentation.',
      },
    )
  const index = indexOf(read('docs/README.md'))
  const all = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join('docs', name.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.md') && path !== 'docs/README.md' && !isOfBuilders(path))
    .toSorted()
  const there = new Set(all)
  const paths = [...new Set([...[...index.keys()].filter((path) => there.has(path)), ...all])]
  const readme = existsSync(join(root, 'README.md')) ? ['README.md'] : []
  return {
    pages: [...readme, ...paths].map((path) => {
      const text = read(path)
      return { path, title: titleOf(text, path), wanted: index.get(path) ?? '', text }
    }),
    examples: readdirSync(join(root, 'examples'))
      .filter((name) => /^\d\d-.*\.ts$/.test(name))
      .toSorted()
      .map((name) => {
        const text = read(posix.join('examples', name))
        return { name: name.slice(0, -3), about: openingOf(text), text }
      }),
  }
}

/** The page of an address: its path, the end of its path, or its path and a heading; undefined: there is none. */
export function pageOf(manual: Manual, address: string): (ManualPage & { readonly section?: Section }) | undefined {
  const [name = '', anchor] = address.split('#')
  const wanted = name.replace(/^\.?\//, '').replace(/(\.md)?$/, '.md')
  const page =
    manual.pages.find(({ path }) => path === wanted) ?? manual.pages.find(({ path }) => path.endsWith(`/${wanted}`))
  if (page === undefined || anchor === undefined) return page
  const section = sectionsOf(page).find((each) => each.address === `${page.path}#${anchor}`)
  return section === undefined ? page : { ...page, section }
}

/** The example of a name, of its number, or of its name without that; undefined: there is none. */
export const exampleOf = (manual: Manual, name: string): Example | undefined => {
  const wanted = name.replace(/^examples\//, '').replace(/\.ts$/, '')
  const number = /^\d+$/.test(wanted) ? `${wanted.padStart(2, '0')}-` : undefined
  return manual.examples.find(
    (each) => each.name === wanted || each.name.slice(3) === wanted || (number && each.name.startsWith(number)),
  )
}

/** The sections of a page, at its headings of the first three levels. */
export function sectionsOf({ path, title, text }: ManualPage): readonly Section[] {
  const sections: { address: string; heading: string; lines: string[] }[] = [
    { address: path, heading: title, lines: [] },
  ]
  let fence = false
  for (const line of text.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) fence = !fence
    const heading = fence ? undefined : /^#{2,3} (.+)$/.exec(line)?.[1]
    if (heading !== undefined) sections.push({ address: `${path}#${anchorOf(heading)}`, heading, lines: [] })
    sections.at(-1)!.lines.push(line)
  }
  return sections.map(({ lines, ...section }) => ({ ...section, text: lines.join('\n').trim() }))
}

/** The anchor of a heading, as sites that show Markdown make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

const titleOf = (text: string, path: string): string => /^# (.+)$/m.exec(text)?.[1] ?? path

/** The opening comment of a program, on one line. */
const openingOf = (text: string): string =>
  (/^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '')
    .replaceAll(/^\s*\*? ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Of each page that the index names, what for. */
function indexOf(readme: string): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>()
  for (const line of readme.split('\n')) {
    const [, what = '', where = ''] = /^\| (.+?) \| ?(.*?) ?\|$/.exec(line) ?? []
    for (const [, link = ''] of where.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      const path = posix.join('docs', link)
      wanted.set(path, [wanted.get(path), what.replaceAll(/[*`]/g, '')].filter(Boolean).join('; '))
    }
  }
  return wanted
}
