/**
 * One commit in memory: everything that one tick has learned and intends, over all runs (K5).
 *
 * Owns: applying a batch. Holds: K2 (epochs are checked; unique keys name the winner of a post), and everything or
 * nothing: what cannot be written is found before the first word is.
 */
import { runOf, rootActivation, type ActivationId, type RunId } from '@reeve/core'
import { askKey } from '../question-record.ts'
import type { PostResult } from '../port.ts'
import { deadlineBody, type Batch, type BatchResult, type NewRow, type ValueResult, type ValueWrite } from '../store.ts'
import type { MemoryTables, RunRecord } from './tables.ts'

/** What is never taken: the store is well, and the content is not. */
export class Refused extends Error {}

/** What became of a commit, and the runs that it has ended. */
export interface Applied {
  readonly result: BatchResult
  readonly ends: readonly RunRecord[]
}

/** Writes everything or nothing. Throws `Refused`. */
export function apply(tables: MemoryTables, batch: Batch): Applied {
  const fenced = fencedIn(tables, batch)
  const existed = existedIn(tables, batch, fenced)
  const lost: ReadonlySet<RunId> = fenced.length + existed.length === 0 ? none : new Set([...fenced, ...existed])
  mustBePossible(tables, batch, lost)
  for (const run of batch.runs) if (!lost.has(run.id)) tables.addRun(run)
  const position = writeLog(tables, batch, lost)
  for (const { from, to, keys } of batch.shares) if (!lost.has(to)) tables.share(from, to, keys)
  // Before the posts: what this commit withdraws is not answered by it.
  if (batch.questions.length + batch.closed.length + batch.closedActs.length > 0) writeQuestions(tables, batch, lost)
  const posts = batch.rows.length === 0 ? nothing : writePosts(tables, batch, lost)
  const values = batch.values.length === 0 ? nothing : writeValues(tables, batch, lost)
  if (batch.taken.length > 0) takeRows(tables, batch, lost)
  for (const { act, run, state } of batch.accounts) if (!lost.has(run)) tables.activation(act).account = state
  if (batch.control.length + batch.stuck.length > 0) writeStates(tables, batch, lost)
  const awake = batch.parked.length === 0 ? nothing : park(tables, batch, lost)
  const ends = batch.ended.length === 0 ? nothing : end(tables, batch, lost)
  return { result: { moved: false, fenced, existed, awake, posts, values, position }, ends }
}

const none: ReadonlySet<RunId> = new Set()
/** Most commits have none of most kinds. */
const nothing: readonly never[] = []
const isOfLost = (act: ActivationId, lost: ReadonlySet<RunId>): boolean => lost.size > 0 && lost.has(runOf(act))
const speaks = (from: RunId, { epochs }: Batch, lost: ReadonlySet<RunId>): boolean =>
  !lost.has(from) && epochs.has(from)

function fencedIn(tables: MemoryTables, batch: Batch): RunId[] {
  const fenced: RunId[] = []
  const created = batch.runs.length === 0 ? none : new Set(batch.runs.map(({ id }) => id))
  for (const id of batch.epochs.keys()) {
    // a run that is begun for another process is not this process's own after that
    if (created.has(id)) continue
    const run = tables.runs.get(id)
    if (run === undefined || run.epoch !== batch.epochs.get(id) || run.owner !== batch.owner) fenced.push(id)
  }
  if (fenced.length > 0)
    for (const { id, from } of batch.runs) if (from !== undefined && fenced.includes(from)) fenced.push(id)
  return fenced
}

function existedIn(tables: MemoryTables, batch: Batch, fenced: readonly RunId[]): RunId[] {
  if (batch.runs.length === 0) return []
  const seen = new Set<RunId>()
  return batch.runs.flatMap(({ id }) => {
    if (fenced.includes(id)) return []
    const isKnown = tables.runs.has(id) || seen.has(id)
    seen.add(id)
    return isKnown ? [id] : []
  })
}

/** Each entry of a log is written once, and each activation begins once. */
function mustBePossible(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): void {
  for (const id of batch.acts)
    if (!isOfLost(id, lost) && tables.activations.has(id)) throw new Refused(`the activation "${id}" was begun before`)
  const reached = new Map<ActivationId, number>()
  for (const { act, run, seq } of batch.log) {
    if (lost.has(run)) continue
    const known = tables.activations.get(act)
    const last = reached.get(act) ?? known?.lastSeq ?? -1
    if (seq <= last && (reached.has(act) || known?.entry(seq) !== undefined))
      throw new Refused(`entry ${seq} of the activation "${act}" was written before`)
    reached.set(act, Math.max(seq, last))
  }
}

function writeLog(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): number {
  for (const id of batch.acts) if (!isOfLost(id, lost)) tables.activation(id)
  let position = 0
  for (const { act, run, seq, at, body } of batch.log) {
    if (lost.has(run)) continue
    tables.write(tables.activation(act), seq, at, body)
    position = tables.position
  }
  if (batch.summed.length > 0) writeSummed(tables, batch, lost)
  return position
}

function writeSummed(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): void {
  for (const { act, from, upTo } of batch.summed) {
    if (isOfLost(act, lost)) continue
    const of = tables.activation(act)
    of.summed = [...of.summed.filter((part) => part.from < from), { from, upTo }]
  }
}

function writeQuestions(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): void {
  for (const question of batch.questions) if (!isOfLost(question.act, lost)) tables.ask(question)
  const close = (act: ActivationId, address?: string): void => {
    if (isOfLost(act, lost)) return
    for (const each of tables.activations.get(act)?.questions.slice() ?? [])
      if (address === undefined || each.address === address) tables.close(each)
  }
  for (const { act, address } of batch.closed) close(act, address)
  for (const act of batch.closedActs) close(act)
}

