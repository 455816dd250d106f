/**
 * The members of a run's planned team, seen from outside: recruits, retirements, mail.
 *
 * Owns: `run.team`. Does not own: what each command does (team-staff.ts, team-mail.ts).
 */
import { underName } from '@reeve/core'
import type { Recruited, Retired } from '@reeve/agent'
import { postToTeam, type PostFromOutside } from './team-mail.ts'
import { recruit, retire, type RecruitFromOutside, type RetireFromOutside, type StaffAccess } from './team-staff.ts'

/** Members of a planned team, and mail to them. */
export interface RunTeam {
  /**
   * Asks a planned team for another member. Resolves when it was decided, in any process: `admitted` with the member,
   * or why not. The same `requestId` again is the same request, with the same answer. A team that is paused decides when
   * it can; one that has ended says `closed`. Rejects with `input.invalid` where it is not clear which team is meant.
   */
  recruit(request: RecruitFromOutside): Promise<Recruited>
  /**
   * Asks a planned team to let a member go: after its task (`graceful`), or now (`force`). Resolves when it was
   * decided, as `recruit` does.
   */
  retire(request: RetireFromOutside): Promise<Retired>
  /**
   * Writes to members: a member, `role:<name>`, or `*`. Resolves when that is durable, also while the run is paused;
   * `closed` where the team has ended. The journal says whose inbox it is in, or why it was refused (`mail.accepted`,
   * `mail.refused`). Rejects with `input.invalid` for invalid mail, or where it is not clear which team is meant.
   */
  post(mail: PostFromOutside): Promise<'accepted' | 'closed'>
}

/** The team of one run. Nothing is read until a command is called. */
export function runTeam(access: StaffAccess): RunTeam {
  return {
    recruit: (request) => recruit(access, underName(request)),
    retire: (request) => retire(access, underName(request)),
    post: (mail) => postToTeam(access, underName(mail)),
  }
}
