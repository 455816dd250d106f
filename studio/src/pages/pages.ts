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
]
