/**
 * The whole feed: the events of a run and its child runs.
 *
 * Owns: reading them. Does not own: their order (journal views).
 */
import type { RunId } from '../../core/index.ts'
import type { Engine } from '../../engine/index.ts'
import { childRunsIn, woven, type Recorded } from '../../journal/index.ts'

/**
 * The feed of a run with those of its child runs. Reads all of them each time; the events of a child run come before
 * the event of its end.
 */
export async function wholeFeed(engine: Pick<Engine, 'read'>, run: RunId): Promise<readonly Recorded[]> {
  const feed = await engine.read(run)
  const children = new Map<RunId, readonly Recorded[]>()
  for (const open = [...childRunsIn(feed)]; open.length > 0;) {
    const child = open.pop()!
    children.set(child, await engine.read(child))
    open.push(...childRunsIn(children.get(child)!))
  }
  return woven(feed, children)
}
