/**
 * Every rule of the providers on OpenAI's two wires can be broken, and what keeps it is taken. A rule that nobody can
 * break is no rule.
 */
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '@reeve/core'
import {
  providerRules,
  strictProvider,
  type ProviderName,
  type ProviderRule,
  type StrictProvider,
} from '../../../testing/src/providers/index.ts'

const cloud: readonly ProviderName[] = ['anthropic', 'google']
const rules = providerRules.filter(({ providers }) => !providers.some((name) => cloud.includes(name)))

interface RuleCase {
  /** The body that breaks the rule, from one that breaks none. */
  readonly bad: (body: JsonObject) => JsonObject
  /** One that nearly does. Default: the one that breaks none. */
  readonly good?: (body: JsonObject) => JsonObject
  /** The model of both. Default: the provider's. */
  readonly model?: string
}

const paths: { readonly [name in ProviderName]?: string } = {
  openai: '/v1/responses',
  groq: '/openai/v1/chat/completions',
  openrouter: '/api/v1/chat/completions',
}

const person: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, born: { $ref: '#/$defs/day' } },
  required: ['name', 'born'],
  additionalProperties: false,
  $defs: { day: { type: 'string', format: 'date' } },
}

const user = (content: Json): JsonObject => ({ role: 'user', content })
const call = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: '{"at":"a"}', ...more },
})
const calling = (...ids: readonly string[]): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id)),
})
const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'seen' })

const lookParameters: JsonObject = {
  type: 'object',
  properties: { at: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['at', 'tags'],
  additionalProperties: false,
}

const chatBody = (model: string): JsonObject => ({
  model,
  messages: [
    { role: 'system', content: 'You look at things and answer in JSON.' },
    user('Look.'),
    calling('call_1', 'call_2'),
    result('call_1'),
    result('call_2'),
    { role: 'assistant', content: 'Seen.' },
    user('And now?'),
  ],
})

const messages = (...list: readonly JsonObject[]) => ({ messages: list })
const tool = (more: JsonObject, strict = false): JsonObject => ({
  type: 'function',
  function: { name: 'look', description: 'Looks.', parameters: lookParameters, ...(strict && { strict }), ...more },
})
const tools = (...list: readonly JsonObject[]) => ({ tools: list })
const format = (schema: JsonObject, strict: boolean, name = 'output'): JsonObject => ({
  response_format: { type: 'json_schema', json_schema: { name, schema, strict } },
})
const png = 'data:image/png;base64,iVBORw0KGgo='
const pdf = 'data:application/pdf;base64,JVBERi0xLjQK'
const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } })
const file = (data: string): JsonObject => ({ type: 'file', file: { filename: 'a.pdf', file_data: data } })

/** A schema with this one in the place of a member. */
const around = (inner: JsonObject): JsonObject => ({
  type: 'object',
  properties: { of: inner },
  required: ['of'],
  additionalProperties: false,
})

/** Objects inside one another. */
function nested(levels: number): JsonObject {
  return levels === 1 ? around({ type: 'string' }) : around(nested(levels - 1))
}

/** What breaks a part of the strict subset, and what nearly does. */
const strictCases: { readonly [part: string]: { readonly bad: JsonObject; readonly good: JsonObject } } = {
  'strict-words': {
    bad: around({ oneOf: [{ type: 'string' }, { type: 'number' }] }),
    good: around({ anyOf: [{ type: 'string' }, { type: 'number' }] }),
  },
  'strict-objects': { bad: { ...person, required: ['name'] }, good: person },
  'strict-types': { bad: around({ description: 'anything' }), good: around({ enum: ['a', 'b'] }) },
  'strict-formats': {
    bad: around({ type: 'string', format: 'uri' }),
    good: around({ type: 'string', format: 'uuid' }),
  },
  'strict-patterns': {
    bad: around({ type: 'string', pattern: '^(?!a)b$' }),
    good: around({ type: 'string', pattern: '^(?:a)b$' }),
  },
  'strict-references': {
    bad: { ...person, properties: { name: { type: 'string' }, born: { $ref: '#/$defs/day', description: 'a day' } } },
    good: person,
  },
  'strict-size': { bad: nested(11), good: nested(10) },
}

