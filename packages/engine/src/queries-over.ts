/**
 * The queries of operators, answered for a store without indexes of its own: every run is looked at.
 *
 * Owns: what is asked of such a store, the status of a run as it follows from that. Does not own: the contract
 * (store.ts), a summary as it is made of a row (run-row.ts). Nothing here writes.
 */
import { andThen, isChildRun, rootActivation, rootRun, runOf, type Now, type RunId } from '@reeve/core'
import type { Caller } from '@reeve/journal'
import {
  isWithin,
  type Backlog,
  type Question,
  type QuestionFilter,
  type RunFilter,
  type RunStatus,
  type RunSummary,
  type RunUsage,
} from './port.ts'
import { flappingOf } from './process-report.ts'
import { callerIn, summaryOf, tagsOf, type SummaryRow } from './run-row.ts'
import { batchAgent, mostListed } from './run-search.ts'
import { questionOf, type InboxRow, type NewQuestion, type StoreQueries } from './store.ts'

/** An open question to people, as it was asked. */
export interface ScannedQuestion extends NewQuestion {
  /** Of one moment, the order in which they were asked. */
  readonly num: number
  /** An answer is in the inbox, read or not. */
  readonly answered: boolean
}

/** A run as `queriesOver` reads it. */
export interface ScannedRun extends SummaryRow {
  /** Its open questions to people: no timers, and none of its child runs. */
  readonly asks: readonly ScannedQuestion[]
  /** Unread, in order. */
  readonly mail: readonly InboxRow[]
  /** When something was last recorded of it; at least when it began. */
  readonly lastAt: number
}

/** All that `queriesOver` asks of a store. */
export interface StoreScan {
  /** Runs and their child runs, in any order; with `of` that run and its child runs at any depth. */
  readonly runs: (of?: RunId) => Now<Iterable<ScannedRun>>
  readonly processes: (...asked: Parameters<StoreQueries['processes']>) => ReturnType<StoreQueries['processes']>
}

/** Answers all queries by looking at every run: for stores that are small, or that nobody has to wait for. */
export function queriesOver(scan: StoreScan): StoreQueries {
  const matching = <T>(filter: RunFilter, most: number, shown: (run: ScannedRun, children: Children) => T): Now<T[]> =>
    andThen(scan.runs(filter.childrenOf), (scanned) => {
      const { of, all } = familiesIn(scanned)
      const found: T[] = []
      for (const run of all.filter((each) => mayBeOf(each, filter)).toSorted(byAge)) {
        if (found.length >= most) break
        const children = of(run.id as RunId)
        if (filter.status?.includes(statusOf(run, children)) ?? true) found.push(shown(run, children))
      }
      return found
    })
  return {
    summary: (run) =>
      andThen(scan.runs(run), (scanned) => {
        const { of, all } = familiesIn(scanned)
        const found = all.find(({ id }) => id === run)
        return found && summaryIn(found, of(run))
      }),
    summaries: (filter = {}) => matching(filter, filter.limit ?? mostListed, summaryIn),
    count: (filter, most) =>
      andThen(
        matching(filter, most, ({ id }) => id),
        ({ length }) => length,
      ),
    questions: (filter = {}) =>
      andThen(scan.runs(filter.run), (scanned) =>
        questionsOf(
          [...scanned].flatMap(({ asks }) => asks),
          filter,
        ),
      ),
    processes: scan.processes,
    backlog: (most) => andThen(scan.runs(), (scanned) => backlogOf([...scanned], most)),
    size: () => undefined,
  }
}

type Pair = Pick<ScannedRun, 'id' | 'created'>
/** Newest first. */
const byAge = (a: Pair, b: Pair): number => b.created - a.created || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)

/** `of`: the child runs of a run, at any depth. */
function familiesIn(scanned: Iterable<ScannedRun>): {
  readonly all: readonly ScannedRun[]
  readonly of: (run: RunId) => readonly ScannedRun[]
} {
  const all = [...scanned]
  const families = Map.groupBy(
    all.filter(({ id }) => isChildRun(id as RunId)),
    ({ id }) => rootRun(id as RunId),
  )
  return {
    all,
    of: (run) => families.get(rootRun(run))?.filter(({ id }) => id !== run && isWithin(id as RunId, run)) ?? [],
  }
}

