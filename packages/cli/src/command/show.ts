/** `reeve show`: the current state of a run. Owns: which parts of the view are printed, and their order. */
import {
  argumentsLine,
  describeOutcome,
  type Failure,
  isObject,
  type Json,
  preview,
  totalUsage,
  type Usage,
  visible,
  visibleLine,
  shellWord,
} from '@reeve/core'
import {
  answerCommand,
  askedText,
  expiredText,
  failedWorkersLine,
  printedLines,
  setAsideCommands,
  settleCommand,
  whoLines,
} from '../request-text.ts'
import { answeredText } from '@reeve/journal'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { fileLines } from '../file-lines.ts'
import { graphLines } from '../graph.ts'
import { undrivenLine } from '../next-command.ts'
import { readRun, type RunReading } from '../run-reading.ts'
import { isDrivenIn, isExpired, isLeft } from '../run-driver.ts'
import { stallsOf, stallText } from '../stall-lines.ts'
import { withRuns } from '../store.ts'
import type { Terminal } from '../terminal.ts'
import { callAt, callText, failedCallLines } from '../tool-calls.ts'
import { treeLines } from '../tree.ts'
import {
  planGraph,
  type ApprovalView,
  type InterruptView,
  type Question,
  type Recorded,
  type RunView,
} from '@reeve/runtime'
import { reeve } from '../invocation.ts'

/** The format: text, one JSON document, or the plans of its teams as drawings. */
export interface ShowOptions {
  readonly json?: boolean
  readonly graph?: 'terminal' | 'mermaid'
}

/** Shows a run. */
export function show(context: CommandContext, id: string, { json = false, graph }: ShowOptions): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    if (json || graph !== undefined) {
      const view = await runtime.handle(id).view()
      if (json) terminal.line(JSON.stringify(view))
      else showGraph(view, graph!, terminal)
      return exits.done
    }
    const { summary, view, delegations, events } = await readRun(runtime, id)
    const where = whereOf(options)
    const say = (text: string): void => {
      for (const line of printedLines(text, terminal)) terminal.line(line)
    }
    const sayAll = ({ text, command }: ShownEntry): void => {
      for (const each of text) say(each)
      if (command !== undefined) terminal.line(`  ${command}`)
    }
    terminal.line(
      `${terminal.style('bold', view.run)}  ${view.status}${view.queued === undefined ? '' : ` behind ${view.queued.behind}`}  ${view.agent} ${view.version}`,
    )
    say(`input: ${preview(inputOf(view))}`)
    if (view.origin !== undefined) say(originText(view.origin))
    const now = Date.now()
    const questions = await runtime.questions({ run: id })
    // one read while the run ended may still list a question
    const system = view.outcome !== undefined || !isLeft(summary, questions, now) ? undefined : await runtime.system()
    const isDriven = system === undefined || isDrivenIn(system)
    const { columns, style } = terminal
    for (const line of treeLines(view, { now, columns, style, isDriven })) terminal.line(line)
    for (const line of view.outcome === undefined ? delegationLines(delegations, view.run, where, isDriven) : [])
      terminal.line(line)
    for (const line of taskLines(view, where)) terminal.line(line)
    // an answer that the run has not read yet: still open in the journal, but no longer a pending question
    const pending = new Set(questions.map((each) => each.id))
    for (const approval of view.approvals) sayAll(approvalEntry(approval, where, pending.has(approval.id), now))
    for (const interrupt of view.interrupts) sayAll(interruptEntry(interrupt, where, pending.has(interrupt.id), now))
    if (summary.status === 'stuck' && summary.reason !== undefined)
      sayAll(stuckEntry(summary.reason, summary.failure, summary.run, where))
    for (const doubt of view.doubts) sayAll(doubtEntry(doubt, questions, events, where))
    for (const line of failedCallLines(events, `${reeve} events ${shellWord(id)}${where}`)) say(line)
    for (const line of fileLines(events)) say(line)
    const installation = system?.installation
    for (const stall of installation === undefined ? [] : stallsOf(id, installation))
      say(`${stall.run === id ? '' : `${stall.run}: `}${stallText(stall, installation!)}`)
    if (!isDriven) terminal.line(await undrivenLine({ context, runtime, place, run: id, agent: view.agent }))
    if (view.takeover !== undefined) sayAll(takeoverEntry(view.takeover, view.run, where))
    else if (view.pause !== undefined)
      say(`paused${view.pause.reason === undefined ? '' : `: ${visibleLine(view.pause.reason)}`}`)
    if (view.usage.length > 0) terminal.line(usageLine(view.usage))
    const { results } = view.outcome ?? {}
    if (results?.partial === true)
      terminal.line(
        `partial: ${results.coverage.succeeded} of ${results.coverage.planned} tasks succeeded; --graph shows which`,
      )
    if (view.outcome?.status === 'completed') {
      const failed = failedWorkersLine(view.outcome)
      if (failed !== undefined) say(failed)
      if (view.outcome.reached === false) say('not reached: the loop stopped at its bound, and until was not true')
    }
    if (view.outcome?.status === 'completed') say(`output: ${preview(view.outcome.output)}`)
    else if (view.outcome !== undefined) say(visibleLine(describeOutcome(view.outcome)))
    if (view.outcome?.status === 'bailed') say(`text: ${preview(view.outcome.text)}`)
    return exits.done
  })
}

