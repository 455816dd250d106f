/**
 * A run, followed until it rests: it has ended, or cannot go on without people.
 *
 * Owns: the order of the feed and of that end, without a gap and without a repetition. Does not own: the feed, and what
 * a run waits for (../../runtime).
 * Holds: K9: leaving changes nothing. A run that is only paused or taken over is waited for.
 */
import type { Failure } from '../../core/index.ts'
import type { Question, Run, RunOutcome, RunWaiting, StreamItem } from '../../runtime/index.ts'

/** What became of a run that was followed. */
export type Rest =
  | { readonly status: 'ended'; readonly outcome: RunOutcome }
  /** It cannot go on without an answer to these questions; of a queued run, those of the run ahead of it. */
  | { readonly status: 'waiting'; readonly questions: readonly Question[] }
  /** An operator must see to it. */
  | { readonly status: 'stuck'; readonly reason?: string; readonly failure?: Failure }

/** An event or live part of the run; last of all, what became of it. */
export type FollowedItem = StreamItem | { readonly type: 'rest'; readonly rest: Rest }

/**
 * Everything from the first event of a run until it rests. Ends without a rest once the signal aborts. `ready`: until
 * then it does not count as waiting, because answers are under way.
 */
export async function* followRun(
  run: Run,
  { signal, ready = Promise.resolve() }: { readonly signal: AbortSignal; readonly ready?: Promise<unknown> },
): AsyncGenerator<FollowedItem, undefined> {
  const left = new AbortController()
  const both = AbortSignal.any([signal, left.signal])
  const feed = run.feed({ signal: both })
  const needs = async (): Promise<RunWaiting | undefined> => {
    await ready
    const found = await run.until('waiting', { signal: both })
    return 'questions' in found ? found : undefined
  }
  let position = 0
  let item = tagged('item', feed.next())
  let need: ReturnType<typeof needed> | undefined = needed(needs())
  try {
    for (;;) {
      const next = await (need === undefined ? item : Promise.race([item, need]))
      if (both.aborted) return undefined
      if (next.type === 'needs') {
        need = undefined
        const rest = next.value === undefined ? undefined : restOf(next.value)
        if (rest === undefined) continue
        // what the feed has not passed on yet
        for (const event of await run.journal({ from: position })) yield { type: 'event', event }
        yield { type: 'rest', rest }
        return undefined
      }
      if (next.value.done === true) {
        yield { type: 'rest', rest: { status: 'ended', outcome: await run.outcome() } }
        return undefined
      }
      const { value } = next.value
      if (value.type === 'event') {
        position = value.event.position
        // it was paused, or taken over: it may need people now
        need ??= needed(needs())
      }
      item = tagged('item', feed.next())
      yield value
    }
  } finally {
    left.abort()
    item.catch(() => undefined)
    await feed.return?.()
  }
}

const tagged = <Type extends string, Value>(
  type: Type,
  value: Promise<Value>,
): Promise<{ readonly type: Type; readonly value: Value }> => value.then((settled) => ({ type, value: settled }))

/** Never rejects: what goes wrong with the run shows in its feed. */
const needed = (
  needs: Promise<RunWaiting | undefined>,
): Promise<{ readonly type: 'needs'; readonly value: RunWaiting | undefined }> =>
  tagged(
    'needs',
    needs.catch(() => undefined),
  )

/** Undefined: it goes on once an operator lets it, or its session is free. */
function restOf({ status, queued, questions, reason, failure }: RunWaiting): Rest | undefined {
  const asked = (queued?.needs.questions ?? questions).filter(({ kind }) => kind !== 'diverged')
  if (asked.length > 0) return { status: 'waiting', questions: asked }
  if (status === 'paused' || status === 'human_control' || status === 'queued') return undefined
  return {
    status: 'stuck',
    ...(reason === undefined ? {} : { reason }),
    ...(failure === undefined ? {} : { failure }),
  }
}
