/** Whether the page is as narrow as a phone: what is a table elsewhere is a list of cards there. */
import { useSyncExternalStore } from 'react'

/** The same width as in the style sheets. */
const query = matchMedia('(max-width: 720px)')

const subscribe = (listener: () => void): (() => void) => {
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

export const isNarrow = (): boolean => query.matches
export const useNarrow = (): boolean => useSyncExternalStore(subscribe, isNarrow)
