/**
 * A run, followed until it has ended or waits for people.
 *
 * Owns: the order of the feed and of that end, without a gap and without a repetition; what a waiting run asks people.
 * Does not own: the feed, and what a run waits for (../../runtime).
 * Holds: K9: leaving changes nothing.
 */
import { pagesOf, type Question, type Run, type RunOutcome, type RunWaiting, type StreamItem } from '@reeve/runtime'

/** Why a stream of a run shows nothing more. `position`: of the last event that it has shown. */
export type StreamEnd =
  | { readonly type: 'ended'; readonly position: number; readonly outcome: RunOutcome }
  | { readonly type: 'waiting'; readonly position: number; readonly waiting: RunWaiting }

/** An event or live part of the run; last of all, why nothing more comes. */
export type FollowedItem = StreamItem | { readonly type: 'end'; readonly end: StreamEnd }

/** How a run is followed. */
export interface FollowOptions {
  readonly signal?: AbortSignal
  /** Until then the run does not count as waiting, because answers are under way. Default: at once. */
  readonly ready?: Promise<unknown>
  /** Whether a run that waits for this ends the stream. Default: always, also where it was paused or taken over. */
  readonly endsWith?: (waiting: RunWaiting) => boolean
}

/** What a run asks people; of a queued run, what the run ahead of it asks. A diverged address is an operator's affair. */
export const askedBy = ({ queued, questions }: RunWaiting): readonly Question[] =>
  (queued?.needs.questions ?? questions).filter(({ kind }) => kind !== 'diverged')

const goesOnLater: ReadonlySet<RunWaiting['status']> = new Set(['paused', 'human_control', 'queued'])

/**
 * `endsWith` of protocols that have no word for a run that is paused, taken over or queued: its stream stays open until
 * it goes on, asks people, or is stuck.
 */
export const needsPeople = (waiting: RunWaiting): boolean =>
  askedBy(waiting).length > 0 || !goesOnLater.has(waiting.status)

/** Everything from the first event of a run until its stream ends. Stops without an end once the signal aborts. */
export async function* followRun(
  run: Run,
  { signal, ready = Promise.resolve(), endsWith = () => true }: FollowOptions = {},
): AsyncGenerator<FollowedItem, undefined> {
  const left = new AbortController()
  const both = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal])
  const feed = run.feed({ signal: both })
  const needs = async (): Promise<Tagged<'needs', RunWaiting | undefined>> => {
    await ready
    const found = await run.until('waiting', { signal: both })
    return { type: 'needs', value: 'questions' in found ? found : undefined }
  }
  const items = async (): Promise<Tagged<'item', IteratorResult<StreamItem, undefined>>> => ({
    type: 'item',
    value: await feed.next(),
  })
  let position = 0
  let item = items()
  let need: ReturnType<typeof needs> | undefined = needs()
  try {
    for (;;) {
      const next = await (need === undefined ? item : Promise.race([item, need]))
      if (both.aborted) return undefined
      if (next.type === 'needs') {
        need = undefined
        const waiting = next.value
        if (waiting === undefined || !endsWith(waiting)) continue
        // what the feed has not passed on yet
        for await (const page of pagesOf(run, position))
          for (const event of page) {
            position = event.position
            yield { type: 'event', event }
          }
        yield { type: 'end', end: { type: 'waiting', position, waiting } }
        return undefined
      }
      if (next.value.done === true) {
        yield { type: 'end', end: { type: 'ended', position, outcome: await run.outcome() } }
        return undefined
      }
      const { value } = next.value
      if (value.type === 'event') {
        position = value.event.position
        // it was paused, or taken over: it may need people now
        need ??= needs()
      }
      item = items()
      yield value
    }
  } catch (thrown) {
    if (both.aborted) return undefined
    throw thrown
  } finally {
    left.abort()
    for (const pending of [item, need]) pending?.catch(() => undefined)
    await feed.return?.()
  }
}

interface Tagged<Type extends string, Value> {
  readonly type: Type
  readonly value: Value
}
