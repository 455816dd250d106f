/**
 * What is asked of an approver, as text: approvals with the exact arguments that are decided about, questions with
 * where they are answered.
 *
 * Owns: how much of a value a terminal shows, that no line of a value can be taken for a line of ours. Does not own:
 * which characters are visible (core), who is asked (watch.ts), deciding (command/).
 */
import { quoted } from './context.ts'
import {
  bar,
  beginning,
  describeOutcome,
  isObject,
  visible,
  visibleJson,
  visibleLine,
  wrapped,
  type Failure,
  type Json,
} from '../core/index.ts'
import type { Approval, InterruptView, RunWaiting } from '../runtime/index.ts'

/**
 * How much is shown: of a value on a line, of a value that is decided about, of its lines, of the number of arguments.
 */
const most = { brief: 120, value: 2_000, lines: 60, arguments: 60 } as const

const measured = (text: string, characters: number, where: string): string =>
  text.length <= characters ? text : `${beginning(text, characters)}… (${text.length} characters${where})`

/** A value on one line; a long one is cut and measured. */
export const shortly = (value: unknown, where = '', characters: number = most.brief): string =>
  measured(visibleJson(value), characters, where)

/**
 * The name of an argument; one that is more than a name stands in quotation marks, so that it can be taken for no
 * value.
 */
const nameText = (name: string): string => (/^[\w.$-]{1,64}$/.test(name) ? name : shortly(name))

/** The arguments of a call on one line: each of them shortened for itself, so that a long one hides no other. */
export function argumentsLine(input: Json): string {
  if (!isObject(input)) return shortly(input)
  const fields = Object.entries(input)
  const shown = fields.slice(0, most.arguments).map(([name, value]) => `${nameText(name)}: ${shortly(value)}`)
  const more = fields.length <= most.arguments ? [] : [`… and ${fields.length - most.arguments} more`]
  return fields.length === 0 ? 'no arguments' : [...shown, ...more].join(', ')
}

/** How an interrupt ended. */
export const answeredText = (outcome: NonNullable<InterruptView['outcome']>): string =>
  outcome.status === 'completed'
    ? `answered${outcome.by === undefined ? '' : ` by ${visible(outcome.by)}`}: ${shortly(outcome.output)}`
    : visibleLine(describeOutcome(outcome))

/** The command that answers an interrupt. */
export const answerCommand = (id: string, where: string): string => `reeve answer ${id} <json or text>${where}`

const inFull = '; reeve show --json has them all'

/**
 * What is asked, for people: each argument on a line of its own. A line that is wider than the terminal goes on behind
 * a bar, as does a text of several lines: what stands in a value stands right of the bar, and never where our own lines
 * begin. What is left out is counted.
 */
export function approvalLines(approval: Approval, columns = 100): readonly string[] {
  const { tool, path, reason, risk, input, id } = approval
  const fields = isObject(input) ? Object.entries(input) : [['input', input] as const]
  const more = fields.length - most.arguments
  return [
    ...wrapped(
      `${path.map(visible).join(' › ')} asks to run ${visible(tool)} (${risk} risk): ${visibleLine(reason)}`,
      columns,
    ),
    ...fields
      .slice(0, most.arguments)
      .flatMap(([name, value]) =>
        typeof value === 'string' && value.includes('\n')
          ? [`  ${nameText(name)}, ${value.split('\n').length} lines:`, ...textLines(value, columns)]
          : wrapped(`  ${nameText(name)}: ${shortly(value, inFull, most.value)}`, columns),
      ),
    ...(more <= 0 ? [] : [`  … and ${more} more arguments${inFull}`]),
    ...whoLines(approval).flatMap((line) => wrapped(`  ${line}`, columns)),
    `  ${id}`,
  ]
}

type Asked = Pick<
  Approval,
  | 'kind'
  | 'task'
  | 'delegation'
  | 'brief'
  | 'hits'
  | 'approvers'
  | 'excludes'
  | 'fourEyes'
  | 'tier'
  | 'options'
  | 'until'
>

/**
 * Why a human is to look, who may decide and until when, one line each. Nothing where anybody may and nothing is said.
 */
export function whoLines({
  kind,
  task,
  delegation,
  brief,
  hits = [],
  approvers,
  excludes,
  fourEyes,
  tier,
  options,
  until,
}: Asked): readonly string[] {
  const asked = approvers === undefined ? undefined : `to be decided by ${approvers.map(visible).join(' or ')}`
  const which = tier === undefined ? '' : ` (asked as number ${tier})`
  return [
    kind === undefined ? undefined : `about: ${kind}${task === undefined ? '' : ` ${visible(task)}`}`,
    delegation === undefined ? undefined : `delegation: ${visible(delegation)}`,
    brief === undefined ? undefined : `its brief: ${visibleLine(brief)}`,
    hits.length === 0
      ? undefined
      : `escalated: ${hits.map(({ code, priority }) => `${visible(code)} (${priority})`).join(', ')}`,
    asked === undefined ? undefined : `${asked}${which}`,
    excludes === undefined
      ? undefined
      : `approved by ${excludes.map(visible).join(' and ')} already: somebody else has to look`,
    fourEyes === true && excludes === undefined ? 'two people have to approve it' : undefined,
    options === undefined ? undefined : `may be decided: ${options.join(', ')}`,
    until === undefined || (asked === undefined && fourEyes !== true)
      ? undefined
      : `until ${new Date(until).toISOString()}`,
  ].flatMap((line) => (line === undefined ? [] : [line]))
}

/** A text with its lines; of those that are too many, the first and the last. */
function textLines(text: string, columns: number): readonly string[] {
  const lines = text.split('\n').map((line) => measured(visible(line), most.value, inFull))
  const left = lines.length - most.lines
  const behind = (some: readonly string[]): readonly string[] => some.flatMap((line) => wrapped(line, columns, bar))
  if (left <= 0) return behind(lines)
  const half = most.lines / 2
  return [
    ...behind(lines.slice(0, half)),
    `    … ${left} of ${lines.length} lines are left out${inFull}`,
    ...behind(lines.slice(-half)),
  ]
}

/** A question that is no approval: what it is, and how it is answered. */
export function questionLines(
  { kind, id, body }: RunWaiting['questions'][number],
  run: string,
  where: string,
): readonly string[] {
  const asked = isObject(body) ? (body as { readonly question?: Json }).question : undefined
  const answer = {
    interrupt: `Answer it: ${answerCommand(id, where)}`,
    approval: `Decide it: reeve approve ${quoted(id)}${where}`,
    'in-doubt': `Answer it from code: runtime.handle('${run}').control.settleDoubt({ … }): say whether it happened`,
    diverged: `Answer it from code: runtime.handle('${run}').control.settleDivergence({ … }): say what became of it`,
  }[kind]
  return [
    `The run waits (${kind} ${id})${asked === undefined ? '' : `: ${shortly(asked, inFull, most.value)}`}`,
    `  ${answer}`,
  ]
}

/** What an operator can do about a run that is set aside. */
export const setAsideLines = ({ hint }: Failure, run: string, where: string): string[] => [
  ...(hint === undefined ? [] : [`  ${visibleLine(hint)}`]),
  `  try again: reeve resume ${quoted(run)}${where}    (or end it without its code: reeve cancel ${quoted(run)}${where})`,
]
