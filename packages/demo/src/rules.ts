/**
 * Rules: functions that lead the demo team when no model is given, with the request and answer of a model.
 *
 * Owns: the next step of the leader and its workers, from the conversation alone. Does not own: the team (team.ts), the
 * form of the report (survey/report). Pure: the same messages give the same answer, so a resumed run decides the same.
 */
import { basename } from 'node:path'
import { failure, FailureError, type Json, type Message, type ModelAnswerInput, type ModelRequest } from '@reeve/public'
import {
  many,
  recruitsFor,
  renderReport,
  type AreaReport,
  type InventoryFindings,
  type Recruit,
  type SurveyArea,
  type SurveyFindings,
} from './survey/index.ts'
import { briefFor, firstTeam, toolName } from './areas.ts'
import { isObject, isSettings, type DemoSettings } from './settings.ts'

/** One call the conversation holds, with its result once there is one. */
interface Called {
  readonly name: string
  readonly input: Json
  readonly result: { readonly content: Json; readonly isError: boolean } | undefined
}

/** A worker: calls its tool once and answers with the findings. If the tool fails, it fails with the same reason. */
export function workerRule(area: SurveyArea): (request: ModelRequest) => ModelAnswerInput {
  return ({ messages }) => {
    const [survey] = callsIn(messages)
    if (survey === undefined) return { calls: [{ name: toolName(area), input: { at: timeIn(messages) } }] }
    const { content, isError } = survey.result ?? { content: 'no result', isError: true }
    if (isError) throw new FailureError(failure('tool.failed', bare(content), 'validation'))
    return { text: JSON.stringify(content) }
  }
}

/**
 * The leader: delegates to the initial team in parallel, recruits specialists that the inventory needs, delegates to
 * them, writes the report and summarises. Each turn does the first step that is not done.
 */
export function leaderRule({ messages }: ModelRequest): ModelAnswerInput {
  const settings = settingsIn(messages)
  const calls = callsIn(messages)
  const sent = new Set(delegations(calls).map(({ worker }) => worker))
  const missing = firstTeam.filter((area) => !sent.has(area))
  if (missing.length > 0) return { calls: missing.map((area) => delegateTo(area, settings)) }
  const wanted = wantedSpecialists(calls)
  const unrecruited = wanted.filter(
    ({ specialist }) => !calls.some(({ name, input }) => name === 'recruit' && field(input, 'worker') === specialist),
  )
  if (unrecruited.length > 0)
    return {
      calls: unrecruited.map(({ specialist, reason }) => ({ name: 'recruit', input: { worker: specialist, reason } })),
    }
  const joined = wanted.filter(({ specialist }) =>
    calls.some(
      ({ name, input, result }) =>
        name === 'recruit' && field(input, 'worker') === specialist && result?.isError === false,
    ),
  )
  const unsent = joined.filter(({ specialist }) => !sent.has(specialist))
  if (unsent.length > 0) return { calls: unsent.map(({ specialist }) => delegateTo(specialist, settings)) }
  const written = calls.find(({ name }) => name === 'write_report')
  if (written === undefined)
    return { calls: [{ name: 'write_report', input: { report: reportOf(settings, calls, joined) } }] }
  return { text: finalAnswer(settings, calls, written) }
}

const delegateTo = (area: SurveyArea, { at }: DemoSettings): { name: string; input: Json } => ({
  name: 'delegate',
  input: { worker: area, instructions: briefFor(area, at) },
})

/** Every call of the conversation in its order, with its result. */
function callsIn(messages: readonly Message[]): readonly Called[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? [[message.callId, { content: message.content, isError: message.isError === true }] as const]
        : [],
    ),
  )
  return messages.flatMap((message) =>
    message.role === 'assistant'
      ? (message.calls ?? []).map(({ id, name, input }) => ({ name, input, result: results.get(id) }))
      : [],
  )
}

function delegations(
  calls: readonly Called[],
): readonly { readonly worker: SurveyArea; readonly result: Called['result'] }[] {
  return calls.flatMap(({ name, input, result }) =>
    name === 'delegate' ? [{ worker: field(input, 'worker') as SurveyArea, result }] : [],
  )
}

function wantedSpecialists(calls: readonly Called[]): readonly Recruit[] {
  const inventory = delegations(calls).find(({ worker }) => worker === 'inventory')?.result
  const findings = inventory === undefined || inventory.isError ? undefined : findingsIn(inventory.content)
  return findings === undefined ? [] : recruitsFor((findings as InventoryFindings).signals)
}

function reportOf(settings: DemoSettings, calls: readonly Called[], joined: readonly Recruit[]): string {
  const { folder, run, at, model } = settings
  return renderReport({
    folder: basename(folder),
    brain: model === undefined ? { type: 'rules' } : { type: 'model', model },
    run,
    times: [{ event: 'started', at }],
    areas: delegations(calls).map(areaReport),
    recruits: joined.map(({ specialist, reason }) => ({ worker: specialist, reason })),
  })
}

function areaReport({
  worker,
  result,
}: {
  readonly worker: SurveyArea
  readonly result: Called['result']
}): AreaReport {
  const findings = result === undefined || result.isError ? undefined : findingsIn(result.content)
  if (findings !== undefined) return { type: 'examined', worker, findings }
  return { type: 'failed', worker, area: worker, reason: bare(result?.content ?? 'no result') }
}

/** Parses findings from a worker's output: JSON, or a text with JSON. */
function findingsIn(content: Json): SurveyFindings | undefined {
  const value = typeof content === 'string' ? parsed(content) : content
  return isObject(value) && typeof value['area'] === 'string' ? (value as unknown as SurveyFindings) : undefined
}

function finalAnswer({ folder }: DemoSettings, calls: readonly Called[], written: Called): string {
  const areas = delegations(calls).map(areaReport)
  const failed = areas.filter((area) => area.type === 'failed').length
  const count = `${many(areas.length - failed, 'area')} examined${failed === 0 ? '' : `, ${failed} could not be`}`
  const { content, isError } = written.result ?? { content: 'no result', isError: true }
  return isError
    ? `${count}. REPORT.md was not written: ${bare(content)}`
    : `${count}. The report is in ${basename(folder)}/REPORT.md.`
}

/** The message of a failure marker, without its brackets and its outermost name. */
function bare(content: Json): string {
  let text = typeof content === 'string' ? content : JSON.stringify(content)
  for (
    let inner = /^\[(?:worker|tool) "[^"]*" (?:failed: )?(.*)\]$/s.exec(text);
    inner?.[1] !== undefined;
    inner = /^\[(?:worker|tool) "[^"]*" (?:failed: )?(.*)\]$/s.exec(text)
  )
    text = inner[1]
  return text
}

function settingsIn(messages: readonly Message[]): DemoSettings {
  const given = parsed(userText(messages))
  if (!isSettings(given))
    throw new FailureError(failure('input.invalid', 'the brief does not say which folder to survey', 'validation'))
  return given
}

/** The time up to which ages are counted: recorded in the brief, so that it is the same whenever the survey runs. */
const timeIn = (messages: readonly Message[]): string => /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(userText(messages))?.[0] ?? ''

function userText(messages: readonly Message[]): string {
  const content = messages.find((message) => message.role === 'user')?.content ?? ''
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const field = (input: Json, name: string): Json | undefined => (isObject(input) ? input[name] : undefined)
