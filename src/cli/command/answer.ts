/** `reeve answer`: the value that an interrupt waits for, without running anything. Owns: what counts as JSON and what as text, under which name it is answered. The first answer counts. */
import { thisUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { goesOnWith, look } from '../store.ts'
import type { Json } from '../../core/index.ts'

/** Answers an interrupt. What reads as JSON is JSON, everything else a text; with `text` everything is. */
export function answer(
  { terminal, options, cwd }: CommandContext,
  interruptId: string,
  given: string,
  { text = false, by = thisUser() }: { readonly text?: boolean; readonly by?: string },
): Promise<Exit> {
  return look(options, cwd, async (runtime, place) => {
    const question = (await runtime.questions()).find(({ id }) => id === interruptId)
    if (question !== undefined && question.kind !== 'interrupt')
      throw usage(
        `"${interruptId}" asks for no value (${question.kind})`,
        question.kind === 'approval'
          ? `Decide it: reeve approve ${interruptId}${whereOf(options)}`
          : `Say from code what became of it: runtime.handle('${question.run}').${question.kind === 'in-doubt' ? 'settleDoubt' : 'settleDivergence'}({ … })`,
      )
    await runtime.answer({ interruptId, value: text ? given : readValue(given), by })
    terminal.line(`${terminal.style('green', '✓')} Answered ${interruptId}.`)
    if (question !== undefined) terminal.line(goesOnWith(place, question.run, whereOf(options)))
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
