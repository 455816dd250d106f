/** Light or dark: as the system has it, unless the reader has chosen. */
import { useSyncExternalStore } from 'react'

type Theme = 'light' | 'dark'

const key = 'reeve.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function chosen(): Theme | undefined {
  try {
    const found = localStorage.getItem(key)
    return found === 'light' || found === 'dark' ? found : undefined
  } catch {
    return undefined
  }
}

const theme = (): Theme => chosen() ?? (system.matches ? 'dark' : 'light')

/** Before the first drawing: the chosen one. */
export function applyTheme(): void {
  const given = chosen()
  if (given === undefined) delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = given
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    system.addEventListener('change', listener)
    return () => {
      listeners.delete(listener)
      system.removeEventListener('change', listener)
    }
  }, theme)

/** The other one. As the system has it again, if that is what it is. */
export function switchTheme(): void {
  const next: Theme = theme() === 'dark' ? 'light' : 'dark'
  try {
    if (next === (system.matches ? 'dark' : 'light')) localStorage.removeItem(key)
    else localStorage.setItem(key, next)
  } catch {
    // the browser keeps nothing: it holds for this page
  }
  applyTheme()
  for (const each of listeners) each()
}
