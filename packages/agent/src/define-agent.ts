/**
 * defineAgent(): makes an agent of its kind and the parts of one definition.
 *
 * Owns: what all kinds have in common: the members that agents keep of their options, their defaults as roots, and that
 * a version covers all agents below and is computed once, on first use: workers may be declared later than their leader.
 * Does not own: the kinds, the checks of a whole team (agent-checks.ts).
 */
import { present, type JsonObject, type Outcome } from '@reeve/core'
import type { Edge, Limits, Oversight, Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { reachableAgents } from './agent-checks.ts'
import { isAgent, versionOf, versionOver, type Agent, type AgentProblem } from './definition.ts'

/** The options that every kind of agent has. */
export interface CommonOptions {
  readonly name?: string
  readonly description?: string | undefined
  readonly limits?: Limits | undefined
  readonly oversight?: Oversight | undefined
  readonly assess?: Agent['assess'] | undefined
  readonly outputKey?: string | undefined
  /** Declared version. Default `1`. */
  readonly version?: string | undefined
}

/** One definition: its options, and what its constructor made of them. A kind adds parts of its own. */
export interface AgentParts<Options extends CommonOptions = CommonOptions> {
  /** The options as given. */
  readonly options: Options
  /** In place of the option of the same name. */
  readonly name?: string
  readonly description?: string | undefined
  readonly limits?: Limits | undefined
  readonly outputKey?: string | undefined
  readonly inputSchema?: Schema | undefined
  readonly parsesInput?: true | undefined
  readonly outputSchema?: Schema | undefined
  readonly model?: Agent['model'] | undefined
  readonly team?: (() => readonly string[]) | undefined
  /** The agents it can reach, as given. A function is not called before a runtime is made. */
  readonly reaches?: unknown
  readonly hooked?: Agent['hooked'] | undefined
  readonly background?: boolean
  /**
   * The limit of turns when it runs as a root and its limits set none. A root then has an account, so the work of its
   * workers counts. As a worker it has an account only if it states limits.
   */
  readonly rootTurns?: number
  /** Its last turn is for an answer only. */
  readonly lastAnswer?: boolean
}

/** A kind of agent: what it does with the parts of a definition. `agent`: the agent that was made of them. */
export interface AgentKind<Parts extends AgentParts, More extends object = object> {
  /** The data of its version. Called once, on first use of the version. */
  readonly data: (parts: Parts, agent: Agent) => JsonObject
  readonly orchestrate: (parts: Parts, ctx: Context, edge: Edge, agent: Agent) => Promise<Outcome>
  /** The agents to register with it. Default: none. */
  readonly related?: (parts: Parts) => readonly Agent[]
  readonly problems: (parts: Parts, agent: Agent) => readonly AgentProblem[]
  /** The optional members of agents that it has, and members of its own. */
  readonly more?: (parts: Parts, agent: Agent) => Partial<Agent> & More
}

/** Makes the agent. It is not checked: its kind tells the problems, and whoever calls decides when to ask. */
export const defineAgent = <Parts extends AgentParts, More extends object>(
  kind: AgentKind<Parts, More>,
  parts: Parts,
): Agent & More => {
  const agent = new DefinedAgent(kind, parts)
  return Object.assign(agent, kind.more?.(parts, agent))
}

/** The parts of an agent of this kind; undefined for an agent of another one. */
export const partsOf = <Parts extends AgentParts>(kind: AgentKind<Parts>, agent: unknown): Parts | undefined =>
  DefinedAgent.partsOf(kind, agent)

class DefinedAgent<Parts extends AgentParts> implements Agent {
  readonly kind = 'agent'
  declare readonly name: string
  declare readonly description: string
  readonly #kind: AgentKind<Parts>
  readonly #parts: Parts
  #version: string | undefined
  #ownVersion: string | undefined

  constructor(kind: AgentKind<Parts>, parts: Parts) {
    this.#kind = kind
    this.#parts = parts
    const { oversight, assess } = parts.options
    const { name, description = '', limits, outputKey }: CommonOptions = { ...parts.options, ...present(parts) }
    const { inputSchema, parsesInput, outputSchema, model, team, reaches, hooked, rootTurns } = parts
    // a limit of its own turns replaces the default
    const isCounted = rootTurns !== undefined && limits?.ownTurns === undefined
    const rootLimits = isCounted ? { turns: rootTurns, ...limits } : limits
    Object.assign(this, {
      name,
      description,
      ...present({ inputSchema, parsesInput, outputSchema, limits, oversight, assess, outputKey, model, team, hooked }),
      ...(rootTurns === undefined ? undefined : { lastAnswer: parts.lastAnswer ?? false }),
      ...(rootLimits === undefined ? undefined : { defaults: { limits: rootLimits } }),
      ...(parts.background === true ? { background: true } : undefined),
      ...(typeof reaches === 'function' ? { open: true } : undefined),
    })
  }

  static partsOf<Parts extends AgentParts>(kind: AgentKind<Parts>, agent: unknown): Parts | undefined {
    if (!(agent instanceof DefinedAgent)) return undefined
    return agent.#kind === kind ? (agent.#parts as Parts) : undefined
  }

  get version(): string {
    return (this.#version ??= versionOver(this.ownVersion, this.#below()))
  }

  get ownVersion(): string {
    return (this.#ownVersion ??= versionOf(this.#parts.options.version, this.#kind.data(this.#parts, this)))
  }

  /** All agents that it can reach. Two that reach each other are both below each other, whichever is asked first. */
  #below(): readonly Agent[] {
    return reachableAgents(this.related()).filter((each) => isAgent(each) && each !== this)
  }

  orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    return this.#kind.orchestrate(this.#parts, ctx, edge, this)
  }

  related(): readonly Agent[] {
    return this.#kind.related?.(this.#parts) ?? []
  }

  problems(): readonly AgentProblem[] {
    return this.#kind.problems(this.#parts, this)
  }
}
