/**
 * `reeve questions`: everything that is open over all runs, oldest first, with the command that answers each.
 *
 * Owns: the list. Does not own: the search (runtime), answering (the other commands).
 */
import { isObject, shellWord, visible, type Json } from '../../core/index.ts'
import type { Question } from '../../runtime/index.ts'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { answerCommand, preview } from '../request-text.ts'
import { withRuns } from '../store.ts'
import { timeText } from './runs.ts'
import { reeve } from '../invocation.ts'

/** Lists open questions. */
export function questions(
  { terminal, options, cwd }: CommandContext,
  {
    json = false,
    ...filter
  }: {
    readonly run?: string
    readonly kind?: Question['kind']
    readonly tenant?: string
    readonly limit: number
    readonly json?: boolean
  },
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const open = await runtime.questions(filter)
    if (json) {
      for (const question of open) terminal.line(JSON.stringify(question))
      return exits.done
    }
    if (open.length === 0) terminal.line('Nothing is open.')
    for (const question of open) for (const line of linesOf(question, whereOf(options))) terminal.line(line)
    if (open.length === filter.limit) terminal.note(`There may be more: --limit ${filter.limit * 2}`)
    return exits.done
  })
}

/** Who asks, what, until when and what happens then, and the command that answers. */
function linesOf({ id, kind, run, address, askedAt, until, body }: Question, where: string): readonly string[] {
  const content: { readonly [name: string]: Json } = isObject(body) ? body : {}
  const { path, tool, input, question, reason, onTimeout } = content
  const who = Array.isArray(path) ? ` ${visible(path.join('/'))}` : ''
  const what =
    kind === 'approval'
      ? `${preview(tool ?? null)} ${preview(input ?? null)}${reason === undefined ? '' : `: ${preview(reason)}`}`
      : kind === 'interrupt'
        ? preview(question ?? null)
        : visible(address)
  const then = onTimeout === undefined ? 'then it counts as not answered' : `then ${preview(onTimeout)}`
  const word = shellWord(id)
  const command = {
    approval: `${reeve} approve ${word}${where}`,
    interrupt: answerCommand(word, where),
    'in-doubt': `${reeve} settle ${word} --happened yes|no${where}`,
    diverged: `${reeve} settle ${word} --map <address>|--execute|--drop${where}`,
  }[kind]
  return [
    `${visible(id)}  ${kind}  ${run}${who}: ${what}`,
    `  asked ${timeText(askedAt)}, ${until === undefined ? 'no deadline' : `until ${timeText(until)}, ${then}`}`,
    `  ${command}`,
  ]
}
