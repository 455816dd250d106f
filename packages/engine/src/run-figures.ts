/**
 * Figures: what is said of many runs at once: how many, how they ended, what they used, how long they took and waited,
 * why they failed.
 *
 * Owns: the plain data of the answers, and of what an index keeps of a run for them. Does not own: how runs are folded and
 * counted (figures/), who may ask (server). Types alone. K11: unknown usage stays unknown.
 */
import type { Outcome, RunId, UsageRow } from '@reeve/core'

/** What a run has used, child runs that have ended included. */
export interface RunUsage {
  /** Model calls. */
  readonly calls: number
  /** Input and output. Absent: not known of any call. */
  readonly tokens?: number
  /** US dollars. Absent: no call has a known price. */
  readonly usd?: number
  /** Calls whose tokens are not known: `tokens` is at least so much. Absent: none. */
  readonly unknown?: number
  /** Calls whose price is not known: `usd` is at least so much. Absent: none. */
  readonly unpriced?: number
}

/** The beginning of a text, as the journal has it; what is no text is compact JSON. */
export interface SummaryText {
  /** 300 characters at most. */
  readonly text: string
  /** There is more in the journal. */
  readonly cut?: true
}

/**
 * What runs are grouped by. `agent` and `version`: those of the run itself. `model`: which models were called in it, at
 * any depth; a run is in the group of each. `code`: that of its failure.
 */
export type TotalsBy = 'agent' | 'version' | 'model' | 'tenant' | 'user' | 'session' | 'code'

/** How runs are counted. */
export interface TotalsOptions {
  readonly by?: TotalsBy
  /** Also over time: by the hour or the day (UTC) in which runs began. */
  readonly bucket?: 'hour' | 'day'
  /** Of these agents alone. */
  readonly agents?: readonly string[]
}

/** The half and the nineteen twentieths of all are not greater. Milliseconds. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

/** What is said of some runs. */
export interface RunFigures {
  readonly runs: number
  /** Those that have ended, by how; without those of which there is none. The others are open. */
  readonly ends: Readonly<Partial<Record<Outcome['status'], number>>>
  /** What they have used, each as of when it last came to rest or ended. */
  readonly usage: RunUsage
  /** From begin to end, of those that have ended. Absent: none has. */
  readonly durationMs?: Percentiles
  /** How long something in them waited for people, of those that have ended. Absent: none has. */
  readonly waitMs?: Percentiles
}

/** The runs that began in one hour or day. */
export interface FiguresOfTime extends RunFigures {
  /** Its beginning, in milliseconds since 1970. */
  readonly at: number
}

/** The runs that have one thing in common. */
export interface FiguresGroup extends RunFigures {
  /** The agent, the version, the model, … Null: of runs that have none. */
  readonly key: string | null
  /** Of a version: its agent. */
  readonly agent?: string
  /** Oldest first, without hours or days in which none began. */
  readonly overTime?: readonly FiguresOfTime[]
}

/** What is said of all runs of a filter. */
export interface Totals {
  /** So many runs are not counted in full yet: neither their waits, models, codes nor texts are known. 0: all are. */
  readonly behind: number
  readonly all: RunFigures
  /** With `by`: the most expensive first, then the largest; the first 1,000. */
  readonly groups?: readonly FiguresGroup[]
  /** Groups that were left out. Absent: none. */
  readonly more?: number
  /** With `bucket`. Oldest first, without hours or days in which none began. */
  readonly overTime?: readonly FiguresOfTime[]
}

/** Runs that ended badly in the same way. */
export interface FailureGroup {
  /** For `RunFilter.cause`. */
  readonly cause: string
  /** The code of the failure; `limit.reached` or `effect.timed-out` where they ended so. */
  readonly code: string
  /** The agent that failed: the root, or one below it whose failure became that of the run. */
  readonly agent: string
  /** The message of the newest. */
  readonly message: string
  readonly runs: number
  readonly newest: RunId
  /** When the first and the last of them ended, in milliseconds since 1970. */
  readonly firstAt: number
  readonly lastAt: number
}

/** Why runs of a filter ended badly. */
export interface Causes {
  /** As in `Totals`. */
  readonly behind: number
  /** The most frequent first, then the newest; the first 1,000. */
  readonly causes: readonly FailureGroup[]
  /** Groups that were left out. Absent: none. */
  readonly more?: number
}

/** A count that only grows, with what it is of. */
export interface RunCounter {
  /**
   * `runs`: those that have ended. `duration`, `wait`, `latency`: seconds of these runs, from begin to end, with and
   * without the time in which something waited for people. `calls`, `tokens`, `usd`: what they used; `reasoning`: of the
   * output tokens, as far as providers told; `cached`: of the input tokens, those that providers' caches were read for
   * and written with; `unknown`, `unpriced`: calls whose tokens, whose price are not known.
   */
  readonly name:
    | 'runs'
    | 'duration'
    | 'wait'
    | 'latency'
    | 'calls'
    | 'tokens'
    | 'reasoning'
    | 'cached'
    | 'usd'
    | 'unknown'
    | 'unpriced'
  /**
   * What it is of. A distribution has one counter for each `le`: of values not greater than it and greater than the `le`
   * before, in seconds, `+Inf` the last; and one with `le: "sum"`, the sum of all values.
   */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What an agent, or all that ran it in one version, used with one model in a run. */
export interface UsageShare extends UsageRow {
  /** Absent: not known. */
  readonly version?: string
}

/** Why a run ended badly. */
export interface FailureCause {
  readonly code: string
  /** Equal for failures that differ in numbers, ids and quoted parts alone. */
  readonly cause: string
  /** The agent that failed. */
  readonly agent: string
  /** 500 characters at most. */
  readonly message: string
}

/** A run as an index has it: a function of its journal. Texts are redacted as the journal is. */
export interface IndexedRun {
  readonly run: RunId
  /** It had ended when its journal was read: nothing changes any more. */
  readonly isFinal: boolean
  readonly input?: SummaryText
  readonly output?: SummaryText
  /** The words by which it is found, in their order, each between two spaces. */
  readonly words: string
  readonly failure?: FailureCause
  /** How long something in it waited for people, in milliseconds. Absent: it has not ended. */
  readonly waitMs?: number
  /** Empty: it has not ended, or no model was called. */
  readonly shares: readonly UsageShare[]
}

/** What figures are made of: the row of a run with what the index has of it. */
export interface FiguresRow {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  /** As JSON. */
  readonly caller: string | null
  readonly createdAt: number
  readonly endedAt: number | null
  /** The status of one that has ended. */
  readonly status: string
  /** As JSON: a `RunUsage`. */
  readonly usage: string | null
  readonly waitMs: number | null
  /** As JSON: a `FailureCause`. */
  readonly failure: string | null
  /** As JSON: `UsageShare`s. */
  readonly shares: string | null
}

/** Words that a run is searched by: they stand together in this order; of the last one it may be the beginning. */
export interface TextTerm {
  readonly words: readonly string[]
  readonly isPrefix: boolean
}
