/**
 * Deadlocks: checks whether every member of a team can still go on, whenever something has changed, and sets free who
 * cannot.
 *
 * Owns: the picture of who waits for whom, whom it breaks at, the fact. Does not own: the graph's rule (wait-graph.ts),
 * waits (../mail, spending.ts), what the one who waited does then.
 * Holds: K3: it follows from the task graph and the waits, which follow from recorded arrivals. No sender outside is
 * counted on, unless a member waits for it.
 */
import { failure } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Directory } from '../state/directory.ts'
import { hasEnded, type TaskGraph, type Entry } from '../state/task-graph.ts'
import { stuckAmong, type Stuck, type Waiter } from './wait-graph.ts'
import type { Scheduler } from '../schedule/scheduler.ts'

/** A member that waits for mail. */
export interface MailWaiter {
  readonly entry: Entry
  /** Of this member only, `lead`, or `operator`. */
  readonly from?: string
  /** It will not wait for ever. */
  readonly bounded?: boolean
}

/** Who waits for mail, in the order in which they began to, and how such a wait is ended. */
export interface MailWaits {
  waiting(): readonly MailWaiter[]
  /** Whether a policy or human is deciding on this mail right now. */
  readonly undecided: boolean
  failWait(entry: Entry, message: string, cycle: readonly string[]): void
}

/** Which tasks wait for room in the budget, and how such a wait is ended. */
export interface RoomWaits {
  /** Whose ends it waits for, as tasks: one of them may be enough. Undefined: it does not wait for room. */
  awaited(entry: Entry): readonly string[] | undefined
  refuse(entry: Entry): void
}

/** What a look is taken at. */
export interface DeadlockParts {
  readonly graph: TaskGraph
  readonly directory: Pick<Directory, 'get' | 'isThere' | 'mayJoin'>
  readonly work: Pick<Scheduler, 'awaited' | 'closed' | 'leave' | 'running' | 'settle' | 'waitsForHuman' | 'watch'>
  readonly mail: MailWaits
  readonly room: RoomWaits
  /** Whether there is a lead, who may write. */
  readonly hasLead: boolean
  /** Whether a policy, a human or the lead is asked right now and may let a sender in. */
  readonly isUndecided: () => boolean
}

export class Deadlocks {
  readonly #ctx: Context
  readonly #parts: DeadlockParts
  #looking = false
  /** How many attempts have ended, and of how many of them all mail has come in. */
  #ends = 0
  #heardOf = 0
  #callOff: (() => void) | undefined

  constructor(ctx: Context, parts: DeadlockParts) {
    this.#ctx = ctx.scope('deadlocks')
    this.#parts = parts
  }

  /** An attempt has ended. What was sent just before may come in after it. */
  attemptEnded(): void {
    this.#ends++
  }

