/**
 * Handed results: what a model reads of an answer that a team or a flow hands on to it, within the limit of the reader.
 *
 * Owns: which readers have a limit, what was kept in one activation. Does not own: keeping and the words (result-bound.ts),
 * where an answer is handed on (team, flow).
 * Holds: code and typed inputs are given the whole. Above the limit, and only there, one step keeps the whole: once for all
 * readers of one limit. Lives in memory; replay makes it again from the recorded steps.
 */
import { oversizeText, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Agent } from '../definition.ts'
import { keptText } from './result-bound.ts'

/** One answer that is handed on. */
export interface HandedResult {
  /** Whose it is, as the reader knows it: an agent or a task. */
  readonly by: string
  readonly value: Json
}

/** How much of it a model reads, in tokens. */
export interface HandedBound {
  /** Undefined: no limit. */
  readonly limit: number | undefined
  /** How much is shown of one above the limit. Default: the limit. */
  readonly shown?: number
}

/**
 * Whether a model reads what this agent is given as a text: its own, or one of a flow's members or of a planned team's
 * roles. Not for code, and not for agents elsewhere, which could not read on.
 */
export const isReadByModel = (agent: Agent): boolean => readsIn(agent, new Set())

function readsIn(agent: Agent, seen: Set<Agent>): boolean {
  if (agent.model !== undefined) return true
  if (agent.source !== undefined || seen.has(agent)) return false
  seen.add(agent)
  // a leader by code is given the whole, whoever works for it
  const below = agent.members?.() ?? (agent.team === undefined ? agent.related() : [])
  return below.some((each) => readsIn(each, seen))
}

export class HandedResults {
  readonly #told = new Map<string, Map<string, string | Promise<string>>>()

  /** What a model is told of it. Undefined: it is above the limit, and `keep` comes first. */
  told(result: HandedResult, bound: HandedBound): Json | undefined {
    const text = oversizeText(result.value, bound.limit)
    if (text === undefined) return result.value
    const told = this.#told.get(text)?.get(keyOf(result, bound))
    return typeof told === 'string' ? told : undefined
  }

  /** Keeps it where it is above the limit, and resolves to what a model is told of it. Rejects only with `Cancelled`. */
  async keep(ctx: Context, result: HandedResult, bound: HandedBound): Promise<Json> {
    const { limit, shown = limit } = bound
    const text = oversizeText(result.value, limit)
    if (text === undefined) return result.value
    const key = keyOf(result, bound)
    const ofText = this.#told.get(text) ?? new Map<string, string | Promise<string>>()
    this.#told.set(text, ofText)
    const known = ofText.get(key)
    if (known !== undefined) return known
    const keeping = keptText(ctx, result.by, result.value, text, shown!)
    ofText.set(key, keeping)
    const told = await keeping
    ofText.set(key, told)
    return told
  }
}

const keyOf = ({ by }: HandedResult, { limit, shown = limit }: HandedBound): string => `${shown} ${by}`
