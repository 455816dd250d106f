/**
 * Deadlocks: looks whether everybody of a team can still go on, whenever something has changed, and sets free who cannot.
 *
 * Owns: the picture of who waits for whom, whom it breaks at, the fact. Does not own: the graph's rule (wait-graph.ts), what the one who waited does then.
 * Holds: K3: it follows from the book and the waits, which follow from recorded arrivals. Nobody outside is counted on, unless somebody waits for them.
 */
import type { Context } from '../../engine/index.ts'
import { failure } from '../../core/index.ts'
import { hasEnded, type Book, type Entry } from './book.ts'
import { stuckAmong, type Waiter } from './wait-graph.ts'
import type { Work } from './work.ts'

/** Somebody who waits for mail. */
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
  failWait(entry: Entry, message: string): void
}

/** What a look is taken at. */
export interface DeadlockParts {
  readonly book: Book
  readonly work: Work
  readonly mail: MailWaits
  /** Whether somebody is asked right now (a policy, the lead) who may let a sender in. */
  readonly undecided: () => boolean
}

/** Ends every wait that would never end, the one that closed the circle first. Cheap while nobody waits for mail. */
export function breakDeadlocks(ctx: Context, parts: DeadlockParts): void {
  for (;;) {
    const waits = parts.mail.waiting()
    if (waits.length === 0) return
    const stuck = stuckAmong(waitersOf(parts, waits))
    if (stuck === undefined) return
    const { cycle, names } = stuck
    const hit = waits.findLast(({ entry }) => cycle.includes(entry.id)) ?? waits.findLast(({ entry }) => names.includes(entry.id))
    const message = told(parts.book, cycle, hit)
    ctx.emit({ type: 'deadlock.found', kind: 'deadlock', cycle, message })
    if (hit !== undefined) parts.mail.failWait(hit.entry, message)
    else {
      const entry = parts.book.get(cycle[0]!)
      if (entry === undefined) return
      parts.work.settle(entry, 'failed', { failure: failure('team.deadlock', message, 'policy', { details: { cycle: [...cycle] } }) })
    }
  }
}

function waitersOf({ book, work, undecided }: DeadlockParts, waits: readonly MailWaiter[]): readonly Waiter[] {
  const open = book.all.filter((each) => !hasEnded(each))
  const others = (me: Entry): readonly string[] => open.filter((each) => each !== me).map(({ id }) => id)
  const mayCome = undecided()
  return open.map((entry): Waiter => {
    const name = entry.id
    const wait = waits.find((each) => each.entry === entry)
    if (wait !== undefined) {
      const { from, bounded } = wait
      if (bounded === true || from === 'operator') return { name, needs: 'nothing' }
      const sender = from === undefined || from === 'lead' ? undefined : book.ofMember(from)
      if (sender !== undefined) return { name, needs: 'any', of: [sender.id] }
      if (from !== undefined && from !== 'lead' && !mayCome) return { name, needs: 'any', of: [] }
      return mayCome ? { name, needs: 'nothing' } : { name, needs: 'any', of: others(entry) }
    }
    return entry.status === 'waiting' ? { name, needs: 'all', of: work.awaited(entry).map(({ id }) => id) } : { name, needs: 'nothing' }
  })
}

function told(book: Book, cycle: readonly string[], hit: MailWaiter | undefined): string {
  const way = [...cycle, cycle[0]].join(' > ')
  if (hit === undefined) return `these wait for each other: ${way}`
  const { entry, from } = hit
  const sender = from === undefined ? undefined : book.ofMember(from)
  if (sender !== undefined && hasEnded(sender)) return `"${entry.member}" waits for mail of "${from}", who has ended`
  if (cycle.length > 1) return `"${entry.member}" waits for mail that can never come, because these wait for each other: ${way}`
  return `"${entry.member}" waits for mail${from === undefined ? '' : ` of "${from}"`}, and nobody is left who could send any`
}
