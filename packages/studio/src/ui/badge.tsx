/** Badges: a state as an icon and a word, never by colour alone. */
import type { ReactNode } from 'react'
import type { RunRow } from '@reeve/server/wire'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'ok' | 'wait' | 'bad' | 'info' | 'held' | 'idle'

export function Badge(props: {
  readonly tone?: Tone
  readonly icon?: IconName
  /** Without a background. */
  readonly bare?: boolean
  readonly title?: string
  readonly children: ReactNode
}) {
  const { tone = 'idle', icon, bare, title, children } = props
  return (
    <span className={`badge ${tone}${bare ? ' bare' : ''}`} title={title}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  )
}

type Status = RunRow['status']

type Shown = readonly [Tone, IconName, string]

const statuses: Readonly<Record<Status, Shown>> = {
  running: ['info', 'spin', 'Running'],
  waiting: ['wait', 'clock', 'Waiting'],
  queued: ['idle', 'queue', 'Queued'],
  pausing: ['held', 'pause', 'Pausing'],
  paused: ['held', 'pause', 'Paused'],
  human_control: ['held', 'hand', 'Taken over'],
  stuck: ['bad', 'warn', 'Stuck'],
  completed: ['ok', 'check', 'Completed'],
  failed: ['bad', 'cross', 'Failed'],
  'timed-out': ['bad', 'clock', 'Timed out'],
  cancelled: ['idle', 'stop', 'Cancelled'],
  limited: ['bad', 'stop', 'Limit reached'],
  bailed: ['idle', 'back', 'Bailed out'],
}

/** What only spans, tasks and members can be. */
const others: Readonly<Record<string, Shown>> = {
  'in-doubt': ['held', 'doubt', 'In doubt'],
  pending: ['idle', 'clock', 'Pending'],
  awaiting_approval: ['wait', 'hand', 'Awaits approval'],
  succeeded: ['ok', 'check', 'Succeeded'],
  skipped: ['idle', 'right', 'Skipped'],
  retired: ['idle', 'stop', 'Retired'],
}
const known: Readonly<Record<string, Shown>> = { ...others, ...statuses }

/** The state of a run, activation, span or step. An unknown one is shown by its name. */
export function StatusBadge({ status, bare }: { readonly status: string; readonly bare?: boolean }) {
  const [tone, icon, word] = (Object.hasOwn(known, status) ? known[status] : undefined) ?? [
    'idle',
    'more',
    status.replaceAll(/[-_]/g, ' '),
  ]
  return (
    <Badge tone={tone} icon={icon} bare={bare ?? false}>
      {word}
    </Badge>
  )
}

const risks = {
  low: ['idle', 'Low risk'],
  medium: ['info', 'Medium risk'],
  high: ['wait', 'High risk'],
  critical: ['bad', 'Critical risk'],
} as const

export function RiskBadge({ risk }: { readonly risk: keyof typeof risks }) {
  const [tone, word] = risks[risk]
  return (
    <Badge tone={tone} icon="warn">
      {word}
    </Badge>
  )
}
