/**
 * One section of the report per area. Owns: how findings are laid out. Does not own: what matters most (`concerns.ts`),
 * the frame (`report.ts`).
 */
import type { ChecksFindings } from './checks.ts'
import { missingTitles } from './concerns.ts'
import type { DependenciesFindings } from './dependencies.ts'
import type { SurveyFindings } from './findings.ts'
import type { InventoryFindings } from './inventory.ts'
import { code, grouped, joined, many, place, sized, table, plainText } from './markup.ts'
import type { MonorepoFindings } from './monorepo.ts'
import type { TodosFindings } from './todos.ts'
import { byText, type Listed } from './walk.ts'

/** The most rows of one table. What is left out is counted below it. */
const longest = 50

/** The lines of an area's section, without its heading. */
export function sectionOf(findings: SurveyFindings): string[] {
  switch (findings.area) {
    case 'dependencies':
      return dependencies(findings)
    case 'checks':
      return checks(findings)
    case 'todos':
      return todos(findings)
    case 'monorepo':
      return monorepo(findings)
    case 'inventory':
      return inventory(findings)
  }
}

/** What an area holds, in a few words for the table up front. */
export function gistOf(findings: SurveyFindings): string {
  switch (findings.area) {
    case 'dependencies':
      return `${many(findings.declared.total, 'declared dependency', 'declared dependencies')}, ${many(findings.licences.packages, 'package')} looked at for licences`
    case 'checks':
      return `${many(findings.testFiles, 'test file')}, ${many(findings.ci.length, 'CI file')}, ${many(findings.missing.length, 'piece')} missing`
    case 'todos':
      return `${many(findings.todos.total, 'marked comment')}`
    case 'monorepo':
      return `${many(findings.packages.total, 'package')}, ${many(findings.cycles.length, 'cycle')}, ${many(findings.mismatches.total, 'mismatch', 'mismatches')}`
    case 'inventory':
      return `${many(findings.coverage.files, 'file')}, ${many(findings.lines, 'line')}, ${sized(findings.bytes)}`
  }
}

/** A table of at most `longest` rows, and a line for what it leaves out. */
function rows<T>(titles: readonly string[], list: Listed<T>, row: (item: T) => readonly string[]): string[] {
  if (list.total === 0) return []
  const shown = list.items.slice(0, longest)
  const left = list.total - shown.length
  return [
    ...table(titles, shown.map(row)),
    ...(left === 0 ? [] : [`*${many(left, 'further entry', 'further entries')} not listed.*`, '']),
  ]
}

const all = <T>(items: readonly T[]): Listed<T> => ({ total: items.length, items: [...items] })

function dependencies({
  manifests,
  locks,
  declared,
  notLocked,
  withoutLock,
  licences,
  notes,
}: DependenciesFindings): string[] {
  const examined = notes.map((note) => `*${note[0]?.toUpperCase() ?? ''}${plainText(note.slice(1))}.*`)
  const unread = notes.length === 0 ? [] : [...examined, '']
  if (manifests.length === 0) return ['No package.json was found.', '', ...unread]
  const of = (title: string, list: DependenciesFindings['licences']['copyleft']): string[] =>
    list.total === 0
      ? []
      : [
          `### ${title}`,
          '',
          ...rows(['package', 'version', 'licence', 'declared here'], list, (p) => [
            code(p.name),
            code(p.version),
            p.licence === null ? 'unknown' : code(p.licence),
            p.direct ? 'yes' : 'no',
          ]),
        ]
  const lockedCount = locks.map(({ file, packages }) => `${place(file)} (${many(packages, 'package')})`)
  return [
    `${many(declared.total, 'dependency', 'dependencies')} in ${many(manifests.length, 'manifest')}. ${locks.length === 0 ? 'There is no lock file.' : `Locked by ${joined(lockedCount)}.`}`,
    '',
    ...rows(['manifest', '>declared', 'lock file'], all(manifests), (m) => [
      place(m.file),
      grouped(m.declared),
      m.lock === null ? (withoutLock.includes(m.file) ? '**none**' : '–') : place(m.lock),
    ]),
    ...(notLocked.length === 0
      ? []
      : [
          '### Declared but not locked',
          '',
          ...rows(['dependency', 'range', 'kind', 'where'], all(notLocked), (d) => [
            code(d.name),
            code(d.range),
            d.kind,
            place(d.manifest, d.line),
          ]),
        ]),
    ...of('Copyleft', licences.copyleft),
    ...of('Licence unknown', licences.unknown),
    ...of('Other terms', licences.other),
    ...(licences.counts.length === 0
      ? []
      : [
          '### Licences',
          '',
          ...rows(['licence', '>packages'], all(licences.counts), (l) => [
            l.licence === 'unknown' ? '*unknown*' : code(l.licence),
            grouped(l.packages),
          ]),
        ]),
    ...unread,
  ]
}

