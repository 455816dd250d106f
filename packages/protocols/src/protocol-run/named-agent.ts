/**
 * The agents that a protocol serves, as its options name them.
 *
 * Owns: an agent or its name, as one option; which of them are there for a caller. Does not own: whose an agent is
 * (the runtime of the caller).
 */
import { expects, hasNames, isName, nameForm } from '@reeve/core'
import type { ProtocolContext } from '@reeve/server'

/** A registered agent, or its name. */
export type NamedAgent = string | { readonly name: string }

/** The name of an agent. */
export const agentName = (agent: NamedAgent): string => (typeof agent === 'string' ? agent : agent.name)

/** The check of such an option. */
export const agentNameCheck = expects(
  (given) => isName(hasNames(given) ? (given as { readonly name?: unknown }).name : given),
  `an agent, or the name of one: ${nameForm}`,
)

/** Those of these agents that the caller may use. The others are not there, and are named to nobody. */
export function usableAmong(
  agents: readonly string[],
  { runtime }: Pick<ProtocolContext, 'runtime'>,
): readonly string[] {
  const usable = new Set(runtime.agents().map(({ name }) => name))
  return agents.filter((name) => usable.has(name))
}
