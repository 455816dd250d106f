/** The figures of the system in words. Pure. */
import type { RunRow, SystemDocument } from '@reeve/server/wire'
import { countText } from '../../ui/count-text.ts'

type Status = RunRow['status']
type BoundedCount = NonNullable<SystemDocument['runs'][Status]>

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

const storeKinds: { readonly [kind: string]: string } = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  memory: 'In memory',
}
/** How a kind of store is called. */
export const storeKindText = (kind: string): string => storeKinds[kind] ?? kind

/** A size: `412 KiB`, `1.4 GiB`. */
export function bytesText(bytes: number | undefined): string {
  if (bytes === undefined) return 'not known'
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** step
  return `${value >= 100 || step === 0 ? Math.round(value) : value.toFixed(1)} ${units[step]!}`
}

/** How many, or at least how many. */
export const boundedText = ({ count, isMore }: BoundedCount): string =>
  `${countText(count)}${isMore === true ? '+' : ''}`

export const msText = (ms: number): string => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

const engines: Readonly<Record<string, string>> = {
  embedded: 'Embedded',
  postgres: 'PostgreSQL',
  restate: 'Restate',
  temporal: 'Temporal',
}

/** The name of an engine; an unknown one as it is called. */
export const engineLabel = (engine: string): string => (Object.hasOwn(engines, engine) ? engines[engine]! : engine)

/** In the order in which they matter to an operator: what goes on, what is held up, what has ended. */
const order: readonly Status[] = [
  'running',
  'waiting',
  'pausing',
  'paused',
  'human_control',
  'stuck',
  'failed',
  'timed-out',
  'limited',
  'bailed',
  'cancelled',
  'completed',
]

export const ranked = (runs: SystemDocument['runs']): readonly (readonly [Status, BoundedCount])[] =>
  order.flatMap((status) => {
    const count = runs[status]
    return count === undefined ? [] : [[status, count] as const]
  })

const lateMs = 10_000

/** A ready run that nobody has taken up for so long waits for a worker that is not there. */
export const isLate = (since: number | undefined, now: number): boolean => since !== undefined && now - since > lateMs

/**
 * How late timers are. People notice if most are late by 50 ms; from 250 ms on leases and streams suffer. A few that are
 * late, of a server with little to do, are no fault of it: the machine was busy with something else.
 */
export const delayTone = ({
  meanMs,
  p99Ms,
}: {
  readonly meanMs: number
  readonly p99Ms: number
}): 'ok' | 'wait' | 'bad' => (meanMs >= 250 || p99Ms >= 1_000 ? 'bad' : meanMs >= 50 || p99Ms >= 250 ? 'wait' : 'ok')
