/**
 * Agent checks: checks a whole set of agents before anything runs, and reports every problem of every agent in one
 * error (names: spec collaboration 24).
 *
 * Owns: checks that need more than one agent. Does not own: the checks of a single agent (`Agent.problems`).
 */
import { described, isName, nameForm, ReeveError } from '@reeve/core'
import type { Limits } from '@reeve/edge'
import {
  fewerTools,
  modelsOf,
  otherModelOrTool,
  priceOfModel,
  providerToolProblems,
  toolCountProblem,
  unpricedTools,
  type Prices,
} from '@reeve/model'
import {
  agentsCheck,
  isAgent,
  isToolAgentName,
  problemText,
  usdCapOf,
  type Agent,
  type AgentProblem,
  type CodedProblem,
} from './definition.ts'

/**
 * Checks these agents and all agents they can reach. Throws `team.invalid` with all problems, one per line;
 * `team.empty` or `budget.no-price` if that is the only problem. `prices`: of the runtime, before the built-in list. It checks names, two different agents of one name,
 * missing descriptions of workers, empty teams, tools that share a name, and dollar limits without prices.
 */
export function checkAgents(roots: readonly Agent[], prices?: Prices): void {
  throwTeamProblems(agentProblems(roots, prices))
}

/**
 * Throws the problems of a team or a flow under construction. If it has none, throws if two different agents in its
 * tree share a name. Teams given as a function are checked later, when a runtime is made.
 */
export function checkTree(root: Agent): void {
  throwTeamProblems(root.problems())
  throwTeamProblems(duplicateNames(reachableAgents([root], ({ open }) => open !== true)))
}

/** Throws these problems of a team or a flow in one error. Does nothing without problems. */
export function throwTeamProblems(problems: readonly AgentProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  const code = problems.length === 1 && typeof first !== 'string' ? first.code : 'team.invalid'
  throw new ReeveError(code, problems.map(problemText).join('\n'), {
    hint:
      problems.length === 1
        ? 'Correct its definition. Nothing was started.'
        : `Correct these ${problems.length} definitions. Nothing was started.`,
  })
}

/** The problems of these agents and of all agents they can reach, each once. */
export function agentProblems(roots: readonly Agent[], prices?: Prices): readonly AgentProblem[] {
  const all = reachableAgents(roots)
  const problems = new Map<string, AgentProblem>()
  const add = (problem: AgentProblem): unknown => problems.set(problemText(problem), problem)
  for (const problem of agentsCheck(roots, 'agents')) add(problem)
  for (const agent of all) {
    if (!isAgent(agent)) continue
    const ownProblems = agent.problems()
    for (const problem of ownProblems) add(problem)
    if (ownProblems.length === 0)
      for (const problem of [...countProblems(agent), ...providedProblems(agent)]) add(problem)
    if (ownProblems.length === 0)
      for (const problem of agentsCheck(agent.related(), `agent "${agent.name}": related()`)) add(problem)
    if (!isName(agent.name) && !isToolAgentName(agent.name))
      add(`agent "${agent.name}": name is ${described(agent.name)}, expected ${nameForm}`)
  }
  for (const problem of duplicateNames(all)) add(problem)
  const rounds = new Set<string>()
  // values that are not agents were reported above
  for (const agent of all.filter(isAgent)) {
    for (const problem of [
      ...priceProblems(agent, prices),
      ...ownTurnsProblems(agent, agent.limits, `agent "${agent.name}"`),
    ])
      add(problem)
    const round = cycleBelow(agent, [])
    if (round === undefined || rounds.has(cycleKey(round))) continue
    rounds.add(cycleKey(round))
    add(`agents contain each other: ${round.join(' > ')}`)
  }
  return [...problems.values()]
}

/** The names that two different agents share, one sentence each. */
export function duplicateNames(agents: readonly Agent[]): readonly string[] {
  const byName = new Map<string, Agent>()
  const problems = new Set<string>()
  for (const agent of agents.filter(isAgent)) {
    const other = byName.get(agent.name)
    if (other !== undefined && other !== agent) problems.add(`two different agents are called "${agent.name}"`)
    byName.set(agent.name, agent)
  }
  return [...problems]
}

/**
 * These agents and all agents they can reach, each once, in the order of discovery. `asks`: whether to follow the
 * agents that an agent can reach. Default: always.
 */
export function reachableAgents(
  roots: readonly Agent[],
  asks: (agent: Agent) => boolean = () => true,
): readonly Agent[] {
  const met = new Set<Agent>(roots)
  for (const agent of met) if (isAgent(agent) && asks(agent)) for (const next of agent.related()) met.add(next)
  return [...met]
}

