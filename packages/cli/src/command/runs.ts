/**
 * `reeve runs`: the runs of a store that fit a filter, newest first.
 *
 * Owns: the table, what a filter is called here. Does not own: the search (runtime).
 */
import { shellWord, visible, visibleLine, durationText } from '@reeve/core'
import { cursorIn, cursorOf, metadataValue, type RunFilter, type RunStatus, type RunSummary } from '@reeve/runtime'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { undrivenLine } from '../next-command.ts'
import { isDrivenIn, isExpired, needsDriver } from '../run-driver.ts'
import { stallsOf, stallText } from '../stall-lines.ts'
import { failedWorkersLine, failedWorkersText, timeText } from '../request-text.ts'
import { withRuns } from '../store.ts'
import type { Style, Terminal } from '../terminal.ts'
import { groupingOf, showGroups } from './run-groups.ts'

const colours: Partial<Record<RunStatus, Style>> = {
  completed: 'green',
  bailed: 'green',
  failed: 'red',
  limited: 'red',
  'timed-out': 'red',
  waiting: 'yellow',
  queued: 'yellow',
  stuck: 'yellow',
  running: 'cyan',
}

/** Which runs, as it is typed. */
export interface RunFilterOptions {
  readonly agent?: string
  readonly agentVersion?: string
  readonly user?: string
  readonly session?: string
  readonly tenant?: string
  readonly text?: string
  readonly code?: string
  readonly cause?: string
  readonly meta?: readonly string[]
  readonly since?: string
  readonly before?: string
  readonly minUsd?: number
}

/** The options of the command, as they are typed. */
export interface RunsOptions extends RunFilterOptions {
  readonly limit: number
  readonly json?: boolean
  readonly status?: string
  readonly after?: string
  readonly why?: boolean
  readonly usd?: boolean
  readonly group?: string
}

/** Lists runs, or counts them in groups. */
export function runs(context: CommandContext, given: RunsOptions): Promise<Exit> {
  const { terminal, options, cwd } = context
  const { limit, json = false, why = false, usd = false, group } = given
  const filter = pageOf(given)
  const grouping = group === undefined ? undefined : groupingOf(group)
  return withRuns(options, cwd, async (runtime, place) => {
    if (grouping !== undefined) {
      const { limit: _limit, after: _after, ...figures } = filter
      await showGroups(terminal, runtime, figures, grouping, json)
      return exits.done
    }
    const asksIndex = given.text !== undefined || given.code !== undefined || given.cause !== undefined
    const behind = asksIndex ? await runtime.unindexed() : 0
    if (behind > 0)
      terminal.note(`${behind.toLocaleString('en')} runs are not in the index yet, and may be missing here.`)
    const found = await runtime.runs(filter)
    if (json) {
      for (const run of found) terminal.line(JSON.stringify(run))
      return exits.done
    }
    if (found.length === 0)
      terminal.line(Object.keys(filter).length === 1 ? 'No runs in this store.' : 'No run fits this filter.')
    const widest = Math.max(0, ...found.map((each) => each.run.length))
    const indent = `${' '.repeat(widest)}  `
    const now = Date.now()
    const system = found.some((each) => needsDriver(each, now)) ? await runtime.system() : undefined
    const isDriven = system === undefined || isDrivenIn(system)
    const costs = usd ? found.map(costText) : []
    const widestCost = Math.max(0, ...costs.map((each) => each.length))
    for (const [i, summary] of found.entries()) {
      const { run, status, agent, createdAt, endedAt, reason, queued } = summary
      const took = endedAt === undefined ? '' : `  took ${durationText(endedAt - createdAt)}`
      const failed = failedWorkersText(summary)
      const cost = usd ? `${costs[i]!.padStart(widestCost)}  ` : ''
      const more = `${cost}${visible(agent)}  ${new Date(createdAt).toISOString().slice(0, 19)}Z${took}`
      const taken =
        widest + 2 + Math.max(9, status.length) + 2 + more.length + (failed === undefined ? 0 : failed.length + 2)
      terminal.line(
        `${run.padEnd(widest)}  ${terminal.style(colours[status] ?? 'dim', status.padEnd(9))}  ${more}${failed === undefined ? '' : `  ${terminal.style('red', failed)}`}${inputText(terminal, summary, taken)}`,
      )
      const failing = why ? failedWorkersLine(summary) : undefined
      if (failing !== undefined) terminal.line(`${indent}${failing}`)
      if (queued !== undefined) terminal.line(`${indent}behind ${queued.behind}`)
      if (reason !== undefined && (why || endedAt === undefined)) terminal.line(`${indent}${visibleLine(reason)}`)
      if (why) for (const line of waitLines(summary, now)) terminal.line(`${indent}${line}`)
      const installation = endedAt === undefined ? system?.installation : undefined
      for (const stall of installation === undefined ? [] : stallsOf(run, installation))
        terminal.line(`${indent}${terminal.style('yellow', stallText(stall, installation!))}`)
      if (!isDriven && needsDriver(summary, now))
        terminal.line(`${indent}${await undrivenLine({ context, runtime, place, run, agent })}`)
    }
    const last = found.at(-1)
    if (last !== undefined && found.length === limit)
      terminal.note(`The next page: --after ${shellWord(cursorOf(last))}${whereOf(options)}`)
    return exits.done
  })
}

