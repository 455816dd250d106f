/**
 * What of the findings needs attention, and how soon. Owns: the judgement of severity, in one place. Does not own: how it is written down.
 *
 * `urgent`: someone may be harmed now. `soon`: it will break or mislead. `minor`: good to know.
 */
import type { ChecksFindings, MissingCheck } from './checks.ts'
import type { DependenciesFindings } from './dependencies.ts'
import type { DockerFindings, DockerRule } from './docker.ts'
import type { SurveyArea, SurveyFindings } from './findings.ts'
import { code, grouped, many, place } from './markup.ts'
import type { MigrationsFindings } from './migrations.ts'
import type { MonorepoFindings } from './monorepo.ts'
import type { SecretKind } from './secret-rules.ts'
import type { SecretsFindings } from './secrets.ts'

/** How soon something needs attention. */
export type Severity = 'urgent' | 'soon' | 'minor'

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
  const rank: Record<Severity, number> = { urgent: 0, soon: 1, minor: 2 }
  const said = new Set<string>()
  const once = found.filter(({ text, places }) => !said.has(`${text} ${places.join()}`) && said.add(`${text} ${places.join()}`))
  return once.map((concern) => ({ area: findings.area, ...concern })).sort((a, b) => rank[a.severity] - rank[b.severity])
}

type Found = Omit<Concern, 'area'> | null

function concern(severity: Severity, total: number, text: (count: number) => string, places: readonly string[] = []): Found {
  return total === 0 ? null : { severity, text: text(total), places }
}

function inArea(findings: SurveyFindings): Found[] {
  switch (findings.area) {
    case 'secrets':
      return secrets(findings)
    case 'dependencies':
      return dependencies(findings)
    case 'checks':
      return checks(findings)
    case 'links': {
      const places = findings.broken.items.map(({ file, line }) => place(file, line))
      const site = findings.siteLinks
      return [
        concern('soon', findings.broken.total, (n) => `${many(n, 'link')} in Markdown ${n === 1 ? 'leads' : 'lead'} nowhere`, places),
        concern(
          'minor',
          site.total,
          (n) => `${many(n, 'link')} in the manner of a site could not be found in the folder`,
          site.items.map((l) => place(l.file, l.line)),
        ),
      ]
    }
    case 'todos': {
      const { FIXME, HACK, XXX } = findings.markers
      const places = findings.todos.items.filter(({ marker }) => marker !== 'TODO').map(({ file, line }) => place(file, line))
      return [concern('minor', FIXME + HACK + XXX, (n) => `${many(n, 'comment')} marked FIXME, HACK or XXX`, places)]
    }
    case 'monorepo':
      return monorepo(findings)
    case 'docker':
      return docker(findings)
    case 'migrations':
      return migrations(findings)
    case 'inventory':
      return []
  }
}

/** What kinds of secret are called. */
export const secretTitles: Readonly<Record<SecretKind, string>> = {
  'aws-access-key': 'AWS access key id',
  'github-token': 'GitHub token',
  'slack-token': 'Slack token',
  'slack-webhook': 'Slack webhook',
  'stripe-live-key': 'Stripe live key',
  'google-api-key': 'Google API key',
  'npm-token': 'npm token',
  'openai-key': 'OpenAI key',
  'anthropic-key': 'Anthropic key',
  jwt: 'JSON web token',
  'url-password': 'password in a URL',
  'private-key': 'private key',
  'assigned-secret': 'value assigned to a secret name',
}

function secrets({ secrets: found, envFiles }: SecretsFindings): Found[] {
  const certain = found.items.filter(({ confidence }) => confidence === 'certain')
  const likely = found.items.filter(({ confidence }) => confidence === 'likely')
  const each = certain.map(({ kind, masked, file, line }): Found => {
    const value = masked === null ? '' : ` (${code(masked)})`
    return { severity: 'urgent', text: `${secretTitles[kind]} in a file${value}`, places: [place(file, line)] }
  })
  const places = likely.map(({ file, line }) => place(file, line))
  const unlisted = found.total - found.items.length
  const env = envFiles.map(({ file, assignments, state }): Found => {
    const holds = `${many(assignments, 'value')}`
    if (state === 'committed')
      return { severity: 'urgent', text: `Environment file with ${holds} is committed to git`, places: [place(file)] }
    if (state === 'not-ignored')
      return { severity: 'soon', text: `Environment file with ${holds} is not ignored by git`, places: [place(file)] }
    return { severity: 'minor', text: `Environment file with ${holds} lies in the folder`, places: [place(file)] }
  })
  const guessed = concern('soon', likely.length, (n) => `${many(n, 'value')} that ${n === 1 ? 'looks' : 'look'} like a secret`, places)
  return [...each, guessed, concern('urgent', unlisted, (n) => `${many(n, 'further possible secret')} not listed here`), ...env]
}

