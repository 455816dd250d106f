/**
 * Roster: the workers of a leader. The roster of a definition may change between runs; a run keeps the names it began
 * with.
 *
 * Owns: the changeable roster of a definition, its checks, the description of a worker. Does not own: recruits of one
 * run (team-toolbox.ts).
 *
 * Why names are in the edge: replay must offer and accept the same workers as before, or the model would see a recorded
 * delegation as a mistake. The edge is the recorded input of the leader's activation, so names there cost no step and
 * no commit. And no `add`, no `remove` and no `workers: () => …` with another result after a restart changes a run that
 * has begun.
 */
import { failure, nameCheck, twiceIn, type Failure } from '@reeve/core'
import {
  agentsCheck,
  agentsIn,
  isAgent,
  isBlank,
  reachableAgents,
  throwTeamProblems,
  duplicateNames,
  type Agent,
  type AgentProblem,
} from '@reeve/agent'

/** The workers of one leader's definition. */
export class Roster {
  /** The workers as given. */
  readonly reaches: unknown
  readonly #leader: string
  readonly #given: () => readonly Agent[]
  readonly #specialists: readonly Agent[]
  /** The lists as given, for their checks. */
  readonly #lists: () => { readonly workers: unknown; readonly specialists: unknown }
  readonly #added = new Map<string, Agent>()
  /** Names removed from the given workers. */
  readonly #removed = new Set<string>()

  constructor(leader: string, given: readonly Agent[] | (() => readonly Agent[]), specialists: readonly Agent[]) {
    this.reaches = given
    this.#leader = leader
    const fixed = typeof given === 'function' ? [] : agentsIn(given).filter(isAgent)
    const current = (): readonly Agent[] => (typeof given === 'function' ? agentsIn(given()).filter(isAgent) : fixed)
    this.#given = current
    this.#specialists = agentsIn(specialists).filter(isAgent)
    const lists = (): { readonly workers: unknown; readonly specialists: unknown } => ({
      workers: typeof given === 'function' ? given() : given,
      specialists,
    })
    this.#lists = lists
  }

  /** The current workers, in the order in which they joined. */
  workers(): readonly Agent[] {
    const given = this.#given()
    if (this.#added.size === 0 && this.#removed.size === 0) return given
    return [...given.filter((worker) => !this.#removed.has(worker.name)), ...this.#added.values()]
  }

  /** The names of the current workers. */
  names(): readonly string[] {
    return this.workers().map(({ name }) => name)
  }

  /**
   * All agents that may ever work for this leader, including specialists not yet recruited and removed workers: earlier
   * runs may still need them.
   */
  everyWorker(): readonly Agent[] {
    const given = this.#given()
    return [
      ...new Set([
        ...given.filter((worker) => !this.#added.has(worker.name)),
        ...this.#added.values(),
        ...this.#specialists,
      ]),
    ]
  }

  find(name: string): Agent | undefined {
    return this.#added.get(name) ?? named(this.#given(), name) ?? named(this.#specialists, name)
  }

  get specialists(): readonly Agent[] {
    return this.#specialists
  }

  /** Adds a worker for later runs. Throws `team.invalid`. */
  add(worker: Agent): void {
    throwTeamProblems(isAgent(worker) ? [] : agentsCheck([worker], `${leaderLabel(this.#leader)}: add`))
    const problems = workerProblems(this.#leader, [worker])
    if (this.workers().some((other) => other.name === worker.name))
      problems.push(`${leaderLabel(this.#leader)}: two workers are called "${worker.name}"`)
    throwTeamProblems(problems)
    const others =
      typeof this.reaches === 'function' ? [] : this.everyWorker().filter(({ name }) => name !== worker.name)
    throwTeamProblems(duplicateNames(reachableAgents([...others, worker], ({ open }) => open !== true)))
    this.#added.set(worker.name, worker)
  }

  /** Removes a worker for later runs; returns it, or undefined if there is none of that name. */
  remove(name: string): Agent | undefined {
    const worker = this.workers().find((each) => each.name === name)
    if (worker === undefined) return undefined
    this.#added.delete(name)
    this.#removed.add(name)
    return worker
  }

  /** The problems of the current roster. */
  problems(): readonly AgentProblem[] {
    const workers = this.workers()
    const wrong = Object.entries(this.#lists()).flatMap(([name, list]) =>
      agentsCheck(list, `${leaderLabel(this.#leader)}: ${name}`),
    )
    return [
      ...wrong,
      ...(workers.length === 0 && this.#specialists.length === 0 && wrong.length === 0
        ? [{ code: 'team.empty' as const, message: emptyTeam(this.#leader) }]
        : []),
      ...workerProblems(this.#leader, [...workers, ...this.#specialists]),
    ]
  }
}

function named(workers: readonly Agent[], name: string): Agent | undefined {
  for (let i = 0; i < workers.length; i++) if (workers[i]!.name === name) return workers[i]
  return undefined
}

/** Why a leader without workers cannot begin. */
export const emptyRefusal = (leader: string): Failure =>
  failure('team.empty', emptyTeam(leader), 'validation', {
    hint: 'Add one with add(worker), or give workers when the supervisor is defined.',
  })

const emptyTeam = (leader: string): string => `${leaderLabel(leader)} has no workers`
const leaderLabel = (leader: string): string => `supervisor "${leader}"`

/** The problems of the workers as such: bad names, one name twice, no description. */
function workerProblems(leader: string, workers: readonly Agent[]): string[] {
  const where = leaderLabel(leader)
  return [
    ...workers.flatMap(({ name, description }) => [
      ...nameCheck(name, `${where}: the worker's name`),
      ...(isBlank(description) ? [`${where}: worker "${name}" has no description; leaders choose workers by it`] : []),
    ]),
    ...twiceIn(
      workers.map(({ name }) => name),
      where,
      'workers',
    ),
  ]
}

/** The description of a worker for its leader. Never empty. */
export const describeWorker = (name: string, worker: Agent | undefined): string => {
  const said = worker?.description.trim() ?? ''
  return said === '' ? `An agent called ${name}.` : said
}
