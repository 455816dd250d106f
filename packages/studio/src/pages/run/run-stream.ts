/** The stream of a run: opened, and opened again when the server was away. The first message is always a snapshot. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { LiveMessage } from '@reeve/server/wire'
import { hasEnded } from './controls.ts'
import { request } from '../../data/request.ts'
import { useVisible } from '../../data/visibility.ts'
import { RunStore, type RunState } from './run-store.ts'

const firstWaitMs = 250
const longestWaitMs = 5_000
const endedWaitMs = 15_000

/** Feeds the store until it is told to stop. */
function streamRun(path: string, run: string, store: RunStore): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = firstWaitMs
  let stopped = false
  const open = (): void => {
    source = new EventSource(path)
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      wait = firstWaitMs
      store.take(JSON.parse(data) as LiveMessage)
    })
    source.addEventListener('error', () => {
      source?.close()
      lost().catch(() => {})
    })
  }
  // a stream does not say why it was refused; a request does
  const lost = async (): Promise<void> => {
    if (store.state().run === undefined) {
      try {
        await request(`/runs/${encodeURIComponent(run)}`)
      } catch (error) {
        const { status } = error as { readonly status?: number }
        if (stopped) return
        if (status !== undefined && status >= 400 && status < 500) {
          store.fares('failed', error)
          return
        }
      }
    }
    if (stopped) return
    const { run: known } = store.state()
    // the stream of a run that has ended ends; it may be retried, so it is looked at again
    if (known !== undefined && hasEnded(known.head.status)) {
      timer = setTimeout(open, endedWaitMs)
      return
    }
    store.fares('lost')
    timer = setTimeout(open, wait)
    wait = Math.min(longestWaitMs, wait * 2)
  }
  open()
  return () => {
    stopped = true
    clearTimeout(timer)
    source?.close()
  }
}

/** The live state of a run, for as long as the component is shown and the page is seen. */
export function useRunStore(path: string, run: string): { readonly store: RunStore; readonly state: RunState } {
  const [store] = useState(() => new RunStore(atNextFrame))
  const visible = useVisible()
  useEffect(() => (visible ? streamRun(path, run, store) : undefined), [path, run, store, visible])
  return { store, state: useSyncExternalStore(store.subscribe, store.state) }
}

/** A hidden page has no frames. */
function atNextFrame(draw: () => void): void {
  if (document.hidden) setTimeout(draw, 500)
  else requestAnimationFrame(draw)
}
