/**
 * `reeve recruit`: asks a planned team for another member, without running anything. Owns: the words, and how long an
 * answer is waited for.
 */
import type { Recruited, RecruitFromOutside } from '../../public/team.ts'
import { thisUser, whereOf, type CommandContext, quoted } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { look } from '../store.ts'

/** What a recruit is to do, and for whom. */
export interface RecruitCommandOptions {
  readonly description: string
  readonly role?: string
  readonly parent?: string
  readonly join?: 'parent' | 'run' | 'none'
  readonly team?: string
  readonly request?: string
  /** Seconds. */
  readonly wait: number
}

/** Asks, and says what was decided; a team that is not driven, is paused, or asks a human decides later. */
export function recruit(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  given: RecruitCommandOptions,
): Promise<Exit> {
  const { description, role, parent, join, team, request, wait } = given
  return look(options, cwd, async (runtime) => {
    const wish: RecruitFromOutside = {
      description,
      by: thisUser(),
      ...(role === undefined ? undefined : { role }),
      ...(parent === undefined ? undefined : { parentTask: parent }),
      ...(join === undefined ? undefined : { join }),
      ...(team === undefined ? undefined : { team }),
      ...(request === undefined ? undefined : { requestId: request }),
    }
    const answer = await decidedWithin(wait, interrupted, (signal) =>
      runtime.handle(run).team.recruit({ ...wish, signal }),
    )
    terminal.line(answer === undefined ? undecided(run, whereOf(options)) : told(answer, run, whereOf(options)))
    return answer === undefined ? exits.waiting : answer.admitted ? exits.done : exits.failed
  })
}

function told(answer: Recruited, run: string, where: string): string {
  if (!answer.admitted) return `Nobody joins the team of ${run}: ${answer.message} (${answer.reason})`
  return answer.duplicate
    ? `${answer.member} does this already: reeve show ${quoted(run)}${where}`
    : `${answer.member} is on the team: reeve show ${quoted(run)}${where}`
}

/** What is said where nobody has decided yet. */
export const undecided = (run: string, where: string): string =>
  `The team of ${run} has been asked and has not decided yet. It does when it is driven and not paused, and whoever has to approve has answered:\n  reeve show ${quoted(run)}${where}`

/** What was decided within so many seconds; undefined if nothing was. The wish stands. */
export async function decidedWithin<A>(
  seconds: number,
  interrupted: AbortSignal,
  ask: (signal: AbortSignal) => Promise<A>,
): Promise<A | undefined> {
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(seconds * 1_000)])
  try {
    return await ask(signal)
  } catch (thrown) {
    if (signal.aborted && thrown === signal.reason) return undefined
    throw thrown
  }
}
