/** Routes of trust: how much agents are trusted, and its verbs. */
import { route, type Route } from '../route.ts'
import { trustVerbs, trustView } from '../verbs/agents.ts'
import { list } from '../wire-schema.ts'
import { verbRoutes } from './verb-routes.ts'

export const trustRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/trust',
    summary: 'All trust records.',
    answer: list(trustView),
    handle: ({ runtime }) => runtime.trust.all(),
  }),
  route({
    method: 'GET',
    path: '/trust/{name}',
    summary: 'One trust record; a name without one is a novice.',
    answer: trustView,
    handle: ({ runtime }, { path }) => runtime.trust.of(path.name),
  }),
  ...verbRoutes(trustVerbs),
]
