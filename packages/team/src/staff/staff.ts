/**
 * Staff: members that join and leave a team while it works, on request.
 *
 * Owns: the command handlers for recruitment, retirement and the member list; the lead; when it is too late for any of
 * it. Does not own: how a request is decided (recruitment.ts, retirement.ts), what members do (../schedule).
 * Holds: K3: a request is decided when its command is heard, or when the last who was asked of it has answered; K8: what is
 * undecided when the work is given up is refused, and no further question is asked.
 */
import type { Json, JsonObject } from '@reeve/core'
import { replyToCommand, type ReceivedCommand } from '@reeve/agent'
import type { MemberCommandHandlers } from '../mail/command-handlers.ts'
import type { Entry } from '../state/task-graph.ts'
import { LeadConsultation, type Lead } from './lead.ts'
import { Recruitment, type StaffParts } from './recruitment.ts'
import { Retirement } from './retirement.ts'

export class Staff {
  readonly #parts: StaffParts
  readonly #recruitment: Recruitment
  readonly #retirement: Retirement
  readonly #lead: LeadConsultation | undefined
  #undecided = 0
  #closed = false
  #stopped = false

  /** `send`: how the lead's mail is taken. */
  constructor(parts: Omit<StaffParts, 'isClosed'>, lead: Lead | undefined, send: MemberCommandHandlers['send']) {
    this.#parts = {
      ...parts,
      ctx: parts.ctx.scope('staff'),
      isClosed: () => this.#closed || parts.work.closed !== undefined,
    }
    this.#recruitment = new Recruitment(this.#parts)
    this.#retirement = new Retirement(this.#parts)
    this.#lead =
      lead === undefined ? undefined : new LeadConsultation(lead, this.#parts, () => ({ ...this.handlers, send }))
  }

  readonly handlers: Pick<MemberCommandHandlers, 'recruit' | 'retire' | 'team'> = {
    recruit: ({ wish: request }, speaker, heard) =>
      this.#later(heard, this.#recruitment.recruit(request, speaker, heard.id)),
    retire: ({ wish: request }, speaker, heard) =>
      this.#later(heard, this.#retirement.retire(request, speaker, heard.id)),
    team: ({ role }) => ({ team: this.#parts.directory.list(role) as unknown as Json }),
  }

  /** Whether a staff request is undecided. */
  get isUndecided(): boolean {
    return this.#undecided > 0
  }

  /** A task has ended. */
  settled(entry: Entry): void {
    if (entry.failure !== undefined) this.#parts.directory.tried(entry.member, entry.attempts, entry.failure.message)
    this.#lead?.settled(entry)
  }

  /** Something has moved; after the end of the work no further question is asked. */
  progress(): void {
    if (this.#parts.work.closed !== undefined) this.#stopAsking()
  }

  /** The work has ended: from here on no member joins or leaves. */
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
