/** The spans of a run, read page by page up to now, and then what has begun or ended since. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { filled } from '../../data/server.ts'
import { useRun } from './run-context.tsx'
import { Timeline } from './timeline-layout.ts'

const leastMs = 500

export interface TimelineSource {
  readonly timeline: Timeline
  /** Rises when spans were added. */
  readonly version: number
  /** Everything up to now was read. */
  readonly isWhole: boolean
  readonly error?: unknown
  readonly reload: () => void
}

export function useTimeline(): TimelineSource {
  const { api, live } = useRun()
  const [timeline] = useState(() => new Timeline())
  const [state, setState] = useState<{ readonly version: number; readonly isWhole: boolean; readonly error?: unknown }>(
    {
      version: 0,
      isWhole: false,
    },
  )
  const after = useRef(0)
  const busy = useRef(false)
  const again = useRef(false)
  const gone = useRef<AbortController>(undefined)

  const read = useCallback(async (): Promise<void> => {
    if (busy.current) {
      again.current = true
      return
    }
    busy.current = true
    const signal = gone.current?.signal
    try {
      do {
        again.current = false
        const page = await api.spans(filled({ after: after.current, signal }))
        if (signal?.aborted) return
        timeline.add(page.spans)
        after.current = page.position
        if (page.more) again.current = true
        const { more } = page
        setState(({ version }) => ({ version: version + 1, isWhole: !more }))
        if (!more) await new Promise((resolve) => setTimeout(resolve, leastMs))
      } while (again.current && !signal?.aborted)
    } catch (error) {
      if (!signal?.aborted) setState((was) => ({ ...was, error }))
    } finally {
      busy.current = false
    }
  }, [api, timeline])
  useEffect(() => {
    gone.current = new AbortController()
    busy.current = false
    return () => gone.current?.abort()
  }, [])
  useEffect(() => void read(), [read, live.head.position])
  return { timeline, ...state, reload: () => void read() }
}
