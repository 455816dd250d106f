/** Batches in words. Pure. */
import type { BatchVerb, BatchView } from '@reeve/server/wire'
import { countText } from '../../ui/count-text.ts'

interface VerbLabels {
  readonly button: string
  /** What is under way, and what was done. */
  readonly going: string
  readonly done: string
  /** What will happen to each run. */
  readonly effect: string
}

export const verbLabels: Readonly<Record<BatchVerb, VerbLabels>> = {
  retry: {
    button: 'Retry',
    going: 'Retrying',
    done: 'Retried',
    effect:
      'Each continues as a new run from before its failure. What was finished before is not done again; a model that gave a bad answer is asked again, by its instructions of today.',
  },
  cancel: {
    button: 'Cancel',
    going: 'Cancelling',
    done: 'Cancelled',
    effect: 'Each is ended with all its workers. This cannot be taken back.',
  },
  pause: {
    button: 'Pause',
    going: 'Pausing',
    done: 'Paused',
    effect: 'Each stops before its next effect, until it is resumed.',
  },
  resume: { button: 'Resume', going: 'Resuming', done: 'Resumed', effect: 'Each goes on where it was paused.' },
}

const ended: readonly string[] = ['completed', 'failed', 'limited', 'timed-out', 'cancelled', 'bailed']

export const isBatchOver = ({ status }: Pick<BatchView, 'status'>): boolean => ended.includes(status)

export const runsText = (count: number): string => (count === 1 ? '1 run' : `${countText(count)} runs`)

/** Where it is, as one sentence. */
export function batchTitle({ verb, status, total, done, before, left }: BatchView): string {
  const { going, done: past } = verbLabels[verb]
  if (!isBatchOver({ status }))
    return total === undefined
      ? `${going} all runs that match: they are being looked for`
      : `${going} ${runsText(total)}`
  const reached = `${past} ${countText(done)} of ${runsText(total ?? done + before + left)}`
  if (status === 'completed') return reached
  return status === 'cancelled' ? `Stopped. ${reached}` : `Ended early (${status}). ${reached}`
}

/** What became of its runs, the parts that are not 0. */
export function batchCounts({ done, before, refused, left, total }: BatchView): readonly string[] {
  const parts: readonly (readonly [number, string])[] = [
    [done, 'done'],
    [before, 'were so already'],
    [refused, 'refused'],
    [left, 'left'],
  ]
  const said = parts.flatMap(([count, label]) => (count > 0 ? [`${countText(count)} ${label}`] : []))
  return total === 0 ? ['no run matched'] : said
}
