/**
 * Cycles: tasks that wait for each other, so that none of them could ever begin. Pure.
 *
 * Owns: finding them. Does not own: who waits for whom (validate.ts).
 */

/** How many are told of: a plan that is wrong through and through is not told of for pages. */
const most = 20

/**
 * The cycles among these names, each once, as a way from a name back to itself: `['a', 'b', 'a']` where a waits for b,
 * and b for a. It begins with the name that comes first. There is a cycle for every edge that is in one, the shortest;
 * not every longer way round. What waits for itself is none of them.
 */
export function cyclesOf(waitsFor: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const place = new Map([...waitsFor.keys()].map((name, i) => [name, i]))
  const found: (readonly string[])[] = []
  const told = new Set<string>()
  for (const members of tangles(waitsFor)) {
    const within = new Set(members)
    for (const from of members.toSorted((one, other) => place.get(one)! - place.get(other)!)) {
      for (const to of waitsFor.get(from) ?? []) {
        if (found.length >= most) return found
        if (from === to || !within.has(to) || told.has(edge(from, to))) continue
        const cycle = rotated([from, ...wayBack(to, from, waitsFor, within)], place)
        for (let i = 1; i < cycle.length; i++) told.add(edge(cycle[i - 1]!, cycle[i]!))
        found.push(cycle)
      }
    }
  }
  return found
}

const edge = (from: string, to: string): string => JSON.stringify([from, to])

/** The same way round, from the name that comes first. `way` ends where it begins. */
function rotated(way: readonly string[], place: ReadonlyMap<string, number>): readonly string[] {
  const round = way.slice(1)
  const first = round.reduce((best, name, i) => (place.get(name)! < place.get(round[best]!)! ? i : best), 0)
  const turned = [...round.slice(first), ...round.slice(0, first)]
  return [...turned, turned[0]!]
}

/** The shortest way, both ends included. There is one: they are in one tangle. */
function wayBack(
  from: string,
  to: string,
  waitsFor: ReadonlyMap<string, readonly string[]>,
  within: ReadonlySet<string>,
): readonly string[] {
  const before = new Map<string, string | undefined>([[from, undefined]])
  for (const name of before.keys()) {
    if (name === to) break
    for (const next of waitsFor.get(name) ?? []) if (within.has(next) && !before.has(next)) before.set(next, name)
  }
  const way: string[] = []
  for (let at: string | undefined = to; at !== undefined; at = before.get(at)) way.push(at)
  return way.reverse()
}

/**
 * Names that can reach each other: more than one each. Without recursion: a chain of dependencies may be long.
 * Kosaraju.
 */
function tangles(waitsFor: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const back = new Map<string, string[]>([...waitsFor.keys()].map((name) => [name, []]))
  for (const [name, others] of waitsFor) for (const other of others) back.get(other)?.push(name)
  const met = new Set<string>()
  const left = [...waitsFor.keys()].flatMap((name) => leaving(name, waitsFor, met))
  const taken = new Set<string>()
  return left
    .toReversed()
    .map((name) => leaving(name, back, taken))
    .filter(({ length }) => length > 1)
}

/** All unvisited nodes reachable from here, in post-order. */
function leaving(from: string, next: ReadonlyMap<string, readonly string[]>, met: Set<string>): readonly string[] {
  if (met.has(from)) return []
  met.add(from)
  const order: string[] = []
  const way = [{ name: from, at: 0 }]
  for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
    const to = next.get(top.name)?.[top.at++]
    if (to === undefined) order.push(way.pop()!.name)
    else if (next.has(to) && !met.has(to)) {
      met.add(to)
      way.push({ name: to, at: 0 })
    }
  }
  return order
}
