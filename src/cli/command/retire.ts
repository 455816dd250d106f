/** `reeve retire`: asks a planned team to let a member go, without running anything. Owns: the words. */
import { thisUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { look } from '../store.ts'
import { decidedWithin, undecided } from './recruit.ts'

/** How a member is to leave. */
export interface RetireCommandOptions {
  readonly force?: boolean
  /** False: its unfinished task goes to nobody. */
  readonly reassign: boolean
  readonly reason?: string
  readonly team?: string
  /** Seconds. */
  readonly wait: number
}

/** Asks, and says what was decided. */
export function retire(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  member: string,
  { force = false, reassign, reason, team, wait }: RetireCommandOptions,
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const wish = {
      member,
      mode: force ? 'force' : 'graceful',
      reassign,
      by: thisUser(),
      ...(reason === undefined ? undefined : { reason }),
      ...(team === undefined ? undefined : { team }),
    } as const
    const answer = await decidedWithin(wait, interrupted, (signal) =>
      runtime.handle(run).team.retire({ ...wish, signal }),
    )
    if (answer === undefined) {
      terminal.line(undecided(run, whereOf(options)))
      return exits.waiting
    }
    if (!answer.retired) {
      terminal.line(`${member} stays: ${answer.message} (${answer.reason})`)
      return exits.failed
    }
    terminal.line(
      force ? `${member} has left the team of ${run}.` : `${member} leaves the team of ${run} when its task has ended.`,
    )
    return exits.done
  })
}
