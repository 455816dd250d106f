/** `reeve post`: sends a message to members of a planned team; drives no run. Owns: what is sent as JSON or text. */
import { shellWord } from '@reeve/core'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import { withRuns } from '../store.ts'
import { readValue } from './answer.ts'

/** The options of `reeve post`. */
export interface PostCommandOptions {
  readonly kind?: string
  readonly about?: string
  readonly team?: string
  readonly text?: boolean
}

/** Sends to a member, a role (`role:<name>`) or all members (`*`). Valid JSON is sent as JSON, unless `text` is set. */
export function post(
  { terminal, options, cwd, interrupted: signal }: CommandContext,
  run: string,
  to: string,
  given: string,
  { kind, about, team, text = false }: PostCommandOptions,
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const posted = await runtime.handle(run).team.post({
      to,
      content: text ? given : readValue(given),
      by: currentUser(),
      signal,
      ...(kind === undefined ? undefined : { kind }),
      ...(about === undefined ? undefined : { correlationId: about }),
      ...(team === undefined ? undefined : { team }),
    })
    if (posted !== 'accepted') {
      terminal.line(`Not sent: the team of ${run} has ended.`)
      return exits.failed
    }
    terminal.line(
      `Sent to the team of ${run}. See who received it: ${reeve} events ${shellWord(run)}${whereOf(options)}`,
    )
    return exits.done
  })
}
