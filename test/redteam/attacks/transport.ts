/** The wire: hosts, targets, framing, headers of every answer. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from '@reeve/server'
import { area, holds, short } from '../attack.ts'
import { tokenOf } from '../people.ts'
import { memberOf, send, type World } from '../world.ts'

/** Sends bytes as they are; what came back until the connection ended or was quiet. */
const raw = (world: World, bytes: string | Buffer, quietMs = 250, port = world.server.port): Promise<string> =>
  new Promise((resolve) => {
    let said = ''
    const socket = connect(port, '127.0.0.1')
    let quiet = setTimeout(() => socket.destroy(), quietMs * 4)
    socket
      .on('connect', () => socket.write(bytes))
      .on('data', (data) => {
        said += data.toString('latin1')
        clearTimeout(quiet)
        quiet = setTimeout(() => socket.destroy(), quietMs)
      })
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(quiet)
        resolve(said)
      })
  })

const statusesOf = (said: string): readonly number[] =>
  [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))

const auth = `Authorization: Bearer ${tokenOf('ada')}\r\n`
const close = 'Connection: close\r\n\r\n'

/** Nothing of it is answered as a request that was let in. */
async function refused(world: World, name: string, bytes: string): Promise<void> {
  const said = await raw(world, bytes)
  const statuses = statusesOf(said)
  holds(!statuses.some((status) => status < 300) && !said.includes('"roles"'), `${name}: ${statuses.join(', ')}`)
  holds(!statuses.some((status) => status >= 500 && status !== 501), `${name}: ${statuses.join(', ')}`)
}

