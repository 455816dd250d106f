/**
 * Agent: a name, a description and a run (DESIGN §1.1). What every model agent, rule, function, team or remote service is to
 * everybody else.
 *
 * Owns: the interface, the rule for names, how a version is made of its declared and its data part.
 * Does not own: how any kind of agent works (agent.ts, ../supervisor), nor the check of a whole team (agent-checks.ts).
 */
import { described, digestJson, isObject, type Json, type Outcome } from '../core/index.ts'
import type { Edge, Limits, Oversight, Schema } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { ModelPrice } from '../model/index.ts'
import type { Assess } from './approval/assessment.ts'

declare const types: unique symbol

/**
 * Somebody who can be given work. `I` is what it takes, `O` what its completed outcome holds; both only exist for the
 * compiler. Definitions are immutable and hold no state of a run: one may work under several leaders and in many runs
 * at once.
 */
export interface Agent<Name extends string = string, I = unknown, O = unknown> {
  readonly kind: 'agent'
  readonly name: Name
  /** What it is good for, in the words its leaders choose by. Empty only for agents that nobody leads. */
  readonly description: string
  /**
   * Declared version (default `1`), `+`, and 12 hexadecimal digits of the data part's digest. Recorded with every
   * activation and pinned.
   */
  readonly version: string
  /** Of an agent that is code: the text of its function, which is no part of its version. For checks alone. */
  source?(): string
  /** What its input must look like; with it, leaders give a typed input instead of instructions. */
  readonly inputSchema?: Schema<I>
  /**
   * Its work is given what its input schema makes of the input, with defaults and transforms. Absent: it reads the
   * input as it was given, and the schema only says whether it fits.
   */
  readonly parsesInput?: true
  /** What its output must look like; without it, the output is a text. */
  readonly outputSchema?: Schema<O>
  /**
   * The work itself: deterministic orchestration (K3). Resolves to how it ended; a failure of the work is an outcome,
   * not a rejection. Rejects only with `Cancelled` or for a defect in the code, which the engine records as a failure.
   */
  orchestrate(ctx: Context, edge: Edge): Promise<Outcome>
  /**
   * Who must be registered along with it: its workers as they are now, and its orchestration tools as agents named
   * `<agent>.<tool>`.
   */
  related(): readonly Agent[]
  /** Some of its tools work in the background: so does it, where its leader says nothing else of it. */
  readonly background?: true
  /**
   * Which hooks of a start it asks: those after its turns (`onIterationComplete`, `isComplete`), those around its
   * delegations. Absent: none.
   */
  readonly hooked?: readonly StartHookKind[]
  /**
   * Whom it can reach is given as a function, which is not asked before a runtime is made: it may name agents that are
   * defined later.
   */
  readonly open?: true
  /** What is wrong with its definition, one sentence each. Cheap enough to ask at every build; empty if nothing. */
  problems(): readonly string[]
  /**
   * The names of its workers as they are now; only for those that lead. The edge records them, so a later change
   * strands no run.
   */
  team?(): readonly string[]
  /**
   * Who works in it where control is handed on; only for those that have an order of their own. Nobody may be found
   * again below itself.
   */
  members?(): readonly Agent[]
  /**
   * Whether its last turn is for an answer only; one turn of its limit is kept for that. Absent: it takes no turns of
   * its own.
   */
  readonly lastAnswer?: boolean
  /** Limits that its definition states; they hold wherever it works. */
  readonly limits?: Limits
  /** How closely its definition wants humans to look at its work and everything below. */
  readonly oversight?: Oversight
  /** Channels by name over which it tells people, besides those of its oversight. */
  readonly channels?: readonly string[]
  /** What it says of its own results. */
  readonly assess?: Assess
  /**
   * Its options that cap US dollars besides its own limits, and whose work each caps: those agents, and all below them,
   * need a price. Default: none.
   */
  usdCaps?(): readonly UsdCap[]
  /** Models that it asks besides `model`, such as a planner's. A limit in US dollars needs their price, too. */
  readonly otherModels?: readonly { readonly id: string; readonly price?: ModelPrice }[]
  /** What holds where it is a root: its limits, and for model agents a number of turns even if none is stated. */
  readonly defaults?: { readonly limits?: Limits }
  /** Under which session value its output is kept whenever it completes. */
  readonly outputKey?: string
  /** What it thinks with, if that is a model. A limit in US dollars needs a price. */
  readonly model?: { readonly id: string; readonly price?: ModelPrice }
  readonly [types]?: { readonly input: I; readonly output: O }
}

/** A kind of hooks that a start may give. */
export type StartHookKind = 'turns' | 'delegation'

/** An option that caps US dollars, by its name, and the agents whose work it caps. */
export interface UsdCap {
  readonly option: string
  readonly agents: readonly Agent[]
}

/** The cap of an option that holds limits; none if they do not cap US dollars. `option`: where the limits stand. */
export const usdCapOf = (limits: Limits | undefined, option: string, agents: readonly Agent[]): readonly UsdCap[] =>
  typeof limits?.usd === 'number' ? [{ option: `${option}.usd`, agents }] : []

/** The name of an agent, as a literal type. */
export type NameOf<A> = A extends Agent<infer Name, infer _I, infer _O> ? Name : never
/** What an agent takes. */
export type InputOf<A> = A extends Agent<infer _N, infer I, infer _O> ? I : never
/** What a completed outcome of an agent holds. */
export type OutputOf<A> = A extends Agent<infer _N, infer _I, infer O> ? O : never

const identifier = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const orchestrationTool = /^[A-Za-z_][A-Za-z0-9_-]{0,63}\.[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/**
 * True for names that agents and tools may have: a letter or `_`, then up to 63 letters, digits, `_` or `-` (what every
 * provider takes).
 */
export const isName = (text: unknown): boolean => typeof text === 'string' && identifier.test(text)

/** True for a text that says nothing, and for what is no text. */
export const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === ''

/** True for the names of orchestration tools as agents, `<agent>.<tool>`. */
export const isToolAgentName = (text: string): boolean => orchestrationTool.test(text)

/** The version of a definition: the declared one and a digest of everything in it that is data. */
export const versionOf = (declared: string | undefined, data: Json): string =>
  `${declared ?? '1'}+${digestJson(data).slice(0, 12)}`

/** True for anything that keeps the `Agent` interface, of any copy of the package. */
export function isAgent(given: unknown): given is Agent {
  return (
    (isObject(given) || (typeof given === 'object' && given !== null)) &&
    'kind' in given &&
    given.kind === 'agent' &&
    'orchestrate' in given
  )
}

/** What is wrong with a list of agents as such, one sentence each; `where` names the list. Empty if nothing. */
export function listProblems(given: unknown, where: string): string[] {
  if (!Array.isArray(given)) return [`${where} is ${described(given)}, expected a list of agents`]
  return Array.from(given as readonly unknown[]).flatMap((each, i) => {
    if (isAgent(each)) return []
    const instead = described(each)
    return [
      `${where}[${i}] is not an agent, but ${instead}${instead.startsWith('the tool ') ? ', which belongs in tools' : ''}`,
    ]
  })
}

/** The list of agents that was meant, or none; `listProblems` says what is wrong with it. */
export const listOf = (given: readonly Agent[] | undefined): readonly Agent[] =>
  Array.isArray(given) ? (given as readonly Agent[]) : []
