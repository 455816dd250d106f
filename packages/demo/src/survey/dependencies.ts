/**
 * The survey of dependencies: what is declared, what is locked, under which licences, and where the two sides do not
 * meet.
 * Owns: matching declarations with lock entries, and licences. Does not own: file formats (`manifests.ts`, `locks.ts`),
 * licence classes.
 *
 * D1: a licence that is not stated is `unknown`; it is never guessed. D2: only npm's packages are examined; a manifest
 * of another ecosystem is named in `notes`.
 */
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesBelow } from './bounded.ts'
import { isCopyleft, licenceClass, statedLicence, type LicenceClass } from './licences.ts'
import { lockedFor, lockFormatOf, readLock, type Lock, type LockFormat } from './locks.ts'
import {
  isForeignManifest,
  isManifest,
  jsonObject,
  readManifest,
  stated,
  type Declared,
  type Manifest,
} from './manifests.ts'
import {
  byText,
  folderOf,
  listed,
  openFolder,
  under,
  type Coverage,
  type Folder,
  type Listed,
  type SurveyOptions,
} from './walk.ts'
import { many } from './markup.ts'
import { isMember, workspacesOf, type Workspace } from './workspaces.ts'

/** A declared dependency with what the lock file resolves it to. */
export interface DependencyFinding extends Declared {
  manifest: string
  /**
   * The locked version; `local` for a package of the same folder; `null` when no lock entry was found or there is no
   * lock file.
   */
  locked: string | null
}

/** A manifest, and the lock file that governs it. */
export interface ManifestSummary {
  file: string
  name: string | null
  declared: number
  /** The lock file that governs this manifest, or `null`. */
  lock: string | null
}

/** A package whose licence deserves a look. */
export interface LicenceFinding {
  name: string
  version: string
  licence: string | null
  class: LicenceClass | 'unknown'
  /** Whether a manifest of the folder declares it. */
  direct: boolean
}

/** What the survey of dependencies found. */
export interface DependenciesFindings {
  area: 'dependencies'
  coverage: Coverage
  manifests: ManifestSummary[]
  locks: { file: string; format: LockFormat; packages: number }[]
  declared: Listed<DependencyFinding>
  /** Declared, governed by a readable lock file, and yet not in it. */
  notLocked: DependencyFinding[]
  /** Manifests with dependencies and no lock file, packages of the same folder not counted. */
  withoutLock: string[]
  licences: {
    /** Distinct npm packages (name and version) whose licence was looked for. */
    packages: number
    /** Packages by licence, most used first. */
    counts: { licence: string; packages: number }[]
    copyleft: Listed<LicenceFinding>
    unknown: Listed<LicenceFinding>
    /** Stated, but not a licence the survey knows (`SEE LICENSE IN …`, `UNLICENSED`). */
    other: Listed<LicenceFinding>
  }
  /** Manifests and lock files whose text is not what their name promises. */
  invalid: string[]
  /** What could not be examined, in sentences. */
  notes: string[]
}

const largestLock = 64 * 1024 * 1024
const largestInstalled = 1024 * 1024

