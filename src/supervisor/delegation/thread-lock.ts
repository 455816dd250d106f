/**
 * The lock of a thread: a line for each thread, and one list of those who wait below another thread.
 *
 * Owns: where both are kept, who closes a circle of waits. Does not own: how a FIFO lock works (agent/fifo-lock.ts),
 * when a delegation wants a thread (worker-memory.ts).
 * K4: `$thread.<thread>`, `$threads.waiting` and, of earlier journals, `$threads` are persistent format.
 *
 * T1: nobody begins to wait in a circle. Whoever waits below a thread is on the one list from before it waits until it
 * does not wait any more, and is put there only if that closes no circle with those who are on it: of any circle the
 * last one to be put there would have seen all the others, in whatever processes they are. T2: whoever holds no thread
 * above is in no circle, and is not on the list. Those who have their thread need not be on it: all that they wait for
 * is below them, and whoever waits there names every thread above itself.
 *
 * A run that was begun by an earlier Reeve, in which all threads had one line in one value, ends what it had in that
 * line there. Within one activation those that begin now wait for it; other activations do not see it, and may show a
 * worker the memory of the thread while such a delegation is at work. So let runs with delegations under way end before
 * another version drives them.
 */
import { activationHasEnded, type FifoLock, type LockEntry, type StoredLock } from '../../agent/index.ts'
import { isObject, rootRun, runOf, type Json } from '../../core/index.ts'

/** What is the same for every line of threads. */
const threadLockRules = {
  word: '$thread.your-turn',
  // runs of a session come one at a time: what another one has left is not waited for
  isStale: ({ at }, me) => rootRun(runOf(at)) !== rootRun(runOf(me.at)),
  // whoever leads leaves in every ending of its code; only one that ended with the work still open has not
  isGone: async (ctx, { at }, looks) => looks > 0 && at !== ctx.place.activation && activationHasEnded(ctx, at),
} satisfies Partial<FifoLock>

/** The line of one thread. Its name is in the key of the value, and not with each who stands in it. */
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

/**
 * The line of all threads of a session, as earlier journals have it: one value, in which a circle shows when somebody
 * joins.
 */
export const earlierLock: FifoLock = {
  ...threadLockRules,
  key: '$threads',
  read: readLock,
  write: (line) => line as unknown as Json,
  mayWait: (all, me) => !closesCircle(all, me),
}

/** Those who wait below a thread, in all lines. */
const waitingKey = '$threads.waiting'
const waitingIn = (value: Json): readonly LockEntry[] =>
  Array.isArray(value) ? (value as readonly Json[] as readonly unknown[] as readonly LockEntry[]) : []
const isBelow = ({ above = [] }: LockEntry): boolean => above.length > 0

function readLock(value: Json): StoredLock {
  const { all, passedBy } = isObject(value) && Array.isArray(value['all']) ? value : { all: [] as Json }
  return { all: all as unknown as readonly LockEntry[], ...(typeof passedBy === 'string' ? { passedBy } : undefined) }
}

/** Whether those for whom I would wait wait, somewhere below them, for something that waits for me. Pure. */
function closesCircle(all: readonly LockEntry[], { lane, above = [] }: LockEntry): boolean {
  const needed = new Set([lane])
  for (let size = 0; size !== needed.size;) {
    size = needed.size
    for (const each of all) if (each.above?.some((held) => needed.has(held)) === true) needed.add(each.lane)
  }
  return above.some((held) => needed.has(held))
}
