/**
 * What `reeve watch` shows, as lines that fit a screen: the list of what waits and runs, or one run with its tree, its
 * mail and the request to decide.
 *
 * Owns: the layout in so many columns and rows. Does not own: keys and state (session.ts), how a request or a tree reads
 * (request-text.ts, tree.ts). Pure. No line is wider than the screen; wide characters count as two columns.
 */
import {
  beginningIn,
  columnsOfText,
  describeOutcome,
  isObject,
  totalUsage,
  visible,
  visibleLine,
  wrapped,
  preview,
  durationText,
} from '@reeve/core'
import type { Approval, Question, RunSummary, RunView } from '@reeve/runtime'
import { approvalLines, expiredText, questionLines } from '../request-text.ts'
import { isExpired, needsDriver } from '../run-driver.ts'
import type { Style } from '../terminal.ts'
import { treeLines } from '../tree.ts'

/** A line of the screen, in one style. */
export interface FrameLine {
  readonly text: string
  readonly style?: Style
}

/** The screen, and the moment. */
export interface FrameSize {
  readonly columns: number
  readonly rows: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** One entry of the list: a question that waits, or a run that has not ended. */
export type ListEntry =
  | { readonly type: 'question'; readonly question: Question; readonly approval?: Approval }
  | { readonly type: 'run'; readonly run: RunSummary }

/** The list of everything that waits and runs. */
export interface ListFrame {
  readonly entries: readonly ListEntry[]
  readonly selected: number
  /** There are more runs than are listed. */
  readonly hasMore: boolean
  /** A process may drive runs of this store. */
  readonly isDriven: boolean
}

/** One run, and the request that is chosen. */
export interface RunFrame {
  readonly view: RunView
  readonly requests: readonly ListEntry[]
  readonly selected: number
  /** Lines of the request that are above its window. */
  readonly scroll: number
  /** There is a list to go back to. */
  readonly hasList: boolean
  /** Of a run that would continue if a process drove it: that none does, and the command. */
  readonly undriven?: string
}

/** The last two lines: what was last said, or what is being typed; and the keys. */
export interface Footer {
  readonly message: string
  readonly prompt?: { readonly label: string; readonly text: string }
}

/** A screen, whether the end of the request is on it, and how many of its lines are above. */
export interface Frame {
  readonly lines: readonly FrameLine[]
  readonly isWhole: boolean
  readonly scroll: number
}

const listKeys = 'q leave  ↑↓ PgUp PgDn choose  Enter open'

/** The keys that do something now. The way out is first: a narrow screen cuts the end. */
function runKeys({ view, requests, selected, hasList }: RunFrame, now: number): string {
  const entry = requests[selected]
  const kind = entry?.type === 'question' && !isExpired(entry.question, now) ? entry.question.kind : undefined
  const decide = { approval: 'a approve  r reject  e edit  s send back', interrupt: 'e answer', 'in-doubt': 'y  n' }
  return [
    'q leave',
    ...(kind === undefined || kind === 'diverged' ? [] : [decide[kind]]),
    ...(requests.length < 2 ? [] : ['Tab next']),
    ...(view.outcome === undefined ? [view.pause === undefined ? 'p pause' : 'u resume', 'c cancel'] : []),
    ...(hasList ? ['Esc list'] : []),
  ].join('  ')
}

/** A line that fits: what is cut ends in `…`. */
export function clip(text: string, columns: number): string {
  return columnsOfText(text) <= columns ? text : `${beginningIn(columns - 1, text)}…`
}

/** The name of an entry. */
export const entryId = (entry: ListEntry): string => (entry.type === 'run' ? entry.run.run : entry.question.id)

/** The screen with the list. */
export function listFrame({ entries, selected, hasMore, isDriven }: ListFrame, size: FrameSize, footer: Footer): Frame {
  const waiting = entries.filter(({ type }) => type === 'question').length
  const runs = `${entries.length - waiting}${hasMore ? ' newest' : ''} open run${entries.length - waiting === 1 ? '' : 's'}`
  const head = [
    line(`reeve watch: ${waiting} waiting, ${runs}`, 'bold'),
    ...(entries.length === 0 ? [line('Nothing waits and nothing runs.', 'dim')] : []),
  ]
  const foot = footLines(footer, listKeys, size)
  const room = Math.max(1, size.rows - head.length - foot.length)
  const first = Math.max(0, Math.min(selected - room + 1, entries.length - room))
  const shown = entries
    .slice(first, first + room)
    .map((entry, i) => entryLine(entry, first + i === selected, isDriven, size))
  return { lines: fitted([...head, ...shown], foot, size), isWhole: false, scroll: 0 }
}

function entryLine(entry: ListEntry, isChosen: boolean, isDriven: boolean, { now, columns }: FrameSize): FrameLine {
  const mark = isChosen ? '>' : ' '
  if (entry.type === 'question') {
    const { kind, run, askedAt } = entry.question
    // what is asked is cut first: requests that read the same differ in their run
    const of = `  ${kind}${isExpired(entry.question, now) ? ' expired' : ''}  ${visible(run)}  ${durationText(now - askedAt)}`
    return line(`${clip(`${mark} ? ${askedText(entry)}`, Math.max(20, columns - columnsOfText(of)))}${of}`, 'yellow')
  }
  const { run, status, agent, createdAt, reason } = entry.run
  const why = reason === undefined ? '' : `  ${visibleLine(reason)}`
  const left = isDriven || !needsDriver(entry.run, now) ? '' : '  no process drives it'
  return line(
    `${mark} ${status.padEnd(8)} ${visible(agent)}  ${visible(run)}  ${durationText(now - createdAt)}${left}${why}`,
    status === 'stuck' ? 'red' : undefined,
  )
}

function askedText({ approval, question }: Extract<ListEntry, { type: 'question' }>): string {
  if (approval !== undefined)
    return `${approval.path.map(visible).join(' › ')} asks to run ${visible(approval.tool)} (${approval.risk} risk)`
  const { body } = question
  const asked = typeof body === 'object' && body !== null && 'question' in body ? body.question : question.address
  return preview(asked)
}

/** The screen with one run. */
export function runFrame(run: RunFrame, size: FrameSize, footer: Footer): Frame {
  const { view, requests, selected, scroll, undriven } = run
  const { columns, rows, now } = size
  const request = requests[selected]
  const foot = footLines(footer, runKeys(run, size.now), size)
  const left = undriven === undefined ? [] : wrapped(visibleLine(undriven), columns)
  const body = Math.max(0, rows - foot.length - 1 - left.length)
  const wanted = request === undefined ? [] : requestLines(request, columns, now)
  const space = Math.max(0, Math.min(wanted.length, body - 1, Math.max(Math.ceil(body * 0.6), body - 8)))
  const rest = body - space - (space > 0 ? 1 : 0)
  const mails = Math.max(0, Math.min(4, rest - 3))
  const mail = mails === 0 ? [] : mailLines(view).slice(-mails)
  const trees = rest - mail.length
  const tree = treeLines(view, { now, columns, rows: trees, isDriven: undriven === undefined }).slice(0, trees)
  const from = Math.max(0, Math.min(scroll, wanted.length - space))
  const end = from + space
  // a screen too low for any line of the request has not shown its end
  const isWhole = space > 0 && end >= wanted.length
  const count = requests.length < 2 ? '' : ` ${selected + 1} of ${requests.length}`
  const more = isWhole ? '' : `, ${wanted.length - end} more lines below: ↓`
  const lines = [
    line(headText(view), 'bold'),
    ...left.map((each) => line(each, 'yellow')),
    ...tree.map((each) => line(each)),
    ...mail.map((each) => line(each, 'dim')),
    ...(space === 0 ? [] : [line(`── request${count}${more} ──`, 'yellow')]),
    ...wanted.slice(from, end).map((each) => line(each)),
  ]
  return { lines: fitted(lines, foot, size), isWhole, scroll: from }
}

function headText({ run, status, agent, usage, pause, takeover, outcome }: RunView): string {
  const { usd, unpriced, calls } = totalUsage(usage)
  const cost = calls === 0 || unpriced === calls ? '' : `  $${usd.toFixed(4)}`
  const held = takeover !== undefined ? '  taken over' : pause !== undefined ? '  paused' : ''
  const end = outcome === undefined ? '' : `  ${visibleLine(describeOutcome(outcome))}`
  return `${visible(run)}  ${status}  ${visible(agent)}${cost}${held}${end}`
}

/** The newest mail of its teams, one line each. */
const mailLines = ({ teams }: RunView): readonly string[] =>
  teams.flatMap(({ mailbox }) =>
    mailbox.messages.map(
      ({ from, to, content, unread }) =>
        `  ✉ ${visible(from)} → ${visible(to)}${unread.length === 0 ? '' : ' (unread)'}: ${preview(content)}`,
    ),
  )

function requestLines(request: ListEntry, columns: number, now: number): readonly string[] {
  if (request.type === 'run') return []
  const { approval, question } = request
  const { until, body } = question
  const onTimeout = isObject(body) ? body['onTimeout'] : undefined
  const expired = isExpired(question, now) ? wrapped(expiredText(until, onTimeout), columns) : []
  if (approval !== undefined) return [...expired, ...approvalLines(approval, columns)]
  const lines = questionLines(question, '', columns)
  if (expired.length > 0) return [...expired, ...lines.slice(0, -1)]
  const keys = {
    interrupt: 'e answers it',
    'in-doubt': 'y: it happened; n: it did not, and is done now',
    diverged: lines.at(-1)!.trim(),
    approval: '',
  }[question.kind]
  return [...lines.slice(0, -1), ...wrapped(`  ${keys}`, columns)]
}

const line = (text: string, style?: Style): FrameLine => (style === undefined ? { text } : { text, style })

/** The lines at the bottom. A message may take several: it may be an error with its hint, or a command to type. */
function footLines({ message, prompt }: Footer, keys: string, { columns, rows }: FrameSize): readonly FrameLine[] {
  if (prompt !== undefined)
    return [line(prompt.label, 'yellow'), line(`> ${tailOf(visible(prompt.text), columns - 4)}_`)]
  const said = wrapped(visibleLine(message), columns)
  const most = Math.max(1, Math.min(4, Math.floor(rows / 5)))
  const shown = said.slice(0, most).map((each, i) => (i === most - 1 && said.length > most ? `${each}…` : each))
  return [...shown.map((each) => line(each)), line(keys, 'dim')]
}

/** Exactly as many lines as the screen has, none too wide. */
function fitted(
  lines: readonly FrameLine[],
  foot: readonly FrameLine[],
  { columns, rows }: FrameSize,
): readonly FrameLine[] {
  const room = Math.max(0, rows - foot.length)
  const body = lines.slice(0, room)
  const empty = Array.from({ length: room - body.length }, () => line(''))
  return [...body, ...empty, ...foot].map(({ text, style }) => line(clip(text, columns), style))
}

/** The end of what is being typed: where the cursor is. */
function tailOf(text: string, columns: number): string {
  const characters = [...text]
  let from = characters.length
  for (let left = columns; from > 0; from--) {
    left -= columnsOfText(characters[from - 1]!)
    if (left < 0) break
  }
  return characters.slice(from).join('')
}
