/**
 * A tool that needs a yes. The approval is raised inside the worker and answered at the run's top, by id; until then
 * the run costs no memory, and it would survive a restart of this process.
 */
import { agent, createRuntime, supervisor, tool } from 'reeve'
import { z } from 'zod'

const sent: string[] = []
// #region tool
const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  sensitive: true, // asks for approval, and is never repeated by itself
  execute: ({ to, text }) => {
    sent.push(`${to}: ${text}`)
    return { sent: true }
  },
})
// #endregion

const postman = agent({
  name: 'postman',
  description: 'Sends mails.',
  tools: [sendMail],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'The mail is on its way.'
      : { calls: [{ name: 'send_mail', input: { to: 'ann@example.org', text: 'Hello' } }] },
})
const office = supervisor({
  name: 'office',
  workers: [postman],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: [{ name: 'delegate', input: { worker: 'postman', instructions: 'Greet Ann.' } }] },
})

await using runtime = await createRuntime({ store: ':memory:', agents: [office] })
const run = await runtime.start(office, 'Greet Ann.')

// #region decide
const state = await run.until('waiting')
if (!('waiting' in state)) throw new Error('no approval was requested')
const [approval] = await runtime.approvals()
console.log(`${approval!.path.join(' > ')} asks for ${approval!.tool} with`, approval!.input)

await run.decide({
  approvalId: approval!.id,
  decision: 'edit',
  input: { to: 'ann@example.org', text: 'Hello, Ann!' },
  approver: 'bob',
})
const outcome = await run.outcome()
// #endregion
console.log(outcome.status, sent)
if (outcome.status !== 'completed' || sent.join() !== 'ann@example.org: Hello, Ann!') process.exitCode = 1
