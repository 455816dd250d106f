/**
 * Requests as text: approvals with their exact arguments, questions with the command that answers them.
 *
 * Owns: how much of a value a terminal shows; that no line of a value looks like a line of Reeve. Does not own: which
 * characters are visible (core), the inline question (watch.ts), deciding (command/).
 */
import {
  argumentName,
  bar,
  isObject,
  mostArguments,
  preview,
  truncated,
  visible,
  visibleLine,
  wrapped,
  type Json,
  shellWord,
  type WithWorkerFailures,
} from '@reeve/core'
import { clientCallIn, type Approval, type RunWaiting } from '@reeve/runtime'
import { reeve } from './invocation.ts'
import type { Terminal } from './terminal.ts'

/** Limits: characters of an argument to approve, its lines. */
const most = { value: 2_000, lines: 60 } as const

/**
 * A line as a command prints it: on a terminal in as many as it needs; elsewhere it stays one, for the program that
 * reads it.
 */
export const printedLines = (
  text: string,
  { isLive, columns }: Pick<Terminal, 'isLive' | 'columns'>,
): readonly string[] => (isLive ? wrapped(text, columns) : [text])

/** A moment as people read it. */
export const timeText = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

/** What becomes of a question that nobody answers in time. */
export const timeoutText = (onTimeout: Json | undefined): string =>
  onTimeout === undefined ? 'it counts as not answered' : `it continues with ${preview(onTimeout)}`

/** What becomes of a question whose deadline has passed. */
export const expiredText = (until: number | undefined, onTimeout: Json | undefined): string =>
  `expired ${timeText(until ?? 0)}: ${timeoutText(onTimeout)} when the run is driven`

/** What a question asks, in one line: of the client, to run a tool. `body`: the question, or its event. */
export function askedText(body: Json): string {
  const call = clientCallIn(body)
  if (call !== undefined) return `waits for the client to run ${visible(call.tool)} ${preview(call.input)}`
  return preview((isObject(body) ? body['question'] : undefined) ?? null)
}

/** The command that answers an interrupt. `body`: the question, or its event. */
export const answerCommand = (id: string, where: string, body: Json): string =>
  `${reeve} answer ${id} ${clientCallIn(body) === undefined ? '<json or text>' : `'{"output": …}'`}${where}`

/** The command that settles an effect in doubt or a diverged step. */
export const settleCommand = (kind: 'in-doubt' | 'diverged', id: string, where: string): string =>
  `${reeve} settle ${shellWord(id)} ${kind === 'in-doubt' ? '--happened yes|no' : '--map <address>|--execute|--drop'}${where}`

/** How to see what was left out. */
const inFull = (run: string, where: string): string => `; see all with ${reeve} show ${shellWord(run)} --json${where}`

/**
 * An approval for people: each argument on a line of its own. A long line, or a text of several lines, continues behind
 * a bar. So the content of a value never starts where a line of Reeve starts. Omitted lines are counted.
 * `where`: options that the command to see them needs.
 */
export function approvalLines(approval: Approval, columns = 100, where = ''): readonly string[] {
  const { tool, path, reason, risk, input, id, run } = approval
  const all = inFull(run, where)
  const fields = isObject(input) ? Object.entries(input) : [['input', input] as const]
  const more = fields.length - mostArguments
  return [
    ...wrapped(
      `${path.map(visible).join(' › ')} asks to run ${visible(tool)} (${risk} risk): ${visibleLine(reason)}`,
      columns,
    ),
    ...fields
      .slice(0, mostArguments)
      .flatMap(([name, value]) =>
        typeof value === 'string' && value.includes('\n')
          ? [`  ${argumentName(name)}, ${value.split('\n').length} lines:`, ...textLines(value, columns, all)]
          : wrapped(`  ${argumentName(name)}: ${preview(value, all, most.value)}`, columns),
      ),
    ...(more <= 0 ? [] : [`  … and ${more} more arguments${all}`]),
    ...whoLines(approval).flatMap((line) => wrapped(`  ${line}`, columns)),
    `  ${id}`,
  ]
}

type DoneBefore = Pick<Approval, 'done' | 'doneMore' | 'begun'>

/** A text is most often arguments that were cut when they were recorded, and says by how much. */
const doneInput = (input: Json): string =>
  typeof input === 'string' ? truncated(visibleLine(input), most.value + 500, '') : preview(input, '', most.value)

