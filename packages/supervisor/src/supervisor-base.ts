/**
 * Supervisor base: the agent whose definition a supervisor builds on.
 *
 * Owns: what a supervisor takes over from its base, how that is merged with its own options, the error for a base that
 * cannot lead. Does not own: a base that reflects (reflect.ts), the options themselves (supervisor.ts).
 */
import { described, hasNames, present } from '@reeve/core'
import { isAgent, agentsIn, throwTeamProblems, type Agent } from '@reeve/agent'
import type { Delegation, VerbNames } from './delegation/options.ts'
import { definitionOf } from './leader.ts'

/** The options that are merged; all others are taken from one side. */
interface BaseOptions {
  readonly base?: unknown
  readonly run?: unknown
  readonly workers?: readonly Agent[] | (() => readonly Agent[])
  readonly specialists?: readonly Agent[]
  readonly delegation?: Delegation
  readonly verbs?: Partial<VerbNames>
}

/**
 * The options, completed with those of the base's definition; the same options without a base. Undefined if the base
 * has no model that could lead a team.
 */
export function basedOn<Options extends BaseOptions>(options: Options): Options | undefined {
  const { base, ...own } = options
  if (base === undefined) return options
  const given = isAgent(base) ? definitionOf<BaseOptions & { readonly name?: string }>(base) : undefined
  if (given === undefined) return undefined
  const { name: _name, ...definition } = given
  const workers = mergedWorkers(definition.workers, own.workers)
  const specialists = [...new Set([...agentsIn(definition.specialists), ...agentsIn(own.specialists)])]
  const isLed = definition.workers !== undefined
  const said = present(own)
  return {
    ...definition,
    ...said,
    workers,
    ...(isLed && specialists.length > 0 ? { specialists } : undefined),
    ...(isLed && (definition.delegation ?? own.delegation) !== undefined
      ? { delegation: mergedDelegation(definition.delegation, own.delegation) }
      : undefined),
    ...((definition.verbs ?? own.verbs) === undefined
      ? undefined
      : { verbs: mergedObjects(definition.verbs, own.verbs) }),
  } as unknown as Options
}

/** The workers of the base, then the own ones, each once. A value that is not a list is left for the list checks. */
function mergedWorkers(base: BaseOptions['workers'], own: BaseOptions['workers']): BaseOptions['workers'] {
  if (base === undefined || (own !== undefined && typeof own !== 'function' && !Array.isArray(own))) return own
  if (typeof base !== 'function' && typeof own !== 'function')
    return [...new Set([...agentsIn(base), ...agentsIn(own)])]
  const all = (given: BaseOptions['workers']): readonly Agent[] =>
    agentsIn(typeof given === 'function' ? given() : given)
  return () => [...new Set([...all(base), ...all(own)])]
}

/** The options of the team and of each worker; own ones take precedence. */
const mergedDelegation = (base: Delegation | undefined, own: Delegation | undefined): unknown =>
  own !== undefined && !hasNames(own) ? own : { ...base, ...own, workers: mergedObjects(base?.workers, own?.workers) }

/** Merges two objects. A value that is not an object is left for the checks. */
const mergedObjects = (base: object | undefined, own: object | undefined): object | undefined =>
  own !== undefined && !hasNames(own) ? own : { ...base, ...own }

/** Throws `team.invalid`: this agent cannot lead a team. */
export function throwBaseProblem(where: string, base: unknown, others: readonly string[]): never {
  const why = isAgent(base)
    ? `its base "${base.name}" has no model that could lead a team; a base is an agent with a model, a supervisor or a reflect() of one. Code leads by run`
    : `base is ${described(base)}, expected an agent`
  throwTeamProblems([`${where}: ${why}`, ...others])
  throw new Error('unreachable')
}
