/**
 * What a package says of itself: reading package.json. Owns: the declared names, ranges and kinds.
 * Does not own: what is locked or installed (`locks.ts`, `dependencies.ts`), how packages form a workspace.
 */
import { withoutSecrets } from './masking.ts'
import { lineAt, nameOf } from './walk.ts'

/** What a dependency is for. */
export type DependencyKind = 'runtime' | 'development' | 'peer' | 'optional'

/** A dependency as a manifest declares it. */
export interface Declared {
  name: string
  /** The declared range as written, credentials masked. */
  range: string
  kind: DependencyKind
  /** The 1-based line of the declaration; 1 when the manifest is written on one line. */
  line: number
}

/** A package.json that was read. */
export interface Manifest {
  file: string
  /** The package's own name, or `null`. */
  name: string | null
  version: string | null
  declared: Declared[]
}

/** A JSON object whose fields are unknown until looked at. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether this is a manifest that the surveys read. */
export const isManifest = (path: string): boolean => nameOf(path) === 'package.json'

/** Whether this is a manifest of another ecosystem than npm: it is named, not read. */
export const isForeignManifest = (path: string): boolean =>
  /^(go\.mod|Cargo\.toml|pyproject\.toml|Gemfile|pom\.xml|composer\.json|requirements([-_.][\w.-]+)?\.txt)$/.test(
    nameOf(path),
  )

/** A JSON object, or `null` when the text is none. */
export function jsonObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : null
  } catch {
    return null
  }
}

/** Whether a parsed value is an object with fields. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text that is not empty, or `null`. */
export const stated = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const sections: readonly [section: string, kind: DependencyKind][] = [
  ['dependencies', 'runtime'],
  ['devDependencies', 'development'],
  ['peerDependencies', 'peer'],
  ['optionalDependencies', 'optional'],
]

/** Reads a manifest; `null` when it is not valid. */
export function readManifest(file: string, text: string): Manifest | null {
  const json = jsonObject(text)
  if (json === null) return null
  const optional = isFields(json['optionalDependencies']) ? json['optionalDependencies'] : {}
  const declared = sections.flatMap(([section, kind]) => {
    const entries = json[section]
    if (!isFields(entries)) return []
    return Object.entries(entries).flatMap(([name, range]): Declared[] => {
      if (typeof range !== 'string' || (kind === 'runtime' && Object.hasOwn(optional, name))) return []
      return [{ name, range: withoutSecrets(range), kind, line: lineOfEntry(text, section, name) }]
    })
  })
  return { file, name: stated(json['name']), version: stated(json['version']), declared }
}

function lineOfEntry(text: string, section: string, name: string): number {
  for (let at = keyAt(text, section, 0); at !== -1; at = keyAt(text, section, at + 1)) {
    const open = text.indexOf('{', at)
    const found = keyAt(text, name, open)
    if (found !== -1 && found < text.indexOf('}', open)) return lineAt(text, found)
  }
  return 1
}

/** Where a key of a JSON text stands, looked for from an offset on; -1 when it does not. */
function keyAt(text: string, key: string, from: number): number {
  const quoted = JSON.stringify(key)
  let at = text.indexOf(quoted, from)
  while (at !== -1 && !/^\s*:/.test(text.slice(at + quoted.length, at + quoted.length + 20)))
    at = text.indexOf(quoted, at + 1)
  return at
}
