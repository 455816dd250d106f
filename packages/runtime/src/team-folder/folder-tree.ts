/**
 * The tree of a team folder: which files define which agents and tools. Reads names, and loads nothing.
 *
 * Owns: the layout, which files count, the problems of names. Does not own: what is in the files (load-team.ts).
 * Holds: symbolic links are not followed, so nothing outside the folder is an agent because of a link in it. Files are
 * read in the order of their names, so that a team is the same on every machine.
 */
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { isName, nameForm, visible } from '@reeve/core'

/** A file that defines a tool. */
export interface ToolEntry {
  readonly name: string
  readonly file: string
}

/** What defines an agent: a file, or a folder with a file of it, and what stands beside that. */
export interface AgentEntry {
  readonly name: string
  readonly file: string
  /** The file says who leads the workers. */
  readonly leads: boolean
  /** The file with its instructions. */
  readonly instructions: string | undefined
  readonly tools: readonly ToolEntry[]
  readonly workers: readonly AgentEntry[]
}

/** What a folder has, and what is wrong with its names: one line for each. */
export interface FolderTree {
  readonly agents: readonly AgentEntry[]
  readonly problems: readonly string[]
}

const code = /\.[cm]?[jt]s$/
const notLoaded = /^[._]|\.(?:test|spec|d)\.[cm]?[jt]s$/
const leaderFile = 'leader'
const agentFile = 'agent'
const instructionsFile = 'instructions.md'
/** How deep teams may stand in teams. */
const deepest = 8
/** How many files and folders one folder may have. */
const mostEntries = 1_000

interface FolderEntry {
  readonly name: string
  readonly path: string
  readonly isFolder: boolean
}

/** The code files and folders in a folder, by name. */
function entriesOf(folder: string, problems: string[]): readonly FolderEntry[] {
  const all = readdirSync(folder, { withFileTypes: true })
  if (all.length > mostEntries) {
    problems.push(`${folder}: has ${all.length} entries, expected at most ${mostEntries}`)
    return []
  }
  return all
    .filter((entry) => !notLoaded.test(entry.name) && entry.name !== 'node_modules')
    .filter((entry) => entry.isDirectory() || (entry.isFile() && code.test(entry.name)))
    .map((entry) => ({
      name: entry.isDirectory() ? entry.name : basename(entry.name, extname(entry.name)),
      path: join(folder, entry.name),
      isFolder: entry.isDirectory(),
    }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true

/** The one file of this name, whatever its ending. */
function fileCalled(name: string, folder: string, problems: string[]): string | undefined {
  const [first, ...others] = entriesOf(folder, problems).filter((each) => !each.isFolder && each.name === name)
  for (const { path } of others) problems.push(`${path}: ${basename(first!.path)} is there, too; keep one of them`)
  return first?.path
}

/** Says what is wrong with names, and leaves those out. */
function named(all: readonly FolderEntry[], what: string, problems: string[]): readonly FolderEntry[] {
  return all.filter(({ name, path }, i) => {
    const other = all.slice(0, i).find((each) => each.name === name)
    const problem = !isName(name)
      ? `"${visible(name)}" is no name of ${what}: expected ${nameForm}`
      : other === undefined
        ? undefined
        : `${what} "${name}" is defined by ${basename(other.path)}, too; keep one of them`
    if (problem !== undefined) problems.push(`${path}: ${problem}`)
    return problem === undefined
  })
}

/** The agents of a folder, each a file or a folder. */
function agentsIn(folder: string, problems: string[], depth: number): readonly AgentEntry[] {
  if (depth > deepest) {
    problems.push(`${folder}: teams stand in teams more than ${deepest} deep`)
    return []
  }
  const candidates = entriesOf(folder, problems).filter(({ path, isFolder: is }) => !is || isAgentFolder(path))
  return named(candidates, 'an agent', problems).flatMap(({ name, path, isFolder: is }) =>
    is ? agentFolder(name, path, problems, depth) : [agentAlone(name, path)],
  )
}

/** An agent of one file, with instructions beside it: `writer.ts`, `writer.md`. */
function agentAlone(name: string, file: string): AgentEntry {
  const beside = file.replace(code, '.md')
  return { name, file, leads: false, instructions: isFile(beside) ? beside : undefined, tools: [], workers: [] }
}

/** Whether a folder says that it is an agent: only by its file. */
const isAgentFolder = (folder: string): boolean =>
  isFolder(join(folder, 'workers')) ||
  isFolder(join(folder, 'tools')) ||
  [leaderFile, agentFile].some((name) => fileCalled(name, folder, []) !== undefined)

function agentFolder(name: string, folder: string, problems: string[], depth: number): readonly AgentEntry[] {
  const [leader, agent] = [leaderFile, agentFile].map((each) => fileCalled(each, folder, problems))
  if (leader === undefined && agent === undefined)
    problems.push(`${folder}: has neither ${leaderFile}.ts nor ${agentFile}.ts; one of them says what it is`)
  if (leader !== undefined && agent !== undefined)
    problems.push(`${folder}: has both ${leaderFile}.ts and ${agentFile}.ts; keep one of them`)
  const [toolFolder, workerFolder] = [join(folder, 'tools'), join(folder, 'workers')]
  const workers = isFolder(workerFolder) ? agentsIn(workerFolder, problems, depth + 1) : []
  if (leader === undefined && agent !== undefined && workers.length > 0)
    problems.push(`${agent}: has workers/ beside it; whoever leads workers stands in ${leaderFile}.ts`)
  const tools = isFolder(toolFolder) ? entriesOf(toolFolder, problems).filter((each) => !each.isFolder) : []
  const instructions = join(folder, instructionsFile)
  const file = leader ?? agent
  if (file === undefined) return []
  return [
    {
      name,
      file,
      leads: leader !== undefined,
      instructions: isFile(instructions) ? instructions : undefined,
      tools: named(tools, 'a tool', problems).map((each) => ({ name: each.name, file: each.path })),
      workers,
    },
  ]
}

/** The tree of a folder of agents, or of a folder that is one. Throws what the file system throws. */
export function folderTree(folder: string): FolderTree {
  const problems: string[] = []
  const isOne = [leaderFile, agentFile].some((name) => fileCalled(name, folder, []) !== undefined)
  if (!isOne) return { agents: agentsIn(folder, problems, 1), problems }
  const itself = named([{ name: basename(folder), path: folder, isFolder: true }], 'an agent', problems)
  return { agents: itself.flatMap(({ name }) => agentFolder(name, folder, problems, 1)), problems }
}

/** Whether this is a folder, no symbolic link, in which files define agents. */
export function isTeamFolder(folder: string): boolean {
  if (!existsSync(folder) || !isFolder(folder)) return false
  const { agents, problems } = folderTree(folder)
  return agents.length > 0 || problems.length > 0
}
