/**
 * The plan of a team drawn for a terminal: tasks in levels below their dependencies, with status signs, durations and
 * a timeline.
 *
 * Owns: the levels, the line of a task, fitting it to the terminal. Does not own: the view (journal), the Mermaid text
 * (planGraph of the journal), the team's other facts (team-summary.ts). Pure: a function of the view and the time.
 */
import { cut, durationText, visibleLine, wrapped } from '@reeve/core'
import type { TaskStatus } from '@reeve/core'
import type { TaskView, TeamView } from '@reeve/runtime'
import { teamSummary } from './team-summary.ts'
import type { Style } from './terminal.ts'
import { type TreeOptions } from './tree.ts'

/** How a plan is drawn. */
export type GraphOptions = Pick<TreeOptions, 'now' | 'columns' | 'style'>

const signs: Readonly<Record<TaskStatus, { readonly sign: string; readonly style: Style }>> = {
  pending: { sign: '○', style: 'dim' },
  waiting: { sign: '○', style: 'dim' },
  awaiting_approval: { sign: '?', style: 'yellow' },
  running: { sign: '●', style: 'cyan' },
  succeeded: { sign: '✓', style: 'green' },
  failed: { sign: '✗', style: 'red' },
  skipped: { sign: '–', style: 'dim' },
  cancelled: { sign: '–', style: 'dim' },
}

/** The drawing of one team: its summary, its tasks level by level, its other facts. */
export function graphLines(
  team: TeamView,
  { now, columns, style = (_style, text) => text }: GraphOptions,
): readonly string[] {
  const rows = levels(team)
  const widths = widthsOf(rows.flat(), columns)
  const membersOf = Map.groupBy(team.members, ({ task }) => task)
  const drawn = rows.flatMap((row, i) => [
    ...(i === 0 ? [] : [style('dim', '  ↓')]),
    ...row.flatMap((place) => [
      taskLine(place, team, widths, now, style),
      ...details(place.task, membersOf.get(place.task.task) ?? []).flatMap((each) =>
        indented(each, columns, indentOf(place) + 2).map((line) => style('dim', line)),
      ),
    ]),
  ])
  const { route, reasons } = team.plan
  const [title = '', ...more] = indented(`${shown(team.agent)}  ${route}: ${reasons.map(shown).join('; ')}`, columns, 0)
  const name = title.startsWith(shown(team.agent)) ? shown(team.agent) : title
  return [
    `${style('bold', name)}${title.slice(name.length)}`,
    ...more,
    ...indented(summary(team, now), columns, 0),
    '',
    ...drawn,
    ...teamSummary(team).flatMap((line, i) => [...(i === 0 ? [''] : []), ...indented(line, columns, 0)]),
  ]
}

const shown = (text: string): string => visibleLine(text)

/** A task and its depth: a recruit's task stands below the task of the member that asked for it. */
interface PlacedTask {
  readonly task: TaskView
  readonly depth: number
}

/** Tasks by the length of their longest chain of dependencies. Within a level: in the order of the plan. */
function levels(team: TeamView): readonly (readonly PlacedTask[])[] {
  const anchors = anchorsOf(team)
  const level = levelOf(team, anchors)
  const below = Map.groupBy(team.plan.tasks, ({ task }) => anchors.get(task))
  const rows: PlacedTask[][] = []
  const place = (task: TaskView, row: PlacedTask[], depth: number): void => {
    row.push({ task, depth })
    for (const recruit of below.get(task.task) ?? []) place(recruit, row, depth + 1)
  }
  for (const task of below.get(undefined) ?? []) place(task, (rows[level.get(task.task) ?? 0] ??= []), 0)
  return rows.flatMap((row) => [row])
}

/** The task below which each recruit's task stands. Only earlier tasks count: a recruiter precedes its recruit. */
function anchorsOf({ members, plan: { tasks } }: TeamView): ReadonlyMap<string, string> {
  const taskOf = new Map(members.map(({ member, task }) => [member, task]))
  const before = new Set<string>()
  const anchors = new Map<string, string>()
  for (const { task, recruit } of tasks) {
    const anchor = recruit === undefined ? undefined : (taskOf.get(recruit.by) ?? recruit.parent)
    if (anchor !== undefined && before.has(anchor)) anchors.set(task, anchor)
    before.add(task)
  }
  return anchors
}

