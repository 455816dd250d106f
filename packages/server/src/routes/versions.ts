/** Routes of versions: revisions of agents that are published over unchanged code. */
import { present, type RunId } from '@reeve/core'
import { cursorOf, runStatuses, type KeptRevision } from '@reeve/runtime'
import { route, type Route } from '../route.ts'
import { placeOf } from './runs.ts'
import type { TrialModels, VersionUse, VersionUses } from '../wire.ts'
import { versionVerbs } from '../verbs/agents.ts'
import { choice, flag, jsonObject, list, name, object, optional, view, whole } from '../wire-schema.ts'
import { verbRoutes } from './verb-routes.ts'

interface VersionsQuery {
  readonly agent?: string
}

interface UsesQuery {
  readonly limit?: number
  readonly after?: string
}

export const versionRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/versions',
    summary: 'All versions that are kept, drafts and earlier ones too.',
    query: object<VersionsQuery>('VersionsQuery', { agent: optional(name()) }),
    answer: list(
      view<KeptRevision>('KeptRevision', {
        agent: name(),
        status: choice(['draft', 'published']),
        current: flag(),
        at: whole(),
      }),
    ),
    handle: ({ runtime }, { query }) => runtime.versions.revisions(query),
  }),
  route({
    method: 'GET',
    path: '/versions/uses',
    summary: 'Which versions the newest runs began with, and which this installation chooses by default.',
    query: object<UsesQuery>('VersionUsesQuery', {
      limit: optional(whole({ minimum: 1, maximum: 1_000 })),
      after: optional(name({ description: '`next` of the page before.' })),
    }),
    answer: object<VersionUses>('VersionUses', {
      chosen: object<VersionUses['chosen']>('ChosenVersions', {
        versions: optional(jsonObject()),
        defaultStatus: optional(choice(['draft', 'published'])),
      }),
      runs: list(
        object<VersionUse>('VersionUse', {
          run: name<RunId>(),
          agent: name(),
          version: name(),
          status: choice(runStatuses),
          createdAt: whole(),
          revisions: jsonObject(),
        }),
      ),
      next: optional(name()),
    }),
    async handle({ runtime }, { query: { limit = 100, after } }) {
      const runs = await runtime.versions.uses({ limit, ...present({ after: placeOf(after) }) })
      const last = runs.length < limit ? undefined : runs.at(-1)
      const isMore = last !== undefined && (await runtime.runs({ after: last, limit: 1 })).length > 0
      return { chosen: runtime.versions.chosen, runs, ...present({ next: isMore ? cursorOf(last) : undefined }) }
    },
  }),
  route({
    method: 'GET',
    path: '/models',
    summary: 'The models that a trial may use, by id.',
    answer: object<TrialModels>('TrialModels', { models: list(name()) }),
    handle: async ({ runtime }) => ({ models: await runtime.trialModels() }),
  }),
  ...verbRoutes(versionVerbs),
]