  /**
   * Something has changed: ends every wait that would never end, the one that closed the circle first. Cheap while no
   * member waits for mail.
   */
  look(): void {
    if (this.#looking) return
    this.#looking = true
    try {
      let stuck = this.#stuck()
      for (; stuck !== undefined && this.#hasAllMail(); stuck = this.#stuck()) this.#break(stuck)
      if (stuck === undefined) this.close()
    } finally {
      this.#looking = false
    }
  }

  /** No member waits for what may be under way. */
  close(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #stuck(): Stuck | undefined {
    const { work, mail } = this.#parts
    if (work.closed !== undefined || mail.undecided) return undefined
    const waits = mail.waiting()
    if (waits.length === 0) return undefined
    const atMail = new Set(waits.map(({ entry }) => entry))
    const moving = new Set(work.running.filter((each) => !atMail.has(each)))
    if (
      waits.every(
        (wait) => this.#isOpen(wait) || (wait.from === undefined ? moving.size > 0 : moving.has(this.#sender(wait)!)),
      )
    )
      return undefined
    // who waits since shortest comes first: a circle that was closed just now is theirs
    const since = new Map(waits.map(({ entry }, i) => [entry.id, i]))
    const place = ({ name }: Waiter): number => since.get(name) ?? -1
    return stuckAmong(this.#waiters(waits).toSorted((one, other) => place(other) - place(one)))
  }

  /** Whether what it waits for needs no member of the team. */
  #isOpen({ entry, from, bounded }: MailWaiter): boolean {
    return bounded === true || from === 'operator' || this.#parts.work.waitsForHuman(entry)
  }

  #sender({ from }: MailWaiter): Entry | undefined {
    return from === undefined ? undefined : this.#parts.graph.ofMember(from)
  }

  #waiters(waits: readonly MailWaiter[]): readonly Waiter[] {
    const { graph, isUndecided } = this.#parts
    const open = graph.all.filter((each) => !hasEnded(each))
    const mayCome = isUndecided()
    const byEntry = new Map(waits.map((wait) => [wait.entry, wait]))
    return open.map((entry): Waiter => {
      const name = entry.id
      const wait = byEntry.get(entry)
      if (wait === undefined) return this.#worker(entry)
      const sender = this.#sender(wait)
      if (this.#isOpen(wait)) return { name, needs: 'nothing' }
      if (sender !== undefined) return { name, needs: 'any', of: [sender.id] }
      if (!this.#mayWrite(wait.from)) return { name, needs: 'any', of: [] }
      return mayCome
        ? { name, needs: 'nothing' }
        : { name, needs: 'any', of: open.filter((each) => each !== entry).map(({ id }) => id) }
    })
  }

  /** A member that does not wait for mail. */
  #worker(entry: Entry): Waiter {
    const { room, work } = this.#parts
    const { id: name, status } = entry
    if (status === 'waiting') return { name, needs: 'all', of: work.awaited(entry).map(({ id }) => id) }
    const holders = room.awaited(entry)
    return holders === undefined ? { name, needs: 'nothing' } : { name, needs: 'any', of: holders }
  }

  /** Whether a sender of this name may write that is no member now: the lead, or one that has yet to join. */
  #mayWrite(from: string | undefined): boolean {
    if (from === undefined) return true
    return from === 'lead' ? this.#parts.hasLead : this.#parts.directory.mayJoin(from)
  }

  /** Whether all mail has come in of those who have ended. If not, it looks again when it has. */
  #hasAllMail(): boolean {
    if (this.#heardOf === this.#ends) return true
    const { work } = this.#parts
    const ends = this.#ends
    const ring = (): void => {
      this.#callOff = undefined
      this.#heardOf = ends
      this.look()
    }
    this.#callOff ??= work.watch.alarm(this.#ctx, 'last-mail', 0, { ring, reject: work.leave })
    return false
  }

  #break({ cycle: found, names }: Stuck): void {
    const { graph, mail, room, work } = this.#parts
    const cycle = inPlanOrder(found, graph)
    // a working member goes on without the pending one
    const short = cycle.map((id) => graph.get(id)!).find((each) => room.awaited(each) !== undefined)
    if (short !== undefined) {
      this.#ctx.emit({ type: 'deadlock.found', kind: 'deadlock', cycle, message: this.#told(cycle, undefined) })
      return room.refuse(short)
    }
    const waits = mail.waiting()
    const hit =
      waits.findLast(({ entry }) => cycle.includes(entry.id)) ?? waits.findLast(({ entry }) => names.includes(entry.id))
    const entry = hit?.entry ?? graph.get(cycle[0]!)!
    const message = this.#told(cycle, hit)
    this.#ctx.emit({ type: 'deadlock.found', kind: 'deadlock', cycle, message })
    if (hit !== undefined) mail.failWait(entry, message, cycle)
    else
      work.settle(entry, 'failed', {
        failure: failure('team.deadlock', message, 'policy', { details: { cycle: [...cycle] } }),
      })
  }

  #told(cycle: readonly string[], hit: MailWaiter | undefined): string {
    const way = [...cycle, cycle[0]].join(' > ')
    if (hit === undefined) return `these wait for each other: ${way}`
    const { directory } = this.#parts
    const { entry, from } = hit
    const who = `"${entry.member}" waits for mail`
    if (from !== undefined && directory.get(from) !== undefined && !directory.isThere(from))
      return `${who} of "${from}", who has ended`
    if (from === entry.member) return `${who} of itself`
    if (cycle.length > 1) return `${who} that can never come, because these wait for each other: ${way}`
    return `${who}${from === undefined ? '' : ` of "${from}"`}, and no member is left who could send any`
  }
}

/** The same cycle, beginning with the task that comes first. */
function inPlanOrder(cycle: readonly string[], graph: TaskGraph): readonly string[] {
  const first = graph.all.find(({ id }) => cycle.includes(id))
  const at = cycle.indexOf(first?.id ?? cycle[0]!)
  return [...cycle.slice(at), ...cycle.slice(0, at)]
}
