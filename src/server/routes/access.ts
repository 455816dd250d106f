/** Routes of access: who asks, and the cookie of a browser. */
import { readFileSync } from 'node:fs'
import { systemClock } from '../../core/index.ts'
import { route, type Route } from '../route.ts'
import { choice, list, name, nothing, object, optional, text, whole } from '../wire-schema.ts'
import type { Me, Role, SessionBody } from '../wire.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

const me = object<Me>('Me', {
  name: name(),
  roles: list(choice<Role>(['viewer', 'operator', 'approver', 'admin'])),
  tenant: optional(name()),
  agents: optional(list(name())),
  via: choice(['local', 'bearer', 'oidc', 'cookie']),
  now: whole(),
  version: text(),
})

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
    handle: ({ access, request }) =>
      new Response(null, { status: 204, headers: { 'Set-Cookie': access.endSession(request) } }),
  }),
]
