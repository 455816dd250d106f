/**
 * The wait-for graph of a team: who waits for whom, whatever the wait is for: tasks, topics, mail, a slot, a human.
 * Pure.
 *
 * Owns: finding those who wait for ever, and a cycle among them to show for it. Does not own: how waits come about
 * (scheduler.ts, ../mail), what is done about it (deadlocks.ts).
 */

/** A task, and what must happen before it goes on. */
export type Waiter =
  /** At work, waiting for a clock or for a human: goes on without the others. */
  | { readonly name: string; readonly needs: 'nothing' }
  /** All of these must have moved: dependencies, topics. */
  | { readonly name: string; readonly needs: 'all'; readonly of: readonly string[] }
  /** One of these must move: for mail from any sender, or a slot. */
  | { readonly name: string; readonly needs: 'any'; readonly of: readonly string[] }

/** Who waits for ever. */
export interface Stuck {
  /** All who cannot go on, in the order in which they were given. */
  readonly names: readonly string[]
  /**
   * Each waits for the next, the last for the first; with the first who was given, if it is part of a cycle. One name
   * alone waits for itself, or for no present member.
   */
  readonly cycle: readonly string[]
}

/**
 * The tasks that can never go on; undefined if all can. A task not among them has ended: a wait for all of it is over,
 * a wait for any of it is in vain.
 */
export function stuckAmong(waiters: readonly Waiter[]): Stuck | undefined {
  const open = new Set(waiters.map(({ name }) => name))
  const moving = new Set<string>()
  /** By name: who needs them to move. */
  const needed = new Map<string, Waiter[]>()
  const left = new Map<Waiter, number>()
  for (const waiter of waiters) {
    const names = new Set(waiter.needs === 'nothing' ? [] : waiter.of.filter((name) => open.has(name)))
    left.set(waiter, waiter.needs === 'any' ? 1 : names.size)
    for (const name of names) listUnder(needed, name, waiter)
    if (left.get(waiter) === 0) moving.add(waiter.name)
  }
  // grows while it is walked: one that moves sets others free
  for (const name of moving)
    for (const waiter of needed.get(name) ?? []) {
      const still = left.get(waiter)! - 1
      left.set(waiter, still)
      if (still === 0) moving.add(waiter.name)
    }
  const stuck = waiters.filter(({ name }) => !moving.has(name))
  return stuck.length === 0 ? undefined : { names: stuck.map(({ name }) => name), cycle: cycleAmong(stuck) }
}

/**
 * A cycle among the stuck: walks from the first to the one it waits for, back to where it began if it can, until one
 * comes again, or none is left.
 */
function cycleAmong(stuck: readonly Waiter[]): readonly string[] {
  const byName = new Map(stuck.map((waiter) => [waiter.name, waiter]))
  const walked: string[] = []
  for (let at: Waiter | undefined = stuck[0]; at !== undefined;) {
    const again = walked.indexOf(at.name)
    if (again >= 0) return walked.slice(again)
    walked.push(at.name)
    const names: readonly string[] = at.needs === 'nothing' ? [] : at.of
    if (names.includes(walked[0]!)) return walked
    at = names.map((name) => byName.get(name)).find((each) => each !== undefined)
  }
  return walked.slice(-1)
}

function listUnder(lists: Map<string, Waiter[]>, name: string, waiter: Waiter): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [waiter])
  else list.push(waiter)
}
