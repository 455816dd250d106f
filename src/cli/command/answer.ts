/**
 * `reeve answer`: the value that an interrupt waits for, without running anything. Owns: what counts as JSON and what
 * as text, under which name it is answered. The first answer counts.
 */
import { thisUser, whereOf, type CommandContext, quoted } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { goesOnWith } from '../going-on.ts'
import { look } from '../store.ts'
import type { Json } from '../../core/index.ts'

/** Answers an interrupt. What reads as JSON is JSON, everything else a text; with `text` everything is. */
export function answer(
  context: CommandContext,
  interruptId: string,
  given: string,
  { text = false, by = thisUser() }: { readonly text?: boolean; readonly by?: string },
): Promise<Exit> {
  const { terminal, options, cwd } = context
  return look(options, cwd, async (runtime, place) => {
    const question = (await runtime.questions()).find(({ id }) => id === interruptId)
    if (question?.kind === 'approval' || (question === undefined && interruptId.startsWith('apr_')))
      throw usage(
        `"${interruptId}" is an approval: it takes a decision, no value`,
        `Decide it: reeve approve ${quoted(interruptId)}${whereOf(options)}    (or: reject, edit, retry)`,
      )
    if (question !== undefined && question.kind !== 'interrupt')
      throw usage(
        `"${interruptId}" asks for no value (${question.kind})`,
        `Say from code what became of it: runtime.handle('${question.run}').${question.kind === 'in-doubt' ? 'settleDoubt' : 'settleDivergence'}({ … })`,
      )
    await runtime.answer({ interruptId, value: text ? given : readValue(given), by })
    terminal.line(`${terminal.style('green', '✓')} Answered ${interruptId}.`)
    if (question !== undefined) terminal.line(await goesOnWith({ context, runtime, place, run: question.run }))
    terminal.line('If the answer does not fit what is asked for, it is asked again under a new id.')
    return exits.done
  })
}

/** What was typed as a value: JSON where it reads as JSON, else a text. */
export function readValue(given: string): Json {
  try {
    return JSON.parse(given) as Json
  } catch {
    return given
  }
}
