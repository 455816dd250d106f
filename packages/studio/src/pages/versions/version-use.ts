/**
 * Who uses which version: what runs that choose nothing get, and which of the newest runs began with a version. Pure.
 */
import type { AgentDocument, KeptRevision, VersionUses } from '@reeve/server/wire'

type Chosen = VersionUses['chosen']
export type Use = VersionUses['runs'][number]

/** An agent with the versions that are kept of it. */
export interface AgentVersions {
  readonly agent: string
  /** The version of its code. Absent: no agent of this name is registered here. */
  readonly code?: string
  /** Newest last, as they were first kept. */
  readonly kept: readonly KeptRevision[]
}

/** Every agent that is registered or has versions, by name. */
export function agentVersions(
  agents: readonly AgentDocument[],
  kept: readonly KeptRevision[],
): readonly AgentVersions[] {
  const names = new Set([...agents.map(({ name }) => name), ...kept.map(({ agent }) => agent)])
  return [...names]
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map((agent) => {
      const code = agents.find(({ name }) => name === agent)?.version
      return { agent, ...(code === undefined ? {} : { code }), kept: kept.filter((each) => each.agent === agent) }
    })
}

export const currentOf = (kept: readonly KeptRevision[], status: KeptRevision['status']): string | undefined =>
  kept.find((each) => each.current && each.status === status)?.revision.version

/** What a run gets whose start chooses nothing. `version` absent: the code as it is. */
export interface DefaultVersion {
  readonly version?: string
  /** `pinned`: the installation names it. `status`: it takes what is published, or the newest draft. */
  readonly by: 'code' | 'pinned' | 'status'
}

export function defaultVersion(agent: string, kept: readonly KeptRevision[], chosen: Chosen): DefaultVersion {
  const choice = Object.hasOwn(chosen.versions ?? {}, agent) ? chosen.versions?.[agent] : undefined
  const named =
    typeof choice === 'string' ? choice : choice !== undefined && 'version' in choice ? choice.version : undefined
  if (named !== undefined) return { version: named, by: 'pinned' }
  const status = typeof choice === 'object' && 'status' in choice ? choice.status : chosen.defaultStatus
  if (status === undefined) return { by: 'code' }
  const published = currentOf(kept, 'published')
  const version = status === 'draft' ? (currentOf(kept, 'draft') ?? published) : published
  return version === undefined ? { by: 'code' } : { version, by: 'status' }
}

/** The version of this agent that a run began with; undefined: its code as it was. */
export const versionIn = ({ revisions }: Use, agent: string): string | undefined =>
  Object.hasOwn(revisions, agent) ? revisions[agent] : undefined

/** Of these runs those that are of this agent, or began with a version of it. */
export const usesOf = (runs: readonly Use[], agent: string): readonly Use[] =>
  runs.filter((use) => use.agent === agent || versionIn(use, agent) !== undefined)

/** How many of these runs began with each version. */
export function countUses(runs: readonly Use[], agent: string): ReadonlyMap<string | undefined, number> {
  const counts = new Map<string | undefined, number>()
  for (const use of usesOf(runs, agent)) {
    const version = versionIn(use, agent)
    counts.set(version, (counts.get(version) ?? 0) + 1)
  }
  return counts
}

/** The name after the newest one: `v3` after `v2`. */
export function nextVersion(kept: readonly KeptRevision[]): string {
  const names = kept.map(({ revision }) => revision.version)
  const [, word = 'v', number = '0'] = /^(.*?)(\d+)$/.exec(names.at(-1) ?? '') ?? []
  for (let next = Number(number) + 1; ; next += 1) if (!names.includes(`${word}${next}`)) return `${word}${next}`
}
