/**
 * Defined: what every kind of agent keeps of its definition. The kinds differ in how they work, not in this.
 *
 * Owns: these members, and that a version is made once, when it is first asked for: workers may be declared later than
 * their leader. Does not own: what a version is made of, the work.
 */
import type { Outcome } from '../core/index.ts'
import type { Edge, Limits, Oversight, Schema } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { Agent } from './definition.ts'

/** What is kept of a definition. */
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
  /** Whom it can reach, as it was given: a function is not asked before a runtime is made. */
  readonly reaches?: unknown
  readonly hooked?: Agent['hooked'] | undefined
  readonly background?: boolean
  /**
   * Turns of it as a root, if its limits say nothing: then it has an account, so that what its workers do counts. As a
   * worker it has one only if it states limits: an account costs.
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
    // who says how many turns are its own has said how many there are
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
    return (this.#version ??= this.madeVersion())
  }

  /** The version, as `versionOf` makes it. Called once. */
  protected abstract madeVersion(): string
  abstract orchestrate(ctx: Context, edge: Edge): Promise<Outcome>
  abstract related(): readonly Agent[]
  abstract problems(): readonly string[]
}