/** A provider refuses every request with too many tools. */
function countProblems(agent: Agent): readonly string[] {
  const most = agent.model?.mostTools
  if (agent.model === undefined || most === undefined) return []
  const problem = toolCountProblem(agent.toolCount?.() ?? 0, most, `"${agent.model.id}"`)
  return problem === undefined ? [] : [`agent "${agent.name}": ${problem}. ${fewerTools}`]
}

/** A provider runs its own tools alone; one that does not know a tool would answer without it. */
const providedProblems = (agent: Agent, model = agent.model): readonly string[] =>
  model === undefined
    ? []
    : providerToolProblems(agent.tools?.() ?? [], modelsOf(model), agent.toolCount?.()).map(
        (problem) => `agent "${agent.name}": ${problem}. ${otherModelOrTool}`,
      )

/** Only agents with a model count turns of their own, so only they may limit them. */
export const ownTurnsProblems = (agent: Agent, limits: Limits | undefined, where: string): readonly string[] =>
  isAgent(agent) && limits?.ownTurns !== undefined && agent.lastAnswer === undefined
    ? [
        `${where}: limits.ownTurns needs an agent with a model, and "${agent.name}" has none; limits.turns holds for the whole tree`,
      ]
    : []

/** A cap in US dollars needs a price for every agent that it caps and for every agent below. */
function priceProblems(agent: Agent, prices: Prices | undefined): readonly CodedProblem[] {
  const given = agent.usdCaps?.() ?? []
  // an option that caps the agent itself is the source of its limit
  const ownCaps = given.some(({ agents }) => agents.includes(agent)) ? [] : usdCapOf(agent.limits, 'limits', [agent])
  const caps = [...ownCaps, ...given]
  return caps.flatMap(({ option, agents }) =>
    unpricedModels(agents, prices).map((whose) => capProblem(`agent "${agent.name}": ${option}`, whose)),
  )
}

/**
 * What has no known price of the models and their providers' tools that these agents and all agents below them use, each with its agent. `model`: the
 * model that an agent uses in this run.
 */
export function unpricedModels(
  roots: readonly Agent[],
  prices: Prices | undefined,
  model: (agent: Agent) => Agent['model'] = (agent) => agent.model,
): readonly Unpriced[] {
  return reachableAgents(roots).flatMap((each) => [
    ...[model(each), ...(each.otherModels ?? [])].flatMap((agentModel) =>
      (agentModel === undefined ? [] : modelsOf(agentModel)).flatMap((one) =>
        priceOfModel(one, prices) === undefined
          ? [
              {
                whose: `"${one.id}" (${agentModel?.of === undefined ? '' : `${agentModel.of}, `}agent "${each.name}")`,
                give: 'createRuntime({ prices })',
              },
            ]
          : [],
      ),
    ),
    ...unpricedToolsOf(each, model(each)),
  ])
}

/** What has no known price, and what gives it one. */
export interface Unpriced {
  readonly whose: string
  readonly give: string
}

/** The tools of its model's provider whose calls have no known price. */
function unpricedToolsOf(agent: Agent, model: Agent['model']): readonly Unpriced[] {
  const specs = agent.tools?.() ?? []
  const names = new Set(model === undefined ? [] : modelsOf(model).flatMap((one) => unpricedTools(specs, one)))
  return [...names].map((name) => ({
    whose: `a call of the tool "${name}" (agent "${agent.name}")`,
    give: `costUsd of the tool: providerTool({ costUsd })`,
  }))
}

/** The problem of a cap in US dollars on a model without a price. */
export const capProblem = (cap: string, { whose, give }: Unpriced): CodedProblem => ({
  code: 'budget.no-price',
  message: `${cap} cannot be kept, because the price of ${whose} is not known; give it with ${give}`,
})

/** One key per cycle, wherever the cycle is entered. */
function cycleKey(round: readonly string[]): string {
  const names = round.slice(1)
  return names.map((_, i) => [...names.slice(i), ...names.slice(0, i)].join(' > ')).sort()[0]!
}

/** The path from an agent back to itself through members that hand control on. Undefined if there is no cycle. */
function cycleBelow(agent: Agent, above: readonly Agent[]): readonly string[] | undefined {
  const members = isAgent(agent) ? (agent.members?.() ?? []) : []
  for (const member of members) {
    if (member === (above[0] ?? agent)) return [...above, agent, member].map(({ name }) => name)
    if (above.includes(member)) continue
    const round = cycleBelow(member, [...above, agent])
    if (round !== undefined) return round
  }
  return undefined
}
