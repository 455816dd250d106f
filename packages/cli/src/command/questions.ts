/**
 * `reeve questions`: everything that is open over all runs, oldest first, with the command that answers each.
 *
 * Owns: the list. Does not own: the search (runtime), answering (the other commands).
 */
import { isObject, shellWord, visible, type Json, preview } from '@reeve/core'
import type { Approval, Question, Recorded } from '@reeve/runtime'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import {
  answerCommand,
  askedText,
  doneLines,
  expiredText,
  printedLines,
  settleCommand,
  timeoutText,
  timeText,
} from '../request-text.ts'
import { driveCommand } from '../next-command.ts'
import { isExpired } from '../run-driver.ts'
import { withRuns } from '../store.ts'
import { callAt, callText, type RecordedCall } from '../tool-calls.ts'
import { reeve } from '../invocation.ts'

/** Lists open questions. */
export function questions(
  context: CommandContext,
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
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const open = await runtime.questions(filter)
    if (json) {
      for (const question of open) terminal.line(JSON.stringify(question))
      return exits.done
    }
    if (open.length === 0) terminal.line('Nothing is open.')
    const now = Date.now()
    const journals = new Map<string, readonly Recorded[]>()
    const journalOf = async (run: string): Promise<readonly Recorded[]> => {
      const journal = journals.get(run) ?? (await runtime.handle(run).journal())
      journals.set(run, journal)
      return journal
    }
    for (const question of open) {
      const { run, kind, activation, address } = question
      const expired = isExpired(question, now) ? await driveCommand({ context, runtime, place, run }) : undefined
      const call = kind === 'in-doubt' ? callAt(await journalOf(run), activation, address) : undefined
      const { text, command } = entryOf(question, whereOf(options), { expired, call })
      for (const line of text.flatMap((each) => printedLines(each, terminal))) terminal.line(line)
      terminal.line(`  ${command}`)
    }
    if (open.length === filter.limit) terminal.note(`There may be more: --limit ${filter.limit * 2}`)
    return exits.done
  })
}

/** What else is known of a question: the command that drives its run if it has expired, the call that is in doubt. */
interface QuestionContext {
  readonly expired: string | undefined
  readonly call: RecordedCall | undefined
}

/** Who asks, what, until when and what happens then; and the command that answers, or drives an expired one. */
function entryOf(
  { id, kind, run, address, askedAt, until, body }: Question,
  where: string,
  { expired, call }: QuestionContext,
): { readonly text: readonly string[]; readonly command: string } {
  const content: { readonly [name: string]: Json } = isObject(body) ? body : {}
  const { path, tool, input, reason, onTimeout } = content
  const who = Array.isArray(path) ? ` ${visible(path.join('/'))}` : ''
  const what =
    kind === 'approval'
      ? `${preview(tool ?? null)} ${preview(input ?? null)}${reason === undefined ? '' : `: ${preview(reason)}`}`
      : kind === 'interrupt'
        ? askedText(body as Json)
        : call === undefined
          ? visible(address)
          : callText(call)
  const word = shellWord(id)
  const command = {
    approval: `${reeve} approve ${word}${where}`,
    interrupt: answerCommand(word, where, body as Json),
    'in-doubt': settleCommand('in-doubt', id, where),
    diverged: settleCommand('diverged', id, where),
  }[kind]
  const deadline =
    until === undefined
      ? 'no deadline'
      : expired === undefined
        ? `until ${timeText(until)}, then ${timeoutText(onTimeout)}`
        : expiredText(until, onTimeout)
  return {
    text: [
      `${visible(id)}  ${kind}  ${run}${who}: ${what}`,
      `  asked ${timeText(askedAt)}, ${deadline}`,
      ...(kind === 'approval' ? doneLines(body as unknown as Approval).map((line) => `  ${line}`) : []),
    ],
    command: expired ?? command,
  }
}
