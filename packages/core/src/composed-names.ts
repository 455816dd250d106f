/**
 * Composed names: names that are made of other names, in journals and on the command line.
 *
 * Owns: how they are composed, and the only reading of their parts. Pure. Does not own: activation ids (ids.ts),
 * addresses of operations (engine).
 * Holds: the names of agents have no dot, so a dot tells the two parts. All of them are persistent format.
 */

/** The agent under which an orchestration tool of another agent is registered and works: `<agent>.<tool>`. */
export const toolAgent = (agent: string, tool: string): string => `${agent}.${tool}`

/** Whether an agent of this name is a tool of another agent. */
export const isToolAgent = (name: string): boolean => name.includes('.')

/** Whether an agent of this name is a tool of that agent. */
export const isToolOf = (name: string, agent: string): boolean => name.startsWith(toolAgent(agent, ''))

/**
 * What a delegation to several workers is called, by the name of one of them: `d1` of `d1.2`. Any other name is its
 * own.
 */
export const delegationOf = (label: string): string => label.split('.')[0]!
