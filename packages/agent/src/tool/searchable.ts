/**
 * searchable(): tools that a model finds by search, in place of being sent all of them.
 *
 * Owns: the function, its options and their checks. Does not own: how tools are found (tool-search.ts), what a model is
 * offered meanwhile (search-toolbox.ts).
 */
import {
  listOf,
  mustBeOptions,
  optionProblems,
  ReeveError,
  refuseProblems,
  text,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import { toolsOf, type SearchableTools, type ToolsLike } from './tool.ts'

/** The options of `searchable`. */
export interface SearchableOptions {
  /** The names of those that are sent from the beginning, as any other tool. Default: none. */
  readonly always?: readonly string[]
  /** How many tools one search finds at most, from 1 to 20. Default 5. */
  readonly limit?: number
}

const checks: Checks<SearchableOptions> = { always: listOf(text, 'names of tools'), limit: wholeNumber(1, 20) }
const defaultLimit = 5

/**
 * Tools that a model is not sent: it searches them with the tool `find_tools`, by words of their names, descriptions and
 * parameters, and those that it finds are sent from then on. For `tools` of agents, supervisors and middlewares:
 * `tools: [pay, searchable(await mcp({ url }))]`; several sets have one search. Permissions, approvals and effects hold
 * as for any tool, and a tool that the model calls by its name runs without a search. Tools that a provider runs are
 * always sent.
 *
 * `tools`: as `tools` of an agent, also a record of AI SDK tools by name. Throws `tool.invalid` for an invalid tool or
 * option, and for names in `always` that no tool has.
 */
export function searchable(tools: ToolsLike, options: SearchableOptions = {}): SearchableTools {
  mustBeOptions(options, 'searchable', 'tool.invalid')
  refuseProblems('tool.invalid', optionProblems(checks, options, 'searchable'))
  const { always = [], limit = defaultLimit } = options
  const all = toolsOf(tools)
  const names = new Set(all.map(({ name }) => name))
  const missing = always.filter((name) => !names.has(name))
  if (missing.length > 0)
    throw new ReeveError('tool.invalid', `searchable: always names ${missing.join(', ')}, and no tool is called so`, {
      hint: 'Name tools of the set, as their agent has them.',
    })
  return {
    kind: 'searchable',
    tools: all.map(({ searchable: _searched, ...tool }) =>
      always.includes(tool.name) || tool.work.kind === 'provider' ? tool : { ...tool, searchable: { limit } },
    ),
  }
}