/** What is said of one thing, and the command for it, which stays on one line: it is copied. */
interface ShownEntry {
  readonly text: readonly string[]
  readonly command?: string
}

const originText = ({ run, at, reason }: NonNullable<RunView['origin']>): string =>
  `forked from ${run} at ${at}${reason === undefined ? '' : `: ${visibleLine(reason)}`}`

/** What is in doubt or has diverged: the call with its arguments, and the command that settles it. */
function doubtEntry(
  { kind, activation, address, doneIn, madeBy, trial }: RunView['doubts'][number],
  questions: readonly Question[],
  events: readonly Recorded[],
  where: string,
): ShownEntry {
  const by = madeBy === undefined ? doneIn && `the run ${doneIn}` : `an earlier attempt, ${visible(madeBy)},`
  const call = kind === 'in-doubt' ? callAt(events, activation, address) : undefined
  const what = call === undefined ? visible(address) : callText(call)
  const question = questions.find(
    (each) => each.kind === kind && each.activation === activation && each.address === address,
  )
  const isHeld = trial === true && by === undefined
  const line = `${isHeld ? 'held back by the trial' : kind}: ${what}${by === undefined ? '' : ` (${by} did or began it)`}`
  if (question === undefined) return { text: [`${line}: settled, not yet read by the run`] }
  return { text: [`${line} (${question.id})`], command: settleCommand(kind, question.id, where) }
}

/** Why a run is stuck; for one that was set aside, the commands of the operator. */
const stuckEntry = (reason: string, failure: Failure | undefined, run: string, where: string): ShownEntry => ({
  text: [`stuck: ${visibleLine(reason)}`, ...(failure?.hint === undefined ? [] : [`  ${visibleLine(failure.hint)}`])],
  ...(failure === undefined ? {} : { command: setAsideCommands(run, where) }),
})

function takeoverEntry(
  { by, reason, since }: NonNullable<RunView['takeover']>,
  run: string,
  where: string,
): ShownEntry {
  const why = reason === undefined ? '' : `: ${visibleLine(reason)}`
  return {
    text: [`taken over by ${by === undefined ? 'a human' : visible(by)} since ${new Date(since).toISOString()}${why}`],
    command: `${reeve} handback ${run}${where}`,
  }
}

/** The plans of a run's teams. */
function showGraph(view: RunView, graph: NonNullable<ShowOptions['graph']>, terminal: Terminal): void {
  if (view.teams.length === 0)
    terminal.note(`the run "${view.run}" has no plan${view.outcome === undefined ? ' yet' : ''}`)
  for (const [i, team] of view.teams.entries()) {
    if (i > 0) terminal.line()
    if (graph === 'mermaid') terminal.line(planGraph(team).trimEnd())
    else
      for (const line of graphLines(team, { now: Date.now(), columns: terminal.columns, style: terminal.style }))
        terminal.line(line)
  }
}

const openStates: ReadonlySet<string> = new Set(['pending', 'running', 'waiting'])

/**
 * The open delegations with the command that stops each, by its label, or by its activation if labels repeat. Without
 * the command if no process would carry it out.
 */