/** The longest path to each task. Tasks in a cycle get level 0: plans have no cycles, but drawing must not hang. */
function levelOf(
  { plan: { tasks }, topics }: TeamView,
  anchors: ReadonlyMap<string, string>,
): ReadonlyMap<string, number> {
  const producers = new Map(topics.map(({ topic, producers: of }) => [topic, of]))
  const known = new Set(tasks.map(({ task }) => task))
  const after = new Map<string, { readonly task: string; readonly length: number }[]>()
  const open = new Map<string, number>()
  const level = new Map(tasks.map(({ task }) => [task, 0]))
  const step = (from: string, task: string, length: number): void => {
    after.set(from, after.get(from) ?? [])
    after.get(from)!.push({ task, length })
    open.set(task, (open.get(task) ?? 0) + 1)
  }
  for (const { task, dependencies, joined, consumes } of tasks) {
    const before = new Set([...dependencies, ...joined, ...consumes.flatMap((topic) => producers.get(topic) ?? [])])
    for (const from of before) if (from !== task && known.has(from)) step(from, task, 1)
    const anchor = anchors.get(task)
    if (anchor !== undefined) step(anchor, task, 0)
  }
  const ready = tasks.map(({ task }) => task).filter((task) => !open.has(task))
  for (const from of ready)
    for (const { task, length } of after.get(from) ?? []) {
      level.set(task, Math.max(level.get(task)!, level.get(from)! + length))
      open.set(task, open.get(task)! - 1)
      if (open.get(task) === 0) ready.push(task)
    }
  return level
}

const indentOf = ({ depth }: PlacedTask): number => 2 + 3 * depth

/** Column widths: the indented name, the member, the bar. 0: no room for it. */
interface Widths {
  readonly name: number
  readonly who: number
  readonly bar: number
}
const timeColumns = 7
const leastBar = 12
const leastWho = 14
const mostBar = 32

function widthsOf(places: readonly PlacedTask[], columns: number): Widths {
  const longest = (lengths: readonly number[]): number => lengths.reduce((most, each) => Math.max(most, each), 0)
  const name = longest(places.map((place) => indentOf(place) + 2 + shown(place.task.task).length))
  const who = longest(places.map(({ task }) => whoOf(task).length))
  const room = columns - timeColumns - 4
  const bar = Math.min(mostBar, room - name - who - 2)
  if (bar >= leastBar) return { name, who, bar }
  const squeezed = room - name - 2 - leastBar
  if (squeezed >= leastWho) return { name, who: squeezed, bar: leastBar }
  const narrow = room < 24 ? 0 : Math.min(who, Math.floor(room / 3))
  return { name: Math.min(name, room - narrow), who: narrow, bar: 0 }
}

function taskLine(
  place: PlacedTask,
  team: TeamView,
  widths: Widths,
  now: number,
  style: (style: Style, text: string) => string,
): string {
  const { task, depth } = place
  const { sign, style: colour } = signs[task.status]
  const before = depth === 0 ? '  ' : `${' '.repeat(indentOf(place) - 3)}╰╌ `
  const name = cut(shown(task.task), Math.max(4, widths.name - before.length - 2))
  const who = widths.who === 0 ? '' : cut(whoOf(task), widths.who).padEnd(widths.who)
  const time = task.startedAt === undefined ? '' : durationText((task.endedAt ?? now) - task.startedAt)
  const rest = `${who}  ${time.padStart(timeColumns)}`
  const bar = widths.bar === 0 ? '' : barOf(task, team, widths.bar, now)
  const gap = ' '.repeat(Math.max(0, widths.name - before.length - 2 - name.length))
  const line = `${style('dim', before)}${style(colour, sign)} ${name}`
  const end = `${gap}  ${rest}`
  return bar === '' ? `${line}${style('dim', end.trimEnd())}` : `${line}${style('dim', end)}  ${style(colour, bar)}`
}

/** The member that has the task; for a recruit, who recruited it (member and task have one name). */
const whoOf = ({ member, recruit }: TaskView): string =>
  recruit === undefined ? shown(member) : `recruited by ${shown(recruit.by)}`