export const transport = area('The wire', [
  {
    id: 'host-other',
    holds: 'A request for another host, by header or target, is refused before anything else.',
    async run(world) {
      const { port } = world.server
      const host = `127.0.0.1:${port}`
      const get = (target: string, ...hosts: string[]): string =>
        `GET ${target} HTTP/1.1\r\n${hosts.map((each) => `Host: ${each}\r\n`).join('')}${auth}${close}`
      for (const [name, bytes] of Object.entries({
        none: get('/api/me'),
        evil: get('/api/me', 'evil.example'),
        'evil with port': get('/api/me', `evil.example:${port}`),
        'good and evil': get('/api/me', host, 'evil.example'),
        'evil and good': get('/api/me', 'evil.example', host),
        'target evil': get('http://evil.example/api/me', host),
        'header evil': get(`http://${host}/api/me`, 'evil.example'),
        ftp: get(`ftp://${host}/api/me`, 'evil.example'),
        empty: get('/api/me', ''),
        userinfo: get('/api/me', `${host}@evil.example`),
        'userinfo before': get('/api/me', `evil.example@${host}`),
        path: get('/api/me', `${host}/evil`),
        query: get('/api/me', `${host}?x`),
        decimal: get('/api/me', `2130706433:${port}`),
        zero: get('/api/me', `0.0.0.0:${port}`),
        'short form': get('/api/me', `127.1:${port}`),
        'localhost with a dot at its end': get('/api/me', `evil.localhost:${port}`),
        octal: get('/api/me', `0177.0.0.1:${port}`),
        'full-width': get('/api/me', `１２７.0.0.1:${port}`),
        comma: get('/api/me', `${host}, evil.example`),
      }))
        await refused(world, name, bytes)
    },
  },
  {
    id: 'host-forwarded',
    holds: 'Headers of proxies change neither the host nor the address nor the user.',
    async run(world) {
      for (const header of [
        'X-Forwarded-Host',
        'X-Host',
        'X-Original-Host',
        'Forwarded',
        'X-Real-IP',
        'X-Forwarded-User',
      ]) {
        const { status, text } = await world.ask(undefined, 'GET', '/api/me', undefined, { [header]: 'ada' })
        holds(status === 401, `${header}: ${status} ${short(text)}`)
      }
    },
  },
  {
    id: 'smuggling',
    holds: 'A request whose length can be read in two ways is refused, or is one request.',
    async run(world) {
      const head = `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\n${auth}Content-Type: application/json\r\n`
      const second = `GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\n${auth}\r\n`
      for (const [name, bytes] of Object.entries({
        'CL.TE': `${head}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`,
        'TE.CL': `${head}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n8\r\n{"a":1}\n\r\n0\r\n\r\n`,
        'TE.TE': `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n${second}`,
        'strange TE': `${head}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}`,
        'two lengths': `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
        'list of lengths': `${head}Content-Length: 2, 3\r\n\r\n{}`,
        'negative length': `${head}Content-Length: -2\r\n\r\n{}`,
        'length with plus': `${head}Content-Length: +2\r\n\r\n{}`,
        'hex length': `${head}Content-Length: 0x2\r\n\r\n{}`,
        'space before colon': `${head}Content-Length : 2\r\n\r\n{}`,
        'line feed alone': head.replaceAll('\r\n', '\n') + '\n',
        'bad chunk': `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
        'negative chunk': `${head}Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n`,
        'huge chunk size': `${head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
        'chunk extension': `${head}Transfer-Encoding: chunked\r\n\r\n2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
      }))
        await refused(world, name, bytes)
      holds((await world.runtime.runs()).length === 0, 'a run was started')
    },
  },
  {
    id: 'methods',
    holds: 'CONNECT, TRACE, OPTIONS *, upgrades and unknown methods reach no handler.',
    async run(world) {
      const host = `Host: 127.0.0.1:${world.server.port}\r\n`
      for (const [name, bytes] of Object.entries({
        CONNECT: `CONNECT 127.0.0.1:22 HTTP/1.1\r\n${host}\r\n`,
        TRACE: `TRACE /api/me HTTP/1.1\r\n${host}${auth}${close}`,
        FOO: `FOO /api/me HTTP/1.1\r\n${host}${auth}${close}`,
        PROPFIND: `PROPFIND /api/me HTTP/1.1\r\n${host}${auth}${close}`,
        override: `POST /api/me HTTP/1.1\r\n${host}${auth}X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n${close}`,
        garbage: '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
        'no line': '\r\n\r\n\r\n',
        'HTTP/9.9': `GET /api/me HTTP/9.9\r\n${host}${auth}${close}`,
        'HTTP/0.9': 'GET /api/me\r\n',
        'nul in header': `GET /api/me HTTP/1.1\r\n${host}X: a\u0000b\r\n${auth}${close}`,
        'carriage return in header': `GET /api/me HTTP/1.1\r\n${host}X: a\rAuthorization: Bearer x\r\n${auth}${close}`,
      }))
        await refused(world, name, bytes)
    },
  },
  {
    id: 'headers-huge',
    holds: 'Headers without end, or thousands of them, are refused, and nothing is held.',
    async run(world) {
      const host = `Host: 127.0.0.1:${world.server.port}\r\n`
      for (const bytes of [
        `GET /api/me HTTP/1.1\r\n${host}X: ${'a'.repeat(100_000)}\r\n${auth}${close}`,
        `GET /api/me HTTP/1.1\r\n${host}${Array.from({ length: 3_000 }, (_, i) => `A${i}: b\r\n`).join('')}${auth}${close}`,
        `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${host}${auth}${close}`,
      ])
        await refused(world, short(bytes, 40), bytes)
    },
  },
  {
    id: 'headers-of-every-answer',
    holds: 'Every answer has the headers that tell a browser what it may not do, and a body that says what is wrong.',
    async run(world) {
      const host = `127.0.0.1:${world.server.port}`
      for (const [name, bytes] of Object.entries({
        'another target': `GET http://evil.example/api/me HTTP/1.1\r\nHost: ${host}\r\n${auth}${close}`,
        'another host': `GET /api/me HTTP/1.1\r\nHost: evil.example\r\n${auth}${close}`,
        'no route': `GET /api/nothing HTTP/1.1\r\nHost: ${host}\r\n${auth}${close}`,
        'no credential': `GET /api/me HTTP/1.1\r\nHost: ${host}\r\n${close}`,
        'a protocol': `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n${close}`,
        'no host': `GET /api/me HTTP/1.1\r\n${auth}${close}`,
        'an empty host': `GET /api/me HTTP/1.1\r\nHost: \r\n${auth}${close}`,
      })) {
        const said = await raw(world, bytes)
        for (const header of ['content-security-policy', 'x-content-type-options'])
          holds(said.toLowerCase().includes(header), `${name}: ${statusesOf(said).join()} without ${header}`)
        holds(said.includes('"error"'), `${name}: ${statusesOf(said).join()} without a word`)
      }
    },
  },
  {
    id: 'origin-other',
    holds: 'A page of another site, another port or no site is refused, on routes, protocols and streams.',
    async run(world) {
      const { port } = world.server
      for (const headers of [
        { Origin: 'null' },
        { Origin: 'http://evil.example' },
        { Origin: 'http://127.0.0.1:9999' },
        { Origin: `http://localhost:${port}` },
        { Origin: `http://127.0.0.1:${port}, http://evil.example` },
        { Origin: `http://127.0.0.1:${port}.evil.example` },
        { 'Sec-Fetch-Site': 'same-site' },
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
      ] as readonly Record<string, string>[])
        for (const path of ['/api/me', '/api/changes', '/v1/models', '/chat/x', '/mcp']) {
          const response = await send(world.server.url + path, { token: tokenOf('ada'), headers })
          await response.body?.cancel()
          holds(response.status === 403, `${path} ${short(headers)}: ${response.status}`)
          holds(!response.headers.has('Access-Control-Allow-Origin'), 'CORS allows it')
        }
    },
  },
  {
    id: 'half-open',
    needs: 'load',
    holds: '2,000 connections that have not said what they want hold nobody up.',
    async run(world) {
      const sockets = Array.from({ length: 2_000 }, () => {
        const socket = connect(world.server.port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(`GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nX: `)
        return socket
      })
      let worst = 0
      const end = performance.now() + 3_000
      while (performance.now() < end) {
        const begin = performance.now()
        await world.get('ada', '/me')
        worst = Math.max(worst, performance.now() - begin)
      }
      for (const socket of sockets) socket.destroy()
      holds(worst < 500, `others waited ${Math.round(worst)} ms`)
    },
  },
  {
    id: 'listen-without-auth',
    holds: 'A server without `auth` listens on this machine alone, however the host is written.',
    async run(world) {
      for (const host of [
        '0.0.0.0',
        '::',
        '0',
        '',
        '127.1',
        '::ffff:127.0.0.1',
        '*',
        'example.com',
        '0x7f.1',
        '[::]',
      ]) {
        const server = createServer({ runtime: world.runtime })
        let isRefused = false
        try {
          server.bind(host)
        } catch {
          isRefused = true
        }
        server.close()
        holds(isRefused, JSON.stringify(host))
      }
    },
  },
  {
    id: 'static-files',
    holds: 'A path leads to no file but those of the studio.',
    async run(world) {
      const assets = join(world.folder, 'assets')
      mkdirSync(assets)
      writeFileSync(join(assets, 'index.html'), '<!doctype html>studio')
      writeFileSync(join(world.folder, 'secret.txt'), 'SECRET')
      symlinkSync(join(world.folder, 'secret.txt'), join(assets, 'linked.txt'))
      const { port } = await world.serve({ assets })
      for (const path of [
        '/../secret.txt',
        '/..%2fsecret.txt',
        '/%2e%2e/secret.txt',
        '/%252e%252e/secret.txt',
        String.raw`/..\secret.txt`,
        '/assets/../../secret.txt',
        '/linked.txt',
        '/__proto__',
        '//secret.txt',
        '/./../secret.txt',
        '/secret.txt%00.html',
      ]) {
        const said = await raw(world, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${close}`, 250, port)
        holds(!said.includes('SECRET'), `${path}: ${statusesOf(said).join()}`)
        holds(!statusesOf(said).some((status) => status >= 500), `${path}: ${statusesOf(said).join()}`)
      }
    },
  },
  {
    id: 'health-tells',
    holds: 'Health without a credential says that it is there, and nothing else.',
    async run(world) {
      const { json, text } = await world.get(undefined, '/health')
      holds(memberOf(json, 'ok') === true && text.length < 100, short(text))
    },
  },
])
