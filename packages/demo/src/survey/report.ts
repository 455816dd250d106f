/**
 * The report: a pure function from findings to Markdown. Owns: the frame, the order, what comes first.
 * Does not own: severity (`concerns.ts`), the areas' sections (`report-sections.ts`), writing the file.
 *
 * R1: the same input gives the same text. R2: run id and recorded times stand only in the header, one per line, so that
 * two reports can be compared without them (`comparableReport`). R3: an area that failed is named where it would have
 * stood, with the reason.
 */
import { concernsOf, type Concern, type Severity } from './concerns.ts'
import { areaTitles, type SurveyArea, type SurveyFindings } from './findings.ts'
import { code, grouped, joined, many, table, plainText } from './markup.ts'
import { gistOf, sectionOf } from './report-sections.ts'
import { byText } from './walk.ts'

/** How an area ended, and which worker it was given to. */
export type AreaReport =
  | { readonly type: 'examined'; readonly worker: string; readonly findings: SurveyFindings }
  | { readonly type: 'failed'; readonly worker: string; readonly area: SurveyArea; readonly reason: string }

/** All a report is made of. */
export interface ReportInput {
  /** What the folder is called in the title. */
  readonly folder: string
  readonly brain: { readonly type: 'rules' } | { readonly type: 'model'; readonly model: string }
  /** The run id. */
  readonly run: string
  /** Recorded times in the order they are to be shown: what happened, and when (ISO 8601). */
  readonly times: readonly { readonly event: string; readonly at: string }[]
  readonly areas: readonly AreaReport[]
  /** Specialists that joined because of what was found. */
  readonly recruits: readonly { readonly worker: string; readonly reason: string }[]
  /** Remarks of the team (mailbox notes, the leader's summary), shown as written, markup out of action. */
  readonly notes?: readonly string[] | undefined
}

const marks: Readonly<Record<Severity | 'clear' | 'failed', string>> = {
  soon: '🟠 soon',
  minor: '🟡 minor',
  clear: '🟢 clear',
  failed: '⚪ not examined',
}
const order = Object.keys(areaTitles)
const severities: readonly Severity[] = ['soon', 'minor']

