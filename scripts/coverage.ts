/**
 * Writes `docs/reference/coverage.md`: which numbered cases of the behaviour specifications have a test, which are void, which
 * wait for a part of Reeve that is not built. A case counts as tested if the title of a test begins with its
 * specification and number: `delegation 14: …`, `collaboration 47, 48: …`, `team C79: …`.
 *
 * Owns: the table of cases below (the specifications give them; the numbering has gaps), what is said about each. `node
 * scripts/coverage.ts` writes the page.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
const page = join(root, 'docs', 'reference', 'coverage.md')

type SpecName = 'collaboration' | 'delegation' | 'team'

interface Section {
  readonly title: string
  readonly cases: string
  /** Cases that wait for something that is not built, by what they wait for. */
  readonly waits?: { readonly [part: string]: string }
}

interface Spec {
  readonly name: SpecName
  readonly about: string
  /** What stands before the number. */
  readonly prefix: '' | 'C'
  readonly sections: readonly Section[]
  /** Cases that do not hold here, with the reason. */
  readonly void: { readonly [number: string]: string }
  /** Cases whose test shows less than the case asks for, with what is missing. */
  readonly partly: { readonly [number: string]: string }
}

const specs: readonly Spec[] = [
  {
    name: 'delegation',
    about: 'supervisors that delegate',
    prefix: '',
    sections: [
      { title: 'Delegation basics', cases: '1-12' },
      { title: 'Context passed to workers', cases: '13 15-18 20' },
      { title: 'Hooks', cases: '21-23 26-29 31-33' },
      {
        title: 'Iteration hook and completion scoring',
        cases: '34 37-43',
      },
      { title: 'Errors, limits, abort', cases: '44-50' },
      { title: 'Memory', cases: '51-55' },
      { title: 'Approval, suspension', cases: '56-59 62-67' },
      { title: 'Background', cases: '68-70 72-78' },
      { title: 'Forward, replay, versions', cases: '79 80 82 84-88' },
    ],
    void: {},
    partly: {},
  },
  {
    name: 'collaboration',
    about: 'transfer, history, workflow agents, interrupts',
    prefix: '',
    sections: [
      { title: 'A. Events, paths, ordering', cases: '1-7 9-12' },
      { title: 'B. Transfer and tree', cases: '13-20 22-26 28-30' },
      {
        title: 'C. Deterministic transfer and supervisor',
        cases: '31-43 46-51',
      },
      { title: 'D. History', cases: '52-54 56-62 64 65' },
      { title: 'E. Workflows', cases: '66-70 72-76' },
      { title: 'F. Session values', cases: '77-82' },
      { title: 'G. Agents as tools', cases: '83-89' },
      { title: 'H. Interrupt and resume', cases: '90-96 99-104 120' },
      { title: 'I. Streaming and retry', cases: '105 107 108' },
      { title: 'J. Cancel that can be resumed (pause)', cases: '109 111-114' },
      { title: 'K. One agent', cases: '115-119' },
    ],
    void: {
      37: 'every agent can be resumed: there is nothing without it',
      90: 'there is always a store, and an interrupt is never only an event',
      99: 'streaming is not a mode: whoever listens gets parts, on every process',
    },
    partly: {},
  },
  {
    name: 'team',
    about: 'planned teams, mailbox, recruiting, failure budgets, human oversight',
    prefix: 'C',
    sections: [
      { title: 'Routing and decomposition', cases: '1-3 5-10' },
      { title: 'Roles and team directory', cases: '11-15' },
      { title: 'Scheduling and topics', cases: '16-19 21 22 24' },
      { title: 'Mailbox', cases: '26-33' },
      { title: 'Recruiting', cases: '34-44' },
      { title: 'Retries and failure budgets', cases: '45-48 50 52-54' },
      { title: 'Synthesis', cases: '55-58' },
      { title: 'Learning', cases: '59-64' },
      { title: 'Human control', cases: '65 66 69-74' },
      { title: 'Escalation and approval', cases: '76-79 81-87 89 89b 90' },
      { title: 'Trust', cases: '91-95' },
      { title: 'Whole runs', cases: '97-102' },
    ],
    void: {},
    partly: {},
  },
]

/** `1-3 5` as numbers; `89b` stays as it is. */
function numbers(text: string): readonly string[] {
  return text.split(' ').flatMap((each) => {
    const [first, last] = each.split('-')
    if (last === undefined) return [first!]
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => String(Number(first) + i))
  })
}

