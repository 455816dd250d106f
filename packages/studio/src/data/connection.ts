/**
 * The connection: one stream of what has changed, for the whole page.
 *
 * Owns: opening it, opening it again after the server was away, saying so; closing it while the page is hidden. Holds:
 * after a gap everything that is shown is loaded again, so nothing can be missed.
 */
import { useSyncExternalStore } from 'react'
import type { Changes } from '@reeve/server/wire'
import { changed, type Topic } from './queries.ts'
import { onVisibility } from './visibility.ts'

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'connected'; /** When it came back after a gap. */ readonly caughtUpAt?: number }
  | { readonly state: 'reconnecting'; readonly since: number }

let current: Connection = { state: 'connecting' }
const listeners = new Set<() => void>()

function set(next: Connection): void {
  current = next
  for (const each of listeners) each()
}

export const useConnection = (): Connection =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => current,
  )

const firstWaitMs = 250
const longestWaitMs = 5_000
/** A hidden page has no stream: the number of open questions, in its title, is read so often. */
const hiddenWaitMs = 20_000

/** Opens the stream and keeps it open while the page is seen. Returns what closes it. */
export function connect(): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = firstWaitMs
  const open = (): void => {
    source = new EventSource('/api/changes')
    source.addEventListener('open', () => {
      wait = firstWaitMs
      if (current.state === 'reconnecting') {
        changed('all')
        set({ state: 'connected', caughtUpAt: Date.now() })
      } else set({ state: 'connected' })
    })
    const heard = ({ data }: MessageEvent<string>): void => receive(JSON.parse(data) as Changes)
    source.addEventListener('message', heard)
    source.addEventListener('changes', heard)
    source.addEventListener('error', () => {
      source?.close()
      if (current.state !== 'reconnecting') set({ state: 'reconnecting', since: Date.now() })
      // where a proxy lets no stream through, what is shown is at least read again at every try
      else changed(['questions', 'runs'])
      timer = setTimeout(open, wait)
      wait = Math.min(longestWaitMs, wait * 2)
    })
  }
  const readHidden = (): void => {
    changed(['questions'])
    timer = setTimeout(readHidden, hiddenWaitMs)
  }
  const close = (): void => {
    clearTimeout(timer)
    source?.close()
  }
  const turn = (): void => {
    close()
    if (document.hidden) timer = setTimeout(readHidden, hiddenWaitMs)
    else {
      changed('all')
      open()
    }
  }
  const stop = onVisibility(turn)
  if (document.hidden) timer = setTimeout(readHidden, hiddenWaitMs)
  else open()
  return () => {
    stop()
    close()
  }
}

function receive({ questions, runs }: Changes): void {
  const topics: Topic[] = []
  if (questions) topics.push('questions')
  if (runs === undefined || runs.length > 0) topics.push('runs', 'sessions', 'system')
  for (const run of runs ?? []) topics.push(`run:${run}`)
  if (topics.length > 0) changed(topics)
}
