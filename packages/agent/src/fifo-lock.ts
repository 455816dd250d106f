/**
 * FIFO lock: a durable lock with a queue. The holder and the waiting activations form one queue, kept in one session
 * value.
 *
 * Owns: joining, waiting, leaving, notifying the next entry. Does not own: what the lock protects (sessions: runtime,
 * threads of workers: ../supervisor). It is orchestration over the verbs, so a crashed holder loses nothing: it resumes
 * and still holds the lock. K4: the names of its steps are persistent format.
 *
 * S1: the first entry of a lane holds the lock, and only the queue decides that. S2: joining and leaving are one
 * compare-and-set each, so an entry that leaves sees all waiting entries and notifies the new first one. S3: the code
 * that joined leaves in each of its endings. S4: an entry whose activation ended without leaving is removed by the
 * waiting ones, which check from time to time. S5: where waits are registered, each is registered before it begins and
 * removed when it ends. A registered entry is always in the queue, so S4 also covers the register.
 */
import type { ActivationId, Json, JsonObject } from '@reeve/core'
import { TypedChannel, type Arrival, type Context } from '@reeve/engine'

/** An entry in the queue of a lock: it holds the lock, or waits for it. */
export interface LockEntry {
  readonly id: string
  /** The activation to notify when it holds the lock. */
  readonly at: ActivationId
  /** What it waits for. Entries in other lanes do not block it. */
  readonly lane: string
  /** Lanes that an activation above it holds while waiting for it. */
  readonly above?: readonly string[]
}

/**
 * A stored lock. `passedBy` names the last entry removed from the head of a lane and the one that removed it, so that a
 * replay knows it too. Both are texts of their own: a fork renames its origin's activations in what it copies.
 */
export interface StoredLock {
  readonly all: readonly LockEntry[]
  readonly passedBy?: readonly [gone: string, by: string]
}

/** The member `passedBy` of a stored lock. */
export const passedByIn = (value: JsonObject): Pick<StoredLock, 'passedBy'> => {
  const recorded = value['passedBy']
  if (!Array.isArray(recorded)) return {}
  const [gone, by] = recorded as readonly Json[]
  return typeof gone === 'string' && typeof by === 'string' ? { passedBy: [gone, by] } : {}
}

/** A register of waits across several queues, where cycles must be detected. */
export interface LockWaits {
  /**
   * Registers the wait of `me` before it begins. False: it may not wait, and is not registered. Repeating it changes
   * nothing.
   */
  note(ctx: Context, me: LockEntry): Promise<boolean>
  /** Removes the wait of an entry that holds its lock, is about to leave, or is gone. */
  strike(ctx: Context, who: LockEntry): Promise<void>
}

/** A lock: where its queue is kept, and its rules. */
export interface FifoLock {
  /** The key of the session value. */
  readonly key: string
  /** The type of the message that notifies the next holder. */
  readonly messageType: string
  read(value: Json): StoredLock
  write(stored: StoredLock): Json
  /** Whether an entry is certainly gone, without asking. Pure. Default: no. */
  isStale?(other: LockEntry, me: LockEntry): boolean
  /** Whether `me` may wait behind these entries. Pure. Default: yes. */
  mayWait?(all: readonly LockEntry[], me: LockEntry): boolean
  /** The register of waits. Default: none. */
  readonly waits?: LockWaits
  /** Whether the first entry is gone. `looks`: how many checks came before. */
  isGone(ctx: Context, first: LockEntry, looks: number): Promise<boolean>
}

/**
 * Delay before a waiting entry checks whether the holder still exists, in milliseconds: the first delay, and the
 * longest.
 */
const lookAfterMs = 5_000
const longestLookMs = 600_000

const firstOf = ({ lane }: LockEntry, all: readonly LockEntry[]): LockEntry | undefined =>
  all.find((each) => each.lane === lane)
const isQueued = (me: LockEntry, all: readonly LockEntry[]): boolean => all.some(({ id }) => id === me.id)

/** A wait for a lock. `over`: it was given up; `wake` interrupts it then. */
export interface LockWait {
  over: boolean
  wake?: (() => void) | undefined
}

/**
 * Joins the queue and waits for the lock. Resolves to its holder: `me`, unless it may not wait or gave up. Then it is
 * no longer in the queue.
 */
