/** What every part of a run's page needs: the run, its live state, who looks, and where on the page they are. */
import { createContext, useContext } from 'react'
import type { RemoteRun } from '@reeve/client'
import type { LiveActivation, LiveRun } from '@reeve/server/wire'
import type { TabName } from './controls.ts'
import type { Connection, RunStore } from './run-store.ts'

/** What of the page is chosen; all of it stands in the address. */
export interface Selection {
  readonly agent?: string
  readonly span?: string
  readonly entry?: string
  readonly row?: string
  readonly with?: string
  readonly filter?: string
  readonly family?: string
  readonly search?: string
}

export interface RunContextValue {
  readonly api: RemoteRun
  readonly store: RunStore
  readonly live: LiveRun
  readonly connection: Connection
  readonly selection: Selection
  /** Goes to a tab, or stays on it, with these chosen besides. */
  readonly go: (tab: TabName | undefined, selection?: Partial<Record<keyof Selection, string | undefined>>) => void
  readonly mayOperate: boolean
}

export const RunContext = createContext<RunContextValue | undefined>(undefined)

export function useRun(): RunContextValue {
  const value = useContext(RunContext)
  if (value === undefined) throw new Error('used outside of a run page')
  return value
}

/** The activation that is chosen: the named one, or the root. */
export function useChosenAgent(): LiveActivation | undefined {
  const { live, selection } = useRun()
  const { agent } = selection
  if (agent !== undefined && Object.hasOwn(live.activations, agent)) return live.activations[agent]
  return Object.values(live.activations)[0]
}
