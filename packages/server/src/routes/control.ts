/** Routes of control: how a run is controlled, and its verbs. The name under which one is recorded is the principal's. */
import type { ControlState, TakeoverContext } from '@reeve/runtime'
import { ownRun, route, type Route } from '../route.ts'
import { controlVerbs } from '../verbs/control.ts'
import { view } from '../wire-schema.ts'
import { verbRoutes } from './verb-routes.ts'

export const controlRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/runs/{run}/control',
    summary: 'Whether the run is paused or taken over, and every command so far.',
    answer: view<ControlState>('ControlState', {}),
    handle: async (context, { path }) => (await ownRun(context, path.run)).control.state(),
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/takeover-context',
    summary: 'The document of a takeover, as it would be now. Nothing is taken over.',
    answer: view<TakeoverContext>('TakeoverContext', {}),
    handle: async (context, { path }) => (await ownRun(context, path.run)).control.context(),
  }),
  ...verbRoutes(controlVerbs),
]
