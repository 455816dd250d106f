/** Verbs of sessions: who may continue one. */
import { present } from '@reeve/core'
import type { SessionAccess, SharedSession } from '@reeve/runtime'
import { operator } from '../access/door.ts'
import { list, name, object, optional, whole } from '../wire-schema.ts'
import type { ShareBody, TenantQuery } from '../wire.ts'
import { verb } from './verb.ts'

export const tenantQuery = object<TenantQuery>('SessionTenantQuery', {
  tenant: optional(name({ description: 'Whose session it is. Of a principal of a tenant always theirs.' })),
})
const input = object<ShareBody>('ShareBody', { with: list(name(), { maxItems: 100 }) })
export const sessionAccess = object<SessionAccess>('SessionAccess', {
  session: name(),
  tenant: optional(name()),
  owner: optional(name({ description: 'Absent: the application; runs without a user continue it.' })),
  sharedWith: list(object<SharedSession>('SharedSession', { user: name(), by: optional(name()), at: whole() })),
})

export const sessionVerbs = [
  verb('POST /sessions/{session}/share', operator('session'), {
    summary: 'Let other users continue a session. Its owner may, or an admin.',
    query: tenantQuery,
    input,
    answer: sessionAccess,
    run: (given, { runtime, path: { session }, query: { tenant }, by }) =>
      runtime.sessions.share({ session, ...present({ tenant }), ...given, by }),
  }),
  verb('POST /sessions/{session}/unshare', operator('session'), {
    summary: 'Let them continue it no longer. Runs that have begun go on.',
    query: tenantQuery,
    input,
    answer: sessionAccess,
    run: (given, { runtime, path: { session }, query: { tenant } }) =>
      runtime.sessions.unshare({ session, ...present({ tenant }), ...given }),
  }),
] as const
