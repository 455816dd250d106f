/**
 * The same team on Temporal: one line is different. It needs the packages `@temporalio/client`, `@temporalio/worker`,
 * `@temporalio/workflow` and `@temporalio/activity`, and a server (`temporal server start-dev`, address in
 * TEMPORAL_ADDRESS). While that is away the processes of the store go on by themselves, a few seconds later, with a
 * warning: so this ends without one, too.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, supervisor } from 'reeve'
import { temporal } from 'reeve/temporal'

const writer = agent({ name: 'writer', description: 'Writes one sentence.', model: () => 'Ravens remember faces.' })
const editor = supervisor({
  name: 'editor',
  workers: [writer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'writer' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'A fact about ravens.' } }] },
})

const { TEMPORAL_ADDRESS: address = '127.0.0.1:7233' } = process.env
const store = join(mkdtempSync(join(tmpdir(), 'reeve-')), 'runs.db')

// #region engine
const engine = temporal({ store, address, taskQueue: 'newsroom' }) // on several hosts: store: 'postgres://…'
await using runtime = await createRuntime({ engine, agents: [editor] }) // instead of store: 'reeve.db'
const outcome = await runtime.run(editor, 'Tell me something about ravens.')
// #endregion
console.log(outcome.status, outcome.status === 'completed' ? outcome.output : outcome)
if (outcome.status !== 'completed' || outcome.output !== 'Ravens remember faces.') process.exitCode = 1
