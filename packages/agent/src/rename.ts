/**
 * Rename: copies an agent under another name, because two different agents of a runtime may not share one.
 *
 * Owns: making a definition again. Does not own: the definitions: each constructor registers here how it makes one.
 */
import { described, ReeveError } from '@reeve/core'
import { isAgent, type Agent, type InputOf, type OutputOf } from './definition.ts'

const recipes = new WeakMap<Agent, (name: string) => Agent>()

/** Registers how to make this agent under another name; returns the agent. */
export function renamable<A extends Agent>(agent: A, again: (name: string) => Agent): A {
  recipes.set(agent, again)
  return agent
}

/**
 * Returns the same agent under another name, with all of its definition and tools. Workers that were added or removed
 * later are not copied. Throws `agent.invalid` for values that are not agents or were not made by a constructor of
 * Reeve, and whatever that constructor throws for the name.
 */
export function rename<A extends Agent, const Name extends string>(
  agent: A,
  name: Name,
): Agent<Name, InputOf<A>, OutputOf<A>> {
  const again = isAgent(agent) ? recipes.get(agent) : undefined
  if (again === undefined)
    throw new ReeveError('agent.invalid', `rename: ${described(agent)} was not made by a constructor of Reeve`, {
      hint: 'Give it its name where it is defined.',
    })
  return again(name) as unknown as Agent<Name, InputOf<A>, OutputOf<A>>
}
