/**
 * Queries: what the server knows, held by key for all parts of the page that show it.
 *
 * Owns: loading once for all, what is loaded again and when. Does not own: what has changed (connection.ts).
 * Holds: what was shown stays shown while it is loaded again, and also when that fails.
 */
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'

/** What an entry is about: what it names has changed, so it is loaded again. `run:<id>`: one run. */
export type Topic = 'questions' | 'runs' | `run:${string}` | 'system' | 'sessions' | 'trust' | 'versions'

interface Entry {
  topics: readonly Topic[]
  load: (signal: AbortSignal) => Promise<unknown>
  state: QueryState<unknown>
  readonly listeners: Set<() => void>
  running: AbortController | undefined
  /** It has changed while it was being loaded. */
  again: boolean
}

export interface QueryState<Data> {
  readonly data?: Data
  /** Why the last loading failed. */
  readonly error?: unknown
  readonly loading: boolean
}

const entries = new Map<string, Entry>()
const keptWithoutReaders = 50

function entryFor(key: string): Entry {
  let entry = entries.get(key)
  if (entry === undefined) {
    for (const [old, { listeners }] of entries) {
      if (entries.size < keptWithoutReaders) break
      if (listeners.size === 0) entries.delete(old)
    }
    entry = {
      topics: [],
      load: () => Promise.resolve(undefined),
      state: { loading: true },
      listeners: new Set(),
      running: undefined,
      again: false,
    }
    entries.set(key, entry)
  }
  return entry
}

function set(entry: Entry, state: QueryState<unknown>): void {
  entry.state = state
  for (const listener of entry.listeners) listener()
}

function reload(entry: Entry): void {
  if (entry.running !== undefined) {
    entry.again = true
    return
  }
  const controller = new AbortController()
  entry.running = controller
  set(entry, { ...entry.state, loading: true })
  const end = (state: QueryState<unknown>): void => {
    entry.running = undefined
    set(entry, state)
    if (!entry.again) return
    entry.again = false
    if (entry.listeners.size > 0) reload(entry)
  }
  entry.load(controller.signal).then(
    (data) => end({ data, loading: false }),
    (error: unknown) => end({ ...entry.state, error, loading: false }),
  )
}

const watchers = new Set<(topics: readonly Topic[] | 'all') => void>()

/** Calls `act` after one of the topics has changed, at once and then at most every `everyMs`. */
export function useChanges(topics: readonly Topic[], act: () => void, everyMs: number): void {
  const latest = useRef({ topics, act })
  useEffect(() => {
    latest.current = { topics, act }
  })
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let again = false
    const run = (): void => {
      again = false
      latest.current.act()
      timer = setTimeout(() => {
        timer = undefined
        if (again) run()
      }, everyMs)
    }
    const watcher = (those: readonly Topic[] | 'all'): void => {
      if (those !== 'all' && !latest.current.topics.some((topic) => those.includes(topic))) return
      if (timer === undefined) run()
      else again = true
    }
    watchers.add(watcher)
    return () => {
      watchers.delete(watcher)
      clearTimeout(timer)
    }
  }, [everyMs])
}

/** These have changed: what is shown of them is loaded again, the rest when it is next shown. */
export function changed(topics: readonly Topic[] | 'all'): void {
  for (const watcher of watchers) watcher(topics)
  for (const [key, entry] of entries) {
    if (topics !== 'all' && !entry.topics.some((topic) => topics.includes(topic))) continue
    if (entry.listeners.size > 0) reload(entry)
    else entries.delete(key)
  }
}

/**
 * What the server answers, loaded when first shown and whenever one of its topics has changed. `key` says everything
 * that `load` depends on; an empty one: nothing is loaded.
 */
export function useQuery<Data>(
  key: string,
  topics: readonly Topic[],
  load: (signal: AbortSignal) => Promise<Data>,
): QueryState<Data> & { readonly reload: () => void } {
  const latest = useRef({ load, topics })
  useEffect(() => {
    latest.current = { load, topics }
  })
  const subscribe = useCallback(
    (listener: () => void) => {
      if (key === '') return () => {}
      const entry = entryFor(key)
      const isNew = entry.topics.length === 0 && entry.running === undefined && entry.state.data === undefined
      entry.topics = latest.current.topics
      entry.load = latest.current.load
      entry.listeners.add(listener)
      if (isNew || entry.state.error !== undefined) reload(entry)
      return () => void entry.listeners.delete(listener)
    },
    [key],
  )
  const state = useSyncExternalStore(subscribe, () => (key === '' ? nothing : entryFor(key).state)) as QueryState<Data>
  const again = useCallback(() => {
    if (key !== '') reload(entryFor(key))
  }, [key])
  return { ...state, reload: again }
}

const nothing: QueryState<unknown> = { loading: false }

/** A request that changes something: whether it is under way, and why it failed. Never twice at once. */
export function useMutation<Input, Answer>(
  act: (input: Input) => Promise<Answer>,
  after: {
    readonly done?: (answer: Answer, input: Input) => void
    readonly failed?: (error: unknown, input: Input) => void
  } = {},
): {
  readonly run: (input: Input) => void
  readonly busy: boolean
  readonly error: unknown
  readonly reset: () => void
} {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error?: unknown }>({ busy: false })
  const busy = useRef(false)
  const latest = useRef({ act, after })
  useEffect(() => {
    latest.current = { act, after }
  })
  const run = useCallback((input: Input) => {
    if (busy.current) return
    busy.current = true
    setState({ busy: true })
    latest.current.act(input).then(
      (answer) => {
        busy.current = false
        setState({ busy: false })
        latest.current.after.done?.(answer, input)
      },
      (error: unknown) => {
        busy.current = false
        setState({ busy: false, error })
        latest.current.after.failed?.(error, input)
      },
    )
  }, [])
  const reset = useCallback(() => setState({ busy: false }), [])
  return { run, busy: state.busy, error: state.error, reset }
}
