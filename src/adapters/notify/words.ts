/**
 * Words: a notice as text that does nothing but stand there.
 *
 * Owns: which facts of a notice are shown and in which words, that nothing in them can move a cursor, turn the writing round or hide, how much of the arguments is shown. Pure. Does not own: what
 * the text is put into (terminal.ts, slack.ts, email.ts), each with an escape of its own.
 * Holds: what a model wrote is data. A link shows, and never decides (DESIGN §7).
 */
import { failure, FailureError } from '../../core/index.ts'
import type { Notice } from '../../oversight/index.ts'

/** Where whoever is told can look: the address of a page that shows the run. It must be one that only shows: mail scanners and previews open every link. */
export type Link = (notice: Notice) => string

/** A notice in words. */
export interface Told {
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

/** Characters of the arguments that are shown if nobody says otherwise. */
const inputMost = 2_000
const reasonMost = 1_000
const lineMost = 200

/** Control characters, those that turn writing round or are not seen, and halves of characters are shown as what they are: none. */
const visible = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\uFFFD')

/** The same on one line. */
export const oneLine = (text: string, most = lineMost): string => cut(visible(text.replaceAll(/\s+/gu, ' ').trim()), most)

/** The same with its lines. */
const lines = (text: string): string => text.split(/\r?\n/u).map(visible).join('\n')

/** A text as a quotation: none of its lines can be taken for one of ours. */
export const quotation = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

/** The beginning of a long text, with a sign that there is more. */
export const cut = (text: string, most: number): string => (text.length <= most ? text : `${whole(text.slice(0, most - 1))}…`)

/** Without the first half of a character that was cut in two. */
const whole = (text: string): string => text.replace(/[\uD800-\uDBFF]$/u, '')

/** A notice in words. `where`: what stands behind each command. */
export function told(notice: Notice, most = inputMost, where = ''): Told {
  const { type, id, run, path, title, text, risk, hits = [], approvers, until } = notice
  const facts: [string, string][] = [
    ['Asked by', path.map((name) => oneLine(name)).join(' > ')],
    ...(risk === undefined ? [] : [['Risk', oneLine(risk)] as [string, string]]),
    ...hits.map(({ code, priority, detail }): [string, string] => ['Escalated', oneLine(`${code} (${priority}): ${detail}`)]),
    ...(approvers === undefined ? [] : [['May decide', oneLine(approvers.join(', '))] as [string, string]]),
    ...(until === undefined ? [] : [['Until', moment(until)] as [string, string]]),
    ['Run', oneLine(run)],
    [type === 'approval' ? 'Approval' : 'Question', oneLine(id)],
  ]
  return {
    title: oneLine(title),
    reason: cut(lines(text), reasonMost),
    facts,
    input: inputText(notice, most),
    commands:
      type === 'approval'
        ? [`reeve approve ${quoted(id)}${where}`, `reeve reject ${quoted(id)} --reason '…'${where}`]
        : [`reeve answer ${quoted(id)} '<JSON or text>'${where}`],
  }
}

function inputText({ input }: Notice, most: number): string {
  const text = (JSON.stringify(input, null, 2) ?? 'nothing').split('\n').map(visible).join('\n')
  return text.length <= most ? text : `${whole(text.slice(0, most))}… (${text.length} characters; the run has them all)`
}

/** A moment that is none is shown, too: what is told is never left untold for it. */
const moment = (at: number): string =>
  Math.abs(at) <= 8.64e15 ? `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC` : String(at)

/** A text as one word of a shell. */
export const quoted = (text: string): string => {
  const word = visible(text)
  return /^[\w@%+=:,./~-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** The address that a link names; undefined without one. Throws if it is none that a browser opens. */
export function addressOf(link: Link | undefined, notice: Notice): string | undefined {
  if (link === undefined) return undefined
  const given = link(notice)
  const address = URL.canParse(given) ? new URL(given) : undefined
  if (address?.protocol === 'https:' || address?.protocol === 'http:') return address.href
  throw new FailureError(
    failure('notice.failed', 'the link of the channel is no http address', 'validation', { hint: 'link(notice) returns https://…' }),
  )
}
