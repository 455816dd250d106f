/**
 * Rename: the same agent under another name, because two different agents of a runtime may not share one.
 *
 * Owns: how a definition is made again. Does not own: any definition: each constructor says here how it made one.
 */
import { described, ReeveError } from '../core/index.ts'
import { isAgent, type Agent, type InputOf, type OutputOf } from './definition.ts'

const recipes = new WeakMap<Agent, (name: string) => Agent>()

/** Remembers how this agent is made under another name; returns it. */
export function renamable<A extends Agent>(agent: A, again: (name: string) => Agent): A {
  recipes.set(agent, again)
  return agent
}

/**
 * The same agent under another name: all that it was defined with, its tools too. Whoever joined or left a team since
 * is not among its workers. Throws `agent.invalid` for what is no agent, or was made without one of Reeve's
 * constructors, and what its constructor throws for the name.
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
