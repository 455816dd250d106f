/** Routes of access: who asks, and the cookie of a browser. */
import { present, ReeveError, systemClock, version, visible } from '@reeve/core'
import { route, type Route } from '../route.ts'
import { choice, flag, list, name, nothing, object, optional, text, whole } from '../wire-schema.ts'
import type { BrowserSessionView, EndedSessions, Me, Role, SessionBody } from '../wire.ts'

const me = object<Me>('Me', {
  name: name(),
  roles: list(choice<Role>(['viewer', 'operator', 'approver', 'admin'])),
  tenant: optional(name()),
  agents: optional(list(name())),
  via: choice(['local', 'bearer', 'oidc', 'cookie']),
  now: whole(),
  version: text(),
})

interface EndSessionsQuery {
  readonly id?: string
  readonly name?: string
}

export const accessRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/me',
    summary: 'Who asks, what they may do, and what time it is here.',
    answer: me,
    handle: ({ principal, via = 'bearer' }) => ({ ...principal, via, now: systemClock.now(), version }),
  }),
  route({
    method: 'POST',
    path: '/session',
    summary:
      'Sign a browser in: a cookie for a token. Without a token in the body, for the bearer token of the request.',
    body: object<SessionBody>('SessionBody', { token: optional(text({ maxLength: 10_000 })) }),
    answer: me,
    async handle({ access, request, peer }, { body: { token } }) {
      const { cookie, caller } = await access.beginSession(request, token, peer)
      const answer: Me = { ...caller.principal, via: 'cookie', now: systemClock.now(), version }
      return Response.json(answer, { headers: { 'Set-Cookie': cookie } })
    },
  }),
  route({
    method: 'DELETE',
    path: '/session',
    summary: 'Sign a browser out: its cookie holds no more.',
    answer: nothing,
    statuses: [204],
    async handle({ access, request }) {
      const cookie = await access.leaveSession(request)
      // what this origin has kept in the browser goes, too; cookies of other servers of this host stay
      return new Response(null, {
        status: 204,
        headers: { 'Set-Cookie': cookie, 'Clear-Site-Data': '"storage"' },
      })
    },
  }),
  route({
    method: 'GET',
    path: '/browser-sessions',
    summary: 'Browsers that are signed in: your own; as an admin those of everyone, or of everyone of your tenant.',
    answer: list(
      object<BrowserSessionView>('BrowserSession', {
        id: name(),
        name: name(),
        tenant: optional(name()),
        begun: whole(),
        seen: whole(),
        until: whole(),
        address: optional(text()),
        userAgent: optional(text()),
        isCurrent: flag(),
      }),
    ),
    handle: async ({ access, request, principal }) =>
      (await access.sessions(request, principal)).map(({ address, userAgent, ...row }) => ({
        ...row,
        ...present({
          address: address === undefined ? undefined : visible(address),
          userAgent: userAgent === undefined ? undefined : visible(userAgent),
        }),
      })),
  }),
  route({
    method: 'DELETE',
    path: '/browser-sessions',
    summary:
      'Sign browsers out, wherever they are: of those that are listed the one with this id, or all of this name.',
    query: object<EndSessionsQuery>('EndSessionsQuery', { id: optional(name()), name: optional(name()) }),
    answer: object<EndedSessions>('EndedSessions', { ended: whole() }),
    async handle({ access, principal }, { query }) {
      if (query.id === undefined && query.name === undefined)
        throw new ReeveError('input.invalid', 'the query: expected an id or a name', { hint: 'Nothing was ended.' })
      return { ended: await access.endSessions(principal, query) }
    },
  }),
]
