/**
 * What a project says it depends on: reading package.json, requirements files, pyproject.toml, go.mod and Cargo.toml.
 * Owns: the declared names, ranges and kinds. Does not own: what is locked or installed (`locks.ts`), how packages form a workspace.
 *
 * These are readers for the common forms, not full parsers: what they do not understand they leave out, they never guess.
 */
import { withoutSecrets } from './secret-rules.ts'
import { folderOf, lineAt, linesOf, nameOf } from './walk.ts'

/** Where a manifest belongs. */
export type Ecosystem = 'npm' | 'python' | 'go' | 'cargo'
/** What a dependency is for. */
export type DependencyKind = 'runtime' | 'development' | 'peer' | 'optional'

/** A dependency as a manifest declares it. */
export interface Declared {
  name: string
  /** The declared range as written, credentials masked; `''` when none is given. */
  range: string
  kind: DependencyKind
  /** The 1-based line of the declaration; 1 when the manifest is written on one line. */
  line: number
}

/** A manifest that was read. */
export interface Manifest {
  file: string
  ecosystem: Ecosystem
  /** The package's own name, or `null`. */
  name: string | null
  version: string | null
  declared: Declared[]
}

/** The parts of a package.json the surveys use. Everything is unknown until looked at. */
export interface PackageJson {
  readonly name?: unknown
  readonly version?: unknown
  readonly license?: unknown
  readonly licenses?: unknown
  readonly scripts?: unknown
  readonly workspaces?: unknown
  readonly [field: string]: unknown
}

/** Whether this is a manifest the surveys can read. */
export function ecosystemOf(path: string): Ecosystem | null {
  const name = nameOf(path)
  if (name === 'package.json') return 'npm'
  if (name === 'go.mod') return 'go'
  if (name === 'Cargo.toml') return 'cargo'
  if (name === 'pyproject.toml' || /^requirements([-_.][\w.-]+)?\.(txt|in)$/.test(name)) return 'python'
  return /(^|\/)requirements$/.test(folderOf(path)) && /\.(txt|in)$/.test(name) ? 'python' : null
}

/** Reads a manifest; `null` when it is not valid. */
export function readManifest(file: string, text: string): Manifest | null {
  const ecosystem = ecosystemOf(file)
  if (ecosystem === 'npm') return readPackageJson(file, text)
  if (ecosystem === 'go') return readGoMod(file, text)
  if (ecosystem === 'cargo') return readCargo(file, text)
  if (ecosystem === 'python') return nameOf(file) === 'pyproject.toml' ? readPyproject(file, text) : readRequirements(file, text)
  return null
}

/** A JSON object, or `null` when the text is none. */
export function jsonObject(text: string): PackageJson | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Whether a parsed value is an object with fields. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const sections: readonly [section: string, kind: DependencyKind][] = [
  ['dependencies', 'runtime'],
  ['devDependencies', 'development'],
  ['peerDependencies', 'peer'],
  ['optionalDependencies', 'optional'],
]

function readPackageJson(file: string, text: string): Manifest | null {
  const json = jsonObject(text)
  if (json === null) return null
  const optional = isObject(json['optionalDependencies']) ? json['optionalDependencies'] : {}
  const declared = sections.flatMap(([section, kind]) => {
    const entries = json[section]
    if (!isObject(entries)) return []
    return Object.entries(entries).flatMap(([name, range]): Declared[] => {
      if (typeof range !== 'string' || (kind === 'runtime' && Object.hasOwn(optional, name))) return []
      return [{ name, range: withoutSecrets(range), kind, line: lineOfEntry(text, section, name) }]
    })
  })
  return { file, ecosystem: 'npm', name: word(json.name), version: word(json.version), declared }
}

function lineOfEntry(text: string, section: string, name: string): number {
  const quoted = (value: string): RegExp =>
    new RegExp(`${JSON.stringify(value).replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}\\s*:`, 'g')
  for (const start of text.matchAll(quoted(section))) {
    const open = text.indexOf('{', start.index)
    const close = text.indexOf('}', open)
    const entry = quoted(name)
    entry.lastIndex = open
    const found = entry.exec(text)
    if (found !== null && found.index < close) return lineAt(text, found.index)
  }
  return 1
}

function word(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

const pythonRequirement = /^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)/

