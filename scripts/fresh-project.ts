/**
 * A template as a user has it: the packed Reeve writes the project into an empty folder, it is installed, checked,
 * tested and started, without a key. `node scripts/fresh-project.ts <template>`; `npm run examples` runs it for each.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isTemplate } from '../packages/cli/src/project.ts'
import { freePort } from '../test/servers/place.ts'
import { freshEnv, packInto, runIn, startIn, type Started } from './fresh-folder.ts'

const [template = ''] = process.argv.slice(2)
assert.ok(isTemplate(template), `no template is called "${template}"`)

const folder = mkdtempSync(join(tmpdir(), 'reeve-fresh-'))
const project = join(folder, 'my-team')
const env = freshEnv()
const run = (cwd: string, command: string, ...args: readonly string[]): string => runIn(cwd, env, command, ...args)
const begin = (what: RegExp, command: string, ...args: readonly string[]): Promise<Started> =>
  startIn(project, env, what, command, ...args)

/** The server as `npm start` has it, on a port that is free here. */
async function serving(use: (url: string) => Promise<void>): Promise<void> {
  const port = await freePort()
  await using _server = await begin(/token {2}\S+[^]*Ctrl-C/, 'npm', 'start', '--', '--port', `${port}`)
  await use(`http://127.0.0.1:${port}`)
}

/** Its store is found by the config alone. */
const config = template === 'service' ? ['--config', 'reeve.config.ts'] : []

const starts: Readonly<Record<typeof template, () => Promise<void> | void>> = {
  chat: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      assert.match(
        run(project, 'npm', 'run', '--silent', 'ask', '--', 'My name is Ann.'),
        /You said: "My name is Ann\."/,
      )
      assert.match(
        run(project, 'npm', 'run', '--silent', 'ask', '--', 'Who am I?'),
        /the first one was "My name is Ann\."/,
      )
      assert.match(run(project, 'npx', 'reeve', 'runs'), /completed {2}assistant[^]*completed {2}assistant/)
    }),
  approvals: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      const { child, said } = await begin(/npx reeve approve \S+/, 'npm', 'run', '--silent', 'ask')
      const [, ...decide] = /npx reeve (approve) (\S+)/.exec(said())!
      const ended = once(child, 'exit')
      assert.match(run(project, 'npx', 'reeve', ...decide), /Approved/)
      assert.deepEqual(await ended, [0, null])
    }),
  research: () => assert.match(run(project, 'npm', 'start', '--', 'Ravens'), /# Ravens(\s+- A note on "Ravens".*){3}/),
  'next-chat': async () => {
    run(project, 'npm', 'run', 'build')
    const port = await freePort()
    env['REEVE_TOKEN'] = 'a-token-of-this-test-that-guards-nothing'
    await using _server = await begin(/Ready in/, 'npm', 'start', '--', '--port', `${port}`)
    const url = `http://127.0.0.1:${port}`
    assert.match(await (await fetch(url)).text(), /Sign in/)
    assert.equal((await fetch(`${url}/api/chat`, { method: 'POST', body: '{}' })).status, 401)
    const parts = async (message: object): Promise<readonly Record<string, unknown>[]> => {
      const answer = await fetch(`${url}/api/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${env['REEVE_TOKEN']}`, 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'first', messages: [message] }),
      })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!) as Record<string, unknown>)
    }
    const text = 'Order 7 arrived broken.'
    const asked = await parts({ id: 'm1', role: 'user', parts: [{ type: 'text', text }] })
    const call = asked.find(({ type }) => type === 'tool-input-available')
    assert.deepEqual([call?.['toolName'], call?.['input']], ['pay', { order: '7', usd: 40 }])
    const request = asked.find(({ type }) => type === 'tool-approval-request')
    const start = asked.find(({ type }) => type === 'start')
    const approval = { id: request?.['approvalId'], approved: true }
    const answered = await parts({
      id: start?.['messageId'],
      role: 'assistant',
      parts: [{ type: 'dynamic-tool', state: 'approval-responded', approval }],
    })
    assert.match(
      answered.map(({ delta }) => (typeof delta === 'string' ? delta : '')).join(''),
      /The payer says: .*paid/,
    )
  },
  planned: () => assert.match(run(project, 'npm', 'start'), /# Report/),
  // on PostgreSQL, if DATABASE_URL names one: a server as its container starts it
  service: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      const { child, said } = await begin(/npx reeve approve \S+/, 'npm', 'run', '--silent', 'ask')
      const [, ...decide] = /npx reeve (approve) (\S+)/.exec(said())!
      const ended = once(child, 'exit')
      assert.match(run(project, 'npx', 'reeve', ...decide, ...config), /Approved/)
      assert.deepEqual(await ended, [0, null])
    }),
}

try {
  const tarball = packInto(folder)
  run(folder, 'npm', 'exec', '--yes', '--package', tarball, '--', 'reeve', 'init', 'my-team', '--template', template)
  run(project, 'npm', 'install', tarball)
  run(project, 'npm', 'run', '--silent', 'check')
  assert.match(run(project, 'npm', 'test', '--silent'), /fail 0/)
  await starts[template]()
  assert.match(run(project, 'npx', 'reeve', 'runs', ...config), /completed/)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