const chatStrict = Object.entries(strictCases).flatMap(([part, { bad, good }]): [string, RuleCase][] => [
  [
    `openai-chat/tool-${part}`,
    {
      bad: (body) => ({ ...body, ...tools(tool({ parameters: bad }, true)) }),
      good: (body) => ({ ...body, ...tools(tool({ parameters: good }, true)) }),
    },
  ],
  [
    `openai-chat/output-${part}`,
    { bad: (body) => ({ ...body, ...format(bad, true) }), good: (body) => ({ ...body, ...format(good, true) }) },
  ],
])

const many = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, (_, n) => tool({ name: `look_${n}` }))

const chatCases: { readonly [rule: string]: RuleCase } = {
  'openai-chat/model': { bad: (body) => ({ ...body, model: '' }) },
  'openai-chat/messages': { bad: (body) => ({ ...body, messages: [] }) },
  'openai-chat/members': {
    bad: (body) => ({ ...body, top_k: 3 }),
    good: (body) => ({ ...body, parallel_tool_calls: true, ...tools(tool({})) }),
  },
  'openai-chat/roles': { bad: (body) => ({ ...body, ...messages({ role: 'agent', content: 'hello' }) }) },
  'openai-chat/content': {
    bad: (body) => ({ ...body, ...messages(user('a'), { role: 'assistant', content: null }, user('b')) }),
  },
  'openai-chat/parts': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c'), { ...result('c'), content: [image(png)] }) }),
    good: (body) => ({ ...body, ...messages(user([{ type: 'text', text: 'a' }, image(png)])) }),
  },
  'openai-chat/images': {
    bad: (body) => ({ ...body, ...messages(user([image('data:image/tiff;base64,AAAA')])) }),
    good: (body) => ({ ...body, ...messages(user([image('https://example.org/a.png')])) }),
  },
  'openai-chat/files': {
    bad: (body) => ({ ...body, ...messages(user([file('JVBERi0xLjQK')])) }),
    good: (body) => ({ ...body, ...messages(user([file(pdf)])) }),
  },
  'openai-chat/well-formed': {
    bad: (body) => ({ ...body, ...messages(user('half \ud83d of it')) }),
    good: (body) => ({ ...body, ...messages(user('all \ud83d\ude00 of it')) }),
  },
  'openai-chat/tool-follows-call': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c'), result('c'), result('d')) }),
  },
  'openai-chat/calls-answered': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c', 'd'), result('c'), user('b')) }),
  },
  'openai-chat/answered-once': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c'), result('c'), result('c')) }),
  },
  'openai-chat/call-ids-unique': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c', 'c'), result('c')) }),
    good: (body) => ({
      ...body,
      ...messages(user('a'), calling('c'), result('c'), calling('c'), result('c')),
    }),
  },
  'openai-chat/call-id-length': {
    bad: (body) => ({ ...body, ...messages(user('a'), calling('c'.repeat(41)), result('c'.repeat(41))) }),
    good: (body) => ({ ...body, ...messages(user('a'), calling('c'.repeat(40)), result('c'.repeat(40))) }),
  },
  'openai-chat/call-count': {
    bad: (body) => ({ ...body, ...messages(user('a'), { role: 'assistant', content: 'b', tool_calls: [] }) }),
  },
  'openai-chat/call-arguments': {
    bad: (body) => ({
      ...body,
      ...messages(user('a'), { ...calling(), tool_calls: [call('c', { arguments: { at: 'a' } })] }, result('c')),
    }),
  },
  'openai-chat/tool-count': {
    bad: (body) => ({ ...body, tools: many(129) }),
    good: (body) => ({ ...body, tools: many(128) }),
  },
  'openai-chat/tools-not-empty': { bad: (body) => ({ ...body, tool_choice: 'auto' }) },
  'openai-chat/tool-name': {
    bad: (body) => ({ ...body, ...tools(tool({ name: 'files.read' })) }),
    good: (body) => ({ ...body, ...tools(tool({ name: `files-read_${'x'.repeat(53)}` })) }),
  },
  'openai-chat/tool-description': {
    bad: (body) => ({ ...body, ...tools(tool({ description: 'x'.repeat(1025) })) }),
    good: (body) => ({ ...body, ...tools(tool({ description: 'x'.repeat(1024) })) }),
  },
  'openai-chat/tool-parameters': {
    bad: (body) => ({ ...body, ...tools(tool({ parameters: { type: 'object' } })) }),
    good: (body) => ({ ...body, ...tools(tool({ parameters: { type: 'object', properties: {} } })) }),
  },
  'openai-chat/tool-array-items': {
    bad: (body) => ({ ...body, ...tools(tool({ parameters: around({ type: 'array' }) })) }),
    good: (body) => ({ ...body, ...tools(tool({ parameters: around({ type: ['array', 'null'], items: {} }) })) }),
  },
  'openai-chat/output-name': {
    bad: (body) => ({ ...body, ...format(person, false, 'my output') }),
    good: (body) => ({ ...body, ...format(person, false, 'my-output') }),
  },
  'openai-chat/output-root': {
    bad: (body) => ({ ...body, ...format({ type: 'array', items: { type: 'string' } }, false) }),
    good: (body) => ({ ...body, ...format(person, false) }),
  },
  ...Object.fromEntries(chatStrict),
  'openai-chat/json-word': {
    bad: (body) => ({ ...body, response_format: { type: 'json_object' }, ...messages(user('An object, please.')) }),
    good: (body) => ({ ...body, response_format: { type: 'json_object' } }),
  },
  'openai-chat/stop': {
    model: 'gpt-4.1',
    bad: (body) => ({ ...body, stop: ['a', 'b', 'c', 'd', 'e'] }),
    good: (body) => ({ ...body, stop: ['a', 'b', 'c', 'd'] }),
  },
  'openai-chat/max-tokens': {
    bad: (body) => ({ ...body, max_completion_tokens: 0 }),
    good: (body) => ({ ...body, max_completion_tokens: 1 }),
  },
  'openai-chat/reasoning-model': {
    bad: (body) => ({ ...body, temperature: 0 }),
    good: (body) => ({ ...body, temperature: 1 }),
  },
  'openai-chat/sampling': {
    model: 'gpt-4.1',
    bad: (body) => ({ ...body, temperature: 2.1 }),
    good: (body) => ({ ...body, temperature: 2, top_p: 0.5, presence_penalty: -2 }),
  },
  'openai-chat/metadata': {
    bad: (body) => ({ ...body, metadata: { run: 'x'.repeat(513) } }),
    good: (body) => ({ ...body, metadata: { run: 'x'.repeat(512) } }),
  },
  'groq/json-beside-tools': {
    bad: (body) => ({ ...body, response_format: { type: 'json_object' }, ...tools(tool({})) }),
    good: (body) => ({ ...body, response_format: { type: 'json_object' } }),
  },
  'groq/json-schema-models': {
    bad: (body) => ({ ...body, ...format(person, false) }),
    good: (body) => ({ ...body, response_format: { type: 'json_object' } }),
  },
  'groq/json-schema-strict': {
    model: 'openai/gpt-oss-120b',
    bad: (body) => ({ ...body, ...format({ ...person, required: [] }, true) }),
    good: (body) => ({ ...body, ...format(person, true) }),
  },
  'groq/message-members': {
    model: 'openai/gpt-oss-120b',
    bad: (body) => ({ ...body, ...messages(user('a'), { role: 'assistant', content: 'b', reasoning_content: 'c' }) }),
    good: (body) => ({ ...body, ...messages(user('a'), { role: 'assistant', content: 'b', reasoning: 'c' }) }),
  },
  'groq/reasoning-models': {
    bad: (body) => ({ ...body, ...messages(user('a'), { role: 'assistant', content: 'b', reasoning: 'c' }) }),
  },
  'openrouter/model-id': { bad: (body) => ({ ...body, model: 'openrouter/google/gemini' }) },
  'vllm/turns': { bad: (body) => ({ ...body, ...messages(user('a'), user('b')) }) },
  'vllm/system-first': {
    bad: (body) => ({
      ...body,
      ...messages(user('a'), { role: 'assistant', content: 'b' }, { role: 'system', content: 'c' }, user('d')),
    }),
  },
  'vllm/tool-choice': {
    bad: (body) => ({ ...body, tool_choice: 'auto' }),
    good: (body) => ({ ...body, tool_choice: 'auto', ...tools(tool({})) }),
  },
  'vllm/call-arguments': {
    bad: (body) => ({
      ...body,
      ...messages(user('a'), { ...calling(), tool_calls: [call('c', { arguments: '{"at":' })] }, result('c')),
    }),
  },
  'llamacpp/turns': {
    bad: (body) => ({ ...body, ...messages({ role: 'assistant', content: 'a' }, user('b')) }),
  },
  'llamacpp/system-first': {
    bad: (body) => ({ ...body, ...messages({ role: 'system', content: 'a' }, { role: 'system', content: 'b' }) }),
  },
  'llamacpp/grammar-beside-tools': {
    bad: (body) => ({ ...body, grammar: 'root ::= "a"', ...tools(tool({})) }),
    good: (body) => ({ ...body, grammar: 'root ::= "a"' }),
  },
  'llamacpp/patterns': {
    bad: (body) => ({ ...body, ...tools(tool({ parameters: around({ type: 'string', pattern: '^\\d+$' }) })) }),
    good: (body) => ({ ...body, ...tools(tool({ parameters: around({ type: 'string', pattern: '^[0-9]+$' }) })) }),
  },
  'llamacpp/repetitions': {
    bad: (body) => ({ ...body, ...format(around({ type: 'string', maxLength: 10_000 }), false) }),
    good: (body) => ({ ...body, ...format(around({ type: 'string', maxLength: 2000 }), false) }),
  },
  'llamacpp/references': {
    bad: (body) => ({ ...body, ...format(around({ $ref: '#/$defs/day' }), false) }),
    good: (body) => ({ ...body, ...format(person, false) }),
  },
  'ollama/content': { bad: (body) => ({ ...body, ...messages({ role: 'user', content: null }) }) },
  'ollama/parts': {
    bad: (body) => ({ ...body, ...messages(user([file(pdf)])) }),
    good: (body) => ({ ...body, ...messages(user([{ type: 'text', text: 'a' }])) }),
  },
  'ollama/images': {
    bad: (body) => ({ ...body, ...messages(user([image('https://example.org/a.png')])) }),
    good: (body) => ({ ...body, ...messages(user([image(png)])) }),
  },
  'ollama/call-arguments': {
    bad: (body) => ({
      ...body,
      ...messages(user('a'), { ...calling(), tool_calls: [call('c', { arguments: '[1]' })] }, result('c')),
    }),
  },
}

