/**
 * Secrets stay out of the journal: what is registered for redaction is taken out before anything is recorded. Tools get
 * theirs from where they live.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, tool } from 'reeve'

const vault = new Map([['mail', 'hunter2-hunter2']])

// #region secrets
const login = tool({
  name: 'login',
  effect: 'idempotent',
  execute: () => {
    const password = vault.get('mail')! // by reference: neither the model nor an argument contains it
    return { session: 'abc', echoed: `logged in with ${password}`, apiKey: 'k-123' }
  },
})
const clerk = agent({
  name: 'clerk',
  tools: [login],
  model: ({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? JSON.stringify(last.content) : { calls: [{ name: 'login', input: {} }] }
  },
})
await using runtime = await createRuntime({
  agents: [clerk],
  redact: { keys: ['apiKey'], values: [...vault.values()] },
})
// #endregion

const run = await runtime.start(clerk, 'Log in.')
const outcome = await run.outcome()
console.log(outcome.status === 'completed' && outcome.output)
for await (const recorded of run.events()) assert.doesNotMatch(JSON.stringify(recorded), /hunter2|k-123/)
assert.match(JSON.stringify(outcome), /logged in with \[redacted\]/)
