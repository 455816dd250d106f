/**
 * Timeline layout: spans in lanes of their activations, and which bars a window of time shows.
 *
 * Owns: rows of spans that do not overlap, the level of detail, zoom and pan, ticks of the scale. Does not own: drawing
 * (timeline.tsx). Holds: what is drawn is bounded by pixels, not by spans: bars that would share a pixel become one.
 * Adding spans lays out only the lanes that they belong to.
 */
import type { Span } from '@reeve/server/wire'
import { isDeadline, isOfEngine } from './step-names.ts'

/** A part of the time of a run. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** A row of a lane. */
export interface LaneRow {
  readonly activation: string
  /** The row of the lane, from 0: spans at the same time stand below each other. */
  readonly track: number
  readonly spans: readonly Span[]
}

/** A bar to be drawn; x and width in pixels. `count` above 1: so many spans, too close to be told apart. */
export interface Bar {
  readonly row: number
  readonly x: number
  readonly width: number
  readonly count: number
  readonly span: Span
}

const byStart = (one: Span, other: Span): number => one.from - other.from || (one.id < other.id ? -1 : 1)

/** The rows of a lane: with the steps that only the engine cares about, and without. */
interface Tracks {
  readonly all: readonly (readonly Span[])[]
  readonly folded: readonly (readonly Span[])[]
}

export class Timeline {
  readonly #spans = new Map<string, Map<string, Span>>()
  readonly #tracks = new Map<string, Tracks>()
  #from = Infinity
  #to = -Infinity
  #count = 0
  #internal = 0

  get count(): number {
    return this.#count
  }

  /** How many of them are steps that only the engine cares about. */
  get internal(): number {
    return this.#internal
  }

