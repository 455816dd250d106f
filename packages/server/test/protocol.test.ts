/** Other protocols beside the server's own routes: behind the same access, with their own errors. */
import { expect, test } from 'vitest'
import { ReeveError } from '@reeve/core'
import type { Protocol } from '../src/index.ts'
import { echo } from '../../runtime/test/hand.ts'
import { serving } from './serving.ts'

const told: Protocol = {
  paths: ['/told', '/.well-known/told.json'],
  open: ['/.well-known/told.json'],
  async handle(request, { runtime, principal, mustAllow, body, run }) {
    if (request.method === 'GET') return Response.json({ name: principal.name, path: new URL(request.url).pathname })
    mustAllow('operator')
    const { id, ends } = (await body()) as { readonly id: string; readonly ends?: boolean }
    if (ends === true) throw new Error('at /somewhere/inside')
    if (new URL(request.url).pathname === '/told/run') return Response.json((await (await run(id)).summary()).status)
    return Response.json(await runtime.run('echo', 'x', { runId: id }))
  },
  refuse: ({ status, code, message }) => new Response(`${code}: ${message}`, { status }),
}
const tokenOf = (name: string): string => name.padEnd(24, '-')
const auth = {
  tokens: {
    [tokenOf('admin')]: { name: 'ann', roles: ['admin'] as const },
    [tokenOf('viewer')]: { name: 'vic', roles: ['viewer'] as const },
    [tokenOf('blue')]: { name: 'bo', roles: ['operator'] as const, tenant: 'blue' },
  },
}
const as = (token: string): RequestInit => ({ headers: { Authorization: `Bearer ${tokenOf(token)}` } })
const post = (token: string, body: unknown): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { Authorization: `Bearer ${tokenOf(token)}`, 'Content-Type': 'application/json' },
})

test('a protocol is asked by those who are let in, knows their roles and their tenant, and says errors in its own way', async () => {
  const { server, errors } = await serving({ agents: [echo] }, { auth, protocols: [told] })
  const ask = async (path: string, init?: RequestInit): Promise<unknown[]> => {
    const response = await fetch(server.url + path, init)
    return [response.status, await response.text()]
  }
  expect(await ask('/.well-known/told.json')).toEqual([200, '{"name":"","path":"/.well-known/told.json"}'])
  expect(await ask('/told')).toEqual([401, 'request.not-authenticated: no credential was sent'])
  expect(await ask('/told/x', as('viewer'))).toEqual([200, '{"name":"vic","path":"/told/x"}'])
  expect(await ask('/told', post('viewer', { id: 'r1' }))).toEqual([
    403,
    'request.forbidden: "vic" needs the role "operator"',
  ])
  expect(await ask('/told', { ...post('admin', {}), body: '{' })).toEqual([
    400,
    'input.invalid: the body is not valid JSON',
  ])
  expect((await ask('/told', post('admin', { id: 'r1' })))[0]).toBe(200)
  expect(await ask('/told/run', post('admin', { id: 'r1' }))).toEqual([200, '"completed"'])
  expect((await ask('/told/run', post('blue', { id: 'r1' })))[0]).toBe(404)
  expect(errors).toEqual([])
  expect(await ask('/told', post('admin', { id: 'r2', ends: true }))).toEqual([
    500,
    'request.failed: the server failed to answer',
  ])
  expect(errors).toMatchObject([{ message: 'at /somewhere/inside' }])
  expect((await ask('/toldelsewhere', as('admin')))[0]).toBe(404)
  expect((await ask('/api/health'))[0]).toBe(200)
})

test('a page of another site does not reach a protocol, and an option that is no protocol is refused', async () => {
  const { server } = await serving({ agents: [echo] }, { auth, protocols: [told] })
  const navigating = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }
  const { status } = await fetch(`${server.url}/told`, { headers: navigating })
  expect(status).toBe(403)
  await expect(serving({ agents: [echo] }, { protocols: [{ ...told, paths: ['told'] }] })).rejects.toThrow(ReeveError)
})
