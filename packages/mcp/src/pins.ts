/**
 * Pins: the definitions of tools as they were seen first.
 *
 * Owns: the file that keeps them, its check, which definition holds. Does not own: what a definition is
 * (tool-definition.ts), what becomes of a changed one (tool-call.ts).
 * Holds: a definition that is pinned is never replaced here: only a person who takes it out of the file lets the next
 * process pin another.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isObject, messageOf, newId, own, ReeveError, type Json } from '@reeve/core'
import { definitionIn, type McpDefinition } from './tool-definition.ts'

type Pinned = ReadonlyMap<string, McpDefinition>

/**
 * The definitions that hold for these: those that are pinned in the file, and for the others what is seen now, which
 * the file keeps from now on. Without a file: what is seen now. Rejects with `config.invalid` for a file that holds
 * something else.
 */
export async function pinned(
  seen: readonly McpDefinition[],
  file: string | undefined,
  server: string,
): Promise<readonly McpDefinition[]> {
  if (file === undefined) return seen
  const all = await read(file)
  const before = all.get(server) ?? new Map<string, McpDefinition>()
  const now = seen.map((definition) => before.get(definition.name) ?? definition)
  if (now.some(({ name }) => !before.has(name)))
    await write(
      file,
      new Map([...all, [server, new Map([...before, ...now.map((each) => [each.name, each] as const)])]]),
    )
  return now
}

async function read(file: string): Promise<ReadonlyMap<string, Pinned>> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw invalid(file, messageOf(thrown), thrown)
  }
  try {
    const servers = own(JSON.parse(text) as { readonly [name: string]: Json }, 'servers')
    if (!isObject(servers)) throw new Error('it has no "servers"')
    return new Map(Object.entries(servers).map(([server, tools]) => [server, toolsIn(tools, server)]))
  } catch (thrown) {
    throw invalid(file, messageOf(thrown), thrown)
  }
}

function toolsIn(tools: Json, server: string): Pinned {
  if (!Array.isArray(tools)) throw new Error(`the tools of "${server}" are not a list`)
  const definitions = (tools as readonly Json[]).map((tool) => definitionIn(tool, server))
  return new Map(definitions.map((definition) => [definition.name, definition]))
}

/** Whole or not at all, also where two processes begin at once. */
async function write(file: string, all: ReadonlyMap<string, Pinned>): Promise<void> {
  const servers = Object.fromEntries([...all].map(([server, tools]) => [server, [...tools.values()]]))
  const draft = `${file}.${newId('draft')}`
  try {
    await writeFile(draft, `${JSON.stringify({ servers }, null, 2)}\n`, { flag: 'wx' })
    await rename(draft, file)
  } catch (thrown) {
    throw invalid(file, messageOf(thrown), thrown)
  }
}

const invalid = (file: string, problem: string, cause: unknown): ReeveError =>
  new ReeveError('config.invalid', `mcp: the pins in ${file} cannot be used: ${problem}`, {
    hint: 'Restore the file, or remove it: then what the server says now is pinned.',
    cause,
  })
