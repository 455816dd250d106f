/**
 * Run scope: which runs someone reaches who does not reach all.
 *
 * Owns: the scope, whether a run is within one, that who publishes no versions goes on with published ones alone. Does
 * not own: who has which scope (server). Holds: what is outside of a scope is answered as what is not there.
 */
import { canonical, ReeveError, type Json } from '@reeve/core'
import type { RunSummary } from '@reeve/engine'
import type { Run } from '../run-handle.ts'
import type { RuntimeVersions } from '../versions.ts'

/** The runs that someone reaches. Absent members: no bound. */
export interface RunScope {
  /** Runs of this tenant alone. */
  readonly tenant?: string
  /** Runs of these agents alone. */
  readonly agents?: readonly string[]
}

/** Whether a run that was started from outside is within a scope. Pure. */
export const isInScope = (
  { tenant, agents }: RunScope,
  { agent, caller }: Pick<RunSummary, 'agent'> & { readonly caller: { readonly tenant?: string } },
): boolean => (tenant === undefined || caller.tenant === tenant) && (agents === undefined || agents.includes(agent))

/** Whether all that is within one scope is within another. Pure. */
export const isWithinScope = (inner: RunScope, outer: RunScope): boolean =>
  (outer.tenant === undefined || inner.tenant === outer.tenant) &&
  (outer.agents === undefined || (inner.agents?.every((each) => outer.agents!.includes(each)) ?? false))

/** A version that is not published, for someone who may not publish it. */
export const unpublished = (name: string, agent: string, version: string): ReeveError =>
  new ReeveError(
    'request.forbidden',
    `${JSON.stringify(name)} may not run the version ${JSON.stringify(version)} of ${JSON.stringify(agent)}: it is not published`,
    {
      hint: 'Who may publish versions chooses others: the role "admin", of no tenant. Choose { status: "published" }. Nothing was started.',
    },
  )

/**
 * A run that is forked or retried goes on with the versions that it began with. Throws `request.forbidden` where one of
 * them is neither published nor what the installation chooses for all. `name`: of who begins it.
 */
export async function mustGoOnPublished(versions: RuntimeVersions, run: Run, name: string): Promise<void> {
  const [birth] = await run.journal({ limit: 1 })
  if (birth?.event.type !== 'activation.started') return
  // what goes on is a trial, too
  if (birth.event.caller?.trial === true) return
  const { versions: begun } = birth.event.input as { readonly versions?: Readonly<Record<string, Json>> }
  const { chosen } = versions
  for (const [agent, recorded] of Object.entries(begun ?? {})) {
    const { base, ...data } = recorded as { readonly base?: string; readonly version: string }
    // a version of the code, or what the installation chooses for all
    if (base === data.version || chosen.defaultStatus === 'draft' || Object.hasOwn(chosen.versions ?? {}, agent))
      continue
    const kept = await versions.revisions({ agent })
    const isOut = kept.some(({ status, revision: { base: _of, ...revision } }) => {
      return status === 'published' && canonical(revision as unknown as Json) === canonical(data)
    })
    if (!isOut) throw unpublished(name, agent, data.version)
  }
}
