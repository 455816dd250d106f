/**
 * Trials: a prompt, a model or a version that an operator tries before it is published.
 *
 * Owns: what a trial may change, the versions that follow from it, the models that it may use. Does not own: where
 * versions are kept (versions.ts), starting and forking (start.ts, operator/fork.ts), that no effect of a trial leaves
 * unasked (engine/replay/origin.ts).
 * Holds: a trial is an unpublished version for one run. It is recorded with the run and kept nowhere else.
 */
import {
  described,
  isObject,
  object,
  present,
  recordOf,
  refuseProblems,
  string,
  expects,
  hasNames,
  type Check,
  type Checks,
  type JsonObject,
} from '@reeve/core'
import { reachableAgents, type Agent } from '@reeve/agent'
import type { Revision, Revisions } from '@reeve/edge'
import { modelProblem, modelsOf } from '@reeve/model'
import type { Versions } from './versions.ts'

/** What a trial changes of one agent. What it does not say stays as it is. */
export interface TrialChange {
  /** A version of the agent that is kept, published or not: the rest of the change is made to that. */
  readonly version?: string
  /** In place of the agent's instructions. */
  readonly instructions?: string
  /** The id of a model, one of `runtime.trialModels()`. */
  readonly model?: string
  /** In place of the agent's settings of its model. */
  readonly settings?: JsonObject
}

/** What a trial changes, by the names of agents. */
export type TrialChanges = { readonly [agent: string]: TrialChange }

/** The version that a trial works by has this name. */
const trialVersion = 'trial'

export const trialChangeChecks: Checks<TrialChange> = {
  version: expects((given) => typeof given === 'string' && given !== '', 'the name of a version'),
  instructions: string,
  model: string,
  settings: expects(hasNames, 'an object'),
}
const changeCheck = object<TrialChange>(trialChangeChecks)

/** The check of the changes of a start. `known`: the agents that it reaches. */
export const trialCheck =
  (known: readonly string[]): Check =>
  (given, where) =>
    isObject(given)
      ? recordOf(changeCheck, 'changes by the name of the agent', (agent, at) =>
          known.includes(agent) ? undefined : `${at}.${agent}: unknown agent "${agent}"; known: ${known.join(', ')}`,
        )(given, where)
      : [`${where} is ${described(given)}, expected changes by the name of the agent; {} changes nothing`]

/** What trials need of a runtime. */
export interface TrialAccess {
  readonly versions: () => Versions
  readonly find: (name: string) => Agent | undefined
  /** The registered agents. */
  readonly names: readonly string[]
  /** Models that the installation allows besides. */
  readonly allowed: readonly string[]
}

/**
 * The models that a trial may use, by id: those of the registered agents and of the versions that are kept, where an id
 * says them, and those that the installation allows. Sorted.
 */
export async function trialModels({ versions, find, names, allowed }: TrialAccess): Promise<readonly string[]> {
  const agents = names.flatMap((name) => find(name) ?? [])
  const used = agents.flatMap(({ model, otherModels = [] }) =>
    [...(model === undefined ? [] : [model]), ...otherModels].flatMap(modelsOf).map(({ id }) => id),
  )
  const kept = (await versions().list()).flatMap(({ revision: { model } }) => model ?? [])
  const ids = new Set([...used.filter((id) => modelProblem(id) === undefined), ...kept, ...allowed])
  return [...ids].toSorted()
}

/**
 * The versions that the changes come to. Throws `input.invalid` for a change that does not fit its agent and for a model
 * that is not allowed, `version.unknown`. `sameTools`: for a run that has begun, which keeps its tools and its code.
 */
export async function triedVersions(
  access: TrialAccess,
  changes: TrialChanges,
  { sameTools = false }: { readonly sameTools?: boolean } = {},
): Promise<Revisions> {
  const revisions: { [agent: string]: Revision } = {}
  for (const [agent, { version, ...change }] of Object.entries(changes)) {
    const said = present(change)
    const kept = version === undefined ? undefined : await access.versions().named(agent, version)
    if (kept === undefined && Object.keys(said).length === 0) continue
    const revision = Object.keys(said).length === 0 ? kept! : { ...kept, ...said, version: trialVersion }
    const problems = access.versions().problemsOf(agent, revision)
    const { model } = change
    if (model !== undefined && problems.length === 0 && !(await trialModels(access)).includes(model))
      problems.push(
        `trial of "${agent}": the model ${JSON.stringify(model)} is not one of this installation; allow it: createRuntime({ trialModels: [${JSON.stringify(model)}] })`,
      )
    if (sameTools && (kept?.tools !== undefined || kept?.base !== undefined))
      problems.push(
        `trial of "${agent}": version "${version}" has other tools or other code than the run began with; try it in a new run`,
      )
    refuseProblems('input.invalid', problems, 'Nothing was started.')
    revisions[agent] = revision
  }
  return revisions
}

/** The names of the agents that a root reaches, itself among them. */
export const reachedBy = (root: Agent): readonly string[] => [
  ...new Set(reachableAgents([root]).map(({ name }) => name)),
]
