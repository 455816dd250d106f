/**
 * A notice as plain text: no part of it acts.
 *
 * Owns: which facts of a notice are shown and in which words, how much of the arguments is shown. Pure. Does not own:
 * which characters are visible (core), what the text is put into (terminal.ts, slack.ts, email.ts), each with an escape
 * of its own.
 * Holds: what a model wrote is data. A link shows, and never decides.
 */
import {
  beginning,
  cut,
  failure,
  FailureError,
  shellWord,
  visible,
  visibleJson,
  visibleLine,
  visibleLines,
} from '@reeve/core'
import type { Notice } from '@reeve/oversight'

/**
 * Where the receiver can look: the address of a page that shows the run. It must be one that only shows: mail scanners
 * and previews open every link.
 */
export type Link = (notice: Notice) => string

/** A notice in words. */
export interface RenderedNotice {
  /** One line. */
  readonly title: string
  /** Why it is asked, or the question; may have several lines. */
  readonly reason: string
  readonly facts: readonly (readonly [name: string, value: string])[]
  /** The exact arguments as JSON, cut and measured if they are long. */
  readonly input: string
  /** What to type in a shell to decide or answer. */
  readonly commands: readonly string[]
}

/** Characters of the arguments that are shown by default. */
const inputMost = 2_000
const reasonMost = 1_000
const lineMost = 200
const briefMost = 600
const contextMost = 1_000

/** A text on one line. */
export const oneLine = (text: string, most = lineMost): string => cut(visibleLine(text), most)

/** A text as a quotation: none of its lines can be taken for one of ours. */
export const quotation = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

/** A notice in words. `where`: what stands behind each command. */
export function renderNotice(notice: Notice, most = inputMost, where = ''): RenderedNotice {
  const { type, id, run, path, title, text, risk, hits = [], approvers, until } = notice
  const { kind, task, work, context, options, excludes, follows } = notice
  const fact = (name: string, value: string | undefined, longest?: number): [string, string][] =>
    value === undefined ? [] : [[name, oneLine(value, longest)]]
  const facts: [string, string][] = [
    ['Asked by', path.map((name) => oneLine(name)).join(' > ')],
    ...fact('About', kind === undefined ? undefined : task === undefined ? kind : `${kind} ${task}`),
    ...fact('Delegation', work?.delegation),
    ...fact('Its brief', work?.brief, briefMost),
    ...fact('Risk', risk),
    ...hits.map(({ code, priority, detail }): [string, string] => [
      'Escalated',
      oneLine(`${code} (${priority}): ${detail}`),
    ]),
    ...fact('Acts on', context === undefined ? undefined : visibleJson(context), contextMost),
    ...fact('May decide', approvers?.join(', ')),
    ...fact('Has approved', excludes?.join(', ')),
    ...fact('May be decided', options?.join(', ')),
    ...fact('Follows', follows),
    ...(until === undefined ? [] : [['Until', moment(until)] as [string, string]]),
    ['Run', oneLine(run)],
    [type === 'approval' ? 'Approval' : 'Question', oneLine(id)],
  ]
  return {
    title: oneLine(title),
    reason: cut(visibleLines(text.replaceAll('\r\n', '\n')).join('\n'), reasonMost),
    facts,
    input: inputText(notice, most),
    commands:
      type === 'approval'
        ? [
            `reeve approve ${shellWord(visible(id))}${where}`,
            `reeve reject ${shellWord(visible(id))} --reason '…'${where}`,
          ]
        : [`reeve answer ${shellWord(visible(id))} '<JSON or text>'${where}`],
  }
}

function inputText({ input }: Notice, most: number): string {
  const text = visibleJson(input, 2)
  return text.length <= most ? text : `${beginning(text, most)}… (${text.length} characters; the run has them all)`
}

/** An invalid time is shown, too: a notice is never dropped for it. */
const moment = (at: number): string =>
  Math.abs(at) <= 8.64e15 ? `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC` : String(at)

/** The address that a link names; undefined without one. Throws if a browser cannot open it. */
export function addressOf(link: Link | undefined, notice: Notice): string | undefined {
  if (link === undefined) return undefined
  const given = link(notice)
  const address = URL.canParse(given) ? new URL(given) : undefined
  if (address?.protocol === 'https:' || address?.protocol === 'http:') return address.href
  throw new FailureError(
    failure('notice.failed', 'the link of the channel is not an http address', 'validation', {
      hint: 'Make link(notice) return a URL such as https://….',
    }),
  )
}
