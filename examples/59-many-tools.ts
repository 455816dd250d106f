/** An agent with 600 tools that is sent the few it found: it searches them by words. */
import assert from 'node:assert/strict'
import { agent, createRuntime, searchable, tool, type ModelFunction } from 'reeve'

const services = ['tracker', 'mail', 'files', 'billing', 'sales']
const verbs = ['create', 'list', 'read', 'update', 'delete', 'search']
const objects = 'invoice ticket letter folder order contact event note alert label report key page user team row'.split(
  ' ',
)
objects.push('branch', 'comment', 'payment', 'channel')

/** In the place of the tools of MCP servers: `await mcp({ url })`. */
const officeTools = services.flatMap((service) =>
  verbs.flatMap((verb) =>
    objects.map((object) =>
      tool({
        name: `${service}_${verb}_${object}`,
        description: `Can ${verb} a ${object} in ${service}.`,
        input: { type: 'object', properties: { id: { type: 'string', description: `The id of the ${object}.` } } },
        effect: 'read',
        execute: () => `${verb} ${object}: done`,
      }),
    ),
  ),
)
const clock = tool({ name: 'clock', effect: 'read', execute: () => '12:00' })

const sent: { readonly names: readonly string[]; readonly characters: number }[] = []
/** The place of a language model: it searches, calls what it found, and answers. */
const model: ModelFunction = ({ messages, tools }) => {
  sent.push({ names: tools.map(({ name }) => name), characters: JSON.stringify(tools).length })
  const turn = messages.filter(({ role }) => role === 'assistant').length
  if (turn === 0) return { calls: [{ name: 'find_tools', input: { query: 'create invoice billing' } }] }
  if (turn === 1) return { calls: [{ name: 'billing_create_invoice', input: { id: '7' } }] }
  return 'The invoice is there.'
}

// #region searchable
const clerk = agent({ name: 'clerk', model, tools: [clock, searchable(officeTools)] })
// #endregion

await using runtime = await createRuntime({ agents: [clerk] })
const outcome = await runtime.run(clerk, 'Make an invoice.')
assert.equal(outcome.status === 'completed' && outcome.output, 'The invoice is there.')

assert.deepEqual(sent[0]!.names, ['clock', 'find_tools'])
assert.deepEqual(sent[1]!.names.slice(0, 3), ['clock', 'find_tools', 'billing_create_invoice'])
assert.deepEqual(sent[2]!.names, sent[1]!.names)
const all = JSON.stringify(officeTools.map(({ spec }) => spec)).length
console.log(
  `${officeTools.length} tools have ${all} characters; sent were ${sent.map((each) => each.characters).join(', ')}`,
)

// #region options
const options = searchable(officeTools, {
  always: ['billing_create_invoice'], // sent from the beginning
  limit: 10, // how many one search finds at most; default 5
})
// #endregion
assert.equal(options.tools.length, 600)