/** Renders the report. */
export function renderReport(input: ReportInput): string {
  const areas = ordered(input.areas)
  const concerns = areas.flatMap((area) => (area.type === 'examined' ? concernsOf(area.findings) : []))
  const failed = areas.filter((area) => area.type === 'failed')
  const lines = [
    `# What we found in ${code(input.folder)}`,
    '',
    `- leader: ${input.brain.type === 'rules' ? 'rules (no model)' : code(input.brain.model)}`,
    `- run: ${code(input.run)}`,
    ...input.times.map(({ event, at }) => `- ${plainText(event)} (recorded): ${plainText(at)}`),
    '',
    `> ${headline(concerns, failed.length)}`,
    '',
    '## At a glance',
    '',
    ...table(['area', 'attention', 'found', 'examined by'], areas.map(glance)),
    ...attention(concerns, failed),
    ...areas.flatMap(section),
    ...team(input, areas),
    ...reach(areas),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

/** A report without its run id and recorded times: what two reports on the same folder must have in common. */
export function comparableReport(report: string): string {
  const end = report.indexOf('\n## ')
  const header = report.slice(0, end === -1 ? undefined : end)
  return header.replaceAll(/^- (?:run:|.* \(recorded\):) .*\n/gm, '') + (end === -1 ? '' : report.slice(end))
}

const areaOf = (area: AreaReport): SurveyArea => (area.type === 'failed' ? area.area : area.findings.area)

function markOf(area: AreaReport): Severity | 'clear' | 'failed' {
  return area.type === 'failed' ? 'failed' : (concernsOf(area.findings)[0]?.severity ?? 'clear')
}

/** What needs attention first: areas not examined, then by severity; the inventory last. */
function ordered(areas: readonly AreaReport[]): AreaReport[] {
  const rank = { failed: 0, soon: 1, minor: 2, clear: 3 }
  const weight = (area: AreaReport): number =>
    areaOf(area) === 'inventory' && area.type === 'examined' ? 9 : rank[markOf(area)]
  return [...areas].sort(
    (a, b) =>
      weight(a) - weight(b) || order.indexOf(areaOf(a)) - order.indexOf(areaOf(b)) || byText(a.worker, b.worker),
  )
}

function headline(concerns: readonly Concern[], failed: number): string {
  const counts = severities
    .map((severity) => ({ severity, count: concerns.filter((one) => one.severity === severity).length }))
    .filter(({ count }) => count > 0)
  const found = counts.map(({ severity, count }) => `${grouped(count)} ${severity}`)
  const open = failed === 0 ? '' : ` **${many(failed, 'area')} could not be examined.**`
  return `${found.length === 0 ? 'Nothing that needs attention was found.' : `Needs attention: ${joined(found)}.`}${open}`
}

function glance(area: AreaReport): string[] {
  const found =
    area.type === 'examined' ? gistOf(area.findings) : `this area could not be examined: ${plainText(area.reason)}`
  return [areaTitles[areaOf(area)], marks[markOf(area)], found, plainText(area.worker)]
}

function attention(concerns: readonly Concern[], failed: readonly AreaReport[]): string[] {
  if (concerns.length + failed.length === 0) return []
  const lines = ['## Needs attention', '']
  for (const severity of severities) {
    const here = concerns.filter((one) => one.severity === severity)
    if (here.length > 0) lines.push(`**${marks[severity]}**`, '', ...here.map(bullet), '')
  }
  const open = failed.flatMap((area) =>
    area.type === 'failed' ? [`- ${areaTitles[area.area]}: ${plainText(area.reason)}`] : [],
  )
  return open.length === 0 ? lines : [...lines, `**${marks.failed}**`, '', ...open, '']
}

function bullet({ text, places }: Concern): string {
  const shown = places.slice(0, 3).join(', ')
  const left = places.length - 3
  return `- ${text}${shown === '' ? '' : `: ${shown}`}${left > 0 ? ` and ${grouped(left)} more` : ''}`
}

function section(area: AreaReport): string[] {
  const heading = [`## ${areaTitles[areaOf(area)]}`, '']
  if (area.type === 'examined') return [...heading, ...sectionOf(area.findings)]
  return [
    ...heading,
    `This area could not be examined: ${plainText(area.reason)}`,
    '',
    'Nothing is known about it; do not read the silence as a good sign.',
    '',
  ]
}

function team({ recruits, notes = [] }: ReportInput, areas: readonly AreaReport[]): string[] {
  const workers = [...new Set(areas.map(({ worker }) => worker))].sort(byText).map(plainText)
  const joinedIn = [...recruits]
    .sort((a, b) => byText(a.worker, b.worker))
    .map(({ worker, reason }) => `- ${plainText(worker)}, because ${plainText(reason)}`)
  return [
    '## The team',
    '',
    `${many(workers.length, 'worker')}: ${joined(workers)}.`,
    '',
    ...(joinedIn.length === 0
      ? ['No specialist was recruited: nothing in the folder called for one.', '']
      : ['Recruited:', '', ...joinedIn, '']),
    ...(notes.length === 0 ? [] : ['Notes:', '', ...notes.map((note) => `- ${plainText(note)}`), '']),
  ]
}

function reach(areas: readonly AreaReport[]): string[] {
  const examined = areas.flatMap((area) => (area.type === 'examined' ? [area.findings] : []))
  const listed = (pick: (findings: SurveyFindings) => readonly string[]): string[] =>
    [...new Set(examined.flatMap(pick))].sort(byText)
  const truncated = listed(({ coverage }) => (coverage.truncated === null ? [] : [coverage.truncated]))
  const tooLarge = listed(({ coverage }) => coverage.tooLarge)
  const unreadable = listed(({ coverage }) => coverage.unreadable)
  const tooSlow = listed(({ coverage }) => coverage.tooSlow ?? [])
  const some = (paths: readonly string[]): string =>
    `${paths
      .slice(0, 5)
      .map((path) => code(path))
      .join(', ')}${paths.length > 5 ? ` and ${grouped(paths.length - 5)} more` : ''}`
  return [
    '## How far this goes',
    '',
    'Everything above was read from the files; nothing was run, fetched or changed. `.git`, `node_modules`, `.reeve` and this report were left out.',
    '',
    ...truncated.map((text) => `- Limit reached: ${text}.`),
    ...(tooLarge.length === 0 ? [] : [`- Too large to be read by at least one worker: ${some(tooLarge)}.`]),
    ...(tooSlow.length === 0
      ? []
      : [`- Given up by at least one worker, because examining it took too long: ${some(tooSlow)}.`]),
    ...(unreadable.length === 0 ? [] : [`- Not entered or not readable: ${some(unreadable)}.`]),
  ]
}
