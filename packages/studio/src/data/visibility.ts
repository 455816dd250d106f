/**
 * Visibility: whether someone can see this page.
 *
 * A browser opens six connections to a server of HTTP/1.1, for all tabs together: a tab that nobody sees keeps none.
 */
import { useSyncExternalStore } from 'react'

/** Calls the listener whenever the page is hidden or shown. Returns what stops that. */
export function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

export const useVisible = (): boolean => useSyncExternalStore(onVisibility, () => !document.hidden)
