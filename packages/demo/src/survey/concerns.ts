/**
 * What of the findings needs attention, and how soon. Owns: the judgement of severity, in one place. Does not own: how
 * it is written down. `soon`: it will break or mislead. `minor`: good to know.
 */
import type { ChecksFindings, MissingCheck } from './checks.ts'
import type { DependenciesFindings } from './dependencies.ts'
import type { SurveyArea, SurveyFindings } from './findings.ts'
import { code, many, place, plainText } from './markup.ts'
import type { MonorepoFindings } from './monorepo.ts'

/** How soon something needs attention. */
export type Severity = 'soon' | 'minor'

/** Something that needs attention, as Markdown, with the places to look at. */
export interface Concern {
  readonly area: SurveyArea
  readonly severity: Severity
  readonly text: string
  readonly places: readonly string[]
}

/** What needs attention in an area, most severe first, otherwise in the order of the findings. */
export function concernsOf(findings: SurveyFindings): Concern[] {
  const found = [...inArea(findings), ...limitsOf(findings)].filter((concern) => concern !== null)
  const rank: Record<Severity, number> = { soon: 0, minor: 1 }
  const said = new Set<string>()
  const once = found.filter(
    ({ text, places }) => !said.has(`${text} ${places.join()}`) && said.add(`${text} ${places.join()}`),
  )
  return once
    .map((concern) => ({ area: findings.area, ...concern }))
    .sort((a, b) => rank[a.severity] - rank[b.severity])
}

type FoundConcern = Omit<Concern, 'area'> | null

function concern(
  severity: Severity,
  total: number,
  text: (count: number) => string,
  places: readonly string[] = [],
): FoundConcern {
  return total === 0 ? null : { severity, text: text(total), places }
}

function inArea(findings: SurveyFindings): FoundConcern[] {
  switch (findings.area) {
    case 'dependencies':
      return dependencies(findings)
    case 'checks':
      return checks(findings)
    case 'todos': {
      const { FIXME, HACK, XXX } = findings.markers
      const places = findings.todos.items
        .filter(({ marker }) => marker !== 'TODO')
        .map(({ file, line }) => place(file, line))
      return [concern('minor', FIXME + HACK + XXX, (n) => `${many(n, 'comment')} marked FIXME, HACK or XXX`, places)]
    }
    case 'monorepo':
      return monorepo(findings)
    case 'inventory':
      return []
  }
}

function dependencies({ licences, notLocked, withoutLock, invalid, notes }: DependenciesFindings): FoundConcern[] {
  const hard = licences.copyleft.items.filter((found) => found.class !== 'weak-copyleft')
  const weak = licences.copyleft.items.filter((found) => found.class === 'weak-copyleft')
  const named = (items: readonly { name: string; version: string; licence: string | null }[]): string[] =>
    items.map(
      ({ name, version, licence }) => `${code(`${name}@${version}`)}${licence === null ? '' : ` (${code(licence)})`}`,
    )
  const places = notLocked.map(({ manifest, line, name }) => `${code(name)} at ${place(manifest, line)}`)
  return [
    concern(
      'soon',
      notLocked.length,
      (n) => `${many(n, 'declared dependency', 'declared dependencies')} without an entry in the lock file`,
      places,
    ),
    concern(
      'soon',
      withoutLock.length,
      (n) => `${many(n, 'manifest')} with dependencies and no lock file`,
      withoutLock.map((file) => place(file)),
    ),
    concern('soon', hard.length, (n) => `${many(n, 'package')} under a copyleft licence`, named(hard)),
    concern('minor', weak.length, (n) => `${many(n, 'package')} under a weak copyleft licence`, named(weak)),
    concern(
      'minor',
      licences.unknown.total,
      (n) => `${many(n, 'package')} without a stated licence`,
      named(licences.unknown.items),
    ),
    concern(
      'minor',
      licences.other.total,
      (n) => `${many(n, 'package')} under terms to read for yourself`,
      named(licences.other.items),
    ),
    concern(
      'minor',
      invalid.length,
      (n) => `${many(n, 'manifest or lock file', 'manifests or lock files')} could not be parsed`,
      invalid.map((file) => place(file)),
    ),
    ...notes.filter((note) => !invalid.some((file) => note.startsWith(`${file} `))).map(notExamined),
  ]
}

/** What could not be examined is never clear. */
const notExamined = (note: string): FoundConcern => ({
  severity: 'minor',
  text: `Not examined: ${plainText(note)}`,
  places: [],
})

/** What each missing piece is called. */
export const missingTitles: Readonly<Record<MissingCheck, string>> = {
  tests: 'No test files were found',
  'test-command': 'The package.json at the root has no `test` script',
  ci: 'No CI set-up was found',
  'tests-in-ci': 'No CI file seems to run the tests',
  lint: 'No linter is configured',
  format: 'No formatter is configured',
}

function checks({ missing, ci }: ChecksFindings): FoundConcern[] {
  return missing.map((piece) => ({
    severity: piece === 'lint' || piece === 'format' ? 'minor' : 'soon',
    text: missingTitles[piece],
    places: piece === 'tests-in-ci' ? ci.map(({ file }) => place(file)) : [],
  }))
}

function monorepo({ cycles, mismatches, duplicateNames }: MonorepoFindings): FoundConcern[] {
  const shown = cycles.map((cycle) => [...cycle, cycle[0] ?? ''].map(code).join(' → '))
  return [
    concern('soon', cycles.length, (n) => `${many(n, 'cycle')} between packages of the workspace`, shown),
    concern(
      'soon',
      duplicateNames.length,
      (n) => `${many(n, 'name')} borne by more than one package`,
      duplicateNames.map(code),
    ),
    concern(
      'minor',
      mismatches.total,
      (n) => `${many(n, 'dependency', 'dependencies')} declared with different ranges`,
      mismatches.items.map(({ name }) => code(name)),
    ),
  ]
}

function limitsOf({ coverage }: SurveyFindings): FoundConcern[] {
  return coverage.truncated === null
    ? []
    : [{ severity: 'soon', text: `Not everything was examined: ${coverage.truncated}`, places: [] }]
}
