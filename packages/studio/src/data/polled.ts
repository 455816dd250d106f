/**
 * What is read when it is shown, and again when it may have changed: a part of a run, an installation.
 *
 * Owns: reading at most one at a time, and not more often than every half second. What was shown stays shown meanwhile.
 */
import { useCallback, useEffect, useReducer, useRef, useState } from 'react'
import { useChanges, type Topic } from './queries.ts'

const leastMs = 500

export interface Polled<T> {
  readonly data?: T
  readonly error?: unknown
  readonly reload: () => void
}

/** `version`: it is read again when this changes. `of`: it is another thing, nothing of before is shown. */
export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>, version: unknown, of: string): Polled<T> {
  const [state, setState] = useState<{ readonly of: string; readonly data?: T; readonly error?: unknown }>({ of })
  const reader = useRef(read)
  useEffect(() => {
    reader.current = read
  })
  const wake = useRef(() => {})
  useEffect(() => {
    const gone = new AbortController()
    let wanted = false
    let busy = false
    const readOn = async (): Promise<void> => {
      wanted = true
      if (busy) return
      busy = true
      while (wanted && !gone.signal.aborted) {
        wanted = false
        try {
          const data = await reader.current(gone.signal)
          if (!gone.signal.aborted) setState({ of, data })
        } catch (error) {
          if (!gone.signal.aborted) setState((was) => ({ ...(was.of === of ? was : { of }), error }))
        }
        await new Promise((resolve) => setTimeout(resolve, leastMs))
      }
      busy = false
    }
    wake.current = () => {
      readOn().catch(() => {})
    }
    return () => gone.abort()
  }, [of])
  useEffect(() => wake.current(), [version, of])
  const reload = useCallback(() => wake.current(), [])
  return state.of === of ? { ...state, reload } : { reload }
}

/**
 * Read again when one of the topics has changed, at most every `changesMs`. `everyMs`: also without a change, for what
 * changes by itself; not while the page is hidden. Milliseconds.
 */
export function useWatched<T>(
  read: (signal: AbortSignal) => Promise<T>,
  topics: readonly Topic[],
  of: string,
  everyMs?: number,
  changesMs = 1_000,
): Polled<T> {
  const [version, change] = useReducer((count: number) => count + 1, 0)
  useChanges(topics, change, changesMs)
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (!document.hidden) change()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return usePolled(read, version, of)
}
