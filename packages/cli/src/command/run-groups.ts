/**
 * `reeve runs --group`: runs in numbers: how many, how they ended, what they cost, how long they took; or why they failed.
 *
 * Owns: the tables, what a group is called here. Does not own: counting (engine/figures), the filter (runs.ts).
 */
import { durationText, visible, visibleLine } from '@reeve/core'
import type { FiguresFilter, Percentiles, RunFigures, Runtime, TotalsBy, TotalsOptions } from '@reeve/runtime'
import { usage } from '../exit.ts'
import type { Terminal } from '../terminal.ts'

const keys = ['agent', 'version', 'model', 'tenant', 'user', 'session', 'code'] as const satisfies readonly TotalsBy[]
const times = ['hour', 'day'] as const

/** What runs are grouped by: one of the keys, a time, or both; or why they failed. */
type Grouping = { readonly type: 'causes' } | { readonly type: 'totals'; readonly options: TotalsOptions }

/** What was typed: `agent`, `day`, `agent,day`, `cause`. Throws `cli.usage`. */
export function groupingOf(text: string): Grouping {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.length === 1 && parts[0] === 'cause') return { type: 'causes' }
  const by = keys.filter((key) => parts.includes(key))
  const bucket = times.filter((time) => parts.includes(time))
  if (by.length > 1 || bucket.length > 1 || by.length + bucket.length !== parts.length)
    throw usage(
      `--group ${JSON.stringify(text)} is no group`,
      `One of: ${keys.join(', ')}, cause; hour, day; or one of the first with a time: --group agent,day`,
    )
  return {
    type: 'totals',
    options: {
      ...(by[0] === undefined ? {} : { by: by[0] }),
      ...(bucket[0] === undefined ? {} : { bucket: bucket[0] }),
    },
  }
}

/** Prints the groups of the runs that fit the filter. */
export async function showGroups(
  terminal: Terminal,
  runtime: Runtime,
  filter: FiguresFilter,
  grouping: Grouping,
  json: boolean,
): Promise<void> {
  const behind =
    grouping.type === 'causes'
      ? await showCauses(terminal, runtime, filter, json)
      : await showTotals(terminal, runtime, filter, grouping.options, json)
  if (behind > 0)
    terminal.note(
      `${behind.toLocaleString('en')} runs are not in the index yet, and not counted in full: ask again soon.`,
    )
}

async function showCauses(terminal: Terminal, runtime: Runtime, filter: FiguresFilter, json: boolean): Promise<number> {
  const { causes, behind, more } = await runtime.causes(filter)
  if (json) {
    for (const each of causes) terminal.line(JSON.stringify(each))
    return behind
  }
  if (causes.length === 0) terminal.line('No run of this filter has failed.')
  const widest = Math.max(0, ...causes.map(({ runs }) => String(runs).length))
  for (const { runs, agent, code, message, newest, cause, lastAt } of causes) {
    terminal.line(
      `${String(runs).padStart(widest)}  ${terminal.style('red', visible(code))}  ${visible(agent)}: ${visibleLine(message)}`,
    )
    terminal.line(
      `${' '.repeat(widest)}  newest ${newest}, ${momentText(lastAt)}; all of them: reeve runs --cause ${cause}`,
    )
  }
  if (more !== undefined) terminal.note(`${more} more causes: use --json with a narrower filter.`)
  return behind
}

async function showTotals(
  terminal: Terminal,
  runtime: Runtime,
  filter: FiguresFilter,
  options: TotalsOptions,
  json: boolean,
): Promise<number> {
  const { behind, all, groups, overTime, more } = await runtime.totals(filter, options)
  const lines: readonly Line[] =
    groups === undefined
      ? (overTime ?? []).map(({ at, ...figures }) => ({ names: [timeName(at, options.bucket)], figures }))
      : groups.flatMap(({ key, agent, overTime: parts, ...figures }): readonly Line[] => {
          const name = agent === undefined ? (key ?? '(none)') : `${agent} ${key}`
          return parts === undefined
            ? [{ names: [name], figures }]
            : parts.map(({ at, ...part }) => ({ names: [timeName(at, options.bucket), name], figures: part }))
        })
  const sorted =
    groups !== undefined && options.bucket !== undefined
      ? lines.toSorted((a, b) => (a.names[0]! < b.names[0]! ? -1 : a.names[0]! > b.names[0]! ? 1 : 0))
      : lines
  if (json) {
    for (const { names, figures } of sorted) terminal.line(JSON.stringify({ group: names, ...figures }))
    return behind
  }
  const heads = [
    ...(options.bucket === undefined ? [] : [options.bucket]),
    ...(options.by === undefined ? [] : [options.by]),
  ]
  const rows = [...sorted, { names: ['all', ...heads.slice(1).map(() => '')], figures: all }].map(cellsOf)
  const head = [...heads, 'runs', 'not completed', 'cost', 'took p50', 'p95', 'waited p50', 'p95']
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const lineOf = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i < heads.length ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')
  terminal.line(terminal.style('dim', lineOf(head)))
  for (const row of rows) terminal.line(lineOf(row))
  if (more !== undefined) terminal.note(`${more} more groups: use a narrower filter.`)
  return behind
}

interface Line {
  readonly names: readonly string[]
  readonly figures: RunFigures
}

function cellsOf({ names, figures: { runs, ends, usage: used, durationMs, waitMs } }: Line): readonly string[] {
  const ended = Object.values(ends).reduce((sum, n) => sum + n, 0)
  const bad = ended - (ends.completed ?? 0)
  const cost = used.usd === undefined ? 'unknown' : `${used.unpriced === undefined ? '' : '≥ '}$${used.usd.toFixed(4)}`
  return [...names.map(visible), String(runs), String(bad), cost, ...spread(durationMs), ...spread(waitMs)]
}

const spread = (of: Percentiles | undefined): readonly [string, string] =>
  of === undefined ? ['–', '–'] : [durationText(of.p50), durationText(of.p95)]

const momentText = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`
const timeName = (at: number, bucket: TotalsOptions['bucket']): string =>
  bucket === 'hour' ? `${new Date(at).toISOString().slice(0, 13)}:00Z` : new Date(at).toISOString().slice(0, 10)
