/**
 * The connection: one stream of what has changed, for the whole page.
 *
 * Owns: saying whether it is open; closing it while the page is hidden. Does not own: opening it again (stream.ts).
 * Holds: after a gap everything that is shown is loaded again, so nothing can be missed.
 */
import { useSyncExternalStore } from 'react'
import type { Changes } from '@reeve/server/wire'
import { changed, type Topic } from './queries.ts'
import { server } from './server.ts'
import { keepOpen } from './stream.ts'
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

/** A hidden page has no stream: the number of open questions, in its title, is read so often. */
const hiddenWaitMs = 20_000

/** Opens the stream and keeps it open while the page is seen. Returns what closes it. */
export function connect(): () => void {
  let close = (): void => {}
  const open = (): void => {
    close = keepOpen((options) => server.live(options), {
      opened() {
        if (current.state === 'reconnecting') {
          changed('all')
          set({ state: 'connected', caughtUpAt: Date.now() })
        } else set({ state: 'connected' })
      },
      take: receive,
      lost() {
        if (current.state !== 'reconnecting') set({ state: 'reconnecting', since: Date.now() })
        // where a proxy lets no stream through, what is shown is at least read again at every try
        else changed(['questions', 'runs'])
      },
    })
  }
  const readHidden = (): void => {
    const timer = setInterval(() => changed(['questions']), hiddenWaitMs)
    close = () => clearInterval(timer)
  }
  const turn = (): void => {
    close()
    if (document.hidden) readHidden()
    else {
      changed('all')
      open()
    }
  }
  const stop = onVisibility(turn)
  if (document.hidden) readHidden()
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
