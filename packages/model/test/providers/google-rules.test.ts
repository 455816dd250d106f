/**
 * What the bench refuses as Google does: every rule is broken once and kept once, and says what the vendor says.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '@reeve/core'
import { providerRules, strictProvider, type StrictProvider } from '../../../testing/src/providers/index.ts'

let provider: StrictProvider
beforeAll(async () => {
  provider = await strictProvider({ preset: 'google', answer: () => 'hello' })
})
afterAll(() => provider.close())

const user = (...parts: Json[]): JsonObject => ({ role: 'user', parts })
const model = (...parts: Json[]): JsonObject => ({ role: 'model', parts })
const text = (said: string): JsonObject => ({ text: said })
const hello = user(text('hello'))
const talk = (...contents: JsonObject[]): JsonObject => ({ contents })
const request = (more: JsonObject): JsonObject => ({ contents: [hello], ...more })
const call = (name = 'look', more: JsonObject = {}): JsonObject => ({ functionCall: { name, args: {} }, ...more })
const signed = { thoughtSignature: 'c2ln' }
const result = (name = 'look', response: Json = { content: 'seen' }): JsonObject => ({
  functionResponse: { name, response },
})
const response = (mimeType: string): JsonObject => ({
  functionResponse: {
    name: 'look',
    response: { content: 'seen' },
    parts: [{ inlineData: { mimeType, data: 'iVBORw0K' } }],
  },
})
const open: JsonObject = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] }
const declaration = (more: JsonObject = {}): JsonObject => ({ name: 'look', parametersJsonSchema: open, ...more })
const tools = (...functionDeclarations: JsonObject[]): JsonObject => request({ tools: [{ functionDeclarations }] })
const own = (parameters: JsonObject): JsonObject => tools({ name: 'look', parameters })
const config = (generationConfig: JsonObject, more: JsonObject = {}): JsonObject =>
  request({ generationConfig, ...more })
const json = { responseMimeType: 'application/json' }
const file = (mimeType: string, data = 'iVBORw0K'): JsonObject => talk(user({ inlineData: { mimeType, data } }))

type Case = readonly [broken: JsonObject | string, says: string | RegExp, kept: JsonObject, model?: string]
const former = 'gemini-2.5-flash'

/** By rule: a request that breaks it, what the vendor says, a request that nearly does, the model. */
const cases: { readonly [rule: string]: Case } = {
  size: [talk(user(text('x'.repeat(21 * 1024 * 1024)))), 'Request payload size exceeds the limit', request({})],
  'well-formed': [JSON.stringify(talk(user(text('cut \ud83d')))), /surrogate/, talk(user(text('whole 😀')))],
  'unknown-member': [
    request({ messages: [] }),
    'Unknown name "messages": Cannot find field.',
    request({ safetySettings: [] }),
  ],
  'no-contents': [talk(), 'contents is not specified', request({})],
  role: [
    talk({ role: 'assistant', parts: [text('hi')] }),
    'Please use a valid role: user, model.',
    talk({ parts: [text('hi')] }),
  ],
  'empty-content': [
    talk(hello, model(), hello),
    '* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.',
    talk(hello, model(text('hi')), hello),
  ],
  'empty-part': [
    talk(hello, model({}), hello),
    "contents[1].parts[0].data: required oneof field 'data' must have one initialized field",
    talk(hello, model({ text: 'hm', thought: true }), hello),
  ],
  'empty-text': [talk(user(text(''))), /empty text parameter/, talk(hello, model({ text: '', ...signed }), hello)],
  'unknown-part-member': [
    talk(user({ text: 'hi', providerOptions: {} })),
    `Unknown name "providerOptions" at 'contents[0].parts[0]': Cannot find field.`,
    talk(user({ text: 'hi', thought_signature: 'c2ln' })),
  ],
  system: [
    request({ systemInstruction: { parts: [text('')] } }),
    /empty text parameter/,
    request({ systemInstruction: { parts: [text('You help.')] } }),
  ],
  'single-turn': [talk(model(text('hi'))), /single turn requests end with a user role/, talk(hello)],
  'model-last': [
    talk(hello, model(text('Well,'))),
    'Requests ending with a model turn are not supported.',
    talk(hello, model(text('hi')), hello),
  ],
  'call-turn': [
    talk(model(call('look', signed)), user(result())),
    /function call turn comes immediately after a user turn/,
    talk(hello, model(call('look', signed)), user(result()), model(call('look', signed)), user(result())),
  ],
  'response-turn': [
    talk(hello, model(text('hi')), user(result())),
    'Please ensure that function response turn comes immediately after a function call turn.',
    talk(hello, model(call('look', signed)), user(result())),
  ],
  'response-count': [
    talk(hello, model(call('look', signed), call('see')), user(result())),
    /number of function response parts is equal to the number of function call parts/,
    talk(hello, model(call('look', signed), call('see')), user(result(), result('see'))),
  ],
  'call-args': [
    talk(hello, model({ functionCall: { name: 'look', args: '{"cut' }, ...signed }), user(result())),
    /Invalid value at 'contents\[1\]\.parts\[0\]\.function_call\.args'/,
    talk(hello, model({ functionCall: { name: 'look' }, ...signed }), user(result())),
  ],
  'response-object': [
    talk(hello, model(call('look', signed)), user(result('look', 'seen'))),
    /function_response\.response' \(type\.googleapis\.com\/google\.protobuf\.Struct\)/,
    talk(hello, model(call('look', signed)), user(result('look', {}))),
  ],
  'call-name': [
    talk(hello, model(call('look', signed)), user(result(''))),
    /function_response\.name: Name cannot be empty/,
    talk(hello, model(call('look', signed)), user(result())),
  ],
  'call-signature': [
    talk(hello, model(call('look')), user(result())),
    /Function call is missing a thought_signature in functionCall parts.*`default_api:look` , position 2/,
    talk(hello, model(call('look')), user(result()), model(text('done')), user(text('again'))),
  ],
  'signature-form': [
    talk(hello, model(call('look', { thoughtSignature: btoa('reeve-bench-of:gemini-2.5-pro') })), user(result())),
    'Corrupted thought signature.',
    talk(hello, model(call('look', { thoughtSignature: 'skip_thought_signature_validator' })), user(result())),
  ],
  'tool-name': [
    tools(declaration({ name: 'n'.repeat(65) })),
    /tools\[0\]\.function_declarations\[0\]\.name: Invalid function name/,
    tools(declaration({ name: 'files.read:all-1' })),
  ],
  'tool-name-unique': [
    tools(declaration(), declaration()),
    'Duplicate function declaration found: look',
    tools(declaration(), declaration({ name: 'see' })),
  ],
  'tool-count': [
    tools(...Array.from({ length: 513 }, (_, n) => declaration({ name: `t${n}` }))),
    /At most 512 function declarations can be specified/,
    tools(...Array.from({ length: 512 }, (_, n) => declaration({ name: `t${n}` }))),
  ],
  'tool-schema-once': [
    tools(declaration({ parameters: open })),
    /only one of parameters/,
    tools({ name: 'look', parameters: open }),
  ],
  'tool-root': [
    tools(declaration({ parametersJsonSchema: { type: 'string' } })),
    /should be of type object/,
    tools(declaration({ parametersJsonSchema: { oneOf: [open] } })),
  ],
  'schema-field': [
    own({
      ...open,
      properties: {
        deep: { type: 'array', items: { type: 'object', properties: { a: { type: 'string', const: 'x' } } } },
      },
      required: [],
    }),
    /Unknown name "const" at 'tools\[0\]\.function_declarations\[0\]\.parameters\.properties\[0\]\.value\.items\.properties\[0\]\.value': Cannot find field/,
    tools(declaration({ parametersJsonSchema: { ...open, additionalProperties: false, $schema: 'x' } })),
  ],
  'schema-type': [
    own({ ...open, properties: { topic: { type: ['string', 'null'] } } }),
    /Proto field is not repeating, cannot start list/,
    own({ ...open, properties: { topic: { type: 'STRING', nullable: true, enum: ['a'] } } }),
  ],
  'tool-choice': [
    request({ toolConfig: { functionCallingConfig: { mode: 'AUTO' } } }),
    'Function calling config is set without function_declarations.',
    request({
      tools: [{ functionDeclarations: [declaration()] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } },
    }),
  ],
  'tools-of-google': [
    request({ tools: [{ googleSearch: {} }, { functionDeclarations: [declaration()] }] }),
    'Tool use with function calling is unsupported',
    request({ tools: [{ googleSearch: {} }] }),
    former,
  ],
  'json-with-tools': [
    config(json, { tools: [{ functionDeclarations: [declaration()] }] }),
    "Function calling with a response mime type: 'application/json' is unsupported",
    config(json),
    former,
  ],
  'json-with-forced-call': [
    config(json, {
      tools: [{ functionDeclarations: [declaration()] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    }),
    /with a response mime type/,
    config(json, { tools: [{ functionDeclarations: [declaration()] }] }),
  ],
  'format-type': [
    config({ responseJsonSchema: open }),
    /response_mime_type/,
    config({ ...json, responseJsonSchema: open }),
  ],
  'format-once': [
    config({ ...json, responseJsonSchema: open, responseSchema: open }),
    /Only one of/,
    config({ ...json, responseSchema: open }),
  ],
  'format-reference': [
    config({
      ...json,
      responseJsonSchema: { ...open, properties: { topic: { $ref: '#/$defs/T', description: 'x' } }, $defs: { T: {} } },
    }),
    /\$ref cannot be used with other properties, found "description"/,
    config({
      ...json,
      responseJsonSchema: { ...open, properties: { topic: { $ref: '#/$defs/T' } }, $defs: { T: {} } },
    }),
  ],
  'stop-count': [
    config({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }),
    /stop sequences/,
    config({ stopSequences: ['a', 'b', 'c', 'd', 'e'] }),
  ],
  temperature: [config({ temperature: 2.1 }), /range \[0\.0, 2\.0\]/, config({ temperature: 2 })],
  'max-output': [config({ maxOutputTokens: 0 }), /must be positive/, config({ maxOutputTokens: 1 })],
  thinking: [
    config({ thinkingConfig: { thinkingBudget: 0, thinkingLevel: 'low' } }),
    /thinking budget and thinking level/,
    config({ thinkingConfig: { thinkingLevel: 'low' } }),
  ],
  'media-type': [file('image/gif'), 'Unsupported MIME type: image/gif', file('image/png')],
  'media-response': [
    talk(hello, model(call('look', signed)), user(response('audio/wav'))),
    /function_response\.parts': not supported/,
    talk(hello, model(call('look', signed)), user(response('image/png'))),
  ],
  'media-bytes': [file('image/png', 'not base64!'), /Base64 decoding failed/, file('image/png')],
}

const saying = (says: string | RegExp): unknown =>
  typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says)

async function send(
  body: JsonObject | string,
  modelId = 'gemini-3.5-flash',
  headers: object = { 'x-goog-api-key': 'sk-strict-provider-key' },
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${provider.url}/v1beta/models/${modelId}:generateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const rules = providerRules.filter(({ providers }) => providers.includes('google'))

test('every rule is shown here, and says where it comes from', () => {
  expect(rules.map(({ id }) => id.slice('google/'.length)).toSorted()).toEqual(Object.keys(cases).toSorted())
  for (const { what, source } of rules) {
    expect(what).toMatch(/\.$/)
    expect(URL.canParse(source)).toBe(true)
  }
})

describe.each(Object.entries(cases))('%s', (name, [broken, says, kept, modelId]) => {
  test('a request that breaks it is refused in the vendor’s words', async () => {
    const { status, body } = await send(broken, modelId)
    expect(provider.refused.at(-1)).toMatchObject({ rule: `google/${name}` })
    const { error } = body as { error: { message: string } }
    expect([status, error]).toMatchObject([400, { code: 400, status: 'INVALID_ARGUMENT' }])
    expect(error.message).toEqual(saying(says))
  })

  test('one that keeps it is answered', async () => {
    const before = provider.refused.length
    const { status, body } = await send(kept, modelId)
    expect(provider.refused.slice(before)).toEqual([])
    expect(status).toBe(200)
    expect(body).toMatchObject({ candidates: [{ finishReason: 'STOP' }] })
  })
})

test('a wrong key is refused as the vendor refuses it: with 400', async () => {
  const { status, body } = await send(talk(hello), undefined, { 'x-goog-api-key': 'other' })
  expect([status, body.error]).toMatchObject([400, { details: [{ reason: 'API_KEY_INVALID' }] }])
})

test('a signature that the bench makes is taken back by the same model, and by no other', async () => {
  await using calling = await strictProvider({ preset: 'google', answer: [{ calls: [{ name: 'look' }] }, 'done'] })
  const ask = async (id: string, body: JsonObject): Promise<Response> =>
    fetch(`${calling.url}/v1beta/models/${id}:generateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'sk-strict-provider-key' },
      body: JSON.stringify(body),
    })
  const first = (await (await ask('gemini-3-pro', talk(hello))).json()) as { candidates: [{ content: JsonObject }] }
  const next = talk(hello, first.candidates[0].content, user(result()))
  expect((await ask('gemini-3.5-flash', next)).status).toBe(400)
  expect(calling.refused.at(-1)?.rule).toBe('google/signature-form')
  expect((await ask('gemini-3-pro', next)).status).toBe(200)
})
