/**
 * Roles: who does what kind of work: an agent, or instructions and tools for the team's own model (spec team 1.3, R-3).
 *
 * Owns: what may stand behind a role, the roles that every team with a model has, finding the one for a task. Does not own: who is on the team (../staff).
 * A role that nobody knows is kept as a name, and the generalist does its work.
 */
import { unknownNames, type NamesOf } from '../../core/index.ts'
import { agent, isAgent, isBlank, isName, toolsOf, type Agent, type ToolsLike } from '../../agent/index.ts'
import { limitProblems, permissionProblems, type Limits } from '../../edge/index.ts'
import type { ModelRef } from '../../model/index.ts'

/** What is behind a role, where it is not simply an agent. */
export interface RoleOptions {
  /** What it is good for: planners choose by it. */
  readonly description?: string
  /** Who does this work. Default: the team's model, with these instructions and tools. */
  readonly agent?: Agent
  /** Added to the instructions of whoever does this work. */
  readonly instructions?: string
  /** The tools it may use, of those it has: names, or beginnings followed by `*`. Default: all. */
  readonly tools?: readonly string[]
  /** Hard limits of whoever does one task in this role. */
  readonly limits?: Limits
  /** What it thinks with, instead of the team's model. */
  readonly model?: ModelRef
}

/** Who does what kind of work. */
export type Roles = Readonly<Record<string, Agent | RoleOptions>>

/** A role as a task has it. */
export interface RoleUse {
  /** As the plan says. */
  readonly role: string
  /** The registered role behind it. */
  readonly resolved: string
  readonly agent: Agent
  /** Added to its instructions. */
  readonly added: string
  readonly tools: readonly string[] | undefined
  readonly limits: Limits | undefined
  readonly description: string
}

/** The role of whoever has none. */
export const generalist = 'generalist'

/** The roles of a team that has a model: Shannon's four, and the one for everything else. */
const common: Roles = {
  [generalist]: {
    description: 'Does whatever nobody else is there for.',
    instructions: 'Do the task completely, and say what you could not find out.',
  },
  researcher: {
    description: 'Gathers information: comprehensive and detailed.',
    instructions: 'Your specialty is gathering information. Be comprehensive and detailed, and name your sources.',
  },
  analyst: {
    description: 'Analyses data: numbers and trends.',
    instructions: 'Your specialty is analysing data. Look for numbers and trends, and say how sure you are of them.',
  },
  strategist: {
    description: 'Plans at a high level and for the long term.',
    instructions: 'Your specialty is planning at a high level and for the long term. Weigh alternatives against each other.',
  },
  writer: {
    description: 'Writes: readable and well structured.',
    instructions: 'Your specialty is writing. Make it readable and well structured, and add no facts of your own.',
  },
}

const names: NamesOf<RoleOptions> = { description: true, agent: true, instructions: true, tools: true, limits: true, model: true }

/** All roles of one team. */
export class RoleBook {
  readonly #byName = new Map<string, Omit<RoleUse, 'role' | 'added'> & { readonly instructions: string | undefined }>()
  readonly #problems: string[] = []

  constructor(team: string, roles: Roles | undefined, model: ModelRef | undefined, tools: ToolsLike | undefined) {
    const all: Roles = model === undefined ? { ...roles } : { ...common, ...roles }
    for (const [name, given] of Object.entries(all)) this.#take(team, name, given, model, tools)
    if (this.#byName.size === 0) this.#problems.push(`team "${team}" has no roles and no model, so nobody could work`)
  }

  #take(team: string, name: string, given: Agent | RoleOptions, model: ModelRef | undefined, tools: ToolsLike | undefined): void {
    const where = `team "${team}": roles.${name}`
    if (!isName(name))
      this.#problems.push(`team "${team}": the role "${name}" is no name: a letter or "_", then up to 63 letters, digits, "_" or "-"`)
    const options: RoleOptions = isAgent(given) ? { agent: given } : given
    const wrong = [
      ...unknownNames(options, names, where),
      ...(options.limits === undefined ? [] : limitProblems(options.limits, where)),
      ...(options.tools === undefined ? [] : permissionProblems({ tools: options.tools }, where)),
    ]
    const brain = options.model ?? model
    if (options.agent !== undefined && !isAgent(options.agent)) wrong.push(`${where}: agent is not an agent`)
    else if (options.agent === undefined && brain === undefined) wrong.push(`${where} has no agent, and the team has no model`)
    if (options.agent !== undefined && options.model !== undefined) wrong.push(`${where} has both an agent and a model`)
    this.#problems.push(...wrong)
    if (wrong.length > 0) return
    const description = options.description ?? options.agent?.description ?? ''
    this.#byName.set(name.toLowerCase(), {
      resolved: name,
      agent: options.agent ?? ownAgent(team, name, options, brain!, tools),
      instructions: options.instructions,
      tools: options.tools,
      limits: options.limits,
      description,
    })
  }

  get problems(): readonly string[] {
    return this.#problems
  }

  get agents(): readonly Agent[] {
    return [...new Set([...this.#byName.values()].map(({ agent: each }) => each))]
  }

  /** Name and description, for planners. */
  get list(): readonly { readonly name: string; readonly description: string }[] {
    return [...this.#byName.values()].map(({ resolved: name, description }) => ({ name, description }))
  }

  /** Whoever does the work of a role; undefined if nobody knows it and there is no generalist. */
  find(role: string): RoleUse | undefined {
    const wanted = role.trim()
    const own = this.#byName.get(wanted.toLowerCase())
    const found = own ?? this.#byName.get(generalist)
    if (found === undefined) return undefined
    const { instructions, ...use } = found
    const said = isBlank(instructions) ? '' : ` ${instructions}`
    return { ...use, role: wanted, added: `You are a ${wanted} on a team.${said}` }
  }
}

/** Whoever works for the team's own model in a role. Not a name that a user may have given: two teams may have the same roles. */
function ownAgent(team: string, role: string, options: RoleOptions, model: ModelRef, tools: ToolsLike | undefined): Agent {
  const mind = agent({
    name: `${team}_${role}`.slice(0, 64),
    description: options.description ?? `Works as a ${role}.`,
    model,
    ...(tools === undefined ? undefined : { tools: toolsOf(tools) }),
  })
  return mind
}
