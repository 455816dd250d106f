/** The pages of the studio, in the order of the rail. */
import type { IconName } from '../ui/icon.tsx'

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Tenants share what it shows: it is not for a person of one tenant. */
  readonly isShared?: true
}

export const pages: readonly PageEntry[] = [
  { path: '/', title: 'Inbox', icon: 'inbox' },
  { path: '/agents', title: 'Agents', icon: 'agents' },
  { path: '/runs', title: 'Runs', icon: 'runs' },
  { path: '/sessions', title: 'Sessions', icon: 'sessions' },
  { path: '/trust', title: 'Trust', icon: 'trust', isShared: true },
  { path: '/versions', title: 'Versions', icon: 'versions', isShared: true },
  { path: '/system', title: 'System', icon: 'system' },
]

/** The pages that a person may see. */
export const pagesFor = (tenant: string | undefined): readonly PageEntry[] =>
  pages.filter(({ isShared }) => tenant === undefined || isShared !== true)
