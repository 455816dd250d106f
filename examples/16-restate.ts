/**
 * The same team on Restate: one line is different. It needs a server (`npx reeve restate dev`) and the packages
 * `@restatedev/restate-sdk` and, for PostgreSQL, `pg`. This process is the worker and asks, too; with several, each
 * says the same and shares the work.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, supervisor } from 'reeve'
import { restate } from 'reeve/restate'

const writer = agent({ name: 'writer', description: 'Writes one sentence.', model: () => 'Ravens remember faces.' })
const editor = supervisor({
  name: 'editor',
  workers: [writer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'writer' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'A fact about ravens.' } }] },
})

const { RESTATE_INGRESS: ingress = 'http://127.0.0.1:8080', RESTATE_ADMIN: admin = 'http://127.0.0.1:9070' } =
  process.env
const store = join(mkdtempSync(join(tmpdir(), 'reeve-')), 'runs.db')

// #region engine
const engine = restate({ store, ingress, admin }) // a file on one node; on several: store: 'postgres://…'
await using runtime = await createRuntime({ engine, agents: [editor] }) // instead of store: 'reeve.db'
const run = await runtime.start(editor, 'Tell me something about ravens.')
for await (const { event } of run.events()) console.log(event.type)
const outcome = await run.outcome()
// #endregion
console.log(outcome.status, outcome.status === 'completed' ? outcome.output : outcome)
if (outcome.status !== 'completed' || outcome.output !== 'Ravens remember faces.') process.exitCode = 1
