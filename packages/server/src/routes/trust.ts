/** Routes of trust: how much agents are trusted, and incidents. */
import type { Incident, RuntimeTrust, TrustSetting } from '@reeve/runtime'
import { route, type Route } from '../route.ts'
import { choice, flag, list, name, object, optional, text, view, whole } from '../wire-schema.ts'

type TrustRow = Awaited<ReturnType<RuntimeTrust['of']>>
type LevelBody = Omit<TrustSetting, 'trust' | 'by'>
type IncidentBody = Omit<Incident, 'trust' | 'by'>

const trust = view<TrustRow>('TrustView', { name: name(), completed: whole(), succeeded: whole() })
const create = optional(flag({ description: 'Allows a name that no agent uses and that has no record.' }))
const id = optional(name({ description: 'Makes the call idempotent.' }))

export const trustRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/trust',
    summary: 'All trust records.',
    answer: list(trust),
    handle: ({ runtime }) => runtime.trust.all(),
  }),
  route({
    method: 'GET',
    path: '/trust/{name}',
    summary: 'One trust record; a name without one is a novice.',
    answer: trust,
    handle: ({ runtime }, { path }) => runtime.trust.of(path.name),
  }),
  route({
    method: 'POST',
    path: '/trust/{name}/level',
    summary: 'Set a level, with a reason.',
    body: object<LevelBody>('TrustLevelBody', {
      level: choice(['novice', 'proficient', 'expert']),
      reason: text({ maxLength: 10_000, minLength: 1 }),
      id,
      create,
    }),
    answer: trust,
    handle: ({ runtime, principal }, { path, body }) =>
      runtime.trust.set({ ...body, trust: path.name, by: principal.name }),
  }),
  route({
    method: 'POST',
    path: '/trust/{name}/incidents',
    summary: 'Record an incident.',
    body: object<IncidentBody>('IncidentBody', {
      severity: choice(['minor', 'serious']),
      note: optional(text({ maxLength: 10_000 })),
      run: optional(name()),
      id,
      create,
    }),
    answer: trust,
    handle: ({ runtime, principal }, { path, body }) =>
      runtime.trust.incident({ ...body, trust: path.name, by: principal.name }),
  }),
]