function checks(found: ChecksFindings): string[] {
  const tools = (list: ChecksFindings['lint']): string =>
    list.length === 0 ? '–' : list.map(({ tool, file }) => `${tool} (${place(file)})`).join(', ')
  const { testScript, ciTest, ci, missing } = found
  return [
    ...table(
      ['', ''],
      [
        ['test files', `${grouped(found.testFiles)} beside ${many(found.sources, 'other code file')}`],
        ['frameworks', tools(found.frameworks)],
        ['test script', testScript === null ? '–' : `${code(testScript.command)} in ${place(testScript.file)}`],
        ['CI', ci.length === 0 ? '–' : ci.map(({ service, file }) => `${service} (${place(file)})`).join(', ')],
        ['tests in CI', ciTest === null ? '–' : `${code(ciTest.command)} at ${place(ciTest.file, ciTest.line)}`],
        ['lint', tools(found.lint)],
        ['format', tools(found.format)],
      ],
    ),
    ...(missing.length === 0 ? [] : ['Missing:', '', ...missing.map((piece) => `- ${missingTitles[piece]}`), '']),
  ]
}

function todos({ todos: found, unknownAge, notSearched }: TodosFindings): string[] {
  const skipped =
    notSearched === 0
      ? []
      : [
          `*${many(notSearched, 'text file')} of unknown language ${notSearched === 1 ? 'was' : 'were'} not searched.*`,
          '',
        ]
  if (found.total === 0) return ['No comment is marked TODO, FIXME, HACK or XXX.', '', ...skipped]
  const ordered = [...found.items].sort(
    (a, b) => byText(a.since ?? '9', b.since ?? '9') || byText(a.file, b.file) || a.line - b.line,
  )
  const marked = found.items.length < found.total ? ' among those listed' : ''
  return [
    `Oldest first${marked}. The day is that of the last change of the line in git${unknownAge === 0 ? '' : '; it is unknown for lines git cannot date'}.`,
    '',
    ...rows(['since', 'where', 'comment'], { total: found.total, items: ordered }, (t) => [
      t.since ?? 'unknown',
      place(t.file, t.line),
      code(t.text),
    ]),
    ...skipped,
  ]
}

function monorepo({ workspaces, packages, cycles, mismatches }: MonorepoFindings): string[] {
  if (workspaces.length === 0) return ['The folder declares no workspace.', '']
  return [
    `Declared by ${joined(workspaces.map(({ tool, file }) => `${place(file)} (${tool})`))}.`,
    '',
    ...rows(['package', 'folder', 'depends on'], packages, (p) => [
      code(p.name),
      place(p.folder),
      p.dependsOn.length === 0 ? '–' : p.dependsOn.map(code).join(', '),
    ]),
    ...(cycles.length === 0
      ? []
      : ['### Cycles', '', ...cycles.map((cycle) => `- ${[...cycle, cycle[0] ?? ''].map(code).join(' → ')}`), '']),
    ...(mismatches.total === 0
      ? []
      : [
          '### Differing ranges',
          '',
          ...rows(['dependency', 'range', 'where'], { total: mismatches.total, items: mismatches.items }, (m) => [
            code(m.name),
            m.ranges.map(({ range }) => code(range)).join('<br>'),
            m.ranges.map(({ places }) => places.map((at) => code(at)).join(', ')).join('<br>'),
          ]),
        ]),
  ]
}

function inventory({ languages, biggest, signals }: InventoryFindings): string[] {
  return [
    ...rows(['language', '>files', '>lines', '>size'], all(languages), (l) => [
      l.language,
      grouped(l.files),
      grouped(l.lines),
      sized(l.bytes),
    ]),
    '### Biggest files',
    '',
    ...rows(['file', '>size', '>lines'], all(biggest), (b) => [
      place(b.file),
      sized(b.bytes),
      b.lines === null ? '–' : grouped(b.lines),
    ]),
    signals.git
      ? 'The folder is a git repository; ignored files were left out.'
      : 'The folder is no git repository, or an ignored part of one, or git is missing: every file was looked at.',
    '',
  ]
}