export async function acquireLock(
  ctx: Context,
  lock: FifoLock,
  me: LockEntry,
  wait: LockWait = { over: false },
): Promise<LockEntry | undefined> {
  let all = await joinQueue(ctx, lock, me)
  let isNoted = false
  let lookMs = lookAfterMs
  for (let looks = 0; ; looks++) {
    const first = firstOf(me, all)
    if (first?.id === me.id) {
      if (isNoted) await lock.waits?.strike(ctx, me)
      return first
    }
    if (first !== undefined && (await lock.isGone(ctx, first, looks))) await removeFromLock(ctx, lock, first, me)
    else if (!isQueued(me, all)) return first
    else {
      if (lock.waits !== undefined && !isNoted) {
        isNoted = await lock.waits.note(ctx, me)
        if (!isNoted) {
          await releaseLock(ctx, lock, me, me)
          return first
        }
      }
      // a wait that was given up during a write has no one to wake it
      if (!wait.over || ctx.wasAsked('wait')) await awaitTurn(ctx, lock, me, lookMs, wait)
      if (wait.over) {
        await removeFromLock(ctx, lock, me, me)
        return undefined
      }
      lookMs = Math.min(lookMs * 2, longestLookMs)
    }
    // any activation may send a notification: only the queue counts (S1)
    all = lock.read(await ctx.values.get(lock.key)).all
    if (!isQueued(me, all)) {
      // the entry that removed `me` also removed its wait
      isNoted = false
      all = await joinQueue(ctx, lock, me)
    }
  }
}

async function joinQueue(ctx: Context, lock: FifoLock, me: LockEntry): Promise<readonly LockEntry[]> {
  const joined = await ctx.values.update(lock.key, (value) => {
    const { all, ...rest } = lock.read(value)
    const there = all.filter((each) => lock.isStale?.(each, me) !== true)
    const stays = isQueued(me, there) || (firstOf(me, there) !== undefined && lock.mayWait?.(there, me) === false)
    return lock.write({ ...rest, all: stays ? there : [...there, me] })
  })
  return lock.read(joined).all
}

/** Removes an entry that may be registered as waiting: `me` before it holds the lock, or one that is gone (S4). */
export async function removeFromLock(ctx: Context, lock: FifoLock, gone: LockEntry, me: LockEntry): Promise<void> {
  await lock.waits?.strike(ctx, gone)
  await releaseLock(ctx, lock, gone, me)
}

/** Removes an entry that is not registered as waiting. Notifies the next entry if it was the first (S2). */
export async function releaseLock(ctx: Context, lock: FifoLock, gone: LockEntry, me: LockEntry): Promise<void> {
  const passedBy = [gone.id, me.id] as const
  const left = lock.read(
    await ctx.values.update(lock.key, (value) => {
      const before = lock.read(value)
      if (!isQueued(gone, before.all)) return lock.write(before)
      const all = before.all.filter(({ id }) => id !== gone.id)
      return lock.write(firstOf(gone, before.all)?.id === gone.id ? { all, passedBy } : { ...before, all })
    }),
  )
  const next = firstOf(gone, left.all)
  if (next !== undefined && next.id !== me.id && left.passedBy?.[0] === gone.id && left.passedBy[1] === me.id)
    turnChannel(lock).send(ctx, next.at, { id: next.id })
}

/** The message that an entry holds the lock now. */
interface LockTurn {
  readonly id: Json | undefined
}

/** The channel that notifies the next holder. */
const turnChannel = ({ messageType }: FifoLock): TypedChannel<LockTurn> =>
  new TypedChannel(messageType, (member) => ({ id: member('id') }))

/** Waits for the notification, at most `ms` milliseconds, and only while the wait is not given up. */
async function awaitTurn(ctx: Context, lock: FifoLock, me: LockEntry, ms: number, wait: LockWait): Promise<void> {
  const timer = ctx.ask('wait', { until: new Date(ctx.now().getTime() + ms) })
  const turns = turnChannel(lock)
  const heard = await new Promise<Arrival | undefined>((resolve, reject) => {
    const wake = (): void => resolve(undefined)
    wait.wake = wake
    ctx.next((each) => each.id === timer || isMyTurn(turns.in(each)?.body, me)).then(resolve, reject)
  })
  wait.wake = undefined
  if (heard?.id !== timer) ctx.stop(timer, 'it is told')
}

/** A notification without an id is for every entry of that activation. */
const isMyTurn = (turn: LockTurn | undefined, me: LockEntry): boolean =>
  turn !== undefined && (turn.id === undefined || turn.id === me.id)

/** How long the refusal of a message may take, in milliseconds. */
const refusalMs = 1_000

/** No activation reads these messages: they only test whether messages are refused. */
const probeChannel = new TypedChannel<object>('$line.look', () => ({}))

/** Whether an activation has ended. An ended activation refuses messages; a live one ignores this one. */
export async function activationHasEnded(ctx: Context, activation: ActivationId): Promise<boolean> {
  const sent = probeChannel.send(ctx, activation, {})
  const timer = ctx.ask('look', { until: new Date(ctx.now().getTime() + refusalMs) })
  const arrival = await ctx.next((each) => each.id === timer || (each.type === 'message.refused' && each.id === sent))
  if (arrival.id === timer) return false
  ctx.stop(timer, 'it is told')
  return true
}
