/**
 * What is asked of somebody, as text: approvals with the exact arguments that are to be decided about, questions with where they are answered.
 *
 * Owns: how values are shortened for a terminal, and that a text in them cannot redraw it. Does not own: who is asked (watch.ts), deciding (command/).
 */
import { describeOutcome, isObject, type Json } from '../core/index.ts'
import type { Approval, InterruptView, RunWaiting } from '../runtime/index.ts'

const shownCharacters = 120
const shownLines = 14

/** Control characters are shown as what they are: a text may not redraw the terminal that asks about it. */
export const visible = (text: string): string => text.replace(/\p{Cc}/gu, '�')

/** A value on one line; a long one is cut and measured. */
export function shortly(value: unknown, where = ''): string {
  const text = visible(JSON.stringify(value) ?? 'nothing')
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}… (${text.length} characters${where})`
}

/** The arguments of a call on one line: each of them shortened for itself, so that a long one hides no other. */
export function argumentsLine(input: Json): string {
  if (!isObject(input)) return shortly(input)
  const fields = Object.entries(input).map(([name, value]) => `${visible(name)}: ${shortly(value)}`)
  return fields.length === 0 ? 'no arguments' : fields.join(', ')
}

/** How an interrupt ended. */
export const answeredText = (outcome: NonNullable<InterruptView['outcome']>): string =>
  outcome.status === 'completed'
    ? `answered${outcome.by === undefined ? '' : ` by ${outcome.by}`}: ${shortly(outcome.output)}`
    : describeOutcome(outcome)

/** The command that answers an interrupt. */
export const answerCommand = (id: string, where: string): string => `reeve answer ${id} <json or text>${where}`

const inFull = '; reeve show --json has them all'

/** What is asked, for people: each argument on a line, a text of several lines as its beginning, long ones cut and measured. */
export function approvalLines(approval: Approval): readonly string[] {
  const { tool, path, reason, risk, input, id } = approval
  const fields = isObject(input) ? Object.entries(input) : [['input', input] as const]
  return [
    `${path.join(' › ')} asks to run ${tool} (${risk} risk): ${reason}`,
    ...fields.flatMap(([name, value]) =>
      typeof value === 'string' && value.includes('\n') ? [`  ${name}:`, ...beginning(value)] : [`  ${name}: ${shortly(value, inFull)}`],
    ),
    ...whoLines(approval).map((line) => `  ${line}`),
    `  ${id}`,
  ]
}

type Asked = Pick<Approval, 'kind' | 'task' | 'hits' | 'approvers' | 'excludes' | 'fourEyes' | 'tier' | 'options' | 'until'>

/** Why a human is to look, who may decide and until when, one line each. Nothing where anybody may and nothing is said. */
export function whoLines({ kind, task, hits = [], approvers, excludes, fourEyes, tier, options, until }: Asked): readonly string[] {
  const asked = approvers === undefined ? undefined : `to be decided by ${approvers.map(visible).join(' or ')}`
  const which = tier === undefined ? '' : ` (asked as number ${tier})`
  return [
    kind === undefined ? undefined : `about: ${kind}${task === undefined ? '' : ` ${visible(task)}`}`,
    hits.length === 0 ? undefined : `escalated: ${hits.map(({ code, priority }) => `${code} (${priority})`).join(', ')}`,
    asked === undefined ? undefined : `${asked}${which}`,
    excludes === undefined ? undefined : `approved by ${excludes.map(visible).join(' and ')} already: somebody else has to look`,
    fourEyes === true && excludes === undefined ? 'two people have to approve it' : undefined,
    options === undefined ? undefined : `may be decided: ${options.join(', ')}`,
    until === undefined || (asked === undefined && fourEyes !== true) ? undefined : `until ${new Date(until).toISOString()}`,
  ].flatMap((line) => (line === undefined ? [] : [line]))
}

/** The first lines of a text. */
function beginning(text: string): readonly string[] {
  const lines = text.split('\n')
  const shown = lines.slice(0, shownLines).map((line) => `    │ ${visible(line).slice(0, shownCharacters)}`)
  return lines.length <= shownLines ? shown : [...shown, `    … ${lines.length} lines, ${text.length} characters${inFull}`]
}

/** A question that is no approval: what it is, and how it is answered. */
export function questionLines({ kind, id, body }: RunWaiting['questions'][number], run: string, where: string): readonly string[] {
  const asked = isObject(body) ? (body as { readonly question?: Json }).question : undefined
  const answer = {
    interrupt: `Answer it: ${answerCommand(id, where)}`,
    approval: `Decide it: reeve approve ${id}${where}`,
    'in-doubt': `Answer it from code: runtime.handle('${run}').settleDoubt({ … }): say whether it happened`,
    diverged: `Answer it from code: runtime.handle('${run}').settleDivergence({ … }): say what became of it`,
  }[kind]
  return [`The run waits (${kind} ${id})${asked === undefined ? '' : `: ${shortly(asked, inFull)}`}`, `  ${answer}`]
}
