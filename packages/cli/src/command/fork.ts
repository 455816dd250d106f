/** `reeve fork`: starts a new run from a position of another. Owns: the output; a worker drives the new run. */
import { completed, shellWord } from '@reeve/core'
import type { ForkEdit } from '@reeve/runtime'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import { continueHint } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { readValue } from './answer.ts'

/** The position, the id and the edit of the fork. */
export interface ForkingOptions {
  readonly at?: number
  readonly run?: string
  readonly output?: string
  readonly input?: string
  readonly reason?: string
}

/** Forks a run; drives no run. */
export function fork(context: CommandContext, run: string, given: ForkingOptions): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const { at, run: runId, reason } = given
    const edit = editOf(given)
    const forked = await runtime.fork({
      run,
      by: currentUser(),
      ...(at === undefined ? {} : { at }),
      ...(runId === undefined ? {} : { runId }),
      ...(edit === undefined ? {} : { edit }),
      ...(reason === undefined ? {} : { reason }),
    })
    const { origin } = await forked.view()
    const where = whereOf(options)
    const further = await continueHint({ context, runtime, place, run: forked.id })
    terminal.line(`The run ${forked.id} is a fork of ${run} at ${origin?.at ?? '?'}. ${further}`)
    terminal.line(`Compare them with:\n  ${reeve} diff ${shellWord(run)} ${shellWord(forked.id)}${where}`)
    return exits.done
  })
}

function editOf({ output, input }: ForkingOptions): ForkEdit | undefined {
  if (input !== undefined) return { type: 'input', input: readValue(input) }
  return output === undefined ? undefined : { type: 'outcome', outcome: completed(readValue(output)) }
}
