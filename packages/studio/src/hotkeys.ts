/** Keys: what a single key does on a page. Silent while something is typed, or a dialog is open. */
import { useEffect, useRef } from 'react'

export type Hotkeys = Readonly<Record<string, (event: KeyboardEvent) => void>>

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('textarea, select, input:not([type=checkbox])'))

/** `mod+k` is with Ctrl or the command key. Keys are those of `KeyboardEvent.key`. */
export function useHotkeys(keys: Hotkeys): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const mod = event.metaKey || event.ctrlKey
      if (event.altKey || event.isComposing || event.defaultPrevented) return
      const act = latest.current[mod ? `mod+${event.key.toLowerCase()}` : event.key]
      if (act === undefined) return
      if (document.querySelector('dialog[open]') !== null) return
      if (!mod && typing(event.target)) return
      // Enter on a button or a link is for that
      if (
        event.key === 'Enter' &&
        event.target instanceof HTMLElement &&
        event.target.closest('a,button,summary,[role=grid]')
      )
        return
      event.preventDefault()
      act(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
