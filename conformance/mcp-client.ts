/**
 * Reeve as an MCP client for `conformance client`: an agent calls every tool of the server at the address in the last
 * argument, and answers what the server asks with the defaults of its form.
 */
import { mcp } from '@reeve/mcp'
import { agent, createRuntime, type Json, type JsonObject } from '@reeve/public'

/** A value for a schema: the simplest that fits. */
function sample(schema: JsonObject): Json {
  if (schema['default'] !== undefined) return schema['default']
  const [first] = (schema['enum'] ?? []) as readonly Json[]
  if (first !== undefined) return first
  switch (schema['type']) {
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    case 'object':
      return required(schema)
    default:
      return 'x'
  }
}
const required = (schema: JsonObject): JsonObject => {
  const properties = (schema['properties'] ?? {}) as { readonly [name: string]: JsonObject }
  const names = (schema['required'] ?? []) as readonly string[]
  return Object.fromEntries(names.map((name) => [name, sample(properties[name] ?? {})]))
}

await using tools = await mcp({ url: process.argv.at(-1)!, rules: {} })
const caller = agent({
  name: 'caller',
  description: 'Calls every tool once.',
  tools,
  model: ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? 'done'
      : { text: 'all of them', calls: tools.map(({ name, spec }) => ({ name, input: required(spec.parameters) })) },
})
await using runtime = await createRuntime({ store: ':memory:', agents: [caller] })
const run = await runtime.start('caller', 'go')
for (;;) {
  const now = await run.until('waiting')
  if (!('questions' in now)) break
  for (const { id, body } of now.questions) {
    const { question } = body as { question: { schema: JsonObject; question?: { schema: JsonObject } } }
    await runtime.answer({ interruptId: id, value: required(question.question?.schema ?? question.schema) })
  }
}
for (const { event } of await run.journal())
  if (event.type === 'worker.settled') console.log(JSON.stringify(event.outcome))
