/**
 * Thread lock: a FIFO lock for each thread, and one register of the waits of work that runs below another thread.
 *
 * Owns: where both are kept, the check for cycles of waits. Does not own: how a FIFO lock works
 * (../../agent/fifo-lock.ts), when a delegation wants a thread (worker-memory.ts).
 * K4: `$thread.<thread>` and `$threads.waiting` are persistent format.
 *
 * T1: no wait closes a cycle. Work below a thread is in the register from before its wait until the wait ends. It
 * enters only if that closes no cycle with the entries there. In any cycle the last to enter would have seen all
 * others, in whatever process. T2: work without a thread above it is in no cycle, and not in the register. Holders of a
 * thread need no entry: they only wait for work below them, and its entries name every thread above it.
 */
import { activationHasEnded, passedByIn, type FifoLock, type LockEntry, type StoredLock } from '@reeve/agent'
import { isObject, rootRun, runOf, type Json } from '@reeve/core'

/** The rules that all thread locks share. */
const threadLockRules = {
  messageType: '$thread.your-turn',
  // runs of a session run one at a time, so entries of another run are stale
  isStale: ({ at }, me) => rootRun(runOf(at)) !== rootRun(runOf(me.at)),
  // a leader leaves in each ending of its code, unless it ended with work still pending
  isGone: async (ctx, { at }, looks) => looks > 0 && at !== ctx.place.activation && activationHasEnded(ctx, at),
} satisfies Partial<FifoLock>

/** The lock of one thread. Its lane is in the key of the value, not in each entry. */
export const lockOfThread = (thread: string): FifoLock => ({
  ...threadLockRules,
  key: `$thread.${thread}`,
  read(value) {
    const { all, ...rest } = readLock(value)
    return { ...rest, all: all.map((each) => ({ ...each, lane: thread })) }
  },
  write: ({ all, ...rest }) => ({ ...rest, all: all.map(({ lane: _, ...each }) => each as unknown as Json) }),
  waits: {
    async note({ values }, me) {
      if (!isBelow(me)) return true
      const noted = await values.update(waitingKey, (value) => {
        const there = waitingIn(value).filter((each) => !threadLockRules.isStale(each, me))
        const stays = there.some(({ id }) => id === me.id) || closesCircle(there, me)
        return (stays ? there : [...there, me]) as unknown as Json
      })
      return waitingIn(noted).some(({ id }) => id === me.id)
    },
    async strike({ values }, who) {
      if (isBelow(who))
        await values.update(
          waitingKey,
          (value) => waitingIn(value).filter(({ id }) => id !== who.id) as unknown as Json,
        )
    },
  },
})

/** The register of waits below a thread, across all locks. */
const waitingKey = '$threads.waiting'
const waitingIn = (value: Json): readonly LockEntry[] =>
  Array.isArray(value) ? (value as readonly Json[] as readonly unknown[] as readonly LockEntry[]) : []
const isBelow = ({ above = [] }: LockEntry): boolean => above.length > 0

function readLock(value: Json): StoredLock {
  if (!isObject(value) || !Array.isArray(value['all'])) return { all: [] }
  return { all: value['all'], ...passedByIn(value) }
}

/** Whether waiting closes a cycle: an entry that this wait needs waits, directly or indirectly, for this one. Pure. */
function closesCircle(all: readonly LockEntry[], { lane, above = [] }: LockEntry): boolean {
  const needed = new Set([lane])
  for (let size = 0; size !== needed.size;) {
    size = needed.size
    for (const each of all) if (each.above?.some((lane) => needed.has(lane)) === true) needed.add(each.lane)
  }
  return above.some((lane) => needed.has(lane))
}