const title =
  /(['"`])((?:collaboration|delegation|team) C?\d+[a-z]?(?:, (?:(?:collaboration|delegation|team) )?C?\d+[a-z]?)*):/g

/** The cases that the titles in these sources name, as `spec number`. */
function namedIn(sources: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const source of sources) {
    for (const [, , names = ''] of source.matchAll(title)) {
      let spec = ''
      for (const name of names.split(', ')) {
        const [first, second] = name.split(' ')
        if (second !== undefined) spec = first!
        found.add(`${spec} ${(second ?? first!).replace(/^C0?/, '')}`)
      }
    }
  }
  return found
}

function testSources(): readonly string[] {
  const files = ['test', 'src/contract', 'src/testing'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  )
  return files.filter((file) => file.endsWith('.ts')).map((file) => readFileSync(file, 'utf8'))
}

interface Sorted {
  readonly tested: readonly string[]
  readonly void: readonly string[]
  readonly waiting: readonly (readonly [part: string, cases: readonly string[]])[]
  readonly open: readonly string[]
}

function sorted(spec: Spec, section: Section, named: ReadonlySet<string>): Sorted {
  const tested = numbers(section.cases).filter((number) => named.has(`${spec.name} ${number}`))
  const isVoid = numbers(section.cases).filter((number) => number in spec.void)
  const waiting = Object.entries(section.waits ?? {}).map(
    ([part, cases]) => [part, numbers(cases).filter((number) => !tested.includes(number))] as const,
  )
  const settled = new Set([...tested, ...isVoid, ...waiting.flatMap(([, cases]) => cases)])
  return {
    tested,
    void: isVoid,
    waiting: waiting.filter(([, cases]) => cases.length > 0),
    open: numbers(section.cases).filter((number) => !settled.has(number)),
  }
}

function specPart(
  spec: Spec,
  named: ReadonlySet<string>,
): { readonly text: string; readonly tested: number; readonly all: number } {
  const say = (cases: readonly string[]): string =>
    cases.length === 0 ? '–' : cases.map((number) => spec.prefix + number).join(' ')
  const rows = spec.sections.map((section) => ({ section, of: sorted(spec, section, named) }))
  const count = (pick: (of: Sorted) => number): number => rows.reduce((sum, { of }) => sum + pick(of), 0)
  const waits = count((of) => of.waiting.reduce((sum, [, cases]) => sum + cases.length, 0))
  const [tested, voids, open] = [
    count((of) => of.tested.length),
    count((of) => of.void.length),
    count((of) => of.open.length),
  ]
  const reasons = (of: { readonly [number: string]: string }): string[] =>
    Object.entries(of).map(([number, why]) => `- ${spec.prefix}${number}: ${why}`)
  const lines = [
    `## ${spec.name}: ${spec.about}`,
    '',
    `${tested} tested · ${voids} void · ${waits} wait for what is not built · ${open} open`,
    '',
    '| section | tested | void | waits for | open |',
    '|---|---|---|---|---|',
    ...rows.map(({ section, of }) => {
      const waiting = of.waiting.map(([part, cases]) => `${part}: ${say(cases)}`).join('; ')
      return `| ${section.title} | ${say(of.tested)} | ${say(of.void)} | ${waiting === '' ? '–' : waiting} | ${say(of.open)} |`
    }),
    ...(Object.keys(spec.void).length === 0 ? [] : ['', 'Void:', '', ...reasons(spec.void)]),
    ...(Object.keys(spec.partly).length === 0
      ? []
      : ['', 'Tested, but for less than the case asks:', '', ...reasons(spec.partly)]),
    '',
  ]
  return { text: lines.join('\n'), tested, all: tested + voids + waits + open }
}

/** The page as it is to be. */
export function coveragePage(): string {
  const named = namedIn(testSources())
  const parts = specs.map((spec) => ({ spec, part: specPart(spec, named) }))
  const known = new Set(
    specs.flatMap((spec) =>
      spec.sections.flatMap((section) => numbers(section.cases).map((number) => `${spec.name} ${number}`)),
    ),
  )
  const strange = [...named].filter((name) => !known.has(name))
  if (strange.length > 0) throw new Error(`titles of tests name cases that do not exist: ${strange.join(', ')}`)
  const total = parts.map(({ spec, part }) => `${spec.name} ${part.tested} of ${part.all}`).join(', ')
  return `# Coverage of the behaviour specifications

Written by \`npm run docs:coverage\`; do not edit. A case is tested if the title of a test begins with its specification and number, so each can be run alone:
\`npx vitest run -t "delegation 56:"\`. *Waits* are cases about a part of Reeve that is not built; *open* ones could be tested now and are not.

Tested: ${total}.

${parts.map(({ part }) => part.text).join('\n')}`
}

if (import.meta.main) writeFileSync(page, coveragePage())