/** Fewer columns say nothing of an input. */
const leastInput = 12

/** The beginning of the input, where a terminal has room for it beside the rest of the line. */
function inputText(terminal: Terminal, { input }: RunSummary, taken: number): string {
  const room = terminal.columns - taken - 2
  if (!terminal.isLive || input === undefined || room < leastInput) return ''
  const text = visibleLine(input.text)
  return `  ${terminal.style('dim', text.length > room ? `${text.slice(0, room - 1).toWellFormed()}…` : text)}`
}

/** What it waits for: whom it has asked, since when, until when. */
function waitLines({ waitsFor }: RunSummary, now: number): readonly string[] {
  if (waitsFor === undefined) return []
  const { questions, oldest } = waitsFor
  const { kind, id, askedAt, until } = oldest
  const deadline =
    until === undefined ? 'no deadline' : `${isExpired(oldest, now) ? 'expired' : 'until'} ${timeText(until)}`
  const more = questions === 1 ? '' : ` and ${questions - 1} more`
  return [`waits for ${kind} ${visible(id)}${more}, asked ${timeText(askedAt)}, ${deadline}`]
}

/** A cost that is not known is said to be so; one that is known in part is at least so much. */
function costText({ usage: used }: RunSummary): string {
  if (used === undefined) return 'cost unknown'
  if (used.usd === undefined) return used.unpriced === undefined ? 'cost unknown' : 'no price known'
  return `${used.unpriced === undefined ? '' : 'at least '}$${used.usd.toFixed(4)}`
}

function pageOf(given: RunsOptions): RunFilter {
  const { limit, status, after } = given
  return {
    limit,
    ...(status === undefined ? {} : { status: status.split(',').map((each) => each.trim() as RunStatus) }),
    ...filterOf(given),
    ...(after === undefined ? {} : { after: placeOf(after) }),
  }
}

/** The filter that was typed. Throws `cli.usage`. */
export function filterOf(given: RunFilterOptions): RunFilter {
  const { agent, agentVersion, user, session, tenant, text, code, cause, meta, since, before, minUsd } = given
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(agentVersion === undefined ? {} : { version: agentVersion }),
    ...(text === undefined ? {} : { text }),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined ? {} : { cause }),
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(meta === undefined ? {} : { metadata: metadataOf(meta) }),
    ...(since === undefined ? {} : { since: momentOf(since, '--since') }),
    ...(before === undefined ? {} : { before: momentOf(before, '--before') }),
    ...(minUsd === undefined ? {} : { usdFrom: minUsd }),
  }
}

/** `key=value`; a value that is JSON is that value, so that `n=1` is a number and `n="1"` a text. */
export function metadataOf(given: readonly string[]): NonNullable<RunFilter['metadata']> {
  const entries = given.map((each) => {
    const cut = each.indexOf('=')
    if (cut < 1) throw usage(`--meta ${JSON.stringify(each)} is not key=value`, 'For example: --meta customer=acme')
    return [each.slice(0, cut), metadataValue(each.slice(cut + 1))] as const
  })
  return Object.fromEntries(entries)
}

/** A date as it is typed. Throws `cli.usage`. */
export function momentOf(text: string, option: string): number {
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isFinite(at) && /^\d/.test(text)) return at
  throw usage(`${option} ${JSON.stringify(text)} is not a date`, 'Write it as 2026-11-01T08:00:00Z.')
}

function placeOf(cursor: string): NonNullable<RunFilter['after']> {
  const place = cursorIn(cursor)
  if (place !== undefined) return place
  throw usage(`--after ${JSON.stringify(cursor)} is not a cursor`, 'Use the one that the page before has printed.')
}
