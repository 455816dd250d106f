/**
 * Tools that run in the page of the user, for a worker two levels down. The call waits as any question does, also over
 * a restart of the server; the page runs it, and the run goes on with what came of it.
 */
import { agent, clientTool, createRuntime, supervisor } from 'reeve'
import { createClient } from 'reeve/client'
import { createServer, listen } from 'reeve/server'
import { z } from 'zod'

// #region tool
const selection = clientTool({
  name: 'selected_text',
  description: 'Reads what the user has selected in the editor.',
  output: z.object({ text: z.string() }),
  effect: 'read', // it may be asked for again
  timeoutMs: 60_000,
})
const replace = clientTool({
  name: 'replace_text',
  description: 'Replaces what the user has selected.',
  input: z.object({ by: z.string() }),
  output: z.object({ replaced: z.boolean() }),
  effect: 'once', // it must not run twice
})
const editor = agent({
  name: 'editor',
  description: 'Edits what the user has selected.',
  tools: [selection, replace],
  model: ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    if (results.length === 0) return { calls: [{ name: 'selected_text', input: {} }] }
    if (results.length === 2) return 'It is shouted now.'
    const { text } = results[0] as { readonly text: string }
    return { calls: [{ name: 'replace_text', input: { by: text.toUpperCase() } }] }
  },
})
// #endregion
const desk = supervisor({
  name: 'desk',
  workers: [editor],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `Edited: ${JSON.stringify(messages.at(-1)!.content)}`
      : { calls: [{ name: 'delegate', input: { worker: 'editor', instructions: 'Make it louder.' } }] },
})

await using runtime = await createRuntime({ store: ':memory:', agents: [desk] })
const token = 'a-token-of-24-characters-at-least'
const server = createServer({
  runtime,
  auth: { tokens: { [token]: { name: 'ann', roles: ['operator', 'approver'] } } },
})
await using listening = await listen(server, { port: 0 })

// what the page of the user does
let page = 'good morning'
// #region page
const client = createClient({ baseUrl: listening.url, token })
const run = await client.runs.start('desk', 'Make my selection louder.')
await client.runClientTools(run, {
  selected_text: () => ({ text: page }),
  replace_text: ({ by }: { by: string }, { path }) => {
    console.log(`${path.join(' > ')} replaces "${page}" by "${by}"`)
    page = by
    return { replaced: true }
  },
})
const outcome = await run.outcome()
// #endregion
console.log(outcome.status, page)
if (outcome.status !== 'completed' || page !== 'GOOD MORNING') process.exitCode = 1

// #region answer
const again = await runtime.start(desk, 'Once more.')
const state = await again.until('waiting')
if (!('questions' in state)) throw new Error('nothing was asked')
const [question] = state.questions
// { output } as the schema says, or { error } in words for the model
await runtime.answer({ interruptId: question!.id, value: { error: 'the editor is closed' }, by: 'ann' })
// #endregion
await again.control.cancel('enough')
