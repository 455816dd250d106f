/**
 * How the packages of a folder form a workspace: npm, pnpm and lerna.
 * Owns: which manifests are members. Does not own: what members depend on (`monorepo.ts`).
 */
import { matchesGlob } from 'node:path'
import { isFields, isManifest, jsonObject, readManifest, type Manifest } from './manifests.ts'
import { folderOf, linesOf, type Folder } from './walk.ts'

/** The tools that join packages. */
export type WorkspaceTool = 'npm' | 'pnpm' | 'lerna'

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
  const declared = jsonObject((await folder.text('package.json')) ?? '')?.['workspaces']
  add('npm', 'package.json', strings(isFields(declared) ? declared['packages'] : declared))
  add('pnpm', 'pnpm-workspace.yaml', yamlList((await folder.text('pnpm-workspace.yaml')) ?? '', 'packages'))
  const lerna = jsonObject((await folder.text('lerna.json')) ?? '')
  if (lerna !== null && found.length === 0)
    add('lerna', 'lerna.json', lerna['packages'] === undefined ? ['packages/*'] : strings(lerna['packages']))
  return found
}

/** The manifests of a workspace's members, the root's own not included, sorted by path. */
export async function membersOf(folder: Folder, workspace: Workspace): Promise<Manifest[]> {
  const members: Manifest[] = []
  for (const { path } of folder.files) {
    if (!isManifest(path) || !isMember(workspace, folderOf(path))) continue
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
    const glob = plainGlob(pattern.replace(/^!/, ''))
    if (glob !== null && matchesGlob(at, glob)) member = !pattern.startsWith('!')
  }
  return member
}

/**
 * A pattern that `matchesGlob` answers at once, or `null`. Node makes a regular expression of it, whose time is the
 * power of its stars: a name with more than two of them, a path with more than two `**`, a nested list of alternatives
 * match nothing here. No workspace needs them.
 */
function plainGlob(pattern: string): string | null {
  const parts = pattern.slice(0, 400).replace(/^\.\//, '').replace(/\/+$/, '').split('/')
  const short = parts
    .map((part) => (part === '**' ? part : part.replaceAll(/\*+/g, '*')))
    .filter((part, index, all) => part !== '**' || all[index - 1] !== '**')
  const isPlain =
    short.filter((part) => part === '**').length <= 2 &&
    short.every((part) => part.split('*').length <= 3) &&
    !/[()\\]/.test(pattern) &&
    (pattern.match(/[{}]/g) ?? []).length <= 2
  return isPlain ? short.join('/') : null
}

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

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
