/**
 * The agents that a protocol serves, as its options name them.
 *
 * Owns: an agent or its name, as one option. Does not own: whether it is registered (the runtime says so).
 */
import { expects, hasNames, isName, nameForm } from '../../core/index.ts'

/** A registered agent, or its name. */
export type NamedAgent = string | { readonly name: string }

/** The name of an agent. */
export const agentName = (agent: NamedAgent): string => (typeof agent === 'string' ? agent : agent.name)

/** The check of such an option. */
export const agentNameCheck = expects(
  (given) => isName(hasNames(given) ? (given as { readonly name?: unknown }).name : given),
  `an agent, or the name of one: ${nameForm}`,
)