  /** Adds spans; one whose id is known takes its place. Deadlines of other spans are no work and no wait: left out. */
  add(spans: readonly Span[]): void {
    const touched = new Set<string>()
    for (const span of spans) {
      if (isDeadline(span)) continue
      const lane = this.#spans.get(span.activation) ?? new Map<string, Span>()
      this.#spans.set(span.activation, lane)
      if (!lane.has(span.id)) {
        this.#count++
        if (isOfEngine(span)) this.#internal++
      }
      lane.set(span.id, span)
      touched.add(span.activation)
      this.#from = Math.min(this.#from, span.from)
      this.#to = Math.max(this.#to, span.to ?? span.from)
    }
    for (const activation of touched) {
      const lane = [...this.#spans.get(activation)!.values()]
      const folded = lane.filter((span) => !isOfEngine(span))
      const all = tracksOf(lane)
      this.#tracks.set(activation, { all, folded: folded.length === lane.length ? all : tracksOf(folded) })
    }
  }

  /** The whole time; `now`: while something is open. */
  bounds(now: number | undefined): TimeWindow {
    if (this.#count === 0) return { from: now ?? 0, to: (now ?? 0) + 1_000 }
    const to = Math.max(this.#to, now ?? this.#to)
    return { from: this.#from, to: Math.max(to, this.#from + 1) }
  }

  /** All spans, in no order. */
  *spans(): Iterable<Span> {
    for (const lane of this.#spans.values()) yield* lane.values()
  }

  find(id: string, activation: string): Span | undefined {
    return this.#spans.get(activation)?.get(id)
  }

  /** The rows, lane by lane in this order. Activations without spans have one empty row. `internal`: also steps of the engine. */
  rows(activations: readonly string[], internal = false): readonly LaneRow[] {
    return activations.flatMap((activation): LaneRow[] => {
      const tracks = this.#tracks.get(activation)?.[internal ? 'all' : 'folded'] ?? []
      if (tracks.length === 0) return [{ activation, track: 0, spans: [] }]
      return tracks.map((spans, track) => ({ activation, track, spans }))
    })
  }
}

/** The fewest rows on which no two spans overlap. The span of the agent itself has the first one alone. */
function tracksOf(spans: readonly Span[]): readonly (readonly Span[])[] {
  const sorted = [...spans].sort(byStart)
  const own = sorted.filter(({ kind }) => kind === 'agent')
  const tracks: Span[][] = []
  const ends: number[] = []
  for (const span of sorted) {
    if (span.kind === 'agent') continue
    const end = span.to ?? Infinity
    const free = ends.findIndex((at) => at <= span.from)
    if (free < 0) {
      // more rows than anybody can see: the last one takes the rest
      if (tracks.length >= maxTracks) {
        tracks[maxTracks - 1]!.push(span)
        ends[maxTracks - 1] = Math.max(ends[maxTracks - 1]!, end)
        continue
      }
      tracks.push([span])
      ends.push(end)
    } else {
      tracks[free]!.push(span)
      ends[free] = end
    }
  }
  return own.length === 0 ? tracks : [own, ...tracks]
}
const maxTracks = 12

/** Narrower bars are drawn so wide. */
const minBar = 2

/** The bars of one row that a window shows on so many pixels. An open span ends now. */
export function barsOf(
  { spans }: LaneRow,
  row: number,
  window: TimeWindow,
  width: number,
  now: number,
): readonly Bar[] {
  const scale = width / Math.max(1e-6, window.to - window.from)
  const bars: Bar[] = []
  for (let i = firstEndingAfter(spans, window.from, now); i < spans.length; i++) {
    const span = spans[i]!
    if (span.from > window.to) break
    const to = span.to ?? Math.max(now, span.from)
    if (to < window.from) continue
    const x = Math.max(0, (span.from - window.from) * scale)
    const end = Math.min(width, Math.max(x + minBar, (to - window.from) * scale))
    const last = bars.at(-1)
    if (last !== undefined && x < last.x + last.width && (end - x <= minBar || last.width <= minBar))
      bars[bars.length - 1] = {
        ...last,
        width: Math.max(last.width, end - last.x),
        count: last.count + 1,
        // what went wrong must be seen, however small it is drawn
        span: weight(span) > weight(last.span) ? span : last.span,
      }
    else bars.push({ row, x, width: end - x, count: 1, span })
  }
  return bars
}

const weight = ({ status }: Span): number =>
  status === 'completed' ? 0 : status === 'open' ? 1 : status === 'in-doubt' ? 4 : status === 'failed' ? 3 : 2

/** Ends rise with beginnings in a row, but for the last row of too many: then the search begins too early, never late. */
function firstEndingAfter(spans: readonly Span[], at: number, now: number): number {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const { from, to } = spans[middle]!
    if ((to ?? Math.max(now, from)) < at && from < at) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** The window zoomed by a factor about a moment. Below 1: nearer. Stays within the bounds; not nearer than 1 ms. */
export function zoomed(window: TimeWindow, factor: number, about: number, bounds: TimeWindow): TimeWindow {
  const size = Math.min(bounds.to - bounds.from, Math.max(1, (window.to - window.from) * factor))
  const share = (about - window.from) / Math.max(1e-6, window.to - window.from)
  return within({ from: about - share * size, to: about + (1 - share) * size }, bounds)
}

/** The window moved by so many milliseconds, not beyond the bounds. */
export const panned = (window: TimeWindow, by: number, bounds: TimeWindow): TimeWindow =>
  within({ from: window.from + by, to: window.to + by }, bounds)

function within({ from, to }: TimeWindow, bounds: TimeWindow): TimeWindow {
  const size = to - from
  const begin = Math.max(bounds.from, Math.min(from, bounds.to - size))
  return { from: begin, to: begin + size }
}

/** A mark of the scale: its pixel and its text, counted from the beginning of the run. */
export interface Tick {
  readonly x: number
  readonly text: string
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
]

/** Marks at round moments, no nearer than 90 pixels to each other. */
export function ticksOf(window: TimeWindow, width: number, begin: number): readonly Tick[] {
  const size = window.to - window.from
  const least = (size * 90) / Math.max(1, width)
  const day = 86_400_000
  const step = steps.find((each) => each >= least) ?? Math.ceil(least / day) * day
  const ticks: Tick[] = []
  for (let at = begin + Math.ceil((window.from - begin) / step) * step; at <= window.to; at += step)
    ticks.push({ x: ((at - window.from) / size) * width, text: tickText(at - begin, step) })
  return ticks
}

function tickText(ms: number, step: number): string {
  if (step < 1_000) return `${Number((ms / 1_000).toFixed(3))} s`
  const [days, hours, minutes, seconds] = [
    Math.floor(ms / 86_400_000),
    Math.floor(ms / 3_600_000) % 24,
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1_000) % 60,
  ]
  const two = (count: number): string => String(count).padStart(2, '0')
  if (days > 0) return `${days} d ${two(hours)}:${two(minutes)}`
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}
