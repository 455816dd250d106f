/**
 * Roles: the kinds of work, each with an agent, or instructions and tools for the team's own model (spec team 1.3,
 *
 *
 * Owns: the options of a role, the built-in roles of a team with a model, finding the role of a task. Does not own: who
 * is on the team (../staff). An unknown role is kept as a name, and the generalist does its work.
 */
import {
  described,
  digest,
  expects,
  hasNames,
  isName,
  messageOf,
  nameForm,
  object,
  string,
  type Json,
} from '@reeve/core'
import {
  agent,
  isAgent,
  isBlank,
  toolProblems,
  toolsOf,
  usdCapOf,
  type Agent,
  type ToolsLike,
  type UsdCap,
} from '@reeve/agent'
import { limitsCheck, oversightCheck, patternsCheck, type JsonSchema, type Limits, type Oversight } from '@reeve/edge'
import { modelCheck, modelProblem, type ModelRef } from '@reeve/model'

/** Options of a role that is not simply an agent. */
export interface RoleOptions {
  /** The work of this role: planners choose by it. */
  readonly description?: string
  /** The agent of this role. Default: the team's model, with these instructions and tools. */
  readonly agent?: Agent
  /** Added to the instructions of the member in this role. */
  readonly instructions?: string
  /** The allowed ones of its tools: names, or prefixes followed by `*`. Default: all. */
  readonly tools?: readonly string[]
  /** Hard limits of a member for one task in this role. */
  readonly limits?: Limits
  /**
   * Oversight of the tasks of this role and their workers; the stricter of this and the team's counts.
   */
  readonly oversight?: Oversight
  /** Its model, instead of the team's. */
  readonly model?: ModelRef
}

/** Agents or role options by name of the role. */
export type Roles = Readonly<Record<string, Agent | RoleOptions>>

/** A role as a task has it. */
export interface RoleUse {
  /** As the plan says. */
  readonly role: string
  /** The registered role behind it. */
  readonly resolved: string
  /** The role is unknown, and the generalist does its work. */
  readonly standsIn: boolean
  readonly agent: Agent
  /** Added to its instructions. */
  readonly added: string
  readonly tools: readonly string[] | undefined
  readonly limits: Limits | undefined
  readonly oversight: Oversight | undefined
  readonly description: string
}

/** The role of a task without one. */
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
    instructions:
      'Your specialty is planning at a high level and for the long term. Weigh alternatives against each other.',
  },
  writer: {
    description: 'Writes: readable and well structured.',
    instructions: 'Your specialty is writing. Make it readable and well structured, and add no facts of your own.',
  },
}

/** Names for the same kind of work: where a team knows only one of the two, it is meant by the other. */
const aliases: readonly (readonly [string, string])[] = [
  ['research', 'researcher'],
  ['analysis', 'analyst'],
  ['coder', 'developer'],
]

const roleCheck = object<RoleOptions>(
  {
    description: string,
    agent: expects(isAgent, 'an agent'),
    instructions: string,
    tools: patternsCheck,
    limits: limitsCheck,
    oversight: oversightCheck,
    model: modelCheck,
  },
  ({ agent: worker, model }, where) => [
    worker !== undefined && model !== undefined && `${where} has both an agent and a model`,
  ],
)

/** A role as shown to planners. */
export interface ListedRole {
  readonly name: string
  readonly description: string
  /** The schema of a typed input. */
  readonly input?: JsonSchema
}

type Registered = Omit<RoleUse, 'role' | 'added' | 'standsIn'> & { readonly instructions: string | undefined }

/** All roles of one team. */
export class RoleBook {
  readonly #byName = new Map<string, Registered>()
  readonly #problems: string[] = []
  /** Whether a worker with the team's own model can be made; the reason against it is reported elsewhere, once. */
  readonly #mayMake: boolean
  /** The data part of the roles, for the team's version. */
  readonly data: Json