const writePosts = (tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): PostResult[] =>
  batch.rows.map((row) => (row.from === undefined || speaks(row.from, batch, lost) ? post(tables, row) : 'lost'))

function post(tables: MemoryTables, row: NewRow): PostResult {
  const { act: id, key, body, target } = row
  if (target === 'run') {
    const run = tables.runs.get(runOf(id))
    if (run === undefined) return 'unknown'
    if (run.ended !== null || tables.activations.get(id)?.isOver === true) return 'closed'
    return tables.mail(tables.activation(id), key, body) ? 'accepted' : 'lost'
  }
  const act = tables.activations.get(id)
  if (target === 'activation') {
    const isOver = act?.isOver
    if (act !== undefined && isOver === false) {
      tables.mail(act, key, body)
      return 'accepted'
    }
    const reason = isOver === undefined ? 'unknown' : 'closed'
    const sender = row.refusalTo === undefined ? undefined : tables.activation(row.refusalTo)
    // The refusal is in the sender's inbox with it: nothing comes between.
    if (sender !== undefined && sender.isOver !== true)
      tables.mail(sender, `refused:${key}`, JSON.stringify({ type: 'refused', id: key, reason }))
    return reason
  }
  if (act === undefined) return 'unknown'
  const asked = act.questions.find(({ address, kind }) => address === key && (row.kinds?.includes(kind) ?? true))
  if (asked === undefined) return act.hasMail(askKey + key) ? 'lost' : 'closed'
  const isLate = asked.until !== null && asked.until < row.at
  const isFirst = tables.mail(act, asked.key, isLate ? deadlineBody(key) : body)
  // In any case: a deadline that stayed behind would ring for ever.
  asked.until = null
  return !isFirst || (isLate && row.kinds !== undefined) ? 'lost' : 'accepted'
}

const writeValues = (tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): ValueResult[] =>
  batch.values.map((write) =>
    write.by === undefined || speaks(write.by.run, batch, lost) ? writeValue(tables, write) : { status: 'lost' },
  )

function writeValue(
  tables: MemoryTables,
  { by, stream: name, key, expected, body, event, at }: ValueWrite,
): ValueResult {
  const writer = by === undefined ? undefined : tables.runs.get(by.run)
  const once = by === undefined ? '' : `${name} ${by.once}`
  const done = writer?.done.get(once)
  if (done !== undefined) return { status: 'repeated', seq: done }
  const stream = tables.stream(name)
  const version = stream.values.get(key)?.version ?? 0
  if (version !== expected) return { status: 'moved' }
  stream.values.set(key, { version: version + 1, body })
  const seq = stream.log.lastSeq + 1
  tables.write(stream.log, seq, at, event)
  writer?.done.set(once, seq)
  return { status: 'written' }
}

function takeRows(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): void {
  for (const { act, key } of batch.taken) {
    const row = isOfLost(act, lost) ? undefined : tables.activations.get(act)?.inbox.get(key)
    if (row !== undefined) tables.take(row)
  }
}

function writeStates(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): void {
  for (const { run: id, state } of batch.control) {
    const run = lost.has(id) ? undefined : tables.runs.get(id)
    if (run !== undefined) run.control = state
  }
  for (const { run: id, reason, commands } of batch.stuck) {
    const run = lost.has(id) ? undefined : tables.runs.get(id)
    if (run === undefined) continue
    run.stuck = reason
    tables.place(run)
    if (commands !== undefined) forgetCommands(tables, run, commands.cancel, commands.upTo)
  }
}

/** Returns the runs that do not park, because there is mail that they were not given. */
function park(tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): RunId[] {
  const awake: RunId[] = []
  for (const { run: id, heard, usage } of batch.parked) {
    const run = lost.has(id) ? undefined : tables.runs.get(id)
    if (run === undefined) continue
    if ([...run.unread].some(({ position }) => position > heard)) {
      awake.push(id)
      continue
    }
    Object.assign(run, { isParked: true, owner: null, losses: 0 })
    if (usage !== undefined) run.usage = JSON.stringify(usage)
    tables.place(run)
  }
  return awake
}

/** Operator's commands to a run that is set aside, up to one of them. */
function forgetCommands(tables: MemoryTables, run: RunRecord, cancel: boolean, upTo = Infinity): void {
  const root = rootActivation(run.id)
  for (const row of run.unread)
    if (
      row.act.id === root &&
      row.position <= upTo &&
      (row.key.startsWith('!resume') || (cancel && row.key === '!cancel'))
    )
      tables.drop(row)
}

const end = (tables: MemoryTables, batch: Batch, lost: ReadonlySet<RunId>): RunRecord[] =>
  batch.ended.flatMap((given) => (lost.has(given.run) ? [] : [endRun(tables, given)]))

function endRun(tables: MemoryTables, { run: id, status, at, usage, why }: Batch['ended'][number]): RunRecord {
  const run = tables.runs.get(id)!
  Object.assign(run, { status, ended: at, owner: null, control: null, why: why ?? null })
  run.usage = usage === undefined ? null : JSON.stringify(usage)
  // the run will not be driven and asked again
  run.done.clear()
  for (const question of run.questions) tables.close(question)
  for (const row of run.unread) tables.take(row)
  tables.place(run)
  if (run.isListed) tables.ended.add(run)
  return run
}
