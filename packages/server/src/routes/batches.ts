/** Routes of batches: which there are, how far one is. */
import { present } from '@reeve/core'
import { cursorOf, type BatchView } from '@reeve/runtime'
import { route, type Route } from '../route.ts'
import { batchActionVerbs, batchView } from '../verbs/batches.ts'
import { list, name, object, optional, whole } from '../wire-schema.ts'
import type { Page } from '../wire.ts'
import { placeOf } from './runs.ts'
import { verbRoutes } from './verb-routes.ts'

interface BatchesQuery {
  readonly limit?: number
  readonly after?: string
}

export const batchRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/batches',
    summary: 'Batches, newest first, with their progress.',
    query: object<BatchesQuery>('BatchesQuery', {
      limit: optional(whole({ minimum: 1, maximum: 100 })),
      after: optional(name({ description: '`next` of the page before.' })),
    }),
    answer: object<Page<BatchView>>('BatchPage', { items: list(batchView), next: optional(name()) }),
    async handle({ runtime }, { query: { limit = 20, after } }) {
      const place = placeOf(after)
      const items = await runtime.batches.list({
        limit,
        ...present({ after: place && { startedAt: place.createdAt, id: place.run } }),
      })
      const last = items.length < limit ? undefined : items.at(-1)
      return { items, ...present({ next: last && cursorOf({ createdAt: last.startedAt, run: last.id }) }) }
    },
  }),
  route({
    method: 'GET',
    path: '/batches/{id}',
    summary: 'How far a batch is: total, done, refused with the causes, left.',
    answer: batchView,
    handle: ({ runtime }, { path }) => runtime.batches.of(path.id).view(),
  }),
  ...verbRoutes(batchActionVerbs),
]
