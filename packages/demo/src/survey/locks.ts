/**
 * What is locked: reading the lock files of npm, yarn and pnpm.
 * Owns: the packages a lock file names, with version and licence where the format records one. Does not own: what is
 * declared (`manifests.ts`).
 */
import { isFields, jsonObject, stated, type Fields } from './manifests.ts'
import { withoutSecrets } from './masking.ts'
import { folderOf, linesOf, nameOf, under } from './walk.ts'

/** A package in a lock file. */
export interface Locked {
  readonly name: string
  readonly version: string
  /** As the lock file records it; `null` when it records none. */
  readonly licence: string | null
  /** Where npm installs it, relative to the lock file's folder; `null` in formats that do not say. */
  readonly place: string | null
}

/** The formats that are read; `unread` is a lock file this survey only notes. */
export type LockFormat = 'npm' | 'yarn' | 'pnpm' | 'unread'

/** A lock file that was read. */
export interface Lock {
  readonly file: string
  readonly format: LockFormat
  readonly packages: readonly Locked[]
  /** Packages of the same workspace, by name: they are linked, not fetched. */
  readonly links: ReadonlySet<string>
}

const formats: Readonly<Record<string, LockFormat>> = {
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
  'yarn.lock': 'yarn',
  'pnpm-lock.yaml': 'pnpm',
  'bun.lock': 'unread',
  'bun.lockb': 'unread',
}

/** Which lock file a path is, or `null`. */
export function lockFormatOf(path: string): LockFormat | null {
  const name = nameOf(path)
  return Object.hasOwn(formats, name) ? (formats[name] ?? null) : null
}

/** Reads a lock file; `null` when its text is not what its name promises. */
export function readLock(file: string, text: string): Lock | null {
  const format = lockFormatOf(file)
  if (format === 'npm') return readNpm(file, text)
  const read = { yarn: readYarn, pnpm: readPnpm, unread: () => [] }
  return format === null ? null : { file, format, packages: read[format](text), links: new Set() }
}

/**
 * The locked package a manifest's dependency resolves to: for npm the nearest `node_modules` up from the manifest's
 * folder.
 */
export function lockedFor(lock: Lock, manifestFolder: string, name: string): Locked | 'link' | null {
  if (lock.format !== 'npm') return lock.packages.find((entry) => entry.name === name) ?? null
  const top = folderOf(lock.file)
  let at = top === '' ? manifestFolder : manifestFolder === top ? '' : manifestFolder.slice(top.length + 1)
  for (;;) {
    const place = under(at, `node_modules/${name}`)
    const entry = lock.packages.find((candidate) => candidate.place === place)
    if (entry !== undefined) return entry
    if (lock.links.has(place)) return 'link'
    if (at === '') return null
    at = folderOf(at)
  }
}

function readNpm(file: string, text: string): Lock | null {
  const json = jsonObject(text)
  if (json === null) return null
  const packages: Locked[] = []
  const links = new Set<string>()
  if (isFields(json['packages'])) {
    for (const [place, entry] of Object.entries(json['packages'])) {
      const at = place.lastIndexOf('node_modules/')
      if (!isFields(entry) || at === -1) continue
      if (entry['link'] === true) links.add(place)
      else
        packages.push({
          name: stated(entry['name']) ?? place.slice(at + 13),
          version: withoutSecrets(stated(entry['version']) ?? ''),
          licence: stated(entry['license']),
          place,
        })
    }
  } else if (isFields(json['dependencies'])) readNpmTree(json['dependencies'], '', packages)
  return { file, format: 'npm', packages, links }
}

function readNpmTree(tree: Fields, at: string, packages: Locked[]): void {
  for (const [name, entry] of Object.entries(tree)) {
    if (!isFields(entry)) continue
    const place = under(at, `node_modules/${name}`)
    packages.push({ name, version: withoutSecrets(stated(entry['version']) ?? ''), licence: null, place })
    if (isFields(entry['dependencies'])) readNpmTree(entry['dependencies'], place, packages)
  }
}

function readYarn(text: string): Locked[] {
  const packages: Locked[] = []
  let names: string[] = []
  for (const line of linesOf(text)) {
    if (/^\S.*:$/.test(line) && !line.startsWith('#')) {
      const specs = line
        .slice(0, -1)
        .split(', ')
        .map((spec) => spec.replaceAll('"', '').trim())
      const fetched = specs.filter((spec) => !spec.includes('@workspace:') && spec !== '__metadata')
      names = [...new Set(fetched.map((spec) => spec.slice(0, spec.indexOf('@', 1))))].filter((name) => name !== '')
      continue
    }
    const version = /^ {2}version:? "?([^"\s]+)"?\s*$/.exec(line)?.[1]
    if (version === undefined) continue
    packages.push(...names.map((name) => ({ name, version, licence: null, place: null })))
    names = []
  }
  return packages
}

function readPnpm(text: string): Locked[] {
  const packages = new Map<string, Locked>()
  let within = ''
  for (const line of linesOf(text)) {
    const section = /^([\w-]+):/.exec(line)?.[1]
    if (section !== undefined) within = section
    const key = within === 'packages' ? /^ {2}(?! )'?\/?(.+?)'?:\s*$/.exec(line)?.[1]?.replace(/\(.*$/, '') : undefined
    const match = key === undefined ? null : /^(@[^/@]+\/[^/@]+|[^/@]+)[@/]([^/@_]+)/.exec(key)
    if (match?.[1] === undefined || match[2] === undefined) continue
    packages.set(`${match[1]}@${match[2]}`, { name: match[1], version: match[2], licence: null, place: null })
  }
  return [...packages.values()]
}
