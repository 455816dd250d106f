/** Trust in words: levels, what each means for runs, changes of a record. Pure. */
import { levelModes } from '@reeve/core/oversight-mode'
import type { TrustView } from '@reeve/server/wire'
import type { Tone } from '../../ui/badge.tsx'

export type Level = TrustView['level']
export type HistoryEntry = TrustView['history'][number]

export const levels = Object.keys(levelModes) as readonly Level[]

export const levelWords: Readonly<Record<Level, string>> = {
  novice: 'Novice',
  proficient: 'Proficient',
  expert: 'Expert',
}

export const levelTones: Readonly<Record<Level, Tone>> = { novice: 'idle', proficient: 'info', expert: 'ok' }

/** How many of the counted runs succeeded; undefined if none was counted. */
export const rateText = ({ completed, succeeded }: Pick<TrustView, 'completed' | 'succeeded'>): string | undefined =>
  completed === 0 ? undefined : `${((100 * succeeded) / completed).toFixed(completed < 1_000 ? 0 : 1)} %`

/** What is missing for the next level. */
export function nextText({ next }: Pick<TrustView, 'next'>): string {
  if (next.ok) return `rises to ${next.target} when a run ends`
  return next.target === undefined ? next.reason.message : `for ${next.target}: ${next.reason.message}`
}

/** What a change of a record was, in a sentence. */
export function changeText(entry: HistoryEntry): string {
  const { what, from, to, severity } = entry
  switch (what) {
    case 'opened':
      return `The record begins as ${to}.`
    case 'risen':
      return `It rose from ${from ?? 'a lower level'} to ${to}.`
    case 'set':
      return from === undefined || from === to
        ? `The level was set to ${to}.`
        : `The level was set from ${from} to ${to}.`
    case 'incident':
      return severity === 'serious'
        ? `A serious incident: back to ${to}, all counts restart.`
        : `A minor incident: it stays ${to}, and does not rise for a while.`
  }
}
