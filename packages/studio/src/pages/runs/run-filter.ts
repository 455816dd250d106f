/**
 * The filter of the list of runs: as the address has it, as the server takes it, in words.
 *
 * Owns: what each parameter means, and which runs a verb can be for. Pure. Does not own: the fields (filter-fields.tsx).
 * Holds: what stands in an address and means nothing is left out: a link never chooses more than it says it does.
 */
import type { FiguresQuery, RunQuery } from '@reeve/client'
import { readJson } from '@reeve/core/json-text'
import type { BatchVerb, RunStatus } from '@reeve/server/wire'
import { filled, type server } from '../../data/server.ts'

export const filterNames = [
  'text',
  'status',
  'agent',
  'span',
  'version',
  'user',
  'session',
  'tenant',
  'code',
  'cause',
  'metadata',
  'usdFrom',
  'since',
  'before',
] as const
export type FilterName = (typeof filterNames)[number]
export type RunParams = Readonly<Record<FilterName, string>>

/** What a filter is called on the page. */
export const filterLabels: Readonly<Record<FilterName, string>> = {
  text: 'Text',
  status: 'Status',
  agent: 'Agent',
  span: 'Begun',
  version: 'Version',
  user: 'User',
  session: 'Session',
  tenant: 'Tenant',
  code: 'Code of the failure',
  cause: 'Cause',
  metadata: 'Metadata',
  usdFrom: 'Cost from',
  since: 'Begun from',
  before: 'Begun before',
}

/** The statuses of runs, in the order of a list to choose from. */
export const statusLabels: Readonly<Record<RunStatus, string>> = {
  running: 'Running',
  waiting: 'Waiting',
  queued: 'Queued',
  pausing: 'Pausing',
  paused: 'Paused',
  human_control: 'Taken over',
  stuck: 'Stuck',
  completed: 'Completed',
  failed: 'Failed',
  limited: 'Limit reached',
  'timed-out': 'Timed out',
  cancelled: 'Cancelled',
  bailed: 'Bailed out',
}
const allStatuses = Object.keys(statusLabels) as readonly RunStatus[]

const openStatuses: readonly RunStatus[] = [
  'running',
  'queued',
  'waiting',
  'pausing',
  'paused',
  'human_control',
  'stuck',
]
const badEnds: readonly RunStatus[] = ['failed', 'limited', 'timed-out']

/** Several statuses with one name. */
export const statusGroups: Readonly<Record<string, { readonly label: string; readonly of: readonly RunStatus[] }>> = {
  open: { label: 'Not ended', of: openStatuses },
  bad: { label: 'Ended badly', of: badEnds },
}

const hour = 3_600_000
/** Spans of time that end now, in milliseconds. */
export const spans: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  hour: { label: 'In the last hour', ms: hour },
  day: { label: 'In the last 24 hours', ms: 24 * hour },
  week: { label: 'In the last 7 days', ms: 168 * hour },
  month: { label: 'In the last 30 days', ms: 720 * hour },
}

const own = <V>(table: Readonly<Record<string, V>>, key: string): V | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

/** What the address says. */
export const paramsOf = (params: URLSearchParams): RunParams =>
  Object.fromEntries(filterNames.map((name) => [name, params.get(name) ?? ''])) as RunParams

export const noParams: Readonly<Record<string, string>> = Object.fromEntries(filterNames.map((name) => [name, '']))

/** The statuses of a parameter: a group, or some, with a comma between. Undefined: any. */
function statusesIn(text: string): readonly RunStatus[] | undefined {
  const group = own(statusGroups, text)
  if (group !== undefined) return group.of
  const known = text.split(',').filter((each): each is RunStatus => allStatuses.includes(each as RunStatus))
  return known.length === 0 ? undefined : known
}

const moment = (text: string): number | undefined => {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

const amount = (text: string): number | undefined => {
  const value = Number(text)
  return text.trim() === '' || !Number.isFinite(value) || value < 0 ? undefined : value
}

/** The filter as the server takes it. `now`: the server's time. */
export function queryOf(given: RunParams, now: number): FiguresQuery {
  const { status, span, since, before, usdFrom, metadata, ...texts } = given
  const equals = metadata.indexOf('=')
  const ago = own(spans, span)?.ms
  const from = [moment(since), ago === undefined ? undefined : now - ago].filter((each) => each !== undefined)
  return filled({
    ...texts,
    status: statusesIn(status),
    metadata: equals > 0 ? { [metadata.slice(0, equals)]: metadata.slice(equals + 1) } : undefined,
    since: from.length === 0 ? undefined : Math.max(...from),
    before: moment(before),
    usdFrom: amount(usdFrom),
  })
}

/** A part of a filter that is set, in words. */
export function conditionText(name: FilterName, value: string): string {
  if (name === 'status') {
    const group = own(statusGroups, value)
    const some = statusesIn(value)
    return group?.label ?? some?.map((each) => statusLabels[each]).join(', ') ?? value
  }
  if (name === 'span') return own(spans, value)?.label ?? value
  if (name === 'usdFrom') return `$${value}`
  if (name === 'since' || name === 'before') {
    const at = moment(value)
    return at === undefined ? value : new Date(at).toLocaleString()
  }
  return value
}

/** The parts that are set, and mean something. */
export const conditions = (given: RunParams): readonly (readonly [name: FilterName, value: string])[] =>
  filterNames.flatMap((name) => {
    const value = given[name]
    const only = { ...noParams, [name]: value } as RunParams
    return value !== '' && Object.keys(queryOf(only, 0)).length > 0 ? [[name, value] as const] : []
  })

/** The address of the list with this filter. */
export function runsPath(given: Readonly<Partial<Record<FilterName | 'view' | 'batch', string>>>): string {
  const params = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''))
  return params.size === 0 ? '/runs' : `/runs?${params.toString()}`
}

/** The runs that a verb can be for, and those that are meant where no status is chosen. The server has the rule. */
export const verbStatuses: Readonly<
  Record<BatchVerb, { readonly for: readonly RunStatus[]; readonly usual: readonly RunStatus[] }>
> = {
  retry: { for: [...badEnds, 'cancelled'], usual: badEnds },
  cancel: { for: openStatuses, usual: openStatuses },
  pause: { for: ['running', 'queued', 'waiting'], usual: ['running', 'queued', 'waiting'] },
  resume: { for: ['paused', 'pausing', 'stuck'], usual: ['paused', 'pausing'] },
}

/** The statuses among those of a filter that a verb can be for; undefined: none, it does not fit. */
export function statusesFor(
  verb: BatchVerb,
  status: readonly RunStatus[] | undefined,
): readonly RunStatus[] | undefined {
  const { for: possible, usual } = verbStatuses[verb]
  if (status === undefined) return usual
  const fitting = status.filter((each) => possible.includes(each))
  return fitting.length === 0 ? undefined : fitting
}

type BatchFilter = Parameters<typeof server.batches.start>[1]

/** The filter of a list as that of a batch: a value of metadata is what it says as JSON, else the text. */
export function batchFilterOf({ metadata, limit: _limit, ...filter }: RunQuery): BatchFilter {
  if (metadata === undefined) return filter
  const values = Object.entries(metadata).map(([name, value]) => {
    const read = readJson(value)
    const isScalar = read.ok && (read.value === null || typeof read.value !== 'object')
    return [name, isScalar ? read.value : value] as const
  })
  return { ...filter, metadata: Object.fromEntries(values) }
}