const said = (text: string): JsonObject => ({
  type: 'message',
  id: `msg_${text}`,
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const called = (id: string): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{"at":"a"}',
})
const output = (id: string): JsonObject => ({ type: 'function_call_output', call_id: id, output: 'seen' })
const thought = (id: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: 'sealed',
})
const asked = (text: string): JsonObject => ({ role: 'user', content: [{ type: 'input_text', text }] })
const part = (of: JsonObject): JsonObject => ({ role: 'user', content: [of] })

const responsesBody = (model: string): JsonObject => ({
  model,
  store: false,
  include: ['reasoning.encrypted_content'],
  input: [
    { role: 'developer', content: 'You look at things and answer in JSON.' },
    asked('Look.'),
    thought('rs_1'),
    called('call_1'),
    called('call_2'),
    output('call_1'),
    output('call_2'),
    said('Seen.'),
    asked('And now?'),
  ],
})

const input = (...list: readonly JsonObject[]) => ({ input: list })
const flat = (more: JsonObject, strict = false): JsonObject => ({
  tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters: lookParameters, strict, ...more }],
})
const textFormat = (schema: JsonObject, strict: boolean, name = 'output'): JsonObject => ({
  text: { format: { type: 'json_schema', name, schema, strict } },
})
const jsonMode: JsonObject = { text: { format: { type: 'json_object' } } }

