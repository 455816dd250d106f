/**
 * FIFO lock: whose turn it is at what only one may have at a time. It is a line of those who have it and wait for it,
 * kept as one session value: an activation joins the line and leaves it.
 *
 * Owns: joining, waiting, leaving, telling the next one. Does not own: what there is to have (sessions: runtime,
 * threads of workers: ../supervisor). It is orchestration over the verbs: a crash of whoever has the turn loses
 * nothing, since it resumes and still has it. K4: the names of its steps are persistent format.
 *
 * S1: the first in a lane has the turn, and only the line says so. S2: whoever joins and leaves does so with one
 * compare-and-set each, so whoever leaves sees everybody who waits, and tells the new first one. S3: it is left in
 * every ending of the code that joined it. S4: one that has gone without leaving is taken out by whoever waits: they
 * look by and by. S5: where waits are noted, each is noted before it begins and struck out when it is over, and whoever
 * is noted is in the line: so S4 holds for the notes, too.
 */
import type { ActivationId, Json } from '../core/index.ts'
import { TypedChannel, type Arrival, type Context } from '../engine/index.ts'

/** An activation in the line of a lock: it has its turn, or waits for it. */
export interface LockEntry {
  readonly id: string
  /** Who is told when it is its turn. */
  readonly at: ActivationId
  /** For what it waits: those in other lanes are nothing to it. */
  readonly lane: string
  /** Lanes of which somebody above it has the turn, and waits for it. */
  readonly above?: readonly string[]
}

/**
 * A lock as it is stored. `passedBy` says who took whom out of the head of a lane last, so that a replay knows it too.
 */
export interface StoredLock {
  readonly all: readonly LockEntry[]
  readonly passedBy?: string
}

/** Who waits in several lines, where somebody must see all of them at once. */
export interface LockWaits {
  /** Notes that I wait, before I do. False: I may not, and am not noted. Once I am noted, it changes nothing. */
  note(ctx: Context, me: LockEntry): Promise<boolean>
  /** Notes that somebody waits no longer: it has its turn, is about to leave, or is gone. */
  strike(ctx: Context, who: LockEntry): Promise<void>
}

/** A lock: where its line is kept, and what is special about it. */
export interface FifoLock {
  /** The session value. */
  readonly key: string
  /** The type of the message that tells somebody that it is its turn. */
  readonly word: string
  read(value: Json): StoredLock
  write(stored: StoredLock): Json
  /** Whether somebody cannot be there any more, known without asking. Pure. */
  isStale?(other: LockEntry, me: LockEntry): boolean
  /** Whether I may wait behind these. Pure. Default: yes. */
  mayWait?(all: readonly LockEntry[], me: LockEntry): boolean
  /** Where waits are noted, besides. Default: nowhere. */
  readonly waits?: LockWaits
  /** Whether the first one is gone; `looks`: how often that was asked before. */
  isGone(ctx: Context, first: LockEntry, looks: number): Promise<boolean>
}

/** When somebody who waits looks whether the first one is still there. Milliseconds: the first time, and at most. */
const lookAfterMs = 5_000
const longestLookMs = 600_000

const firstOf = ({ lane }: LockEntry, all: readonly LockEntry[]): LockEntry | undefined =>
  all.find((each) => each.lane === lane)
const isQueued = (me: LockEntry, all: readonly LockEntry[]): boolean => all.some(({ id }) => id === me.id)

/** A wait for a lock. `over`: it waits no longer; `wake` tells it so. */
export interface LockWait {
  over: boolean
  wake?: (() => void) | undefined
}

/**
 * Joins the line and waits until it is my turn. Resolves to who has it: me, unless I may not wait, or do not want to
 * any more. Then I am not in the line.
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
      // a wait that ended while something was written wakes nobody any more
      if (!wait.over || ctx.wasAsked('wait')) await awaitTurn(ctx, lock, me, lookMs, wait)
      if (wait.over) {
        await removeFromLock(ctx, lock, me, me)
        return undefined
      }
      lookMs = Math.min(lookMs * 2, longestLookMs)
    }
    // who is told may have been told by anybody: the line is what counts (S1)
    all = lock.read(await ctx.values.get(lock.key)).all
    if (!isQueued(me, all)) {
      // whoever took me out has struck out my wait, too
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

/**
 * Takes somebody out of the line who may be noted as waiting: me, before I have the turn, or one that has gone (S4).
 */
export async function removeFromLock(ctx: Context, lock: FifoLock, gone: LockEntry, me: LockEntry): Promise<void> {
  await lock.waits?.strike(ctx, gone)
  await releaseLock(ctx, lock, gone, me)
}

/** Takes somebody out of the line who is not noted as waiting. Tells the next one if it was the first (S2). */
export async function releaseLock(ctx: Context, lock: FifoLock, gone: LockEntry, me: LockEntry): Promise<void> {
  const passedBy = `${gone.id} ${me.id}`
  const left = lock.read(
    await ctx.values.update(lock.key, (value) => {
      const before = lock.read(value)
      if (!isQueued(gone, before.all)) return lock.write(before)
      const all = before.all.filter(({ id }) => id !== gone.id)
      return lock.write(firstOf(gone, before.all)?.id === gone.id ? { all, passedBy } : { ...before, all })
    }),
  )
  const next = firstOf(gone, left.all)
  if (next !== undefined && next.id !== me.id && left.passedBy === passedBy)
    turnChannel(lock).send(ctx, next.at, { id: next.id })
}

/** That it is somebody's turn. */
interface LockTurn {
  readonly id: Json | undefined
}

/** By which those in a line are told that it is their turn. */
const turnChannel = ({ word }: FifoLock): TypedChannel<LockTurn> =>
  new TypedChannel(word, (member) => ({ id: member('id') }))

/** Waits until somebody says that it is my turn, but no longer than this, and no longer than it is wanted. */
async function awaitTurn(ctx: Context, lock: FifoLock, me: LockEntry, ms: number, wait: LockWait): Promise<void> {
  const timer = ctx.ask('wait', { until: new Date(ctx.now().getTime() + ms) })
  const turns = turnChannel(lock)
  const heard = await new Promise<Arrival | undefined>((resolve, reject) => {
    wait.wake = () => resolve(undefined)
    ctx.next((each) => each.id === timer || isMyTurn(turns.in(each)?.body, me)).then(resolve, reject)
  })
  wait.wake = undefined
  if (heard?.id !== timer) ctx.stop(timer, 'it is told')
}

/** Without an id it is for whoever is at that address. */
const isMyTurn = (turn: LockTurn | undefined, me: LockEntry): boolean =>
  turn !== undefined && (turn.id === undefined || turn.id === me.id)

/** How long the refusal of a message may take. Milliseconds. */
const refusalMs = 1_000

/** No activation looks at these: what counts is whether they are refused. */
const probeChannel = new TypedChannel<object>('$line.look', () => ({}))

/**
 * Whether an activation has ended: then it takes no messages any more, and whoever sends one hears so. One that is
 * there never looks at it.
 */
export async function activationHasEnded(ctx: Context, activation: ActivationId): Promise<boolean> {
  const sent = probeChannel.send(ctx, activation, {})
  const timer = ctx.ask('look', { until: new Date(ctx.now().getTime() + refusalMs) })
  const arrival = await ctx.next((each) => each.id === timer || (each.type === 'message.refused' && each.id === sent))
  if (arrival.id === timer) return false
  ctx.stop(timer, 'it is told')
  return true
}