function readRequirements(file: string, text: string): Manifest {
  const kind: DependencyKind = /dev|test|lint|docs/.test(nameOf(file)) ? 'development' : 'runtime'
  const declared = linesOf(text).flatMap((line, index): Declared[] => {
    const match = pythonRequirement.exec(line.trim())
    if (match?.[1] === undefined || /^\s*(-|#|https?:|git\+|\.)/.test(line)) return []
    return [{ name: match[1], range: withoutSecrets((match[2] ?? '').replace(/\s+--hash.*|\\$/, '').trim()), kind, line: index + 1 }]
  })
  return { file, ecosystem: 'python', name: null, version: null, declared }
}

/** One `key = value` line of a TOML file with the table it stands in. Arrays over several lines are joined on the line they start. */
interface TomlEntry {
  readonly table: string
  readonly key: string
  readonly value: string
  readonly line: number
}

/** The entries of a TOML file as far as manifests use the language. */
export function tomlEntries(text: string): TomlEntry[] {
  const entries: TomlEntry[] = []
  let table = ''
  let open: { key: string; value: string; line: number } | null = null
  linesOf(text).forEach((raw, index) => {
    const line = raw.replace(/(^|\s)#(?=([^"']*["'][^"']*["'])*[^"']*$).*$/, '')
    if (open !== null) {
      open.value += `\n${line}`
    } else {
      const header = /^\s*\[\[?\s*([^\]]+(?:\][^\]]+)*?)\s*\]\]?\s*$/.exec(line)
      if (header?.[1] !== undefined) return void (table = header[1])
      const pair = /^\s*("[^"]+"|'[^']+'|[\w.-]+)\s*=\s*(.*)$/.exec(line)
      if (pair?.[1] === undefined || pair[2] === undefined) return
      open = { key: pair[1].replaceAll(/^["']|["']$/g, ''), value: pair[2], line: index + 1 }
    }
    if (count(open.value, '[') > count(open.value, ']') || count(open.value, '{') > count(open.value, '}')) return
    entries.push({ table, ...open })
    open = null
  })
  return entries
}

function count(text: string, char: string): number {
  return text.replaceAll(/"[^"\n]*"|'[^'\n]*'/g, '').split(char).length - 1
}

/** The strings of a TOML array, with the line each stands on. */
export function tomlStrings(entry: TomlEntry): { text: string; line: number }[] {
  return entry.value
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(/"([^"]*)"|'([^']*)'/g)].map((match) => ({ text: match[1] ?? match[2] ?? '', line: entry.line + index })),
    )
}

function unquoted(value: string): string {
  return /^\s*["'](.*?)["']\s*$/.exec(value)?.[1] ?? ''
}

function readPyproject(file: string, text: string): Manifest {
  const entries = tomlEntries(text)
  const own = (key: string): string | null =>
    word(unquoted(entries.find((e) => (e.table === 'project' || e.table === 'tool.poetry') && e.key === key)?.value ?? ''))
  const declared = entries.flatMap((entry): Declared[] => {
    const poetry = /^tool\.poetry\.(?:(dependencies)|dev-dependencies|group\.[\w-]+\.dependencies)$/.exec(entry.table)
    if (poetry !== null) {
      if (entry.key === 'python') return []
      const range = unquoted(entry.value) || (/version\s*=\s*["']([^"']*)/.exec(entry.value)?.[1] ?? '')
      return [{ name: entry.key, range, kind: poetry[1] === undefined ? 'development' : 'runtime', line: entry.line }]
    }
    const kind = pyprojectKind(entry)
    if (kind === null) return []
    return tomlStrings(entry).flatMap(({ text: requirement, line }) => {
      const match = pythonRequirement.exec(requirement)
      return match?.[1] === undefined ? [] : [{ name: match[1], range: withoutSecrets((match[2] ?? '').trim()), kind, line }]
    })
  })
  return { file, ecosystem: 'python', name: own('name'), version: own('version'), declared }
}

function pyprojectKind(entry: TomlEntry): DependencyKind | null {
  if (entry.table === 'project' && entry.key === 'dependencies') return 'runtime'
  if (entry.table === 'project.optional-dependencies') return 'optional'
  return entry.table === 'dependency-groups' ? 'development' : null
}

function readGoMod(file: string, text: string): Manifest {
  const declared: Declared[] = []
  let name: string | null = null
  let block = ''
  linesOf(text).forEach((raw, index) => {
    const line = raw.replace(/\/\/(?!\s*indirect).*$/, '').trim()
    if (line.startsWith('module ')) name = line.slice(7).trim()
    if (/^\w+ \($/.test(line)) block = line.slice(0, -2)
    else if (line === ')') block = ''
    const entry = /^(\S+)\s+(v\S+)(\s*\/\/ indirect)?$/.exec(
      block === 'require' ? line : line.startsWith('require ') ? line.slice(8).trim() : '',
    )
    if (entry?.[1] === undefined || entry[2] === undefined || entry[3] !== undefined) return
    declared.push({ name: entry[1], range: entry[2], kind: 'runtime', line: index + 1 })
  })
  return { file, ecosystem: 'go', name, version: null, declared }
}

function readCargo(file: string, text: string): Manifest {
  const entries = tomlEntries(text)
  const own = (key: string): string | null => word(unquoted(entries.find((e) => e.table === 'package' && e.key === key)?.value ?? ''))
  const declared: Declared[] = []
  for (const entry of entries) {
    const match = /^(?:target\..+\.)?(dependencies|dev-dependencies|build-dependencies|workspace\.dependencies)(?:\.(.+))?$/.exec(
      entry.table,
    )
    if (match === null) continue
    const kind: DependencyKind = match[1] === 'dev-dependencies' || match[1] === 'build-dependencies' ? 'development' : 'runtime'
    const [key, dotted] = entry.key.split('.')
    const name = match[2] ?? key ?? entry.key
    if ((match[2] !== undefined || dotted !== undefined) && declared.some((known) => known.name === name && known.kind === kind)) continue
    const range = unquoted(entry.value) || (/version\s*=\s*"([^"]*)"/.exec(entry.value)?.[1] ?? '')
    declared.push({ name, range, kind, line: entry.line })
  }
  return { file, ecosystem: 'cargo', name: own('name'), version: own('version'), declared }
}