const responsesStrict = Object.entries(strictCases).flatMap(([name, { bad, good }]): [string, RuleCase][] => [
  [
    `openai/tool-${name}`,
    {
      bad: (body) => ({ ...body, ...flat({ parameters: bad }, true) }),
      good: (body) => ({ ...body, ...flat({ parameters: good }, true) }),
    },
  ],
  [
    `openai/output-${name}`,
    {
      bad: (body) => ({ ...body, ...textFormat(bad, true) }),
      good: (body) => ({ ...body, ...textFormat(good, true) }),
    },
  ],
])

const responsesCases: { readonly [rule: string]: RuleCase } = {
  'openai/model': { bad: (body) => ({ ...body, model: '' }) },
  'openai/input': { bad: (body) => ({ ...body, input: [] }), good: (body) => ({ ...body, input: 'hello' }) },
  'openai/parts': {
    bad: (body) => ({ ...body, ...input({ role: 'user', content: [{ type: 'output_text', text: 'a' }] }) }),
  },
  'openai/images': {
    bad: (body) => ({ ...body, ...input(part({ type: 'input_image', image_url: 'data:image/tiff;base64,AAAA' })) }),
    good: (body) => ({ ...body, ...input(part({ type: 'input_image', image_url: png })) }),
  },
  'openai/files': {
    bad: (body) => ({ ...body, ...input(part({ type: 'input_file', file_data: pdf })) }),
    good: (body) => ({ ...body, ...input(part({ type: 'input_file', filename: 'a.pdf', file_data: pdf })) }),
  },
  'openai/well-formed': {
    bad: (body) => ({ ...body, ...input(asked('half \ud83d of it')) }),
    good: (body) => ({ ...body, ...input(asked('all \ud83d\ude00 of it')) }),
  },
  'openai/item-ids-unique': { bad: (body) => ({ ...body, ...input(asked('a'), said('b'), asked('c'), said('b')) }) },
  'openai/item-ids-stored': {
    bad: (body) => ({ ...body, ...input(asked('a'), { type: 'item_reference', id: 'msg_1' }, asked('b')) }),
    good: (body) => ({
      ...body,
      store: true,
      ...input(asked('a'), { type: 'item_reference', id: 'msg_1' }, asked('b')),
    }),
  },
  'openai/reasoning-encrypted': {
    bad: (body) => ({ ...body, ...input(asked('a'), { ...thought('rs_1'), encrypted_content: null }, said('b')) }),
    good: (body) => ({ ...body, ...input(asked('a'), thought('rs_1'), said('b')) }),
  },
  'openai/reasoning-followed': {
    bad: (body) => ({ ...body, ...input(asked('a'), thought('rs_1'), asked('b')) }),
    good: (body) => ({ ...body, ...input(asked('a'), thought('rs_1'), called('c'), output('c')) }),
  },
  'openai/output-has-call': { bad: (body) => ({ ...body, ...input(asked('a'), output('c')) }) },
  'openai/call-has-output': { bad: (body) => ({ ...body, ...input(asked('a'), called('c'), asked('b')) }) },
  'openai/call-ids-unique': {
    bad: (body) => ({ ...body, ...input(asked('a'), called('c'), output('c'), called('c'), output('c')) }),
  },
  'openai/call-id-length': {
    bad: (body) => ({ ...body, ...input(asked('a'), called('c'.repeat(65)), output('c'.repeat(65))) }),
    good: (body) => ({ ...body, ...input(asked('a'), called('c'.repeat(64)), output('c'.repeat(64))) }),
  },
  'openai/call-name': {
    bad: (body) => ({ ...body, ...input(asked('a'), { ...called('c'), name: 'files.read' }, output('c')) }),
  },
  'openai/function-output': {
    bad: (body) => ({ ...body, ...input(asked('a'), called('c'), { ...output('c'), output: { a: 1 } }) }),
  },
  'openai/function-output-parts': {
    bad: (body) => ({ ...body, ...input(asked('a'), called('c'), { ...output('c'), output: [{ type: 'image' }] }) }),
    good: (body) => ({
      ...body,
      ...input(asked('a'), called('c'), { ...output('c'), output: [{ type: 'input_image', image_url: png }] }),
    }),
  },
  'openai/tool-count': {
    bad: (body) => ({ ...body, tools: Array.from({ length: 129 }, (_, n) => ({ type: 'function', name: `t${n}` })) }),
    good: (body) => ({ ...body, tools: Array.from({ length: 128 }, (_, n) => ({ type: 'function', name: `t${n}` })) }),
  },
  'openai/tool-type': {
    bad: (body) => ({ ...body, tools: [{ type: 'crystal_ball' }] }),
    good: (body) => ({ ...body, tools: [{ type: 'web_search' }] }),
  },
  'openai/tool-choice': {
    bad: (body) => ({ ...body, tool_choice: 'required' }),
    good: (body) => ({ ...body, tool_choice: 'required', ...flat({}) }),
  },
  'openai/tool-name': {
    bad: (body) => ({ ...body, ...flat({ name: 'files.read' }) }),
    good: (body) => ({ ...body, ...flat({ name: 'x'.repeat(128) }) }),
  },
  'openai/tool-parameters': {
    bad: (body) => ({ ...body, ...flat({ parameters: { type: 'object', properties: {}, anyOf: [] } }) }),
    good: (body) => ({ ...body, ...flat({ parameters: { type: 'object', properties: {} } }) }),
  },
  'openai/tool-array-items': {
    bad: (body) => ({ ...body, ...flat({ parameters: around({ type: 'array' }) }) }),
    good: (body) => ({ ...body, ...flat({}) }),
  },
  'openai/output-name': {
    bad: (body) => ({ ...body, ...textFormat(person, false, '') }),
    good: (body) => ({ ...body, ...textFormat(person, false) }),
  },
  'openai/output-root': {
    bad: (body) => ({ ...body, ...textFormat({ type: 'object', anyOf: [person] }, false) }),
    good: (body) => ({ ...body, ...textFormat(person, false) }),
  },
  ...Object.fromEntries(responsesStrict),
  'openai/json-word': {
    bad: (body) => ({ ...body, ...jsonMode, ...input(asked('An object, please.')) }),
    good: (body) => ({ ...body, ...jsonMode }),
  },
  'openai/max-output-tokens': {
    bad: (body) => ({ ...body, max_output_tokens: 15 }),
    good: (body) => ({ ...body, max_output_tokens: 16 }),
  },
  'openai/unknown-members': { bad: (body) => ({ ...body, stop: ['a'] }) },
  'openai/reasoning-model': {
    bad: (body) => ({ ...body, temperature: 0.5 }),
    good: (body) => ({ ...body, reasoning: { effort: 'low' } }),
  },
}

