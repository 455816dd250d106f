/**
 * Staff: who joins a team and who leaves it while it works, at whose wish.
 *
 * Owns: the clerks for recruiting, retiring and for who is there; the lead; when it is too late for any of it. Does not
 * own: how a wish is decided (recruiting.ts, retiring.ts), what anybody does (../work).
 * Holds: K3: a wish is decided when its word is heard, or when the last who was asked of it has answered; K8: what is
 * undecided when the work is given up is refused, and nobody is asked any more.
 */
import type { Json, JsonObject } from '../../core/index.ts'
import { replyToCommand, type ReceivedCommand } from '../../agent/index.ts'
import type { Clerks } from '../mail/command-handlers.ts'
import type { Entry } from '../schedule/task-graph.ts'
import { LeadConsultation, type Lead } from './lead.ts'
import { Recruiting, type StaffParts } from './recruiting.ts'
import { Retiring } from './retiring.ts'

export class Staff {
  readonly #parts: StaffParts
  readonly #recruiting: Recruiting
  readonly #retiring: Retiring
  readonly #lead: LeadConsultation | undefined
  #undecided = 0
  #closed = false
  #stopped = false

  /** `send`: how the lead's mail is taken. */
  constructor(parts: Omit<StaffParts, 'isClosed'>, lead: Lead | undefined, send: Clerks['send']) {
    this.#parts = {
      ...parts,
      ctx: parts.ctx.scope('staff'),
      isClosed: () => this.#closed || parts.work.closed !== undefined,
    }
    this.#recruiting = new Recruiting(this.#parts)
    this.#retiring = new Retiring(this.#parts)
    this.#lead =
      lead === undefined ? undefined : new LeadConsultation(lead, this.#parts, () => ({ ...this.clerks, send }))
  }

  readonly clerks: Pick<Clerks, 'recruit' | 'retire' | 'team'> = {
    recruit: ({ wish }, speaker, heard) => this.#later(heard, this.#recruiting.recruit(wish, speaker, heard.id)),
    retire: ({ wish }, speaker, heard) => this.#later(heard, this.#retiring.retire(wish, speaker, heard.id)),
    team: ({ role }) => ({ team: this.#parts.directory.list(role) as unknown as Json }),
  }

  /** Whether it is open what becomes of somebody's wish. */
  get isUndecided(): boolean {
    return this.#undecided > 0
  }

  /** A task has ended. */
  settled(entry: Entry): void {
    if (entry.failure !== undefined) this.#parts.directory.tried(entry.member, entry.attempts, entry.failure.message)
    this.#lead?.settled(entry)
  }

  /** Something has moved; where that was the end of the work, nobody is asked about anything any more. */
  progress(): void {
    if (this.#parts.work.closed !== undefined) this.#stopAsking()
  }

  /** The work has ended: from here on nobody joins and nobody leaves. */
  close(): void {
    this.#closed = true
    this.#stopAsking()
  }

  #stopAsking(): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#parts.ctx.stopAll('the work of the team has ended')
  }

  #later(heard: ReceivedCommand, decision: Promise<object>): undefined {
    const { ctx, work } = this.#parts
    const decided = async (): Promise<void> => {
      const reply = await decision
      this.#undecided--
      replyToCommand(ctx, heard, reply as JsonObject)
      work.advance()
    }
    this.#undecided++
    decided().catch(work.leave)
    return undefined
  }
}
