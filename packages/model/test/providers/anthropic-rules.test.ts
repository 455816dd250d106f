/**
 * What the bench refuses as Anthropic does: every rule is broken once and kept once, and says what the vendor says.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '@reeve/core'
import { providerRules, strictProvider, type StrictProvider } from '../../../testing/src/providers/index.ts'

let provider: StrictProvider
beforeAll(async () => {
  provider = await strictProvider({ preset: 'anthropic', answer: () => 'hello' })
})
afterAll(() => provider.close())

const hello: JsonObject = { role: 'user', content: 'hello' }
const base: JsonObject = { model: 'claude-sonnet-4-5', max_tokens: 1000, messages: [hello] }
const request = (more: JsonObject): JsonObject => ({ ...base, ...more })
const talk = (...messages: JsonObject[]): JsonObject => request({ messages })
const user = (...content: Json[]): JsonObject => ({ role: 'user', content })
const assistant = (...content: Json[]): JsonObject => ({ role: 'assistant', content })
const text = (said: string, more: JsonObject = {}): JsonObject => ({ type: 'text', text: said, ...more })
const call = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'look',
  input: {},
  ...more,
})
const result = (id: string, content: Json = 'seen', more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const open: JsonObject = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] }
const closed: JsonObject = { ...open, additionalProperties: false }
const tool = (more: JsonObject = {}): JsonObject => ({ name: 'look', input_schema: open, ...more })
const tools = (...list: JsonObject[]): JsonObject => request({ tools: list })
const input = (schema: JsonObject, more: JsonObject = {}): JsonObject => tools(tool({ input_schema: schema, ...more }))
const format = (schema: JsonObject): JsonObject =>
  request({ output_config: { format: { type: 'json_schema', schema } } })
const budget: JsonObject = { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 1024 } }
const thought = (more: JsonObject = {}): JsonObject => ({
  type: 'thinking',
  thinking: 'hm',
  signature: 'c2ln',
  ...more,
})
const picture = (more: JsonObject = {}): JsonObject => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K', ...more },
})
const marked = (count: number, ttl?: string): JsonObject[] =>
  Array.from({ length: count }, (_, n) => text(`t${n}`, { cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } }))
const members = (count: number, of: (n: number) => JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, of(n)]))
const strict = (schema: JsonObject): JsonObject => input(schema, { strict: true })

/** By rule: a request that breaks it, what the vendor says, a request that nearly does. */
const cases: {
  readonly [rule: string]: readonly [broken: JsonObject | string, says: string | RegExp, kept: JsonObject]
} = {
  size: [
    request({ messages: [{ role: 'user', content: 'x'.repeat(33 * 1024 * 1024) }] }),
    'Request exceeds the maximum',
    base,
  ],
  'well-formed': [
    JSON.stringify(talk({ role: 'user', content: 'cut \ud83d' })),
    /not valid JSON: no low surrogate/,
    talk(user(text('whole 😀'))),
  ],
  'unknown-member': [
    request({ response_format: {} }),
    'response_format: Extra inputs are not permitted',
    request({ service_tier: 'auto' }),
  ],
  model: [request({ model: '' }), 'model: Field required', base],
  'max-tokens': [
    { model: 'claude-sonnet-4-5', messages: [hello] },
    'max_tokens: Field required',
    request({ max_tokens: 1 }),
  ],
  'max-tokens-of-model': [
    request({ max_tokens: 64_001 }),
    'max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5',
    request({ max_tokens: 64_000 }),
  ],
  'no-messages': [talk(), 'messages: at least one message is required', base],
  role: [talk({ role: 'tool', content: 'x' }), /messages\.0\.role/, base],
  'first-is-user': [talk(assistant(text('hi')), hello), 'messages: first message must use the "user" role', base],
  content: [talk(user(), assistant(text('hi')), hello), /messages\.0: all messages must have non-empty content/, base],
  'blank-text': [
    talk(hello, assistant(text('\n\n'), text('hi')), hello),
    'messages: text content blocks must contain non-whitespace text',
    talk(hello, assistant(text(' hi')), hello),
  ],
  'blank-system': [
    request({ system: '' }),
    'system: text content blocks must be non-empty',
    request({ system: [text('You help.')] }),
  ],
  'unknown-block-member': [
    talk(user(text('hi', { providerOptions: {} }))),
    'messages.0.content.0.text.providerOptions: Extra inputs are not permitted',
    talk(user(text('hi', { cache_control: { type: 'ephemeral' } }))),
  ],
  'block-role': [
    talk(hello, assistant(text('hi'), picture()), hello),
    /`image` blocks can only be in `user`/,
    talk(user(picture())),
  ],
  'trailing-space': [
    talk(hello, assistant(text('The answer is '))),
    'messages: final assistant content cannot end with trailing whitespace',
    talk(hello, assistant(text('The answer is'))),
  ],
  prefill: [
    request({ model: 'claude-sonnet-5', messages: [hello, assistant(text('Well,'))] }),
    /does not support assistant message prefill/,
    request({
      model: 'claude-sonnet-5',
      messages: [
        hello,
        assistant(text('Searching.'), { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
      ],
    }),
  ],
  'message-count': [
    talk(...Array.from({ length: 100_001 }, () => ({ role: 'user', content: 'a' }))),
    'messages: List should have at most 100000 items',
    base,
  ],
  'call-id': [
    talk(hello, assistant(call('functions.look:0')), user(result('functions.look:0'))),
    /tool_use\.id: String should match pattern/,
    talk(hello, assistant(call('toolu_1-a')), user(result('toolu_1-a'))),
  ],
  'call-id-unique': [
    talk(hello, assistant(call('a')), user(result('a')), assistant(call('a')), user(result('a'))),
    'messages.3.content.0: `tool_use` ids must be unique',
    talk(hello, assistant(call('a')), user(result('a')), assistant(call('b')), user(result('b'))),
  ],
  'call-without-result': [
    talk(hello, assistant(call('a'), call('b')), user(result('a'))),
    /messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: b\./,
    talk(hello, assistant(call('a'), call('b')), user(result('a')), user(result('b'))),
  ],
  'result-without-call': [
    talk(hello, assistant(text('hi')), user(result('a'))),
    /messages\.2\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: a/,
    talk(hello, assistant(call('a')), user(result('a'))),
  ],
  'result-twice': [
    talk(hello, assistant(call('a')), user(result('a'), result('a'))),
    'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a',
    talk(hello, assistant(call('a')), user(result('a'))),
  ],
  'results-first': [
    talk(hello, assistant(call('a')), user(text('here:'), result('a'))),
    /messages\.2\.content\.0: `tool_use` ids were found without `tool_result`/,
    talk(hello, assistant(call('a')), user(result('a'), text('there'))),
  ],
  'call-input': [
    talk(hello, assistant(call('a', { input: '{"cut' })), user(result('a'))),
    'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
    talk(hello, assistant(call('a', { input: { deep: [] } })), user(result('a'))),
  ],
  'call-name': [
    talk(hello, assistant(call('a', { name: 'n'.repeat(201) })), user(result('a'))),
    'messages.1.content.0.tool_use.name: String should have at most 200 characters',
    talk(hello, assistant(call('a', { name: 'n'.repeat(200) })), user(result('a'))),
  ],
  'empty-result': [
    talk(hello, assistant(call('a')), user(result('a', ''))),
    /must be non-empty/,
    talk(hello, assistant(call('a')), user(result('a', []))),
  ],
  'result-block': [
    talk(hello, assistant(call('a')), user(result('a', [{ type: 'audio' }]))),
    /Input tag 'audio'/,
    talk(hello, assistant(call('a')), user(result('a', [text('seen'), picture()]))),
  ],
  'thought-signature': [
    talk(hello, assistant(thought({ signature: '' }), text('hi')), hello),
    'messages.1.content.0.thinking.signature: Field required',
    talk(hello, assistant(thought(), text('hi')), hello),
  ],
  'thought-first': [
    request({ ...budget, messages: [hello, assistant(call('a')), user(result('a'))] }),
    /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    request({ ...budget, messages: [hello, assistant(thought(), call('a')), user(result('a'))] }),
  ],
  'thinking-budget': [
    request({ ...budget, max_tokens: 1024 }),
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
    request(budget),
  ],
  'thinking-kind': [
    request({ model: 'claude-opus-5-5', ...budget }),
    /"enabled" is not supported for this model/,
    request({ model: 'claude-opus-5-5', thinking: { type: 'adaptive' } }),
  ],
  'thinking-forced-call': [
    request({ ...budget, tools: [tool()], tool_choice: { type: 'any' } }),
    'Thinking may not be enabled when tool_choice forces tool use.',
    request({ ...budget, tools: [tool()], tool_choice: { type: 'auto' } }),
  ],
  'thinking-sampling': [
    request({ ...budget, temperature: 0.5 }),
    '`temperature` may only be set to 1 when thinking is enabled.',
    request({ ...budget, temperature: 1 }),
  ],
  'tool-name': [
    tools(tool({ name: 'files.read' })),
    /tools\.0\.custom\.name: String should match pattern/,
    tools(tool({ name: 'n'.repeat(128) })),
  ],
  'tool-name-unique': [
    tools(tool(), tool()),
    'tools: Tool names must be unique.',
    tools(tool(), tool({ name: 'see' })),
  ],
  'tool-type': [
    tools({ type: 'crystal_ball_20250101', name: 'look' }),
    "tools.0: Input tag 'crystal_ball_20250101' found using 'type' does not match any of the expected tags",
    tools({ type: 'web_search_20250305', name: 'web_search' }),
  ],
  'tool-root': [
    input({ properties: {} }),
    'tools.0.custom.input_schema.type: Field required',
    input({ type: 'object' }),
  ],
  'tool-root-union': [
    input({ type: 'object', oneOf: [open] }),
    'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    input({ type: 'object', properties: { either: { oneOf: [open] } } }),
  ],
  'tool-argument-name': [
    input({ type: 'object', properties: { 'filter[id]': {} } }),
    /Property keys should match pattern/,
    input({ type: 'object', properties: { 'filter.id': {} } }),
  ],
  'tool-choice': [
    request({ tools: [tool()], tool_choice: { type: 'tool', name: 'see' } }),
    "Tool 'see' not found in provided tools",
    request({ tools: [tool()], tool_choice: { type: 'tool', name: 'look' } }),
  ],
  'forced-call': [
    request({ model: 'claude-opus-5-5', tools: [tool()], tool_choice: { type: 'any' } }),
    /forced tool use is not supported/,
    request({ model: 'claude-opus-5-5', tools: [tool()], tool_choice: { type: 'auto' } }),
  ],
  'tool-schema': [
    input({ type: 'object', properties: { n: { type: 'integer', exclusiveMinimum: true } } }),
    /JSON schema is invalid\. It must match JSON Schema draft 2020-12/,
    input({ type: 'object', properties: { n: { type: 'integer', exclusiveMinimum: 0 } } }),
  ],
  'strict-subset': [
    format({ ...closed, properties: { n: { type: 'integer', minimum: 1 } } }),
    "output_config.format.schema: For 'integer' type, property 'minimum' is not supported",
    format(closed),
  ],
  'strict-recursion': [
    format({ ...closed, properties: { next: { $ref: '#' } }, required: ['next'] }),
    /Recursive schemas are not supported/,
    format({
      ...closed,
      properties: { a: { $ref: '#/$defs/A' }, b: { $ref: '#/$defs/A' } },
      required: ['a', 'b'],
      $defs: { A: closed },
    }),
  ],
  'strict-count': [
    tools(...Array.from({ length: 21 }, (_, n) => tool({ name: `t${n}`, strict: true, input_schema: closed }))),
    /Too many strict tools \(21\)/,
    tools(...Array.from({ length: 21 }, (_, n) => tool({ name: `t${n}`, strict: n > 0, input_schema: closed }))),
  ],
  'strict-optionals': [
    strict({
      type: 'object',
      properties: members(25, () => ({ type: 'string' })),
      required: [],
      additionalProperties: false,
    }),
    /too many optional parameters \(25\)/,
    strict({
      type: 'object',
      properties: members(24, () => ({ type: 'string' })),
      required: [],
      additionalProperties: false,
    }),
  ],
  'strict-unions': [
    strict({
      type: 'object',
      properties: members(17, () => ({ type: ['string', 'null'] })),
      required: Object.keys(members(17, () => ({}))),
      additionalProperties: false,
    }),
    /too many parameters with union types \(17/,
    strict({
      type: 'object',
      properties: members(16, () => ({ type: ['string', 'null'] })),
      required: Object.keys(members(16, () => ({}))),
      additionalProperties: false,
    }),
  ],
  temperature: [request({ temperature: 1.5 }), /temperature/, request({ temperature: 0 })],
  sampling: [
    request({ model: 'claude-sonnet-5', temperature: 0.5 }),
    '`temperature` is not supported for this model.',
    request({ model: 'claude-sonnet-5', temperature: 1 }),
  ],
  'temperature-or-top-p': [
    request({ temperature: 0.5, top_p: 0.9 }),
    /cannot both be specified/,
    request({ top_p: 0.9 }),
  ],
  'stop-sequence': [
    request({ stop_sequences: ['\n'] }),
    /must contain non-whitespace/,
    request({ stop_sequences: ['END'] }),
  ],
  'user-id': [
    request({ metadata: { user_id: 'u'.repeat(257) } }),
    /at most 256/,
    request({ metadata: { user_id: 'u'.repeat(256) } }),
  ],
  'cache-count': [
    talk(user(...marked(5))),
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    talk(user(...marked(4))),
  ],
  'cache-order': [
    talk(user(...marked(1), ...marked(1, '1h'))),
    /a ttl='1h' cache_control block must not come after a ttl='5m'/,
    talk(user(...marked(1, '1h'), ...marked(1))),
  ],
  'cache-mark': [talk(user(...marked(1, '2h'))), /ttl: Input should be '5m' or '1h'/, talk(user(...marked(1, '5m')))],
  'media-type': [
    talk(user(picture({ media_type: 'image/bmp' }))),
    "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    talk(user(picture())),
  ],
  'media-bytes': [
    talk(user(picture({ media_type: 'image/jpeg' }))),
    /specified using the image\/jpeg media type, but the image appears to be a image\/png image/,
    talk(user(picture())),
  ],
  'media-size': [
    talk(hello, assistant(call('a')), user(result('a', [picture({ data: `iVBORw0K${'A'.repeat(5 * 1024 * 1024)}` })]))),
    /image exceeds 5 MB maximum/,
    talk(user(picture({ data: `iVBORw0K${'A'.repeat(1024)}` }))),
  ],
}

const headers = {
  'content-type': 'application/json',
  'x-api-key': 'sk-strict-provider-key',
  'anthropic-version': '2023-06-01',
}
const saying = (says: string | RegExp): unknown =>
  typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says)

async function send(
  body: JsonObject | string,
  more: object = headers,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${provider.url}/v1/messages`, { method: 'POST', headers: { ...more }, body: sent })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const rules = providerRules.filter(({ providers }) => providers.includes('anthropic'))
/** Shown below by what they need besides a body. */
const apart = ['version', 'thought-changed']

test('every rule is shown here, and says where it comes from', () => {
  expect(rules.map(({ id }) => id.slice('anthropic/'.length)).toSorted()).toEqual(
    [...Object.keys(cases), ...apart].toSorted(),
  )
  for (const { what, source } of rules) {
    expect(what).toMatch(/\.$/)
    expect(URL.canParse(source)).toBe(true)
  }
})

describe.each(Object.entries(cases))('%s', (name, [broken, says, kept]) => {
  test('a request that breaks it is refused in the vendor’s words', async () => {
    const { status, body } = await send(broken)
    expect(provider.refused.at(-1)).toMatchObject({ rule: `anthropic/${name}` })
    expect(status).toBe(name === 'size' ? 413 : 400)
    const { error } = body as { error: { type: string; message: string } }
    expect(body.type).toBe('error')
    expect(error.type).toBe(name === 'size' ? 'request_too_large' : 'invalid_request_error')
    expect(error.message).toEqual(saying(says))
  })

  test('one that keeps it is answered', async () => {
    const before = provider.refused.length
    const { status, body } = await send(kept)
    expect(provider.refused.slice(before)).toEqual([])
    expect([status, body.type]).toEqual([200, 'message'])
  })
})

test('version: a request without the version of the API is refused', async () => {
  const { status } = await send(base, { 'content-type': 'application/json', 'x-api-key': headers['x-api-key'] })
  expect(status).toBe(400)
  expect(provider.refused.at(-1)?.rule).toBe('anthropic/version')
})

test('thought-changed: a thought of the bench is known again, and a changed one is refused', async () => {
  await using thinking = await strictProvider({
    preset: 'anthropic',
    answer: () => ({ reasoning: 'let me see', text: 'hi' }),
  })
  const ask = async (messages: readonly JsonObject[]): Promise<Response> =>
    fetch(`${thinking.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify({ ...base, messages }) })
  const first = (await (await ask([hello])).json()) as { content: JsonObject[] }
  const said = { role: 'assistant', content: first.content }
  expect((await ask([hello, said, hello])).status).toBe(200)
  const [made, ...rest] = first.content
  const changed = { role: 'assistant', content: [{ ...made, thinking: 'let me SEE' }, ...rest] }
  const refused = await ask([hello, changed, hello])
  expect([refused.status, thinking.refused.at(-1)?.rule]).toEqual([400, 'anthropic/thought-changed'])
  expect(await refused.text()).toContain('Invalid `signature` in `thinking` block')
})

test('a wrong key is refused as the vendor refuses it', async () => {
  const { status, body } = await send(base, { ...headers, 'x-api-key': 'other' })
  expect([status, body.error]).toEqual([401, { type: 'authentication_error', message: 'invalid x-api-key' }])
})