/** Whether a run is of a filter, as far as its row alone says. */
function mayBeOf(
  run: ScannedRun,
  { childrenOf, agent, version, since, before, usdFrom, after, ...caller }: RunFilter,
): boolean {
  const isListed = childrenOf === undefined ? !isChildRun(run.id as RunId) : run.id !== childrenOf
  return (
    isListed &&
    (agent === undefined ? run.agent !== batchAgent : run.agent === agent) &&
    (version === undefined || run.version === version) &&
    (since === undefined || run.created >= since) &&
    (before === undefined || run.created < before) &&
    (after === undefined || byAge({ id: after.run, created: after.createdAt }, run) < 0) &&
    (usdFrom === undefined || usdOf(run) >= usdFrom) &&
    isOfCaller(run, caller)
  )
}

/** Less than any amount where it is not known. */
const usdOf = ({ usage }: ScannedRun): number =>
  (usage === null ? {} : (JSON.parse(usage) as Partial<RunUsage>)).usd ?? -1

function isOfCaller(run: ScannedRun, { user, session, tenant, metadata }: RunFilter): boolean {
  if ([user, session, tenant, metadata].every((each) => each === undefined)) return true
  const caller = callerIn(run)
  return (
    (user === undefined || caller.user === user) &&
    (session === undefined || caller.session === session) &&
    (tenant === undefined || caller.tenant === tenant) &&
    (metadata === undefined || hasTags(caller, metadata))
  )
}

const hasTags = ({ metadata = {} }: Caller, wanted: NonNullable<RunFilter['metadata']>): boolean => {
  const has = new Set(tagsOf({ metadata }).map(({ name, value }) => `${name} ${value}`))
  return tagsOf({ metadata: wanted }).every(({ name, value }) => has.has(`${name} ${value}`))
}

type Children = readonly ScannedRun[]

function summaryIn(run: ScannedRun, children: Children): RunSummary {
  const open = [run, ...children]
    .flatMap(({ asks }) => asks)
    .filter(({ answered }) => !answered)
    .toSorted(byAsking)
  const { id = null, kind = null, at: askedAt = null, until = null } = open[0] ?? {}
  return summaryOf(
    run,
    statusOf(run, children),
    run.ended === null ? { questions: open.length, id, kind, askedAt, until } : undefined,
  )
}

function statusOf(run: ScannedRun, children: Children): RunStatus {
  if (run.ended !== null) return run.status as RunStatus
  if (run.stuck !== null) return 'stuck'
  if (run.control === 'pausing' || run.control === 'paused' || run.control === 'human_control') return run.control
  // part of it may wait for people while a child run is at work
  if (run.parked === 0 || children.some(isAtWork)) return 'running'
  if (![run, ...children].some(({ asks }) => asks.length > 0)) return 'running'
  const root = rootActivation(run.id as RunId)
  return run.mail.some(({ act, key }) => act === root && key.startsWith('!pause')) ? 'pausing' : 'waiting'
}

const isAtWork = ({ ended, parked }: ScannedRun): boolean => ended === null && parked === 0

type Asking = Pick<ScannedQuestion, 'at' | 'num'>
const byAsking = (a: Asking, b: Asking): number => a.at - b.at || a.num - b.num

function questionsOf(
  all: readonly ScannedQuestion[],
  { run, id, kind, tenant, unanswered, limit, after }: QuestionFilter,
): readonly Question[] {
  // of one that is gone the first place of its moment, so that none is left out
  const last = after && { at: after.askedAt, num: all.find((each) => each.id === after.id)?.num ?? -1 }
  return all
    .filter(
      (each) =>
        (id === undefined || each.id === id) &&
        (run === undefined || isWithin(runOf(each.act), run)) &&
        (kind === undefined || each.kind === kind) &&
        (tenant === undefined || each.tenant === tenant) &&
        (unanswered !== true || !each.answered) &&
        (last === undefined || byAsking(each, last) > 0),
    )
    .toSorted(byAsking)
    .slice(0, limit)
    .map(questionOf)
}

function backlogOf(all: readonly ScannedRun[], most: number): Backlog {
  const ready = all.filter((run) => isAtWork(run) && run.owner === null)
  const first = ready.toSorted(byAge).at(-1)
  const counted = (fits: (run: ScannedRun) => boolean): number => Math.min(all.filter(fits).length, most)
  return {
    ready: Math.min(ready.length, most),
    ...(first === undefined ? {} : { first: { run: first.id as RunId, since: first.lastAt } }),
    unheard: counted(({ mail, owner }) => mail.length > 0 && owner === null),
    ...flappingOf(counted(({ losses, ended }) => losses > 1 && ended === null)),
  }
}