const cases: { readonly [rule: string]: RuleCase } = { ...chatCases, ...responsesCases }

/** A server with these rules out of force, and what it answered to one body. */
async function posted(
  preset: ProviderName,
  body: (base: JsonObject) => JsonObject,
  without: readonly string[],
  model?: string,
): Promise<{ readonly status: number; readonly refused: StrictProvider['refused'] }> {
  await using provider = await strictProvider({ preset, answer: ['yes'], without })
  const name = model ?? provider.model.slice(preset.length + 1)
  const base = preset === 'openai' ? responsesBody(name) : chatBody(name)
  const response = await fetch(provider.url + (paths[preset] ?? '/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${provider.options.apiKeys[preset] ?? ''}` },
    body: JSON.stringify(body(base)),
  })
  await response.text()
  return { status: response.status, refused: [...provider.refused] }
}

const modelFor = (preset: ProviderName, { model }: RuleCase): string | undefined =>
  preset === 'openrouter' && model !== undefined && !model.includes('/') ? `openai/${model}` : model

const allBut = (rule: ProviderRule): readonly string[] =>
  providerRules.filter(({ id }) => id !== rule.id).map(({ id }) => id)

test('every rule has an id of its own, a sentence, a source and a case', () => {
  const ids = rules.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(Object.keys(cases).toSorted())
  for (const { what, source, providers } of rules) {
    expect(what).toMatch(/^[A-Z].*\.$/)
    expect(URL.canParse(source)).toBe(true)
    expect(providers.length).toBeGreaterThan(0)
  }
})

const each = rules.flatMap((rule) => rule.providers.map((preset) => ({ rule, preset, id: rule.id })))

describe.each(each)('$id at $preset', ({ rule, preset }) => {
  test('what breaks it is refused by it', async () => {
    const found = cases[rule.id]
    expect(found).toBeDefined()
    if (found === undefined) return
    const { status, refused } = await posted(preset, found.bad, allBut(rule), modelFor(preset, found))
    expect(refused.map(({ rule: id }) => id)).toEqual([rule.id])
    expect(status).toBeGreaterThanOrEqual(400)
    expect(refused[0]?.why.length).toBeGreaterThan(5)
  })

  test('what keeps it breaks no other rule', async () => {
    const found = cases[rule.id]
    const good = found?.good ?? ((body: JsonObject) => body)
    const { status, refused } = await posted(preset, good, [], found && modelFor(preset, found))
    expect(refused.map(({ rule: id, why }) => `${id}: ${why}`)).toEqual([])
    expect(status).toBe(200)
  })
})
