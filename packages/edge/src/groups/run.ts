/**
 * Run: what the start of a run has fixed, and what leaders add to it.
 *
 * Owns: the group of the edge and how it crosses. Does not own: versions (../revision.ts), hooks (../hooks.ts), what
 * the runtime records besides (../../runtime/session.ts).
 */
import { present, type Draft, type JsonObject } from '@reeve/core'
import type { LeaderGrant, RootGrant } from '../grant.ts'
import type { StartHooks } from '../hooks.ts'
import type { Revisions } from '../revision.ts'

/** What holds of the run. */
export interface EdgeRun {
  /** Versions of agents that hold here and below; versions published later do not. */
  readonly versions?: Revisions
  /** What leaders add to the caller's metadata, for the worker and all below it. */
  readonly metadata?: JsonObject
  /** Hooks that the start of the run names: for the root, and for the agent that leads in its place. */
  readonly hooks?: StartHooks
  /** What else the start said; for the layers of the runtime. Only on a root. */
  readonly extras?: JsonObject
}

/** As the start of the run says. */
export const runOfRoot = ({ versions, hooks, extras }: RootGrant): EdgeRun => present({ versions, hooks, extras })

/** For a worker, with the metadata that its leader adds. */
export function runOfWorker({ versions, metadata }: EdgeRun, { hooks, metadata: added }: LeaderGrant): EdgeRun {
  const run: Draft<EdgeRun> = {}
  if (versions !== undefined) run.versions = versions
  if (hooks !== undefined) run.hooks = hooks
  if (metadata !== undefined || added !== undefined) run.metadata = { ...metadata, ...added }
  return run
}

/** For a member of a flow. A router's lead is the router, so the hooks of the start are its own. */
export const runOfMember = ({ versions, metadata, hooks }: EdgeRun, isLead: boolean): EdgeRun =>
  present({ versions, metadata, hooks: isLead ? hooks : undefined })

/** For a tool. */
export const runOfTool = ({ versions, metadata }: EdgeRun): EdgeRun => present({ versions, metadata })
