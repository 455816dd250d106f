/**
 * Base: the agent that leads a team.
 *
 * Owns: what a supervisor takes over from it, and how that and its own options come together; what is said of a base
 * that cannot lead.
 * Does not own: a base that reflects (reflect.ts), the options themselves (supervisor.ts).
 */
import { described, hasNames, present } from '../core/index.ts'
import { isAgent, listOf, throwTeamProblems, type Agent } from '../agent/index.ts'
import type { Delegation, VerbNames } from './delegation/options.ts'

/** What of a definition is put together with care; everything else is taken or left as a whole. */
interface BaseOptions {
  readonly base?: unknown
  readonly run?: unknown
  readonly workers?: readonly Agent[] | (() => readonly Agent[])
  readonly specialists?: readonly Agent[]
  readonly delegation?: Delegation
  readonly verbs?: Partial<VerbNames>
}

/**
 * Options with everything that the definition of their base says and they do not; the same options if they have no
 * base. Undefined if the base has no model that could lead a team.
 */
export function basedOn<Options extends BaseOptions>(options: Options): Options | undefined {
  const { base, ...own } = options
  if (base === undefined) return options
  const given =
    isAgent(base) && 'definition' in base && hasNames(base.definition)
      ? (base.definition as BaseOptions & { readonly name?: string })
      : undefined
  if (given === undefined) return undefined
  const { name: _name, ...definition } = given
  const workers = mergedWorkers(definition.workers, own.workers)
  const specialists = [...new Set([...listOf(definition.specialists), ...listOf(own.specialists)])]
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

/** The workers of a base, then one's own, each once. What is no list is left for the checks of lists. */
function mergedWorkers(base: BaseOptions['workers'], own: BaseOptions['workers']): BaseOptions['workers'] {
  if (base === undefined || (own !== undefined && typeof own !== 'function' && !Array.isArray(own))) return own
  if (typeof base !== 'function' && typeof own !== 'function') return [...new Set([...listOf(base), ...listOf(own)])]
  const all = (given: BaseOptions['workers']): readonly Agent[] => listOf(typeof given === 'function' ? given() : given)
  return () => [...new Set([...all(base), ...all(own)])]
}

/** What is said for the whole team and for each worker: one's own where one says something. */
const mergedDelegation = (base: Delegation | undefined, own: Delegation | undefined): unknown =>
  own !== undefined && !hasNames(own) ? own : { ...base, ...own, workers: mergedObjects(base?.workers, own?.workers) }

/** Names that are no names are left for the checks. */
const mergedObjects = (base: object | undefined, own: object | undefined): object | undefined =>
  own !== undefined && !hasNames(own) ? own : { ...base, ...own }

/** Throws `team.invalid`: this cannot lead. */
export function throwBaseProblem(where: string, base: unknown, others: readonly string[]): never {
  const why = isAgent(base)
    ? `its base "${base.name}" has no model that could lead a team; a base is an agent with a model, a supervisor or a reflect() of one. Code leads by run`
    : `base is ${described(base)}, expected an agent`
  throwTeamProblems([`${where}: ${why}`, ...others])
  throw new Error('unreachable')
}
