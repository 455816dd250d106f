/**
 * Approvals in Slack: a payment waits, a message with its exact arguments and two buttons is posted, and a press of one
 * decides it. The Slack here is a fake of this folder; `docs/how-to/slack.md` says what an app of your workspace needs.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, tool, unwrap } from 'reeve'
import { createServer, listen } from 'reeve/server'
import { slackApp } from 'reeve/slack'
import { FakeSlack, textsIn } from './slack/fake-slack.ts'

await using workspace = await FakeSlack.start()
const { token, signingSecret, channel, team, apiUrl } = workspace

// #region app
const slack = slackApp({
  token, // of the bot: xoxb-…
  signingSecret,
  channel, // C…
  team, // T…
  people: { U0ANN: { name: 'ann', roles: ['approver'] } }, // nobody else decides
  apiUrl, // leave it out: it is Slack's
})
const refunds = agent({
  name: 'refunds',
  model: ({ messages }) => (messages.length > 1 ? 'Done.' : { calls: [{ name: 'pay', input: { usd: 40 } }] }),
  tools: [tool({ name: 'pay', effect: 'once', approval: { risk: 'high' }, execute: () => 'paid' })],
  oversight: { approval: { notify: ['slack'] } }, // the name of its channel
})
await using runtime = await createRuntime({ agents: [refunds], channels: [slack.channel] })
const server = createServer({ runtime, protocols: [slack.protocol] }) // the request URL: https://your.host/slack
// #endregion
const listening = await listen(server, { port: 0 })

const run = await runtime.start(refunds, 'Order 7 arrived broken.')
await run.until('waiting')
while (workspace.messages.length === 0) await new Promise((resolve) => setImmediate(resolve))
const [message] = workspace.messages
console.log(textsIn(message!.blocks).join('\n'))

const url = `${listening.url}/slack`
const stranger = await workspace.deliver(url, workspace.signed(workspace.press(message!, 'reeve:approve', 'U0EVE')))
assert.equal(stranger.status, 200)
assert.equal((await runtime.approvals()).length, 1)
await workspace.deliver(url, workspace.signed(workspace.press(message!, 'reeve:approve', 'U0ANN')))
console.log(unwrap(await run.outcome()))
while (!textsIn(message!.blocks).some((text) => text.startsWith('Approved by ann')))
  await new Promise((resolve) => setImmediate(resolve))
await listening.close()
