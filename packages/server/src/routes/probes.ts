/**
 * Probes: what a kubelet, a load balancer or a supervisor asks to know whether to restart this process, or to send it
 * requests.
 *
 * Holds: they are answered whatever the `Host` of the request, because a prober names an address of its own, and they are
 * not counted on any limit.
 */
import { route, type Route } from '../route.ts'
import type { ProbeAnswer } from '../readiness.ts'
import { choice, flag, object, optional } from '../wire-schema.ts'

const answer = object<ProbeAnswer>('ProbeAnswer', {
  ok: flag(),
  reason: optional(choice(['closing', 'store', 'event-loop'], { description: 'With a status of 503: why not.' })),
})

export const probeRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/live',
    isProbe: true,
    summary: 'Liveness: whether the process answers. It is 200 also while the store is away, or the process closes.',
    answer,
    handle: ({ readiness }) => readiness.live(),
  }),
  route({
    method: 'GET',
    path: '/ready',
    isProbe: true,
    summary: 'Readiness: whether the store answers, the event loop turns, and the server is not closing; else 503.',
    answer,
    handle: ({ readiness }) => readiness.ready(),
  }),
]
