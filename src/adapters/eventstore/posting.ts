/**
 * Rows for other activations' inboxes, in the transaction of the commit that sends them.
 *
 * Owns: who gets a row, who hears that nobody took it, and whose invocation is to be told.
 * Holds: K2 (the first row under a key wins).
 */
import { runOf, type ActivationId } from '../../core/index.ts'
import type { NewPost } from './port.ts'
import { insert, inserted, marks, rowsOf, statement, tell, write, type Statement, type Work } from './sql.ts'

interface Target {
  readonly id: ActivationId
  readonly settled: number
  readonly invocation: string | null
  readonly notified: number
  readonly ended: number | null
}

const refusal = (id: string, reason: 'unknown' | 'closed'): string => JSON.stringify({ type: 'refused', id, reason })

/** Delivers what `sender` posts. Returns the invocations to be told; its own, too, if something came back. */
export function* deliver(sender: ActivationId, posts: readonly NewPost[]): Work<readonly string[]> {
  if (posts.length === 0) return []
  const targets = yield* find([...new Set([sender, ...posts.map(({ to }) => to)])])
  const rows: string[][] = []
  const refused: string[][] = []
  for (const { to, key, body, refusable } of posts) {
    const target = targets.get(to)
    const over = target === undefined ? 'unknown' : target.settled === 1 || target.ended !== null ? 'closed' : undefined
    if (over === undefined) rows.push([runOf(to), to, key, body])
    // The refusal is in the sender's inbox in the same transaction: a crash does not lose it.
    else if (refusable) refused.push([runOf(sender), sender, `refused:${key}`, refusal(key, over)])
  }
  const fresh = yield* inserted<{ act: ActivationId }>('inbox(run, act, key, body)', rows, 'ON CONFLICT(act, key) DO NOTHING RETURNING act')
  yield* insert('inbox(run, act, key, body)', refused, 'ON CONFLICT(act, key) DO NOTHING')
  const moved = new Set(fresh.map(({ act }) => act))
  if (refused.length > 0 && targets.get(sender)?.settled === 0) moved.add(sender)
  yield* rouse([...moved])
  const elsewhere = new Set([...moved].map(runOf).filter((run) => run !== runOf(sender)))
  for (const run of elsewhere) yield* tell(run)
  return [...moved].flatMap((id) => {
    const { invocation, notified } = targets.get(id)!
    return invocation === null || notified === 1 ? [] : [invocation]
  })
}

/** Whoever has unread mail does not rest; an invocation is told of it once until it has looked. */
export function* rouse(ids: readonly ActivationId[]): Work<void> {
  if (ids.length > 0)
    yield* write(
      `UPDATE activation SET resting = 0, notified = CASE WHEN invocation IS NULL THEN 0 ELSE 1 END WHERE id IN (${marks(ids.length)}) AND settled = 0`,
      ...ids,
    )
}

/**
 * Posts to other runs: theirs and the sender's are held from the start, and always in the same order, so that two that post to each other do not wait
 * for each other.
 */
export function lockOf(sender: ActivationId, posts: readonly NewPost[]): readonly Statement[] {
  const runs = [...new Set([runOf(sender), ...posts.map(({ to }) => runOf(to))])]
  return runs.length === 1 ? [] : [statement(`SELECT id FROM run WHERE id IN (${marks(runs.length)}) ORDER BY id FOR UPDATE`, ...runs)]
}

function* find(ids: readonly ActivationId[]): Work<ReadonlyMap<ActivationId, Target>> {
  const look = 'SELECT a.id, a.settled, a.invocation, a.notified, r.ended FROM activation a JOIN run r ON r.id = a.run'
  const targets = yield* rowsOf<Target>(`${look} WHERE a.id IN (${marks(ids.length)})`, ...ids)
  return new Map(targets.map((target) => [target.id, target]))
}
