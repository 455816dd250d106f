/**
 * Writes `docs/reference/coverage.md`: which numbered cases of docs/spec have a test, and which are void. A case counts
 * as tested if the title of a test begins with its specification and number: `delegation 13: …`, `collaboration 47,
 * 48: …`, `team C79: …`.
 *
 * Owns: what is a case among the anchors, the page. Does not own: the cases (docs/spec), their form (house.ts). `node
 * scripts/coverage.ts` writes the page.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anchorsIn, root, specNames, specText, type SpecName } from './house.ts'
import { packages } from './packages.ts'

const page = join(root, 'docs', 'reference', 'coverage.md')

const about: { readonly [spec in SpecName]: string } = {
  delegation: 'supervisors that delegate',
  collaboration: 'transfer, history, workflow agents, interrupts',
  team: 'planned teams, mailbox, recruiting, failure budgets, human oversight',
}

interface Section {
  readonly title: string
  readonly cases: readonly string[]
}

interface Spec {
  readonly name: SpecName
  readonly sections: readonly Section[]
  /** Cases that do not hold here, with the reason. */
  readonly void: ReadonlyMap<string, string>
}

/** A specification as its page has it. Cases are plain numbers, those of teams begin with a C. */
function specOf(name: SpecName): Spec {
  const cases = anchorsIn(specText(name)).filter(({ id }) => (name === 'team' ? /^C\d/ : /^\d+$/).test(id))
  const titles = [...new Set(cases.map(({ section }) => section))]
  const reasons = cases.flatMap(({ id, text }) => {
    const reason = /^Void: (.+)$/.exec(text)?.[1]
    return reason === undefined ? [] : [[id, reason] as const]
  })
  return {
    name,
    sections: titles.map((title) => ({
      title,
      cases: cases.flatMap(({ id, section }) => (section === title ? [id] : [])),
    })),
    void: new Map(reasons),
  }
}

const title =
  /(['"`])((?:collaboration|delegation|team) C?\d+[a-z]?(?:, (?:(?:collaboration|delegation|team) )?C?\d+[a-z]?)*):/g

/** The cases that the titles in these sources name, as `team C46`. */
function namedIn(sources: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const source of sources) {
    for (const [, , names = ''] of source.matchAll(title)) {
      let spec = ''
      for (const name of names.split(', ')) {
        const [first, second] = name.split(' ')
        if (second !== undefined) spec = first!
        found.add(`${spec} ${second ?? first!}`)
      }
    }
  }
  return found
}

function testSources(): readonly string[] {
  const files = [
    'test',
    ...packages.map(({ name }) => `packages/${name}/test`),
    'packages/contract/src',
    'packages/testing/src',
  ]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
    )
  return files.filter((file) => file.endsWith('.ts')).map((file) => readFileSync(file, 'utf8'))
}

/** Every case that has a test, as `team C46`. */
export const testedCases = (): ReadonlySet<string> => namedIn(testSources())

const listed = (cases: readonly string[]): string => (cases.length === 0 ? '–' : cases.join(' '))

function specPart(
  spec: Spec,
  named: ReadonlySet<string>,
): { readonly text: string; readonly tested: number; readonly all: number } {
  const rows = spec.sections.map(({ title, cases }) => ({
    title,
    tested: cases.filter((id) => named.has(`${spec.name} ${id}`)),
    void: cases.filter((id) => spec.void.has(id)),
    open: cases.filter((id) => !named.has(`${spec.name} ${id}`) && !spec.void.has(id)),
  }))
  const count = (of: 'tested' | 'void' | 'open'): number => rows.reduce((sum, row) => sum + row[of].length, 0)
  const [tested, voids, open] = [count('tested'), count('void'), count('open')]
  const lines = [
    `## ${spec.name}: ${about[spec.name]}`,
    '',
    `${tested} tested · ${voids} void · ${open} open. What each says: [${spec.name}](../spec/${spec.name}.md).`,
    '',
    '| section | tested | void | open |',
    '|---|---|---|---|',
    ...rows.map((row) => `| ${row.title} | ${listed(row.tested)} | ${listed(row.void)} | ${listed(row.open)} |`),
    ...(voids === 0 ? [] : ['', 'Void:', '', ...[...spec.void].map(([id, why]) => `- ${id}: ${why}`)]),
    '',
  ]
  return { text: lines.join('\n'), tested, all: tested + voids + open }
}

/** The page as it is to be. */
export function coveragePage(): string {
  const named = testedCases()
  const specs = specNames.map(specOf)
  const known = new Set(
    specs.flatMap(({ name, sections }) => sections.flatMap(({ cases }) => cases.map((id) => `${name} ${id}`))),
  )
  const strange = [...named].filter((name) => !known.has(name))
  if (strange.length > 0) throw new Error(`titles of tests name cases that do not exist: ${strange.join(', ')}`)
  const parts = specs.map((spec) => ({ spec, part: specPart(spec, named) }))
  const total = parts.map(({ spec, part }) => `${part.tested} of ${part.all} (${spec.name})`).join(', ')
  return `# Coverage of the behaviour specifications

Written by \`npm run docs:coverage\`; do not edit. A case is tested if the title of a test begins with its specification and number, so each can be run alone:
\`npx vitest run -t "delegation 56:"\`. *Open* cases could be tested now and are not.

Tested: ${total}.

${parts.map(({ part }) => part.text).join('\n')}`
}

if (import.meta.main) writeFileSync(page, coveragePage())
