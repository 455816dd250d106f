/** Routes of contents: large results of a run, which stand beside its journal, a part at a time. */
import type { ContentPart, ContentRange } from '@reeve/runtime'
import { ownRun, route, type Route } from '../route.ts'
import { choice, name, object, optional, text, whole } from '../wire-schema.ts'

export const contentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/runs/{run}/contents/{name}',
    summary:
      'A part of a large result, by the name in its reference: at most 262,144 characters after from. What comes next is read from to, until that is its size.',
    query: object<ContentRange>('ContentRange', { from: optional(whole()), to: optional(whole()) }),
    // as JSON: a browser shows none of it as a page
    answer: object<ContentPart>('ContentPart', {
      $content: name(),
      type: choice(['text', 'json']),
      size: whole(),
      from: whole(),
      to: whole(),
      text: text({ maxLength: 262_144 }),
    }),
    handle: async (context, { path, query }) => (await ownRun(context, path.run)).content(path.name, query),
  }),
]
