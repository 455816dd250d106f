/**
 * Defined agent: the members that every kind of agent keeps of its definition.
 *
 * Owns: these members, and that a version covers all agents below it and is computed once, on first use: workers may be
 * declared later than their leader. Does not own: what a version is made of, the work.
 */
import type { Outcome } from '@reeve/core'
import type { Edge, Limits, Oversight, Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { reachableAgents } from './agent-checks.ts'
import { isAgent, versionOver, type Agent, type AgentProblem } from './definition.ts'

/** The members of a definition. */
export interface DefinedMembers {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema?: Schema | undefined
  readonly parsesInput?: true | undefined
  readonly outputSchema?: Schema | undefined
  readonly limits?: Limits | undefined
  readonly oversight?: Oversight | undefined
  readonly assess?: Agent['assess'] | undefined
  readonly outputKey?: string | undefined
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

export abstract class DefinedAgent implements Agent {
  readonly kind = 'agent'
  readonly name: string
  readonly description: string
  readonly inputSchema?: Schema
  readonly parsesInput?: true
  readonly outputSchema?: Schema
  readonly limits?: Limits
  readonly defaults?: { readonly limits: Limits }
  readonly oversight?: Oversight
  readonly assess?: NonNullable<Agent['assess']>
  readonly outputKey?: string
  readonly model?: NonNullable<Agent['model']>
  readonly team?: () => readonly string[]
  readonly lastAnswer?: boolean
  readonly open?: true
  readonly background?: true
  readonly hooked?: NonNullable<Agent['hooked']>
  #version: string | undefined
  #ownVersion: string | undefined

  constructor(given: DefinedMembers) {
    const {
      name,
      description = '',
      inputSchema,
      parsesInput,
      outputSchema,
      limits,
      oversight,
      assess,
      outputKey,
      model,
      team,
      reaches,
      hooked,
      background = false,
      rootTurns,
      lastAnswer = false,
    } = given
    this.name = name
    this.description = description
    if (inputSchema !== undefined) this.inputSchema = inputSchema
    if (parsesInput === true) this.parsesInput = parsesInput
    if (outputSchema !== undefined) this.outputSchema = outputSchema
    if (limits !== undefined) this.limits = limits
    if (rootTurns !== undefined) this.lastAnswer = lastAnswer
    // a limit of its own turns replaces the default
    if (rootTurns !== undefined && limits?.ownTurns === undefined)
      this.defaults = { limits: { turns: rootTurns, ...limits } }
    else if (limits !== undefined) this.defaults = { limits }
    if (oversight !== undefined) this.oversight = oversight
    if (assess !== undefined) this.assess = assess
    if (outputKey !== undefined) this.outputKey = outputKey
    if (model !== undefined) this.model = model
    if (team !== undefined) this.team = team
    if (background) this.background = true
    if (hooked !== undefined) this.hooked = hooked
    if (typeof reaches === 'function') this.open = true
  }

  get version(): string {
    return (this.#version ??= versionOver(this.ownVersion, this.#below()))
  }

  get ownVersion(): string {
    return (this.#ownVersion ??= this.madeVersion())
  }

  /** All agents that it can reach. Two that reach each other are both below each other, whichever is asked first. */
  #below(): readonly Agent[] {
    return reachableAgents(this.related()).filter((each) => isAgent(each) && each !== this)
  }

  /** Makes the version of its own data with `versionOf`. Called once. */
  protected abstract madeVersion(): string
  abstract orchestrate(ctx: Context, edge: Edge): Promise<Outcome>
  abstract related(): readonly Agent[]
  abstract problems(): readonly AgentProblem[]
}
