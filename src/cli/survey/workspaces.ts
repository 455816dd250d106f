/**
 * How the packages of a folder form a workspace: npm, pnpm, lerna, Go and Cargo.
 * Owns: which manifests are members, and of which workspace. Does not own: what members depend on (`monorepo.ts`).
 */
import { isObject, jsonObject, readManifest, tomlEntries, tomlStrings, type Manifest } from './manifests.ts'
import { folderOf, linesOf, nameOf, under, type Folder } from './walk.ts'

/** The tools that join packages. */
export type WorkspaceTool = 'npm' | 'pnpm' | 'lerna' | 'go' | 'cargo'

/** A workspace: the file that declares it and the patterns it names its members by, relative to that file's folder. */
export interface Workspace {
  tool: WorkspaceTool
  file: string
  patterns: string[]
}

/** The workspaces declared at the root of the folder. */
export async function workspacesOf(folder: Folder): Promise<Workspace[]> {
  const found: Workspace[] = []
  const add = (tool: WorkspaceTool, file: string, patterns: string[]): void => {
    if (patterns.length > 0) found.push({ tool, file, patterns })
  }
  const json = jsonObject((await folder.text('package.json')) ?? '')
  const declared = isObject(json?.workspaces) ? json.workspaces['packages'] : json?.workspaces
  add('npm', 'package.json', strings(declared))
  add('pnpm', 'pnpm-workspace.yaml', yamlList((await folder.text('pnpm-workspace.yaml')) ?? '', 'packages'))
  const lerna = jsonObject((await folder.text('lerna.json')) ?? '')
  if (lerna !== null && found.length === 0)
    add('lerna', 'lerna.json', lerna['packages'] === undefined ? ['packages/*'] : strings(lerna['packages']))
  add('go', 'go.work', goUses((await folder.text('go.work')) ?? ''))
  const cargo = tomlEntries((await folder.text('Cargo.toml')) ?? '').filter((entry) => entry.table === 'workspace')
  const members = cargo.filter((entry) => entry.key === 'members').flatMap(tomlStrings)
  const excluded = cargo.filter((entry) => entry.key === 'exclude').flatMap(tomlStrings)
  add('cargo', 'Cargo.toml', [...members.map((m) => m.text), ...excluded.map((m) => `!${m.text}`)])
  return found
}

const manifestNames: Readonly<Record<WorkspaceTool, string>> = {
  npm: 'package.json',
  pnpm: 'package.json',
  lerna: 'package.json',
  go: 'go.mod',
  cargo: 'Cargo.toml',
}

/** The manifests of a workspace's members, the root's own not included, sorted by path. */
export async function membersOf(folder: Folder, workspace: Workspace): Promise<Manifest[]> {
  const members: Manifest[] = []
  for (const { path } of folder.files) {
    if (nameOf(path) !== manifestNames[workspace.tool] || !isMember(workspace, folderOf(path))) continue
    const manifest = readManifest(path, (await folder.text(path)) ?? '')
    if (manifest !== null) members.push(manifest)
  }
  return members
}

/** Whether a folder is a member of a workspace declared at the root. The root itself is none. */
export function isMember(workspace: Workspace, at: string): boolean {
  if (at === '') return false
  let member = false
  for (const pattern of workspace.patterns) {
    const negated = pattern.startsWith('!')
    const glob = pattern.replace(/^!/, '').replace(/^\.\//, '').replace(/\/+$/, '')
    if (matches(glob.split('/'), at.split('/'))) member = !negated
  }
  return member
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  const [head, ...rest] = pattern
  if (head === undefined) return path.length === 0
  if (head === '**') return matches(rest, path) || (path.length > 0 && matches(pattern, path.slice(1)))
  const [name, ...deeper] = path
  if (name === undefined) return false
  const alternatives = head
    .replaceAll(/[.+^$()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{([^}]*)\}/g, (_, inner: string) => `(${inner.replaceAll(',', '|')})`)
  const glob = new RegExp(`^${alternatives.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`)
  return glob.test(name) && matches(rest, deeper)
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function yamlList(text: string, key: string): string[] {
  const items: string[] = []
  let within = false
  for (const line of linesOf(text)) {
    if (/^[\w-]+:/.test(line)) within = line.startsWith(`${key}:`)
    const item = within ? /^\s*-\s+(?:"([^"]*)"|'([^']*)'|([^\s#]+))/.exec(line) : null
    if (item !== null) items.push(item[1] ?? item[2] ?? item[3] ?? '')
    const inline = within ? /^[\w-]+:\s*\[(.*)\]/.exec(line)?.[1] : undefined
    if (inline !== undefined) items.push(...inline.split(',').map((part) => part.trim().replaceAll(/^["']|["']$/g, '')))
  }
  return items.filter((item) => item !== '')
}

function goUses(text: string): string[] {
  const uses: string[] = []
  let within = false
  for (const raw of linesOf(text)) {
    const line = raw.replace(/\/\/.*$/, '').trim()
    if (line === 'use (') within = true
    else if (line === ')') within = false
    else if (within && line !== '') uses.push(line)
    else if (line.startsWith('use ')) uses.push(line.slice(4).trim())
  }
  return uses.map((use) => under('', use))
}
