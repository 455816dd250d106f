/** `reeve recruit`: asks a planned team to add a member; drives no run. Owns: the output, the wait for the decision. */
import { present, shellWord } from '@reeve/core'
import type { Recruited, RecruitFromOutside } from '@reeve/public/team'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'
import { reeve } from '../invocation.ts'

/** The options of `reeve recruit`. */
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

/** Asks and prints the decision. A team that is paused, has no worker or waits for an approver decides later. */
export function recruit(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  given: RecruitCommandOptions,
): Promise<Exit> {
  const { description, role, parent, join, team, request, wait } = given
  return withRuns(options, cwd, async (runtime) => {
    const recruit: RecruitFromOutside = {
      description,
      by: currentUser(),
      ...present({ role, parentTask: parent, join, team, requestId: request }),
    }
    const answer = await decidedWithin(wait, interrupted, (signal) =>
      runtime.handle(run).team.recruit({ ...recruit, signal }),
    )
    terminal.line(answer === undefined ? undecided(run, whereOf(options)) : answerText(answer, run, whereOf(options)))
    return answer === undefined ? exits.waiting : answer.admitted ? exits.done : exits.failed
  })
}

function answerText(answer: Recruited, run: string, where: string): string {
  if (!answer.admitted) return `The team of ${run} refused: ${answer.message} (${answer.reason})`
  return answer.duplicate
    ? `${answer.member} already does this: ${reeve} show ${shellWord(run)}${where}`
    : `${answer.member} joined the team: ${reeve} show ${shellWord(run)}${where}`
}

/** The line printed while the team has not decided. */
export const undecided = (run: string, where: string): string =>
  `The team of ${run} has not decided yet. It decides once a worker drives it, it is not paused and any approver has answered:\n  ${reeve} show ${shellWord(run)}${where}`

/** The decision within so many seconds; undefined after that. The request stays open. */
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
