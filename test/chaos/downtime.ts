/**
 * Downtime: the spans in which nothing could move, because no worker was up or the database was away.
 *
 * Owns: how much of a span they cover, each moment once. Does not own: who notes them (workers.ts, torture.ts).
 */
export class Downtime {
  readonly #spans: { readonly from: number; readonly to: number }[] = []

  /** Milliseconds since 1970. */
  add(from: number, to: number): void {
    this.#spans.push({ from, to })
  }

  /** Seconds between two moments in which nothing could move. */
  between(from: number, to: number): number {
    let [covered, until] = [0, from]
    for (const span of this.#spans.toSorted((a, b) => a.from - b.from)) {
      const [begin, end] = [Math.max(span.from, until), Math.min(span.to, to)]
      if (end <= begin) continue
      covered += end - begin
      until = end
    }
    return covered / 1_000
  }
}
