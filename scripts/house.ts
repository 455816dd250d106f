/**
 * The laws of the house: which anchors LAWS.md and docs/spec have, and what cites them.
 *
 * Owns: the folders in which sources stand, the form of an anchor, the form of a citation. Does not own: what a law says
 * (LAWS.md, docs/spec), which test proves a case (coverage.ts).
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'

export const root = dirname(import.meta.dirname)

/** Everything in which laws and cases are cited: folders and files at the root. The one list. */
export const citing: readonly string[] = [
  'packages',
  'test',
  'scripts',
  'bench',
  'bin',
  'examples',
  'templates',
  'conformance',
  'docs',
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
]

export const specNames = ['collaboration', 'delegation', 'team'] as const
export type SpecName = (typeof specNames)[number]

const extensions = new Set(['.ts', '.tsx', '.js', '.css', '.md'])
const left = new Set(['node_modules', 'dist', '.types'])

/** The texts that may cite, by path. */
export function citingTexts(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const visit = (path: string): void => {
    if (statSync(join(root, path)).isDirectory()) {
      for (const name of readdirSync(join(root, path))) if (!left.has(name)) visit(`${path}/${name}`)
    } else if (extensions.has(extname(path))) found.set(path, readFileSync(join(root, path), 'utf8'))
  }
  for (const path of citing) if (existsSync(join(root, path))) visit(path)
  return found
}

/** A rule, a case or a section of a specification. */
export interface Anchor {
  /** As it is cited: `29`, `C46`, `R-16`, `1.7`. */
  readonly id: string
  /** The heading that it stands under, without its number. */
  readonly section: string
  readonly text: string
}

export const specText = (spec: SpecName): string => readFileSync(join(root, 'docs', 'spec', `${spec}.md`), 'utf8')

/** The anchors of a specification, in order: numbered headings, and lines that begin with `- **id** `. */
export function anchorsIn(text: string): readonly Anchor[] {
  let section = ''
  return text.split('\n').flatMap((line): Anchor[] => {
    const heading = /^#+ (?:(\d+(?:\.\d+)?) )?(.+)$/.exec(line)
    if (heading !== null) {
      section = heading[2]!
      return heading[1] === undefined ? [] : [{ id: heading[1], section, text: section }]
    }
    const item = /^- \*\*([\w.-]+)\*\* (.+)$/.exec(line)
    return item === null ? [] : [{ id: item[1]!, section, text: item[2]! }]
  })
}

/** A law of LAWS.md: what it names as its holders and its proofs. */
export interface Law {
  readonly id: string
  readonly modules: readonly string[]
  readonly tests: readonly string[]
}

/** The laws of a text: `## K1 …`, with the lines `Held by: …` and `Proved by: …`. */
export function lawsIn(text: string): readonly Law[] {
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((part) => {
      const id = /^K\d+/.exec(part)?.[0]
      const paths = (label: string): readonly string[] => {
        const line = part.split('\n').find((each) => each.startsWith(`${label}: `)) ?? ''
        return [...line.matchAll(/`([^`]+)`/g)].map(([, path]) => path!)
      }
      return id === undefined ? [] : [{ id, modules: paths('Held by'), tests: paths('Proved by') }]
    })
}

/** What citations may lead to. */
export interface House {
  readonly laws: ReadonlySet<string>
  readonly specs: { readonly [spec in SpecName]: ReadonlySet<string> }
  readonly decisions: ReadonlySet<string>
}

/** The house as it stands on disk. */
export function house(): House {
  const idsOf = (spec: SpecName): ReadonlySet<string> => new Set(anchorsIn(specText(spec)).map(({ id }) => id))
  return {
    laws: new Set(lawsIn(readFileSync(join(root, 'LAWS.md'), 'utf8')).map(({ id }) => id)),
    specs: { collaboration: idsOf('collaboration'), delegation: idsOf('delegation'), team: idsOf('team') },
    decisions: new Set(readdirSync(join(root, 'docs', 'decisions')).map((name) => name.slice(0, 4))),
  }
}

const id = String.raw`(?:R-\d+[a-z]?|C\d{2,3}[a-z]?|X\d{1,2}|S\d[a-k]?|[ML]\d{1,2}|\d+\.\d+|\d{1,3})(?![\w.]*\w)`
const between = String.raw`(?:,? (?:and|or|to) |[,;] (?:cases? )?| cases? |[–-]| )`
/** A specification and what of it is cited: `team R-14, C76 to C78`, `delegation 15 to 18, M20`. */
const list = new RegExp(String.raw`\b(team|collaboration|delegation) (${id}(?:${between}${id})*)`, 'g')
const each = new RegExp(id, 'g')

/** The citations of a text that lead nowhere in the house, as they stand there. Pure. */
export function dangling(source: string, { laws, specs, decisions }: House): readonly string[] {
  // a citation may go over the end of a line of a comment
  const text = source.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/)?[ \t]*/g, ' ')
  const found: string[] = []
  const check = (pattern: RegExp, isThere: (match: RegExpMatchArray) => boolean): void => {
    for (const match of text.matchAll(pattern)) if (!isThere(match)) found.push(match[0])
  }
  check(/\bK\d{1,2}\b(?!\S*\/)/g, ([law]) => laws.has(law))
  for (const [, spec, ids] of text.matchAll(list))
    for (const [cited] of ids!.matchAll(each))
      // rules, cases, open questions and examples are the team's, wherever their list began
      if (/^[RCXS]/.test(cited)) {
        if (!specs.team.has(cited)) found.push(cited)
      } else if (!specs[spec as SpecName].has(cited)) found.push(`${spec} ${cited}`)
  check(/\bR-\d+[a-z]?\b/g, ([rule]) => specs.team.has(rule))
  check(/\bC\d{2,3}[a-z]?(?=\b[^\w"'`-])/g, ([numbered]) => specs.team.has(numbered))
  check(/\b(?<=['"`(, ])X\d{1,2}(?=[:.,;)])/g, ([open]) => specs.team.has(open))
  check(/\bdecisions? (\d{4})\b/gi, ([, number]) => decisions.has(number!))
  // sections of standards have an author of their own
  check(/(?:\bRFC \d+ )?§ ?\d[\d.]*/g, ([section]) => section.startsWith('RFC'))
  // documents in capitals, with a section: the house has none
  check(/\b[A-Z]{6,}(?:\.md)? \d\.\d\b(?!\.)/g, () => false)
  check(/\bspec(?:ification)? (?:part \d|\w+ parts? \d)/gi, () => false)
  return [...new Set(found)]
}