  constructor(team: string, roles: Roles | undefined, model: ModelRef | undefined, tools: ToolsLike | undefined) {
    if (roles !== undefined && (!hasNames(roles) || isAgent(roles)))
      this.#problems.push(
        `team "${team}": roles is ${described(roles)}, expected an object of agents and options by role`,
      )
    const own: Roles = hasNames(roles) && !isAgent(roles) ? roles : {}
    this.#problems.push(...toolsProblems(team, tools))
    this.#mayMake =
      isName(team) && this.#problems.length === 0 && (model === undefined || modelProblem(model) === undefined)
    const all: Roles = model === undefined ? own : { ...without(common, own), ...own }
    for (const [name, given] of Object.entries(all)) this.#take(team, name, given, model, tools)
    if (Object.keys(all).length === 0 && this.#problems.length === 0)
      this.#problems.push(`team "${team}" has no roles and no model, so no member could work; give roles or a model`)
    this.data = Object.fromEntries([...this.#byName.values()].map((each) => [each.resolved, dataOfRole(each)]))
  }

  #take(
    team: string,
    name: string,
    given: Agent | RoleOptions,
    model: ModelRef | undefined,
    tools: ToolsLike | undefined,
  ): void {
    const where = `team "${team}": roles.${name}`
    const options: RoleOptions = isAgent(given) ? { agent: given } : given
    const wrong = [
      ...(hasNames(options)
        ? roleCheck(options, where)
        : [`${where} is ${described(options)}, expected an agent or options`]),
      ...(isName(name) ? [] : [`team "${team}": the name of a role is ${described(name)}, expected ${nameForm}`]),
    ]
    const same = this.#byName.get(name.toLowerCase())
    if (same !== undefined)
      wrong.push(`team "${team}": the roles "${same.resolved}" and "${name}" differ in nothing but case`)
    const { agent: worker, model: own = model } = hasNames(options) ? options : {}
    if (wrong.length === 0 && worker === undefined && own === undefined)
      wrong.push(`${where} has no agent, and the team has no model`)
    this.#problems.push(...wrong)
    if (wrong.length > 0 || (worker === undefined && !this.#mayMake)) return
    const description = options.description ?? options.agent?.description ?? ''
    this.#byName.set(name.toLowerCase(), {
      resolved: name,
      agent: worker ?? ownAgent(team, name, options, own!, tools),
      instructions: options.instructions,
      tools: options.tools,
      limits: options.limits,
      oversight: options.oversight,
      description,
    })
  }

  get problems(): readonly string[] {
    return this.#problems
  }

  get usdCaps(): readonly UsdCap[] {
    return [...this.#byName.values()].flatMap(({ resolved, limits, agent: worker }) =>
      usdCapOf(limits, `roles.${resolved}.limits`, [worker]),
    )
  }

  get agents(): readonly Agent[] {
    return [...new Set([...this.#byName.values()].map(({ agent: each }) => each))]
  }

  /** The roles as shown to planners. */
  get list(): readonly ListedRole[] {
    return [...this.#byName.values()].map(({ resolved: name, description, agent: { inputSchema } }) => ({
      name,
      description,
      ...(inputSchema === undefined ? undefined : { input: inputSchema.json }),
    }))
  }

  /**
   * The worker for a role: its own, that of another word for it, the generalist. Undefined if there is none of them.
   * Case and white space around it say nothing.
   */
  find(role: string): RoleUse | undefined {
    const wanted = role.trim()
    const own = this.#registered(wanted.toLowerCase())
    const found = own ?? this.#byName.get(generalist)
    if (found === undefined) return undefined
    const { instructions, ...use } = found
    const said = isBlank(instructions) ? '' : ` ${instructions}`
    return { ...use, role: wanted, standsIn: own === undefined, added: `Your role on a team: ${wanted}.${said}` }
  }

  /**
   * Who has a question as a whole: the default role, the generalist, or, where there is neither, the first role there
   * is. `input`: the question, where that one takes a typed input.
   */
  forWhole(defaultRole: string | undefined, question: Json): { readonly role: string; readonly input?: Json } {
    const wanted = defaultRole ?? generalist
    const role = this.find(wanted) === undefined ? (this.list[0]?.name ?? wanted) : wanted
    return { role, ...this.inputFor(role, question) }
  }

  /** The question as the input of this role's worker, if that takes a typed input. */
  inputFor(role: string, question: Json): { readonly input?: Json } {
    return this.find(role)?.agent.inputSchema === undefined ? {} : { input: question }
  }

  #registered(name: string): Registered | undefined {
    const pair = aliases.find((each) => each.includes(name))
    const other = pair?.find((each) => each !== name)
    return this.#byName.get(name) ?? (other === undefined ? undefined : this.#byName.get(other))
  }
}

/** Built-in roles that the options do not define in any spelling. */
function without(roles: Roles, own: Roles): Roles {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(roles).filter(([name]) => !taken.has(name)))
}

const dataOfRole = ({ agent: { name }, instructions, tools, limits, oversight, description }: Registered): Json => ({
  agent: name,
  description,
  instructions: instructions ?? null,
  tools: tools ?? null,
  limits: (limits ?? null) as Json,
  ...(oversight === undefined ? undefined : { oversight: oversight as unknown as Json }),
})

function toolsProblems(team: string, tools: ToolsLike | undefined): readonly string[] {
  try {
    return toolProblems(team, toolsOf(tools))
  } catch (thrown) {
    return [`team "${team}": ${messageOf(thrown)}`]
  }
}

const longestName = 64

/**
 * The name of a worker with the team's own model: `analysts_writer`. What would be too long ends in a digest, so two
 * roles are never called the same.
 */
function ownName(team: string, role: string): string {
  const name = `${team}_${role}`
  return name.length <= longestName ? name : `${name.slice(0, longestName - 13)}_${digest(name).slice(0, 12)}`
}

/** A worker with the team's own model in a role. Named after both: two teams may have the same roles. */
function ownAgent(
  team: string,
  role: string,
  { description = '' }: RoleOptions,
  model: ModelRef,
  tools: ToolsLike | undefined,
): Agent {
  return agent({
    name: ownName(team, role),
    description: isBlank(description) ? `Works as a ${role}.` : description,
    model,
    ...(tools === undefined ? undefined : { tools: toolsOf(tools) }),
  })
}
