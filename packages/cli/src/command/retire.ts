/** `reeve retire`: asks a planned team to retire a member; drives no run. Owns: the output. */
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'
import { decidedWithin, undecided } from './recruit.ts'

/** The options of `reeve retire`. */
export interface RetireCommandOptions {
  readonly force?: boolean
  /** False: its unfinished task fails instead of being reassigned. */
  readonly reassign: boolean
  readonly reason?: string
  readonly team?: string
  /** Seconds. */
  readonly wait: number
}

/** Asks and prints the decision. */
export function retire(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  member: string,
  { force = false, reassign, reason, team, wait }: RetireCommandOptions,
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const request = {
      member,
      mode: force ? 'force' : 'graceful',
      reassign,
      by: currentUser(),
      ...(reason === undefined ? undefined : { reason }),
      ...(team === undefined ? undefined : { team }),
    } as const
    const answer = await decidedWithin(wait, interrupted, (signal) =>
      runtime.handle(run).team.retire({ ...request, signal }),
    )
    if (answer === undefined) {
      terminal.line(undecided(run, whereOf(options)))
      return exits.waiting
    }
    if (!answer.retired) {
      terminal.line(`${member} is not retired: ${answer.message} (${answer.reason})`)
      return exits.failed
    }
    terminal.line(
      force ? `${member} has left the team of ${run}.` : `${member} leaves the team of ${run} when its task has ended.`,
    )
    return exits.done
  })
}
