/**
 * Makes a release, up to the moment before it is published: `node scripts/release.ts [--dry-run]`.
 *
 * Owns: what must be true before a release, the dated section of the changelog, the order of the steps. Does not own:
 * publishing. The last line it prints is the command for that, which a person runs, or a workflow that can prove where
 * the package was built (`--provenance`).
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './house.ts'

/** What a release depends on. */
export interface ReleaseState {
  readonly branch: string
  /** Files that differ from the last commit, as `git status --porcelain` lists them. */
  readonly changed: readonly string[]
  readonly tags: readonly string[]
  /** The version in package.json, and in package-lock.json. */
  readonly version: string
  readonly lockVersion: string
  readonly changelog: string
  /** The day of the release: `2026-12-01`. */
  readonly day: string
}

export type ReleasePlan =
  | { readonly ok: true; readonly tag: string; readonly changelog: string; readonly package: string }
  | { readonly ok: false; readonly problems: readonly string[] }

/** The sections of a changelog by their names, with their headings and entries. */
const sectionsOf = (changelog: string): ReadonlyMap<string, { readonly heading: string; readonly entries: number }> =>
  new Map(
    changelog
      .split(/^(?=## \[)/m)
      .slice(1)
      .map((part) => {
        const heading = part.split('\n')[0]!
        return [/^## \[([^\]]+)\]/.exec(heading)![1]!, { heading, entries: part.match(/^- /gm)?.length ?? 0 }]
      }),
  )

const dateOf = /^## \[[^\]]+\] - \d{4}-\d{2}-\d{2}$/

/**
 * The changelog with this version's section dated, or why there is none to date. A section that has its date keeps it:
 * whether the version was released, its tag says. Pure.
 */
export function dated(changelog: string, version: string, day: string): { text: string } | { problem: string } {
  const sections = sectionsOf(changelog)
  const [unreleased, own] = [sections.get('Unreleased'), sections.get(version)]
  const isDated = own !== undefined && dateOf.test(own.heading)
  if (own !== undefined && !isDated && own.heading !== `## [${version}]`)
    return { problem: `CHANGELOG.md: "${own.heading}" is neither "## [${version}]" nor that with a date` }
  const waiting = unreleased?.entries ?? 0
  if (own !== undefined && waiting > 0)
    return {
      problem: `CHANGELOG.md: ${waiting} entries stand under Unreleased, beside a section of ${version}: raise the version, or move them`,
    }
  if (own !== undefined && own.entries > 0)
    return { text: isDated ? changelog : changelog.replace(own.heading, `## [${version}] - ${day}`) }
  if (own !== undefined || waiting === 0)
    return { problem: `CHANGELOG.md: nothing is listed for ${version}, neither in its section nor under Unreleased` }
  return { text: changelog.replace(unreleased!.heading, `## [Unreleased]\n\n## [${version}] - ${day}`) }
}

/** What a release will do, or everything that stands in its way. Pure. */
export function releasePlan(state: ReleaseState): ReleasePlan {
  const { branch, changed, tags, version, lockVersion, changelog, day } = state
  const tag = `v${version}`
  const made = dated(changelog, version, day)
  const problems = [
    ...(branch === 'main' ? [] : [`releases are made on main, not on "${branch}"`]),
    ...(changed.length === 0 ? [] : [`${changed.length} files are not committed: ${changed.slice(0, 5).join(', ')}`]),
    ...(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ? [] : [`package.json: "${version}" is not a version`]),
    ...(lockVersion === version ? [] : [`package-lock.json has version ${lockVersion}, package.json ${version}`]),
    ...(tags.includes(tag) ? [`the tag ${tag} exists`] : []),
    ...('problem' in made ? [made.problem] : []),
  ]
  return problems.length > 0 || 'problem' in made
    ? { ok: false, problems }
    : { ok: true, tag, changelog: made.text, package: `reeve-${version}.tgz` }
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trimEnd()
const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const versionIn = (name: string): string => (JSON.parse(read(name)) as { readonly version: string }).version

const stateNow = (): ReleaseState => ({
  branch: git('rev-parse', '--abbrev-ref', 'HEAD'),
  changed: lines(git('status', '--porcelain')),
  tags: lines(git('tag')),
  version: versionIn('package.json'),
  lockVersion: versionIn('package-lock.json'),
  changelog: read('CHANGELOG.md'),
  day: new Date().toISOString().slice(0, 10),
})

/** Runs a command in the repository; ends this process if it fails. */
function mustRun(command: string, ...args: readonly string[]): void {
  process.stdout.write(`== ${command} ${args.join(' ')}\n`)
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

function main(isDry: boolean): void {
  const plan = releasePlan(stateNow())
  if (!plan.ok) {
    for (const problem of plan.problems) process.stderr.write(`- ${problem}\n`)
    process.exitCode = 1
    return
  }
  if (isDry)
    process.stdout.write(
      `would check, test, date the changelog, commit, pack ${plan.package} and tag ${plan.tag}; nothing was changed\n`,
    )
  else {
    mustRun('npm', 'run', '--silent', 'check')
    mustRun('npm', 'run', '--silent', 'test:all')
    if (plan.changelog !== read('CHANGELOG.md')) {
      writeFileSync(join(root, 'CHANGELOG.md'), plan.changelog)
      mustRun('git', 'commit', '--message', `Release ${plan.tag}`, 'CHANGELOG.md')
    }
    mustRun('npm', 'pack')
    mustRun('git', 'tag', '--annotate', plan.tag, '--message', `Release ${plan.tag}`)
  }
  process.stdout.write(
    `to publish: git push --follow-tags && npm publish ${plan.package} --provenance --access public\n`,
  )
}

if (import.meta.main) main(process.argv.includes('--dry-run'))
