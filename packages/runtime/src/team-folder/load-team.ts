/**
 * A folder as agents: what its files export, put together as code would put it together.
 *
 * Owns: names, workers, tools and instructions from paths; the problems of files. Does not own: which files count
 * (folder-tree.ts), importing one (module-file.ts), the checks of definitions (agent, supervisor, tool).
 * Holds: the definitions are those of `agent`, `supervisor` and `tool`, with the same versions as in code. All problems
 * are told at once, each with its file.
 */
import { readFileSync, statSync } from 'node:fs'
import { basename, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agent, isAgent, isBlank, isSearchable, tool, type Agent, type Tool } from '@reeve/agent'
import { messageOf, ReeveError, visible } from '@reeve/core'
import { supervisor } from '@reeve/supervisor'
import { folderTree, type AgentEntry, type ToolEntry } from './folder-tree.ts'
import { FileImports } from './module-file.ts'

type Options = Readonly<Record<string, unknown>>

/** Instructions are system text of each call of a model. Bytes. */
const longestInstructions = 256 * 1024

/**
 * The agents of a folder, in the order of their names. Each is a file (`writer.ts`), or a folder with `agent.ts`
 * or `leader.ts`, and beside it `workers/`, `tools/` and `instructions.md`. A default export is what `agent`,
 * `supervisor` or `tool` takes, without name and workers, or the finished agent or tool under the name of its file.
 * `tools: ['pay']` names files in the nearest `tools/`; where no file names any, a folder without workers has all of
 * them. Not loaded: symbolic links, tests (`*.test.ts`), names that begin with a dot or `_`.
 *
 * `folder`: relative to the current directory, or a URL. It runs the code in the folder. Throws `config.invalid` with
 * every problem and its file.
 */
export async function loadTeam(folder: string | URL): Promise<readonly Agent[]> {
  const root = resolve(folder instanceof URL ? fileURLToPath(folder) : folder)
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ReeveError('config.invalid', `${visible(root)} is not a folder`, {
      hint: 'Name the folder with the files of your agents: loadTeam("./agents").',
    })
  const { agents, problems } = folderTree(root)
  const told: string[] = [...problems]
  const made: Agent[] = []
  using imports = new FileImports()
  const loading = new TeamLoading(imports, told)
  for (const entry of agents) {
    const each = await loading.agentOf(entry, [])
    if (each !== undefined) made.push(each)
  }
  if (told.length === 0 && made.length === 0) told.push(`${root}: has no file that defines an agent`)
  if (told.length === 0) told.push(...sameNames(loading.files))
  if (told.length === 0) return made
  const lines = [...new Set(told)].map((line) => shown(line, root))
  throw new ReeveError(
    'config.invalid',
    `${visible(root)}: ${lines.length === 1 ? lines[0]! : `${lines.length} problems\n${lines.map((line) => `  ${line}`).join('\n')}`}`,
    { hint: 'Correct these files. Nothing was started.' },
  )
}

/** Paths in the folder are told from the folder on. */
const shown = (line: string, root: string): string => line.replaceAll(`${root}${sep}`, '')

/** Agents that are not the same and have one name. */
function sameNames(files: ReadonlyMap<Agent, string>): readonly string[] {
  const first = new Map<string, Agent>()
  return [...files].flatMap(([each, file]) => {
    const other = first.get(each.name)
    if (other === undefined) first.set(each.name, each)
    return other === undefined
      ? []
      : [
          `${file}: an agent "${each.name}" is defined by ${files.get(other)!}, too; names are unique in the whole folder`,
        ]
  })
}

class TeamLoading {
  /** The file of each agent that was made. */
  readonly files = new Map<Agent, string>()
  readonly #imports: FileImports
  readonly #problems: string[]

  constructor(imports: FileImports, problems: string[]) {
    this.#imports = imports
    this.#problems = problems
  }