function dependencies({ licences, notLocked, withoutLock, notes }: DependenciesFindings): Found[] {
  const hard = licences.copyleft.items.filter((found) => found.class !== 'weak-copyleft')
  const weak = licences.copyleft.items.filter((found) => found.class === 'weak-copyleft')
  const named = (items: readonly { name: string; version: string; licence: string | null }[]): string[] =>
    items.map(({ name, version, licence }) => `${code(`${name}@${version}`)}${licence === null ? '' : ` (${code(licence)})`}`)
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
    concern('minor', licences.unknown.total, (n) => `${many(n, 'package')} without a stated licence`, named(licences.unknown.items)),
    concern('minor', licences.other.total, (n) => `${many(n, 'package')} under terms to read for yourself`, named(licences.other.items)),
    concern(
      'minor',
      notes.filter((note) => note.includes('not valid')).length,
      (n) => `${many(n, 'manifest or lock file', 'manifests or lock files')} could not be parsed`,
    ),
  ]
}

/** What each missing piece is called. */
export const missingTitles: Readonly<Record<MissingCheck, string>> = {
  tests: 'No test files were found',
  'test-command': 'The package.json at the root has no `test` script',
  ci: 'No CI set-up was found',
  'tests-in-ci': 'No CI file seems to run the tests',
  lint: 'No linter is configured',
  format: 'No formatter is configured',
}

function checks({ missing, ci }: ChecksFindings): Found[] {
  return missing.map((piece) => ({
    severity: piece === 'lint' || piece === 'format' ? 'minor' : 'soon',
    text: missingTitles[piece],
    places: piece === 'tests-in-ci' ? ci.map(({ file }) => place(file)) : [],
  }))
}

function monorepo({ cycles, mismatches, duplicateNames }: MonorepoFindings): Found[] {
  const shown = cycles.map((cycle) => [...cycle, cycle[0] ?? ''].map(code).join(' → '))
  return [
    concern('soon', cycles.length, (n) => `${many(n, 'cycle')} between packages of the workspace`, shown),
    concern('soon', duplicateNames.length, (n) => `${many(n, 'name')} borne by more than one package`, duplicateNames.map(code)),
    concern(
      'minor',
      mismatches.total,
      (n) => `${many(n, 'dependency', 'dependencies')} declared with different ranges`,
      mismatches.items.map(({ name }) => code(name)),
    ),
  ]
}

/** What each rule for Dockerfiles says, and how soon it matters. */
export const dockerRules: Readonly<Record<DockerRule, { title: string; severity: Severity }>> = {
  'secret-in-env': { title: 'a secret in ENV stays in the image', severity: 'soon' },
  'secret-in-arg': { title: 'a secret in ARG stays in the history of the image', severity: 'soon' },
  'no-user': { title: 'the image runs as root: no USER', severity: 'soon' },
  'from-latest': { title: 'base image `latest` changes without notice', severity: 'soon' },
  'from-untagged': { title: 'base image without a tag changes without notice', severity: 'soon' },
  'no-dockerignore': { title: 'no .dockerignore for what is copied', severity: 'minor' },
  'add-instead-of-copy': { title: 'ADD where COPY would do', severity: 'minor' },
  'apt-not-cleaned': { title: 'package lists stay in the layer', severity: 'minor' },
  'apt-update-alone': { title: '`apt-get update` in a layer of its own goes stale', severity: 'minor' },
}

function docker({ findings }: DockerFindings): Found[] {
  return (Object.keys(dockerRules) as DockerRule[]).map((rule) => {
    const hits = findings.items.filter((finding) => finding.rule === rule)
    const { title, severity } = dockerRules[rule]
    return concern(
      severity,
      hits.length,
      () => `Dockerfile: ${title}`,
      hits.map(({ file, line }) => place(file, line)),
    )
  })
}

function migrations({ series, destructive, nonTransactional }: MigrationsFindings): Found[] {
  const duplicates = series.flatMap((one) => one.duplicates)
  const gaps = series.filter((one) => one.gaps.length > 0)
  const missing = series.flatMap((one) => one.missingDown)
  const at = (items: readonly { file: string; line: number }[]): string[] => items.map(({ file, line }) => place(file, line))
  return [
    concern(
      'soon',
      duplicates.length,
      (n) => `${many(n, 'migration number')} used more than once`,
      duplicates.flatMap(({ files }) => files.map((file) => place(file))),
    ),
    concern(
      'soon',
      destructive.total,
      (n) => `${many(n, 'statement')} in migrations ${n === 1 ? 'destroys' : 'destroy'} data`,
      at(destructive.items),
    ),
    concern('minor', nonTransactional.total, (n) => `${many(n, 'statement')} may not run inside a transaction`, at(nonTransactional.items)),
    concern(
      'minor',
      missing.length,
      (n) => `${many(n, 'migration')} cannot be undone although others can`,
      missing.map((file) => place(file)),
    ),
    concern(
      'minor',
      gaps.length,
      (n) => `${many(n, 'migration folder')} with gaps in the numbers`,
      gaps.map(({ folder, gaps: all }) => `${code(folder)} (${all.map((gap) => grouped(Number(gap))).join(', ')})`),
    ),
  ]
}

function limitsOf({ coverage }: SurveyFindings): Found[] {
  return coverage.truncated === null ? [] : [{ severity: 'soon', text: `Not everything was examined: ${coverage.truncated}`, places: [] }]
}
