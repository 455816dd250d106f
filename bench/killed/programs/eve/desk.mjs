/**
 * eve: the docs in its package, guides/deployment/self-hosting.md (`eve build`, `eve start`; the runs are on disk under
 * .eve/.workflow-data), concepts/execution-model-and-durability.mdx ("Resuming after a crash") and
 * guides/client/messages.mdx ("Answer human input requests"). The team is in agent/.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'eve/client'

const verb = process.argv[2]
const app = import.meta.dirname
if (verb === 'start') rmSync(join(app, '.eve/.workflow-data'), { recursive: true, force: true })
if (verb === 'start') {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  writeFileSync('port', String(probe.address().port)) // as a service has it: the same after a restart
  await new Promise((resolve) => probe.close(resolve))
}
const port = readFileSync('port', 'utf8')
spawn(join(app, 'node_modules/.bin/eve'), ['start', '--host', '127.0.0.1', '--port', port], {
  cwd: app,
  stdio: 'inherit',
})
const client = new Client({ host: `http://127.0.0.1:${port}` })
while (
  !(await client.health().then(
    () => true,
    () => false,
  ))
)
  await setTimeout(200)

const begun = verb === 'start' ? await client.sessions.create({ message: 'Refund order 7.' }) : undefined
if (begun !== undefined) writeFileSync('session', begun.response.sessionId)
const session = client.sessions.attach(existsSync('session') ? readFileSync('session', 'utf8') : '')
if (verb === 'continue') await session.send('Please go on.')
for await (const { type, data } of session.stream()) {
  if (process.env.DEBUG) console.log('event', type, JSON.stringify(data)?.slice(0, 300))
  for (const { requestId, action } of type === 'input.requested' ? data.requests : []) {
    console.log('asks', action?.toolName, JSON.stringify(action?.input))
    if (verb === 'approve') await session.respond([{ requestId, optionId: 'approve' }])
  }
  if (type === 'session.failed') console.log('fails', JSON.stringify(data))
  if (type === 'turn.completed') console.log('ends', 'The turn is completed.')
}
