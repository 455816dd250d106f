/**
 * Whole journals: answers that need every event of a run: an audit, the difference of two runs.
 *
 * Owns: reading page by page, and how long an answer is. Does not own: what an audit says, what counts as the same
 * (oversight, journal).
 * Holds: of a journal one page is in memory; of an audit one page of entries; of a difference what is listed.
 */
import { nextSlice, present } from '@reeve/core'
import {
  AuditChain,
  ChainCheck,
  DiffFold,
  pagesOf,
  type Recorded,
  type Run,
  type RunDiff,
  type RunDifference,
} from '@reeve/runtime'

/** An audit and what the check of its chain says, as pieces of JSON (`AuditAnswer`). */
export async function* auditJson(run: Run, signal: AbortSignal): AsyncGenerator<string, undefined> {
  const chain = new AuditChain(run.id)
  const check = new ChainCheck(run.id)
  yield '{"document":{"entries":['
  let separator = ''
  for await (const page of pagesOf(run, 0, signal)) {
    let text = ''
    for (const recorded of page)
      for (const entry of chain.take(recorded)) {
        check.take({ ...entry })
        text += separator + JSON.stringify(entry)
        separator = ','
      }
    yield text
  }
  // what was read is not the whole run
  signal.throwIfAborted()
  const { head } = chain
  yield `],"head":${JSON.stringify(head)}},"report":${JSON.stringify(check.report(head))}}`
  return undefined
}

/** Entries of two runs that are further apart are not found to be the same. */
const within = 10_000
/** Differences that are listed, and characters of their events: the list ends after the one that makes it longer. */
const listed = 1_000
const listedLength = 2_000_000

/** Where two runs differ. */
export async function diffOfRuns(one: Run, other: Run, signal: AbortSignal): Promise<RunDiff> {
  const fold = new DiffFold<number>({ within, listed })
  const sides = [
    { side: 'one', pages: pagesOf(one, 0, signal) },
    { side: 'other', pages: pagesOf(other, 0, signal) },
  ] as const
  // in step: what is the same is soon forgotten
  for (let isOver = false; !isOver;) {
    isOver = true
    for (const { side, pages } of sides) {
      const { done, value: page } = await pages.next()
      if (done === true) continue
      isOver = false
      for (const recorded of page) fold.take(side, recorded, recorded.position)
    }
  }
  signal.throwIfAborted()
  const { places, more = 0, ...rest } = fold.result()
  const differences: RunDifference[] = []
  let length = 0
  for (const { one: first, other: second, ...place } of places) {
    if (length >= listedLength) break
    const difference = {
      ...place,
      ...present({ one: await eventAt(one, first), other: await eventAt(other, second) }),
    }
    differences.push(difference)
    length += JSON.stringify(difference).length
  }
  const unlisted = more + places.length - differences.length
  return {
    ...rest,
    ...(differences[0] === undefined ? {} : { first: differences[0] }),
    differences,
    ...(unlisted === 0 ? {} : { more: unlisted }),
  }
}

async function eventAt(run: Run, position: number | undefined): Promise<Recorded | undefined> {
  if (position === undefined) return undefined
  await nextSlice()
  return (await run.journal({ from: position - 1, limit: 1 }))[0]
}