  /** `around`: the tools of the folders around it, the nearest first. */
  async agentOf(entry: AgentEntry, around: readonly FolderTools[], isWorker = false): Promise<Agent | undefined> {
    const own = new FolderTools(entry.tools)
    for (const each of entry.tools) {
      const made = await this.#toolOf(each)
      if (made !== undefined) own.made.set(each.name, made)
    }
    const tools = [own, ...around]
    const workers: Agent[] = []
    for (const each of entry.workers) {
      const made = await this.agentOf(each, tools, true)
      if (made !== undefined) workers.push(made)
    }
    const loaded = await this.#imports.load(entry.file)
    if ('problem' in loaded) return this.#refuse(entry.file, loaded.problem)
    const made = this.#made(entry, loaded.value, tools, workers)
    if (made === undefined) return undefined
    if (isWorker && isBlank(made.description))
      return this.#refuse(entry.file, `worker "${made.name}" has no description; leaders choose workers by it`)
    for (const name of own.unused())
      this.#refuse(
        entry.tools.find((each) => each.name === name)!.file,
        `no agent has the tool: name it, tools: ['${name}']`,
      )
    if (!this.files.has(made)) this.files.set(made, entry.file)
    return made
  }

  #made(entry: AgentEntry, value: object, tools: readonly FolderTools[], workers: readonly Agent[]): Agent | undefined {
    const { name, file, leads } = entry
    if (isAgent(value)) return this.#finished(entry, value)
    const options = value as Options
    const wrong = ['name', ...(leads ? ['workers'] : [])].find((each) => options[each] !== undefined)
    if (wrong !== undefined && !(wrong === 'name' && options['name'] === name))
      return this.#refuse(
        file,
        wrong === 'name'
          ? nameMisfit(options['name'], name, file)
          : `has workers; those of a leader are the files in workers/`,
      )
    if (leads && entry.workers.length === 0)
      return this.#refuse(file, 'leads nobody: workers/ has no file; an agent without workers stands in agent.ts')
    try {
      const whole = { ...options, name, ...this.#instructions(entry, options), ...this.#tools(entry, options, tools) }
      // a worker with a problem has been told already
      if (leads && workers.length < entry.workers.length) return undefined
      return leads
        ? supervisor({ ...whole, workers } as unknown as Parameters<typeof supervisor>[0])
        : agent(whole as unknown as Parameters<typeof agent>[0])
    } catch (thrown) {
      return this.#refuse(file, thrownText(thrown))
    }
  }

  /** A finished agent has all of its own: what stands beside its file would be of no agent. */
  #finished({ name, file, instructions, tools, workers }: AgentEntry, made: Agent): Agent | undefined {
    if (made.name !== name) return this.#refuse(file, nameMisfit(made.name, name, file))
    const beside = [
      ...(instructions === undefined ? [] : [basename(instructions)]),
      ...(tools.length === 0 ? [] : ['tools/']),
      ...(workers.length === 0 ? [] : ['workers/']),
    ]
    if (beside.length === 0) return made
    return this.#refuse(
      file,
      `exports a finished agent, so ${beside.join(' and ')} beside it would not count; export its options`,
    )
  }

  #instructions({ file, instructions }: AgentEntry, options: Options): { readonly instructions?: string } {
    if (instructions === undefined) return {}
    if (options['instructions'] !== undefined)
      throw new ReeveError(
        'config.invalid',
        `has instructions, and ${basename(instructions)} has some, too; keep one of them`,
      )
    if (options['run'] !== undefined)
      throw new ReeveError(
        'config.invalid',
        `is code, which has no instructions, and ${basename(instructions)} is beside ${basename(file)}`,
      )
    const { size } = statSync(instructions)
    if (size > longestInstructions)
      throw new ReeveError(
        'config.invalid',
        `${basename(instructions)} has ${size} bytes, expected at most ${longestInstructions}`,
      )
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(instructions)).trim()
    return text === '' ? {} : { instructions: text }
  }

  #tools(entry: AgentEntry, options: Options, around: readonly FolderTools[]): { readonly tools?: unknown } {
    const { tools } = options
    const [own] = around
    if (tools === undefined && entry.tools.length > 0 && entry.workers.length === 0)
      return { tools: entry.tools.flatMap(({ name }) => own!.use(name) ?? []) }
    if (!Array.isArray(tools)) {
      for (const folder of around) folder.see(tools)
      return {}
    }
    return {
      tools: tools.flatMap((each: unknown) => {
        if (typeof each !== 'string') {
          for (const folder of around) folder.see(each)
          return [each]
        }
        const folder = around.find((some) => some.has(each))
        if (folder === undefined)
          throw new ReeveError(
            'config.invalid',
            `names the tool "${visible(each)}", which no file in tools/ defines; there are: ${around.flatMap((some) => some.names).join(', ') || 'none'}`,
          )
        return folder.use(each) ?? []
      }),
    }
  }

  async #toolOf({ name, file }: ToolEntry): Promise<Tool | undefined> {
    const loaded = await this.#imports.load(file)
    if ('problem' in loaded) return this.#refuse(file, loaded.problem)
    const value = loaded.value as Options
    const { kind } = value
    if (kind === 'agent') return this.#refuse(file, 'exports an agent, expected a tool: asTool(agent) makes one of it')
    if (value['name'] !== undefined && value['name'] !== name)
      return this.#refuse(file, nameMisfit(value['name'], name, file))
    if (kind === 'tool') return value as unknown as Tool
    try {
      return tool({ ...value, name } as unknown as Parameters<typeof tool>[0])
    } catch (thrown) {
      return this.#refuse(file, thrownText(thrown))
    }
  }

  #refuse(file: string, problem: string): undefined {
    this.#problems.push(`${file}: ${problem}`)
  }
}

/** The tools of one folder, and which of them an agent has. */
class FolderTools {
  readonly names: readonly string[]
  readonly made = new Map<string, Tool>()
  readonly #used = new Set<string>()

  constructor(entries: readonly ToolEntry[]) {
    this.names = entries.map(({ name }) => name)
  }

  has(name: string): boolean {
    return this.names.includes(name)
  }

  /** Undefined: its file has a problem, which is told. */
  use(name: string): Tool | undefined {
    this.#used.add(name)
    return this.made.get(name)
  }

  /** A finished tool, imported from its file, or a searchable set of such. */
  see(given: unknown): void {
    const seen: readonly unknown[] = isSearchable(given) ? given.tools.map(({ work }) => work) : [given]
    for (const [name, made] of this.made) if (seen.includes(made) || seen.includes(made.work)) this.#used.add(name)
  }

  unused(): readonly string[] {
    return this.names.filter((name) => !this.#used.has(name) && this.made.has(name))
  }
}

const nameMisfit = (given: unknown, name: string, file: string): string =>
  `exports "${visible(String(given))}" from ${basename(file)}, expected the name "${name}"; leave the name out, or rename the file`

const thrownText = (thrown: unknown): string =>
  `${messageOf(thrown)}${ReeveError.is(thrown) && thrown.hint !== undefined ? ` (${thrown.hint})` : ''}`
