/**
 * Packed paths: how a path in which the same stretch of names repeats is stored. A loop of 3,200 iterations has a path
 * of thousands of names at each step; stored, it is one stretch and a count.
 *
 * Owns: the stored form (persistent) and its inverse. Does not own: which paths there are (flow), when one is stored so
 * (codec.ts). Pure; unpacking a packed path gives the same names.
 */

/** A path as it is stored: names, and stretches that follow themselves so many times. */
export type PackedPath = readonly (string | { readonly names: readonly string[]; readonly times: number })[]

/** Shorter paths are stored as they are. */
const shortest = 8

/** The packed form; undefined if the path is short or nothing in it repeats. */
export function packPath(path: readonly string[]): PackedPath | undefined {
  if (path.length < shortest) return undefined
  const packed: PackedPath[number][] = []
  for (let at = 0; at < path.length;) {
    const { length, times } = repeatAt(path, at)
    if (times > 1) packed.push({ names: path.slice(at, at + length), times })
    else packed.push(path[at]!)
    at += length * times
  }
  return packed.length === path.length ? undefined : packed
}

export function unpackPath(packed: PackedPath): readonly string[] {
  const path: string[] = []
  for (const part of packed) {
    if (typeof part === 'string') path.push(part)
    else for (let i = 0; i < part.times; i++) path.push(...part.names)
  }
  return path
}

/** The stretch at this place that covers most of what follows. */
function repeatAt(path: readonly string[], at: number): { readonly length: number; readonly times: number } {
  let best = { length: 1, times: 1 }
  const longest = (path.length - at) / 2
  for (let length = 1; length <= longest && best.length * best.times < longest; length++) {
    if (path[at + length] !== path[at]) continue
    const times = timesAt(path, at, length)
    if (times === 1) continue
    if (length * times > best.length * best.times) best = { length, times }
    // a multiple of a stretch that repeats to here says the same
    length *= times - 1
  }
  return best
}

/** How often the stretch of this length stands there, one after the other. */
function timesAt(path: readonly string[], at: number, length: number): number {
  let end = at + length
  while (end < path.length && path[end] === path[end - length]) end++
  return Math.floor((end - at) / length)
}
