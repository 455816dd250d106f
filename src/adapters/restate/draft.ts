/**
 * A draft: what an activation's next commit will write.
 *
 * Owns: gathering, and cutting the draft off for a commit. Does not own: the transaction (eventstore), when it is committed (seat.ts).
 * Holds: K5 (everything learned and intended rides in one transaction).
 */
import { runOf, type ActivationId, type OutcomeStatus } from '../../core/index.ts'
import type { Recorded } from '../../journal/index.ts'
import type { AccountOp, Commit, Control, EventStore, NewBirth, NewPost, NewQuestion } from '../eventstore/index.ts'

export class Draft {
  entries: { seq: number; at: number; text: string }[] = []
  births: NewBirth[] = []
  /** How the logs of those that are another attempt begin, from what the run's logs hold when this is committed. */
  readonly attempts = new Map<ActivationId, (logs: readonly Recorded[]) => string>()
  posts: NewPost[] = []
  opened: NewQuestion[] = []
  closed: string[] = []
  taken: string[] = []
  accounts: AccountOp[] = []
  stuck: string | null | undefined
  control: Control | null | undefined
  settled: OutcomeStatus | undefined
  /** Keys of effects whose ends are among the entries. */
  steps: string[] = []

  /** True if a commit would change nothing but whether the activation rests. */
  get isEmpty(): boolean {
    const { entries, births, posts, opened, closed, taken, accounts } = this
    const lists = [entries, births, posts, opened, closed, taken, accounts]
    return lists.every(({ length }) => length === 0) && this.stuck === undefined && this.control === undefined
  }

  /** Its births, with what other attempts at their work have done by now. */
  async born(store: Pick<EventStore, 'read'>, activation: ActivationId): Promise<readonly NewBirth[]> {
    if (this.attempts.size === 0) return this.births
    const logs = await store.read(runOf(activation), 0)
    return this.births.map((birth) => ({ ...birth, first: this.attempts.get(birth.id)?.(logs) ?? birth.first }))
  }

  commit(activation: ActivationId, epoch: number, now: number, state: { readonly working: boolean; readonly resting: boolean }): Commit {
    const { entries, births, posts, opened, closed, taken, accounts, stuck, control, settled } = this
    return {
      activation,
      epoch,
      now,
      entries,
      births,
      posts,
      opened,
      closed,
      taken,
      accounts,
      ...state,
      ...(stuck === undefined ? {} : { stuck }),
      ...(control === undefined ? {} : { control }),
      ...(settled === undefined ? {} : { settled }),
    }
  }
}