function delegationLines(all: RunReading['delegations'], run: string, where: string, isDriven: boolean): string[] {
  const open = all.filter(({ status }) => openStates.has(status))
  return open.map(({ label, worker, status, activation, callId }) => {
    const alone = label !== undefined && open.filter((each) => each.label === label).length === 1
    const id = (alone ? label : undefined) ?? activation ?? callId
    const stop = id === undefined || !isDriven ? '' : `    (${reeve} stop ${shellWord(run)} ${shellWord(id)}${where})`
    return visible(`${status}: ${label === undefined ? '' : `${label} `}(${worker})${stop}`)
  })
}

/** Pending tasks, with the command that completes each by hand, and tasks completed by hand. */
function taskLines({ run, teams, outcome }: RunView, where: string): string[] {
  return teams.flatMap(({ plan }) =>
    plan.tasks.flatMap(({ task, status, member, waitsFor, by }) => {
      if (by !== undefined) return [`done by hand by ${visibleLine(by)}: ${visible(task)} (${visible(member)})`]
      if (outcome !== undefined || (status !== 'pending' && status !== 'waiting')) return []
      const after = waitsFor.length === 0 ? '' : `, waits for ${waitsFor.map(visible).join(', ')}`
      return [
        `pending: ${visible(task)} (${visible(member)})${after}    (${reeve} complete ${run} ${visible(task)} <json or text>${where})`,
      ]
    }),
  )
}

function approvalEntry(approval: ApprovalView, where: string, isPending: boolean, now: number): ShownEntry {
  const { id, tool, risk, reason, open, resolution, approver } = approval
  const call = `${visible(tool)} with ${argumentsLine(approval.input)}`
  if (!open)
    return {
      text: [`${id} ${call}: ${resolution ?? 'answered'}${approver === undefined ? '' : ` by ${visible(approver)}`}`],
    }
  if (!isPending) return { text: [`${id} ${call}: decided, not yet read by the run`] }
  if (isExpired(approval, now)) return { text: [`${id} ${call}: ${expiredText(approval.until, approval.onTimeout)}`] }
  return {
    text: [`asks: ${call}`, `  ${risk} risk: ${visibleLine(reason)}`, ...whoLines(approval).map((line) => `  ${line}`)],
    command: `${reeve} approve ${shellWord(id)}${where}    (or: ${reeve} reject ${shellWord(id)}${where})`,
  }
}

function interruptEntry(interrupt: InterruptView, where: string, isPending: boolean, now: number): ShownEntry {
  const { id, open, outcome } = interrupt
  const text = askedText(interrupt as unknown as Json)
  const asked = `${id} ${text}`
  if (!open) return { text: [`${asked}: ${outcome === undefined ? 'closed' : answeredText(outcome)}`] }
  if (!isPending) return { text: [`${asked}: answered, not yet read by the run`] }
  if (isExpired(interrupt, now)) return { text: [`${asked}: ${expiredText(interrupt.until, undefined)}`] }
  return { text: [`asks (${id}): ${text}`], command: answerCommand(id, where, interrupt as unknown as Json) }
}

/** The instructions or input of the run, without the other fields of its edge. */
function inputOf({ input }: RunView): Json {
  const brief = isObject(input) ? input['brief'] : undefined
  if (!isObject(brief)) return input
  return brief['instructions'] ?? brief['input'] ?? input
}

function usageLine(usage: Usage): string {
  const { calls, input, output, cached, reasoning, cacheWrite, usd, unknown, unpriced } = totalUsage(usage)
  if (usage.every(({ model }) => model.startsWith('rule/')))
    return `${calls} decision${calls === 1 ? '' : 's'} by rules, no model was called`
  const atLeast = unknown > 0 ? 'at least ' : ''
  const cost = unpriced === calls ? '' : `, ${unpriced > 0 ? 'at least ' : ''}$${usd.toFixed(4)}`
  const kept = [
    ...(cached === 0 ? [] : [`${cached} from a cache`]),
    ...(cacheWrite === undefined ? [] : [`${cacheWrite} into one`]),
  ]
  const into = kept.length === 0 ? '' : ` (${kept.join(', ')})`
  const thought = reasoning === undefined || reasoning === 0 ? '' : ` (${reasoning} of reasoning)`
  return `${calls} model calls, ${atLeast}${input} tokens in${into}, ${output} out${thought}${cost}`
}
