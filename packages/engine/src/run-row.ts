/**
 * What the row of a run says besides its journal: by which tags it is found, what it has used, why it ended, what it
 * waits for.
 *
 * Owns: these values and the summary that is made of a row. Does not own: where rows are kept (the stores), how they
 * are searched (run-search.ts). All of it is pure.
 * Holds: K1 (each value follows from the journal), K11 (what is unknown is absent, never 0).
 */
import {
  digest,
  failure,
  isObject,
  present,
  totalUsage,
  type Failure,
  type Json,
  type Outcome,
  type RunId,
  type Usage,
  type WithWorkerFailures,
} from '@reeve/core'
import type { Caller } from '@reeve/journal'
import type { Question, RunStatus, RunSummary, RunUsage, SummaryText } from './port.ts'
import { asideFor, type StoredRun } from './store.ts'

/** By which a run is found: a property of its caller and its value, both as texts that every store can hold. */
export interface RunTag {
  readonly name: string
  readonly value: string
}

/** A value of metadata by which runs can be found. */
type MetadataScalar = string | number | boolean | null

/** So many members of the metadata are tags, in their order. */
const metadataTags = 64
/** Longer names and values are kept as their digest: an index takes texts of any length, but not in every store. */
const longest = 200

/** JSON, so that `1` and `"1"` differ, and characters that no store keeps are escaped. */
const kept = (value: MetadataScalar): string => {
  const text = JSON.stringify(value)
  return text.length <= longest ? text : `#${digest(text)}`
}

/** A tenant as a row has it. */
export const tenantKey = (tenant: string): string => kept(tenant)
/** The same of a caller; null: it has none. */
export const tenantOf = ({ tenant }: Pick<Caller, 'tenant'>): string | null =>
  tenant === undefined ? null : tenantKey(tenant)

const metadataName = (key: string): string => {
  const text = JSON.stringify(key).slice(1, -1)
  return text.length <= longest ? `metadata.${text}` : `metadata#${digest(text)}`
}

const isScalar = (value: Json): value is MetadataScalar => value === null || typeof value !== 'object'

/** What is asked of the caller of a run. */
interface CallerQuery extends Pick<Caller, 'user' | 'tenant'> {
  readonly session?: string
  readonly metadata?: { readonly [key: string]: Json }
}

/** The tags of a caller. */
export function tagsOf({ user, session, tenant, metadata = {} }: CallerQuery): readonly RunTag[] {
  const own = Object.entries({ user, session, tenant }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: kept(value) }],
  )
  const more = Object.entries(metadata)
    .flatMap(([key, value]) => (isScalar(value) ? [{ name: metadataName(key), value: kept(value) }] : []))
    .slice(0, metadataTags)
  return [...own, ...more]
}

/** The caller of a run, as its row has it. */
export const callerIn = (row: Pick<StoredRun, 'caller'>): Caller =>
  row.caller === null ? {} : (JSON.parse(row.caller) as Caller)

/** The totals of a run, or of what is known of it so far. */
export function runUsage(usage: Usage): RunUsage {
  const { calls, input, output, usd, unknown, unpriced } = totalUsage(usage)
  return {
    calls,
    ...(calls > 0 && unknown === calls ? {} : { tokens: input + output }),
    ...(calls > 0 && unpriced === calls ? {} : { usd }),
    ...(unknown === 0 ? {} : { unknown }),
    ...(unpriced === 0 ? {} : { unpriced }),
  }
}

/** What the row of a run that has ended says of its end. */
type RowEnd = EndReason | WithWorkerFailures

/** Why a run ended without completing. */
export interface EndReason {
  readonly reason: string
  readonly failure?: Failure
}

/** So much of a message is kept in the row; the journal has the whole. */
const messageKept = 500

/** Undefined for a run that completed, and no worker of it failed. */
export function endReason(outcome: Outcome): RowEnd | undefined {
  switch (outcome.status) {
    case 'completed': {
      const { failures, failureCount } = outcome
      return failures === undefined ? undefined : present({ failures, failureCount })
    }
    case 'failed': {
      const { code, message, class: of, retryable } = outcome.failure
      return whyFailed(failure(code, message.slice(0, messageKept), of, { retryable }))
    }
    case 'limited':
      return whyFailed(
        failure('limit.reached', `limit of ${outcome.limit}: ${outcome.message}`.slice(0, messageKept), 'budget'),
      )
    case 'timed-out':
    case 'bailed':
      return { reason: outcome.message.slice(0, messageKept) }
    case 'cancelled':
      return { reason: outcome.reason.slice(0, messageKept) }
  }
}

const whyFailed = (what: Failure): EndReason => ({ reason: `${what.code}: ${what.message}`, failure: what })

/** A run as a list of runs needs it. */
export interface SummaryRow extends StoredRun {
  readonly usage: string | null
  readonly why: string | null
  /** What an index has of it, as JSON: a `SummaryText` each. */
  readonly input?: string | null
  readonly output?: string | null
}

/** How many questions to people a run has open, and the oldest one. */
export interface OpenQuestions {
  readonly questions: number
  readonly id: string | null
  readonly kind: string | null
  readonly askedAt: number | null
  readonly until: number | null
}

export function summaryOf(row: SummaryRow, status: RunStatus, open: OpenQuestions | undefined): RunSummary {
  const usage: Json = row.usage === null ? null : (JSON.parse(row.usage) as Json)
  const base = {
    run: row.id as RunId,
    agent: row.agent,
    version: row.version,
    status,
    caller: callerIn(row),
    createdAt: row.created,
    ...(isObject(usage) ? { usage: usage as unknown as RunUsage } : {}),
    ...present({ input: textIn(row.input), output: textIn(row.output) }),
  }
  if (row.ended !== null)
    return { ...base, endedAt: row.ended, ...(row.why === null ? {} : (JSON.parse(row.why) as RowEnd)) }
  const waiting = { ...base, ...waitsFor(open) }
  if (row.stuck === null) return waiting
  const aside = asideFor(row)
  return aside === undefined
    ? { ...waiting, reason: row.stuck }
    : { ...waiting, reason: `${aside.code}: ${aside.message}`, failure: aside }
}

const textIn = (text: string | null | undefined): SummaryText | undefined =>
  text === null || text === undefined ? undefined : (JSON.parse(text) as SummaryText)

function waitsFor(open: OpenQuestions | undefined): Pick<RunSummary, 'waitsFor'> {
  if (open === undefined || open.questions === 0) return {}
  const { questions, id, kind, askedAt, until } = open
  return {
    waitsFor: {
      questions,
      oldest: {
        id: id!,
        kind: kind as Question['kind'],
        askedAt: askedAt!,
        ...(until === null ? {} : { until }),
      },
    },
  }
}
