/** The stream of a run: opened, and opened again when the server was away. The first message is always a snapshot. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import { ClientError, type RemoteRun } from '@reeve/client'
import { keepOpen } from '../../data/stream.ts'
import { hasEnded } from './controls.ts'
import { useVisible } from '../../data/visibility.ts'
import { RunStore, type RunState } from './run-store.ts'

const endedWaitMs = 15_000

/** Feeds the store until it is told to stop. */
function streamRun(api: RemoteRun, store: RunStore): () => void {
  let isSnapshot = false
  return keepOpen((options) => api.live(options), {
    opened: () => (isSnapshot = true),
    take(state) {
      store.take(state, isSnapshot)
      isSnapshot = false
    },
    lost(error) {
      const { run: known } = store.state()
      if (known === undefined && error instanceof ClientError && error.status >= 400 && error.status < 500) {
        store.fares('failed', error)
        return false
      }
      // the stream of a run that has ended ends; it may be retried, so it is looked at again
      if (known !== undefined && hasEnded(known.head.status)) return { waitMs: endedWaitMs }
      return store.fares('lost')
    },
  })
}

/** The live state of a run, for as long as the component is shown and the page is seen. */
export function useRunStore(api: RemoteRun): { readonly store: RunStore; readonly state: RunState } {
  const [store] = useState(() => new RunStore(atNextFrame))
  const visible = useVisible()
  useEffect(() => (visible ? streamRun(api, store) : undefined), [api, store, visible])
  return { store, state: useSyncExternalStore(store.subscribe, store.state) }
}

/** A hidden page has no frames. */
function atNextFrame(draw: () => void): void {
  if (document.hidden) setTimeout(draw, 500)
  else requestAnimationFrame(draw)
}
