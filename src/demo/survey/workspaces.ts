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

/** Whether a path fits a pattern, both in parts. Row by row: the work is the product of the two lengths, whatever the pattern. */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  let fits = Array.from({ length: path.length + 1 }, (_, n) => n === 0)
  for (const part of pattern) {
    const next = fits.map(() => false)
    for (let n = 0; n <= path.length; n++) {
      if (part === '**') next[n] = fits[n] === true || (n > 0 && next[n - 1] === true)
      else if (n > 0) next[n] = fits[n - 1] === true && alternatives(part).some((glob) => fitsName(glob, path[n - 1] ?? ''))
    }
    fits = next
  }
  return fits[path.length] === true
}

const mostAlternatives = 64

/** `{a,b}` written out. */
function alternatives(glob: string): readonly string[] {
  let forms: readonly string[] = ['']
  let at = 0
  for (const { 0: group, 1: inner = '', index } of glob.matchAll(/\{([^{}]*)\}/g)) {
    const before = glob.slice(at, index)
    forms = forms.flatMap((form) => inner.split(',').map((each) => form + before + each)).slice(0, mostAlternatives)
    at = index + group.length
  }
  return forms.map((form) => form + glob.slice(at))
}

/** `*` and `?` in one name. Goes back to the last `*` only, which is enough. */
function fitsName(glob: string, name: string): boolean {
  let g = 0
  let star = -1
  let from = 0
  for (let n = 0; n < name.length;) {
    if (glob[g] === '*') {
      star = g++
      from = n
    } else if (g < glob.length && (glob[g] === '?' || glob[g] === name[n])) {
      g++
      n++
    } else if (star !== -1) {
      g = star + 1
      n = ++from
    } else return false
  }
  while (glob[g] === '*') g++
  return g === glob.length
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
