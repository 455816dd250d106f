/** The router: the page is the path of the address. Owns: where one is, and going elsewhere without loading. */
import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent, type ReactNode } from 'react'

const moved = new Set<() => void>()
const tell = (): void => {
  for (const each of moved) each()
}
window.addEventListener('popstate', tell)

const subscribe = (listener: () => void): (() => void) => {
  moved.add(listener)
  return () => void moved.delete(listener)
}

/** Goes to a path of the studio; `replace`: without a step back to here. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  tell()
}

/** The path, as its decoded parts. */
export function usePath(): readonly string[] {
  const path = useSyncExternalStore(subscribe, () => location.pathname)
  return path.split('/').flatMap((part) => (part === '' ? [] : [decoded(part)]))
}

/** The parameters of the address, and setting some of them; an empty text takes one away. */
export function useParams(): readonly [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const search = useSyncExternalStore(subscribe, () => location.search)
  const set = (changes: Readonly<Record<string, string>>): void => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    const text = next.toString()
    navigate(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace: true })
  }
  return [new URLSearchParams(search), set]
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The page of a run, or of a tab of it. */
export const runPath = (run: string, tab?: string): string =>
  `/runs/${encodeURIComponent(run)}${tab === undefined ? '' : `/${tab}`}`

/** The page of a session: two users, and two tenants, may each have one of the same name. */
export function sessionPath(of: {
  readonly session: string
  readonly user?: string | undefined
  readonly tenant?: string | undefined
}): string {
  const { session, ...whose } = of
  const params = new URLSearchParams(
    Object.entries(whose).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  return `/sessions/${encodeURIComponent(session)}${params.size === 0 ? '' : `?${params.toString()}`}`
}

/** The page of a trust record. */
export const trustPath = (name: string): string => `/trust/${encodeURIComponent(name)}`

/** The page of an agent: a conversation with it, or trials side by side. */
export const agentPath = (agent: string, page?: 'compare'): string =>
  `/agents/${encodeURIComponent(agent)}${page === undefined ? '' : `/${page}`}`

/** The page of the versions of an agent. */
export const versionsPath = (agent: string): string => `/versions/${encodeURIComponent(agent)}`

/** The page of errors, or of one code. */
export const errorPath = (code?: string): string =>
  code === undefined ? '/errors' : `/errors/${encodeURIComponent(code)}`

type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & {
  readonly to: string
  readonly children: ReactNode
}

/** A link within the studio; with a modifier key the browser does what it does. */
export function Link({ to, children, onClick, ...native }: LinkProps) {
  const click = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    event.preventDefault()
    event.stopPropagation()
    navigate(to)
  }
  return (
    <a {...native} href={to} onClick={click}>
      {children}
    </a>
  )
}
