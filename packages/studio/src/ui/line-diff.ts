/**
 * The difference of two texts, by lines: the shortest edit script (Myers), bounded.
 *
 * Holds: what stands on both sides is never said to have changed at the ends; where more than `most` lines differ,
 * everything between is shown as replaced, which is true, if not short. Pure.
 */
export type DiffLine =
  | { readonly kind: 'same'; readonly text: string; readonly before: number; readonly after: number }
  | { readonly kind: 'removed'; readonly text: string; readonly before: number }
  | { readonly kind: 'added'; readonly text: string; readonly after: number }

const most = 800

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1
  const same = (from: number, to: number, shift: number): DiffLine[] =>
    a.slice(from, to).map((text, i) => ({ kind: 'same', text, before: from + i + 1, after: from + i + 1 + shift }))
  return [
    ...same(0, head, 0),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), head),
    ...same(a.length - tail, a.length, b.length - a.length),
  ]
}

function middle(a: readonly string[], b: readonly string[], offset: number): DiffLine[] {
  const removed = (i: number): DiffLine => ({ kind: 'removed', text: a[i]!, before: offset + i + 1 })
  const added = (j: number): DiffLine => ({ kind: 'added', text: b[j]!, after: offset + j + 1 })
  const trace = search(a, b)
  if (trace === undefined) return [...a.map((_, i) => removed(i)), ...b.map((_, j) => added(j))]
  const lines: DiffLine[] = []
  let [x, y] = [a.length, b.length]
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const reach = trace[d]!
    const k = x - y
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1))
    const from = down ? k + 1 : k - 1
    const fromX = d === 0 ? 0 : (reach.get(from) ?? 0)
    const fromY = d === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) {
      x -= 1
      y -= 1
      lines.push({ kind: 'same', text: a[x]!, before: offset + x + 1, after: offset + y + 1 })
    }
    if (d === 0) break
    if (down) lines.push(added((y -= 1)))
    else lines.push(removed((x -= 1)))
  }
  return lines.reverse()
}

/** How far each diagonal reached before each number of edits; undefined if it takes too many. */
function search(a: readonly string[], b: readonly string[]): readonly ReadonlyMap<number, number>[] | undefined {
  const trace: ReadonlyMap<number, number>[] = []
  let reach = new Map<number, number>([[1, 0]])
  for (let d = 0; d <= Math.min(most, a.length + b.length); d += 1) {
    trace.push(reach)
    const next = new Map(reach)
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (next.get(k - 1) ?? -1) < (next.get(k + 1) ?? -1))
      let x = down ? (next.get(k + 1) ?? 0) : (next.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      next.set(k, x)
      if (x >= a.length && x - k >= b.length) return trace
    }
    reach = next
  }
  return undefined
}
