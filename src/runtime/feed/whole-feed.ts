/**
 * Whole feeds: what a run and its child runs have recorded.
 *
 * Owns: reading them. Does not own: their order (journal/views/woven.ts).
 */
import type { RunId } from '../../core/index.ts'
import type { Engine } from '../../engine/index.ts'
import { childRunsIn, woven, type Recorded } from '../../journal/index.ts'

/**
 * The feed of a run with those of its child runs. Read anew each time: what has ended stands before what tells of its
 * end.
 */
export async function wholeFeed(engine: Engine, run: RunId): Promise<readonly Recorded[]> {
  const feed = await engine.read(run)
  const children = new Map<RunId, readonly Recorded[]>()
  for (const open = [...childRunsIn(feed)]; open.length > 0;) {
    const child = open.pop()!
    children.set(child, await engine.read(child))
    open.push(...childRunsIn(children.get(child)!))
  }
  return woven(feed, children)
}