/** What was done for what is asked about, one line each: sent back, it is only done again if the decision names it. */
export const doneLines = ({ done = [], doneMore = 0, begun }: DoneBefore): readonly string[] => [
  ...(begun === true ? ['begun before the fork: with a yes it goes on where it was'] : []),
  ...done.map(
    ({ id, name, state, at, input, task }) =>
      `${state === 'done' ? 'already done' : 'perhaps done'}: ${visible(name)}${task === undefined ? '' : ` (task ${visible(task)})`} at ${new Date(at).toISOString()}${input === undefined ? '' : ` with ${doneInput(input)}`}; ${visible(id)}`,
  ),
  ...(doneMore === 0 ? [] : [`already done: ${doneMore} more before`]),
]

type ApproverRules = Pick<
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
  | keyof DoneBefore
>

/** Why approval is needed, who may decide, and until when, one line each. Empty if any approver may decide. */
export function whoLines(approval: ApproverRules): readonly string[] {
  const { kind, task, delegation, brief, hits = [], approvers, excludes, fourEyes, tier, options, until } = approval
  const asked = approvers === undefined ? undefined : `approvers: ${approvers.map(visible).join(' or ')}`
  const which = tier === undefined ? '' : ` (tier ${tier})`
  return [
    kind === undefined ? undefined : `about: ${kind}${task === undefined ? '' : ` ${visible(task)}`}`,
    ...doneLines(approval),
    delegation === undefined ? undefined : `delegation: ${visible(delegation)}`,
    brief === undefined ? undefined : `brief: ${visibleLine(brief)}`,
    hits.length === 0
      ? undefined
      : `escalated: ${hits.map(({ code, priority }) => `${visible(code)} (${priority})`).join(', ')}`,
    asked === undefined ? undefined : `${asked}${which}`,
    excludes === undefined
      ? undefined
      : `already approved by ${excludes.map(visible).join(' and ')}: a second approver must decide`,
    fourEyes === true && excludes === undefined ? 'two approvers are required' : undefined,
    options === undefined ? undefined : `allowed decisions: ${options.join(', ')}`,
    until === undefined || (asked === undefined && fourEyes !== true)
      ? undefined
      : `until ${new Date(until).toISOString()}`,
  ].flatMap((line) => (line === undefined ? [] : [line]))
}

/** The lines of a text; if there are too many, the first and the last. `all`: how to see them. */
function textLines(text: string, columns: number, all: string): readonly string[] {
  const lines = text.split('\n').map((line) => truncated(visible(line), most.value, all))
  const left = lines.length - most.lines
  const behind = (some: readonly string[]): readonly string[] => some.flatMap((line) => wrapped(line, columns, bar))
  if (left <= 0) return behind(lines)
  const half = most.lines / 2
  return [
    ...behind(lines.slice(0, half)),
    `    … ${left} of ${lines.length} lines omitted${all}`,
    ...behind(lines.slice(-half)),
  ]
}

/** A question other than an approval: its text, and last the command or call that answers it. */
export function questionLines(
  { kind, id, run, body }: RunWaiting['questions'][number],
  where: string,
  columns = 100,
): readonly string[] {
  const asked = isObject(body) ? (body as { readonly question?: Json }).question : undefined
  const isCall = clientCallIn(body as Json) !== undefined
  const answer = {
    interrupt: `Answer with: ${answerCommand(id, where, body as Json)}`,
    approval: `Decide with: ${reeve} approve ${shellWord(id)}${where}`,
    'in-doubt': `Settle it with: ${settleCommand('in-doubt', id, where)}`,
    diverged: `Settle it with: ${settleCommand('diverged', id, where)}`,
  }[kind]
  return [
    ...wrapped(
      isCall
        ? `The run ${askedText(body as Json)} (${id})`
        : `The run waits (${kind} ${id})${asked === undefined ? '' : `: ${preview(asked, inFull(run, where), most.value)}`}`,
      columns,
    ),
    `  ${answer}`,
  ]
}

/** The commands for a run that was set aside. */
export const setAsideCommands = (run: string, where: string): string =>
  `retry: ${reeve} resume ${shellWord(run)}${where}    (or end it without its code: ${reeve} cancel ${shellWord(run)}${where})`

/** How many workers of a completed run failed: `2 workers failed`. Undefined: none. */
export function failedWorkersText({
  failures,
  failureCount = failures?.length ?? 0,
}: WithWorkerFailures): string | undefined {
  return failures === undefined ? undefined : `${failureCount} ${failureCount === 1 ? 'worker' : 'workers'} failed`
}

/** Which ones, and why. */
export function failedWorkersLine(failed: WithWorkerFailures): string | undefined {
  const { failures = [], failureCount = failures.length } = failed
  const names = failures.map(({ worker, code }) => `${visible(worker)} (${code})`)
  const rest = failureCount > names.length ? [`${failureCount - names.length} more`] : []
  const text = failedWorkersText(failed)
  return text === undefined ? undefined : `${text}: ${[...names, ...rest].join(', ')}`
}
