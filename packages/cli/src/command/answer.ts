/**
 * `reeve answer`: answers an interrupt; drives no run.
 *
 * Owns: what is read as JSON and what as text, the recorded name. The first answer wins.
 */
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { continueHint } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { readJson, ReeveError, type Json, shellWord } from '@reeve/core'
import { reeve } from '../invocation.ts'
import { settleCommand } from '../request-text.ts'

/** Answers an interrupt. Valid JSON is sent as JSON, anything else as text; with `text`, always as text. */
export function answer(
  context: CommandContext,
  interruptId: string,
  given: string,
  { text = false, by = currentUser() }: { readonly text?: boolean; readonly by?: string },
): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const question = (await runtime.questions()).find(({ id }) => id === interruptId)
    if (question?.kind === 'approval' || (question === undefined && interruptId.startsWith('apr_')))
      throw usage(
        `"${interruptId}" is an approval: it needs a decision, not a value`,
        `Decide with: ${reeve} approve ${shellWord(interruptId)}${whereOf(options)}    (or: reject, edit, retry)`,
      )
    if (question !== undefined && question.kind !== 'interrupt')
      throw usage(
        `"${interruptId}" takes no value (${question.kind})`,
        `Settle it with: ${settleCommand(question.kind, interruptId, whereOf(options))}`,
      )
    await runtime.answer({ interruptId, value: text ? given : readValue(given), by })
    terminal.line(`${terminal.style('green', '✓')} Answered ${interruptId}.`)
    if (question !== undefined) terminal.line(await continueHint({ context, runtime, place, run: question.run }))
    terminal.line('If the answer does not match the expected schema, the run asks again under a new id.')
    return exits.done
  })
}

/** Parses a value: JSON if valid, else text. Throws `input.invalid` for JSON with a number that would be rounded. */
export function readValue(given: string): Json {
  const read = readJson(given, { path: 'the value' })
  if (read.ok) return read.value
  if (read.none === true) return given
  throw new ReeveError('input.invalid', read.problem, { hint: 'Put it in quotation marks. Nothing was done.' })
}
