/**
 * Flow: control that is handed on instead of down.
 *
 * Owns: the group of the edge. Does not own: routers and fixed orders, which make it (../../flow).
 */

/** An agent to which control may be handed. */
export interface Candidate {
  readonly name: string
  readonly description: string
}

/** What an agent is given that works in a flow: under a router, or as a step of a fixed order. */
export interface EdgeFlow {
  /** The agents to which its model may hand control, in the order in which it is told of them. Absent: none. */
  readonly to?: readonly Candidate[]
  /** Transfers made in this run so far. */
  readonly hops: number
  /** The router itself thinks, once. Its control loop sees to its workers. */
  readonly lead?: true
  /** What it is asked to do, after the conversation. */
  readonly task?: string
}
