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
  /** What of it is no declaration, in sentences. */
  strange: string[]
}

/** A JSON object whose fields are unknown until looked at. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether this is a manifest that the surveys read. */
export const isManifest = (path: string): boolean => nameOf(path) === 'package.json'

/** Manifests of other ecosystems, by their names. */
const foreignNames: ReadonlySet<string> = new Set(
  [
    'pyproject.toml setup.py setup.cfg Pipfile environment.yml environment.yaml',
    'go.mod Cargo.toml Gemfile composer.json mix.exs rebar.config pubspec.yaml Package.swift Podfile Cartfile',
    'pom.xml build.gradle build.gradle.kts build.sbt deps.edn project.clj ivy.xml',
    'CMakeLists.txt meson.build conanfile.txt conanfile.py vcpkg.json MODULE.bazel WORKSPACE WORKSPACE.bazel',
    'deno.json deno.jsonc stack.yaml package.yaml dune-project dub.json cpanfile DESCRIPTION flake.nix build.zig.zon',
  ].flatMap((row) => row.split(' ')),
)

/** Whether this is a manifest of another ecosystem than npm: it is named, not read. */
export const isForeignManifest = (path: string): boolean =>
  foreignNames.has(nameOf(path)) ||
  /^requirements([-_.][\w.-]+)?\.(txt|in)$|\.(csproj|fsproj|gemspec|cabal|opam|podspec|rockspec)$/.test(nameOf(path))

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
  const strange: string[] = []
  const declared = sections.flatMap(([section, kind]) => {
    const entries = json[section]
    if (entries === undefined) return []
    if (!isFields(entries)) {
      strange.push(`${section} in ${file} is no object and was not examined`)
      return []
    }
    return Object.entries(entries).flatMap(([name, range]): Declared[] => {
      if (typeof range !== 'string') strange.push(`${section} in ${file} names ${JSON.stringify(name)} without a range`)
      if (typeof range !== 'string' || (kind === 'runtime' && Object.hasOwn(optional, name))) return []
      return [{ name, range: withoutSecrets(range), kind, line: lineOfEntry(text, section, name) }]
    })
  })
  return { file, name: stated(json['name']), version: stated(json['version']), declared, strange }
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
