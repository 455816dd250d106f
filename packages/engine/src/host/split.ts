/**
 * Splitting a batch that the store refuses, so that only what it refuses is left out.
 *
 * Owns: which parts of a batch stand for themselves (a run; a row or a value from outside), and putting their results
 * together. Plain data, pure.
 * Does not own: applying them (the store), what becomes of a run whose part is refused (driver.ts).
 */
import { runOf, type RunId } from '@reeve/core'
import type { PostResult } from '../port.ts'
import { emptyBatch, type Batch, type BatchResult, type ValueResult } from '../store.ts'

/**
 * A part of a batch that can be written without the others, with the places that its rows and values have in the whole.
 */
export interface Part {
  readonly batch: Batch
  /** The run that writes. Absent: a caller outside of all runs. */
  readonly run: RunId | undefined
  readonly posts: readonly number[]
  readonly values: readonly number[]
}

/** One part for every run, then one for each row and each value from outside. */
export function split(batch: Batch): Part[] {
  const parts = new Map<RunId, { batch: Batch; run: RunId; posts: number[]; values: number[] }>()
  const outside: Part[] = []
  // a worker that is placed apart begins with the intent to start it, or not at all
  const begunBy = new Map(batch.runs.flatMap(({ id, from }) => (from === undefined ? [] : [[id, from]])))
  const of = (id: RunId): { batch: Batch; posts: number[]; values: number[] } => {
    const run = begunBy.get(id) ?? id
    const part = parts.get(run) ?? { batch: emptyBatch(batch.owner), run, posts: [], values: [] }
    parts.set(run, part)
    return part
  }
  for (const [run, epoch] of batch.epochs) of(run).batch.epochs.set(run, epoch)
  for (const run of batch.runs) of(run.id).batch.runs.push(run)
  for (const act of batch.acts) of(runOf(act)).batch.acts.push(act)
  for (const entry of batch.log) of(entry.run).batch.log.push(entry)
  for (const part of batch.summed) of(runOf(part.act)).batch.summed.push(part)
  for (const taken of batch.taken) of(runOf(taken.act)).batch.taken.push(taken)
  for (const question of batch.questions) of(runOf(question.act)).batch.questions.push(question)
  for (const closed of batch.closed) of(runOf(closed.act)).batch.closed.push(closed)
  for (const act of batch.closedActs) of(runOf(act)).batch.closedActs.push(act)
  for (const ended of batch.ended) of(ended.run).batch.ended.push(ended)
  for (const account of batch.accounts) of(account.run).batch.accounts.push(account)
  for (const parked of batch.parked) of(parked.run).batch.parked.push(parked)
  for (const control of batch.control) of(control.run).batch.control.push(control)
  for (const stuck of batch.stuck) of(stuck.run).batch.stuck.push(stuck)
  for (const share of batch.shares) of(share.to).batch.shares.push(share)
  const apart = (posts: number[], values: number[]): { batch: Batch; posts: number[]; values: number[] } => {
    const part = { batch: emptyBatch(batch.owner), run: undefined, posts, values }
    outside.push(part)
    return part
  }
  for (const [i, row] of batch.rows.entries()) {
    const part = row.from === undefined ? apart([], []) : of(row.from)
    part.batch.rows.push(row)
    part.posts.push(i)
  }
  for (const [i, write] of batch.values.entries()) {
    const part = write.by === undefined ? apart([], []) : of(write.by.run)
    part.batch.values.push(write)
    part.values.push(i)
  }
  return [...parts.values(), ...outside]
}

/**
 * What became of the whole, where every part was written or refused. Rows and values of a refused part have no result.
 */
export interface SplitResult extends Omit<BatchResult, 'posts' | 'values'> {
  readonly posts: readonly (PostResult | undefined)[]
  readonly values: readonly (ValueResult | undefined)[]
  readonly refused: readonly { readonly run: RunId | undefined; readonly thrown: unknown }[]
}

/** The results of the parts, as of one batch. */
export function joined(
  whole: Batch,
  parts: readonly { readonly part: Part; readonly done: BatchResult | { readonly thrown: unknown } }[],
): SplitResult {
  const posts: (PostResult | undefined)[] = whole.rows.map(() => undefined)
  const values: (ValueResult | undefined)[] = whole.values.map(() => undefined)
  const refused: { run: RunId | undefined; thrown: unknown }[] = []
  const [fenced, existed, awake]: RunId[][] = [[], [], []]
  let moved = false
  let position = 0
  for (const { part, done } of parts) {
    if ('thrown' in done) {
      refused.push({ run: part.run, thrown: done.thrown })
      continue
    }
    moved ||= done.moved
    position = Math.max(position, done.position)
    fenced!.push(...done.fenced)
    existed!.push(...done.existed)
    awake!.push(...done.awake)
    for (const [i, place] of part.posts.entries()) posts[place] = done.posts[i]
    for (const [i, place] of part.values.entries()) values[place] = done.values[i]
  }
  return { moved, fenced: fenced!, existed: existed!, awake: awake!, posts, values, refused, position }
}