/** The working time of a task, on a line that stands for the whole working time of the team. */
function barOf({ startedAt, endedAt }: TaskView, team: TeamView, columns: number, now: number): string {
  const begin = team.startedAt
  const whole = Math.max(1, (team.endedAt ?? now) - begin)
  if (startedAt === undefined) return ''
  const at = (time: number): number => Math.min(columns, Math.max(0, Math.round(((time - begin) / whole) * columns)))
  const first = Math.min(at(startedAt), columns - 1)
  return `${' '.repeat(first)}${'━'.repeat(Math.max(1, at(endedAt ?? now) - first))}`
}

/** LocatedRun facts of a task, one line each. `members`: everyone that has or had the task. */
function details(task: TaskView, members: TeamView['members']): readonly string[] {
  const { dependencies, joined, consumes, produces, waitsFor, missing, failure, reason, attempts, status, critical } =
    task
  const list = (names: readonly string[]): string => names.map(shown).join(', ')
  const before = [...dependencies, ...joined]
  const gate = [task.action, task.risk === undefined ? undefined : `${task.risk} risk`].filter(
    (each) => each !== undefined,
  )
  const failed = status === 'failed' || (failure !== undefined && status !== 'succeeded')
  const passed = members.map(({ member }) => member).filter((member) => member !== task.member)
  return [
    ...(before.length === 0 ? [] : [`after ${list(before)}`]),
    ...(consumes.length === 0 ? [] : [`needs ${list(consumes)}`]),
    ...(produces.length === 0 ? [] : [`adds to ${list(produces)}`]),
    ...(critical ? ['critical: its failure aborts the plan'] : []),
    ...(waitsFor.length === 0 ? [] : [`waits for ${list(waitsFor)}`]),
    ...(status === 'awaiting_approval' ? ['waits for approval'] : []),
    ...(gate.length === 0 ? [] : [list(gate)]),
    ...(task.optional === true ? ['optional'] : []),
    ...(task.requiresApproval === true ? ['needs approval'] : []),
    ...(task.review === true ? ['its result is reviewed'] : []),
    ...(task.mode === undefined ? [] : [task.mode]),
    ...(missing.length === 0 ? [] : [`without ${list(missing)}`]),
    ...(passed.length === 0 ? [] : [`reassigned from ${list(passed)}`]),
    ...(failed ? [`${attempts > 1 ? `${attempts} attempts: ` : ''}${shown(failure?.message ?? 'failed')}`] : []),
    ...(!failed && attempts > 1 ? [`${attempts} attempts`] : []),
    ...(reason === undefined ? [] : [shown(reason)]),
  ]
}

/** The state of the plan in one sentence. */
function summary({ state, plan, coverage, startedAt, endedAt }: TeamView, now: number): string {
  const { tasks, maxFailures, failed, concurrency } = plan
  const count = (...statuses: readonly TaskStatus[]): number =>
    tasks.filter(({ status }) => statuses.includes(status)).length
  const recruits = tasks.filter(({ recruit }) => recruit !== undefined).length
  const parts = [
    `${coverage.succeeded} of ${coverage.planned} tasks succeeded`,
    ...(failed === 0 ? [] : [`${failed} failed (aborts at ${maxFailures})`]),
    ...(
      [
        [count('running'), 'running'],
        [count('awaiting_approval'), 'awaiting approval'],
        [count('waiting', 'pending'), 'pending'],
        [count('skipped'), 'skipped'],
        [count('cancelled'), 'cancelled'],
        [recruits, recruits === 1 ? 'recruit' : 'recruits'],
      ] as const
    ).flatMap(([number, what]) => (number === 0 ? [] : [`${number} ${what}`])),
  ]
  return `${state}: ${parts.join(', ')}; up to ${concurrency} at once; ${durationText((endedAt ?? now) - startedAt)}`
}

/** A text in lines between words; those after the first are indented by two more columns. */
const indented = (text: string, columns: number, indent: number): readonly string[] =>
  wrapped(text, columns, ' '.repeat(indent), ' '.repeat(indent + 2)).map((line) => line.trimEnd())
