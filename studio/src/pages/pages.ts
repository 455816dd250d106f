/** The pages of the studio, in the order of the rail. */
import type { IconName } from '../ui/icon.tsx'

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly icon: IconName
}

export const pages: readonly PageEntry[] = [
  { path: '/', title: 'Inbox', icon: 'inbox' },
  { path: '/runs', title: 'Runs', icon: 'runs' },
  { path: '/sessions', title: 'Sessions', icon: 'sessions' },
  { path: '/agents', title: 'Agents', icon: 'agents' },
  { path: '/trust', title: 'Trust', icon: 'trust' },
  { path: '/versions', title: 'Versions', icon: 'versions' },
  { path: '/system', title: 'System', icon: 'system' },
]
