/**
 * Revision: another version of an agent, as data: what of its definition is said differently.
 *
 * Owns: the type, its checks. Does not own: where revisions are kept and which one holds in a run
 * (runtime/versions.ts), how a model agent works by one (../agent).
 * Holds: K1 in its part: the revisions of a run are in its edges, so a version published later changes no run that
 * has begun.
 */
import {
  expects,
  hasNames,
  jsonProblem,
  listOf,
  optionProblems,
  required,
  string,
  type Checks,
  type JsonObject,
} from '@reeve/core'
import { limitsCheck, type Limits } from './limits.ts'

/**
 * A version of an agent. What it does not say holds as it is defined. All but `base` and `limits` is for agents that
 * think with a model.
 */
export interface Revision {
  /** What it is called: `v2`. */
  readonly version: string
  /** The registered version of the code that it stands on. Default: the newest. */
  readonly base?: string
  /** In place of the agent's own instructions; what middlewares and leaders add stays. */
  readonly instructions?: string
  /** The id of a model. */
  readonly model?: string
  /** In place of the agent's own settings of its model. */
  readonly settings?: JsonObject
  /** Names of the agent's tools: the others are not there. */
  readonly tools?: readonly string[]
  /** In place of the limits that its definition states. */
  readonly limits?: Limits
}

/** The revisions that hold in a run, by the name of the agent. */
export type Revisions = { readonly [agent: string]: Revision }

const versionPart = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/
const checks: Checks<Revision> = {
  version: required(
    expects(
      (given) => typeof given === 'string' && versionPart.test(given),
      '1 to 128 letters, digits, ".", "_", "+" or "-"',
    ),
  ),
  base: string,
  instructions: string,
  model: string,
  settings: expects(hasNames, 'an object'),
  tools: listOf(string, 'names'),
  limits: limitsCheck,
}

/** What is wrong with a revision, one sentence each; empty if nothing. `where` names it. */
export function revisionProblems(given: unknown, where: string): string[] {
  const problems = optionProblems(checks, given, where)
  const json = problems.length === 0 ? jsonProblem(given, where) : undefined
  return json === undefined ? problems : [json]
}
