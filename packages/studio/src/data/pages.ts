/**
 * A long list, read page by page as it comes in sight.
 *
 * Holds: what is shown stays shown while it is read again; after a change up to `mostRefreshed` rows are read again in
 * one request, at most once a second.
 */
import { useCallback, useEffect, useReducer, useRef } from 'react'
import type { Page } from '@reeve/server/wire'
import { useChanges, type Topic } from './queries.ts'

export interface PagedList<Item> {
  readonly items: readonly Item[] | undefined
  readonly error?: unknown
  readonly more: boolean
  readonly loadMore: () => void
  readonly reload: () => void
}

const pageSize = 100
const mostRefreshed = 1_000
const refreshMs = 1_000

interface List {
  key: string
  items: readonly unknown[] | undefined
  next: string | undefined
  error: unknown
  loading: AbortController | undefined
}

const empty = (key: string): List => ({ key, items: undefined, next: undefined, error: undefined, loading: undefined })

/** `key` says everything that `load` depends on. */
export function usePages<Item>(
  key: string,
  topics: readonly Topic[],
  load: (page: { readonly limit: number; readonly after?: string }, signal: AbortSignal) => Promise<Page<Item>>,
): PagedList<Item> {
  const [list] = useReducer((was: List) => was, key, empty)
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const latest = useRef(load)
  useEffect(() => {
    latest.current = load
  })
  const read = useCallback(
    (limit: number, after: string | undefined) => {
      if (list.loading !== undefined) return
      const controller = new AbortController()
      // the list is a store of this hook's own, and what is drawn of it follows `draw`
      // oxlint-disable-next-line react/immutability
      list.loading = controller
      const end = (change: Partial<List>): void => {
        if (list.loading !== controller) return
        Object.assign(list, { loading: undefined, error: undefined }, change)
        draw()
      }
      latest.current({ limit, ...(after === undefined ? undefined : { after }) }, controller.signal).then(
        ({ items, next }) => {
          const shown = list.items ?? []
          if (after !== undefined) end({ items: [...shown, ...items], next })
          else if (next === undefined || items.length >= shown.length) end({ items, next })
          // what lies behind what was read again stays as it was
          else end({ items: [...items, ...shown.slice(items.length)] })
        },
        (error: unknown) => end({ error }),
      )
    },
    [list],
  )
  const reload = useCallback(
    () => read(Math.max(pageSize, Math.min(mostRefreshed, list.items?.length ?? 0)), undefined),
    [read, list],
  )
  useEffect(() => {
    list.loading?.abort()
    Object.assign(list, empty(key))
    draw()
    read(pageSize, undefined)
    return () => {
      list.loading?.abort()
      list.loading = undefined
    }
  }, [key, list, read])
  useChanges(topics, reload, refreshMs)
  const loadMore = useCallback(() => {
    if (list.next !== undefined) read(pageSize, list.next)
  }, [list, read])
  return {
    items: list.items as readonly Item[] | undefined,
    error: list.error,
    more: list.next !== undefined,
    loadMore,
    reload,
  }
}