/** Examines the manifests, lock files and installed packages of a folder. Nothing is fetched. */
export async function surveyDependencies(root: string, options: SurveyOptions = {}): Promise<DependenciesFindings> {
  const folder = await openFolder(root, options)
  const notes: string[] = []
  const { manifests, locks, invalid } = await readAll(folder, notes)
  const workspaces = await workspacesOf(folder)
  const governed = manifests.map((manifest) => ({ manifest, lock: lockOf(manifest, locks, workspaces) }))
  const names = new Set(manifests.map(({ name }) => name))
  const declared = governed.flatMap(({ manifest, lock }) =>
    manifest.declared.map((entry) => resolve(manifest, entry, lock, names)),
  )
  const readable = new Set(
    governed.filter(({ lock }) => lock !== null && lock.format !== 'unread').map(({ manifest }) => manifest.file),
  )
  const packages = await npmPackages(folder, locks, manifests, options)
  const direct = new Set(declared.map((entry) => entry.name))
  const foreign = folder.files.map(({ path }) => path).filter(isForeignManifest)
  if (foreign.length > 0)
    notes.push(
      `only npm packages are examined, not what ${namesOf(foreign)} ${foreign.length === 1 ? 'declares' : 'declare'}`,
    )
  return {
    area: 'dependencies',
    coverage: folder.coverage(),
    manifests: governed.map(({ manifest: m, lock }) => ({
      file: m.file,
      name: m.name,
      declared: m.declared.length,
      lock: lock?.file ?? null,
    })),
    locks: locks.map(({ file, format, packages: entries }) => ({ file, format, packages: entries.length })),
    declared: listed(declared, folder.limits),
    notLocked: declared.filter(
      (entry) => entry.locked === null && entry.kind !== 'peer' && readable.has(entry.manifest),
    ),
    withoutLock: governed
      .filter(({ manifest, lock }) => lock === null && needsLock(manifest))
      .map(({ manifest }) => manifest.file),
    licences: licencesOf(packages, direct, folder),
    invalid,
    notes,
  }
}

/** The first of many paths, and how many others there are. */
const namesOf = (paths: readonly string[]): string =>
  paths.length <= 5 ? paths.join(', ') : `${paths.slice(0, 5).join(', ')} and ${many(paths.length - 5, 'other')}`

async function readAll(
  folder: Folder,
  notes: string[],
): Promise<{ manifests: Manifest[]; locks: Lock[]; invalid: string[] }> {
  const invalid: string[] = []
  const manifests: Manifest[] = []
  const locks: Lock[] = []
  for (const { path } of folder.files) {
    const format = lockFormatOf(path)
    if (format === null && !isManifest(path)) continue
    const text = format === 'unread' ? '' : await folder.text(path, format === null ? undefined : largestLock)
    if (text === null) {
      notes.push(`${path} could not be read`)
      continue
    }
    const lock = format === null ? null : readLock(path, text)
    const manifest = format === null ? readManifest(path, text) : null
    if (lock !== null) locks.push(lock)
    else if (manifest !== null) {
      manifests.push(manifest)
      notes.push(...manifest.strange)
    } else {
      invalid.push(path)
      notes.push(`${path} is not valid and was not examined`)
    }
    if (format === 'unread') notes.push(`${path} is in a format that is not examined`)
  }
  return { manifests, locks, invalid }
}

/** A manifest is governed by the lock file beside it, or as a workspace member by the one at the root. */
function lockOf(manifest: Manifest, locks: readonly Lock[], workspaces: readonly Workspace[]): Lock | null {
  const own = folderOf(manifest.file)
  const beside = locks.find(({ file }) => folderOf(file) === own)
  if (beside !== undefined) return beside
  const member = workspaces.some((workspace) => isMember(workspace, own))
  return member ? (locks.find(({ file }) => folderOf(file) === '') ?? null) : null
}

const isLocal = (range: string): boolean => /^(workspace|link|file|portal):/.test(range)

function resolve(
  manifest: Manifest,
  entry: Declared,
  lock: Lock | null,
  names: ReadonlySet<string | null>,
): DependencyFinding {
  const found = lock === null ? null : lockedFor(lock, folderOf(manifest.file), entry.name)
  if (found === 'link') return { ...entry, manifest: manifest.file, locked: 'local' }
  const isOwn = isLocal(entry.range) || (found === null && lock?.format !== 'npm' && names.has(entry.name))
  return { ...entry, manifest: manifest.file, locked: isOwn ? 'local' : (found?.version ?? null) }
}

const needsLock = ({ declared }: Manifest): boolean =>
  declared.some(({ kind, range }) => kind !== 'peer' && !isLocal(range))

interface NpmPackage {
  readonly name: string
  readonly version: string
  licence: string | null
}

/**
 * Every npm package that is locked or installed, once per version. The lock file's licence wins over the installed
 * manifest's.
 */
async function npmPackages(
  folder: Folder,
  locks: readonly Lock[],
  manifests: readonly Manifest[],
  options: SurveyOptions,
): Promise<NpmPackage[]> {
  const packages = new Map<string, NpmPackage>()
  const add = (name: string, version: string, licence: string | null): void => {
    const known = packages.get(`${name}@${version}`)
    if (known === undefined) packages.set(`${name}@${version}`, { name, version, licence })
    else known.licence ??= licence
  }
  for (const lock of locks) {
    for (const { name, version, licence, place } of lock.packages) {
      options.signal?.throwIfAborted()
      const installed =
        licence === null && place !== null ? await installedAt(folder.root, under(folderOf(lock.file), place)) : null
      add(name, version, licence ?? (installed?.version === version ? installed.licence : null))
    }
  }
  for (const at of manifests.map(({ file }) => folderOf(file))) {
    for (const place of await installedIn(folder.root, under(at, 'node_modules'))) {
      options.signal?.throwIfAborted()
      const installed = await installedAt(folder.root, place)
      if (installed !== null) add(installed.name, installed.version, installed.licence)
    }
  }
  return [...packages.values()].sort((a, b) => byText(a.name, b.name) || byText(a.version, b.version))
}

async function installedAt(root: string, place: string): Promise<NpmPackage | null> {
  const bytes = await bytesBelow(root, join(place, 'package.json'), largestInstalled)
  const json = bytes === null || bytes === 'too-large' ? null : jsonObject(bytes.toString('utf8'))
  const [name, version] = [stated(json?.['name']), stated(json?.['version'])]
  return json === null || name === null || version === null ? null : { name, version, licence: statedLicence(json) }
}

/**
 * The packages in a `node_modules` folder, scoped ones and pnpm's store included. A link to a package of the folder
 * itself is left out.
 */
async function installedIn(root: string, at: string): Promise<string[]> {
  const inside = (await realpath(join(root, at)).catch(() => '')) === join(root, at)
  const here = inside ? await readdir(join(root, at), { withFileTypes: true }).catch(() => []) : []
  const found: string[] = []
  for (const entry of here.sort((a, b) => byText(a.name, b.name))) {
    const path = `${at}/${entry.name}`
    if (entry.name === '.pnpm') {
      const store = await readdir(join(root, path)).catch(() => [])
      for (const place of store.sort(byText)) found.push(...(await installedIn(root, `${path}/${place}/node_modules`)))
    } else if (entry.name.startsWith('.')) continue
    else if (entry.name.startsWith('@') && entry.isDirectory()) found.push(...(await installedIn(root, path)))
    else if (entry.isDirectory()) found.push(path)
  }
  return found
}

function licencesOf(
  packages: readonly NpmPackage[],
  direct: ReadonlySet<string>,
  folder: Folder,
): DependenciesFindings['licences'] {
  const findings = packages.map(({ name, version, licence }): LicenceFinding => {
    return {
      name,
      version,
      licence,
      class: licence === null ? 'unknown' : licenceClass(licence),
      direct: direct.has(name),
    }
  })
  const counts = new Map<string, number>()
  for (const { licence } of findings) counts.set(licence ?? 'unknown', (counts.get(licence ?? 'unknown') ?? 0) + 1)
  const pick = (wanted: (found: LicenceFinding) => boolean): Listed<LicenceFinding> =>
    listed(findings.filter(wanted), folder.limits)
  return {
    packages: findings.length,
    counts: [...counts]
      .sort(([a, m], [b, n]) => n - m || byText(a, b))
      .map(([licence, n]) => ({ licence, packages: n })),
    copyleft: pick((found) => found.class !== 'unknown' && isCopyleft(found.class)),
    unknown: pick((found) => found.class === 'unknown'),
    other: pick((found) => found.class === 'other'),
  }
}
