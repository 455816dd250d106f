/**
 * Random conversations, played through `resolveModel` against strict providers: what a conversation, tools, a schema, settings
 * and answers can be, at the level of messages.
 *
 * Owns: the generator (the same for the same seed), playing one conversation, what came of it.
 * Does not own: which provider refuses what (packages/testing/src/providers), teams.
 */
import type { FilePart, Json, JsonObject, Message } from '@reeve/core'
import { FailureError, type Failure } from '@reeve/core'
import {
  answerMessage,
  resolveModel,
  type ModelAnswer,
  type ModelRequest,
  type ModelSettings,
  type ToolSpec,
} from '../../src/index.ts'
import {
  strictProvider,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderName,
  type ProviderReply,
  type ProviderRequest,
  type RefusedRequest,
  type StrictProvider,
} from '../../../testing/src/providers/index.ts'
import { dice } from '../../../../test/dice.ts'

/** What came of one conversation. */
export interface PlayedConversation {
  readonly seed: number
  readonly preset: ProviderName
  /** How many requests reached the provider. */
  readonly requests: number
  readonly refused: readonly RefusedRequest[]
  /** Failures that were said before anything was sent. */
  readonly said: readonly Failure[]
  /** Failures of requests that the provider did not refuse. */
  readonly failed: readonly Failure[]
}

/** Chance, with the few questions that are asked of it. */
export class Chance {
  readonly #roll: () => number

  constructor(seed: number) {
    this.#roll = dice(seed)
  }

  /** Whether something happens that happens this often. */
  is(share: number): boolean {
    return this.#roll() < share
  }

  /** A whole number from `low` to `high`. */
  from(low: number, high: number): number {
    return low + Math.floor(this.#roll() * (high - low + 1))
  }

  /** One of these. */
  of<T>(list: readonly T[]): T {
    return list[this.from(0, list.length - 1)] as T
  }

  /** What `make` makes, this often; else nothing. */
  maybe<T>(share: number, make: () => T): T | undefined {
    return this.is(share) ? make() : undefined
  }
}

const plain = [
  'hello',
  'Look at the report.',
  'Answer in JSON.',
  'Überprüfe das, bitte.',
  '次に進んでください。',
  '{"a":1}',
]
const odd = [
  '',
  ' ',
  '\n\n',
  '\t',
  'an emoji 😀',
  'cut in half \ud83d',
  '\ude00 begins in half',
  'nul \u0000 inside',
  '\u202eright to left',
  '\ufeffmark',
  'line\u2028separator',
  '<think>hm</think> yes',
  'x'.repeat(20_000),
  '\u200b',
]

const textFrom = (chance: Chance): string => (chance.is(0.25) ? chance.of(odd) : chance.of(plain))

const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})

const deep = (levels: number): JsonObject => closed({ of: levels === 0 ? { type: 'string' } : deep(levels - 1) })

const cat = closed({ kind: { const: 'cat' }, lives: { type: 'integer' } })
const dog = closed({ kind: { const: 'dog' }, tricks: { type: 'array', items: { type: 'string' } } })

/** Schemas of every form that zod, valibot, arktype, MCP servers and people write; all are objects at the root. */
export const objectSchemas: readonly JsonObject[] = [
  { type: 'object' },
  { type: 'object', properties: {} },
  { type: 'object', properties: {}, additionalProperties: {} },
  closed({ name: { type: 'string' } }),
  { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'] },
  closed({ when: { type: 'string', format: 'date-time' }, where: { type: 'string', format: 'uri' } }),
  closed({ pet: { oneOf: [cat, dog] } }),
  closed({ pet: { anyOf: [cat, dog, { type: 'null' }] } }),
  closed({ pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false } }),
  closed({ pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false } }),
  { type: 'object', properties: { list: { type: 'array' } } },
  closed({ size: { type: 'string', enum: ['s', 'm', 'l'] }, count: { type: ['integer', 'null'] } }),
  closed({ size: { type: 'string', default: 'm' }, count: { type: 'number', minimum: 0, exclusiveMaximum: 10 } }),
  closed({ code: { type: 'string', pattern: '^(?!x)[a-z]{2,5}$' } }),
  closed({ code: { type: 'string', pattern: '\\d{4}' } }),
  closed({ text: { type: 'string', minLength: 1, maxLength: 10_000 } }),
  closed({ tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, minItems: 1, maxItems: 5 } }),
  { type: 'object', properties: { extra: { type: 'object', additionalProperties: { type: 'string' } } } },
  { type: 'object', additionalProperties: { type: 'number' }, propertyNames: { pattern: '^[a-z]+$' } },
  closed({ tree: { $ref: '#/$defs/node' } }, { $defs: { node: closed({ next: { $ref: '#/$defs/node' } }) } }),
  closed(
    { day: { $ref: '#/definitions/day', description: 'the day' } },
    { definitions: { day: { type: 'string', format: 'date' } } },
  ),
  closed({ anything: {} }),
  closed({ anything: { description: 'whatever it is' } }),
  closed({ both: { allOf: [cat, { type: 'object', properties: { name: { type: 'string' } } }] } }),
  closed({ not: { type: 'string', not: { enum: ['x'] } } }),
  closed({ age: { type: 'integer', nullable: true } }, { $schema: 'http://json-schema.org/draft-07/schema#' }),
  closed({ big: { type: 'integer', minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 } }),
  closed({ word: { type: 'string', enum: Array.from({ length: 300 }, (_, n) => `${'word '.repeat(12)}${n}`) } }),
  deep(12),
  closed(Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`property_${n}`, { type: 'string' }]))),
  { type: 'object', oneOf: [cat, dog] },
  { anyOf: [cat, dog] },
  { oneOf: [cat, dog], $schema: 'https://json-schema.org/draft/2020-12/schema' },
  { allOf: [cat, { type: 'object', properties: { name: { type: 'string' } } }] },
]

/** Schemas of outputs that are no objects. */
const otherSchemas: readonly JsonObject[] = [
  { type: 'array', items: { type: 'string' } },
  { type: 'string', enum: ['yes', 'no'] },
  { enum: ['yes', 'no', null] },
  { type: 'number' },
  { type: ['string', 'null'] },
  { type: 'boolean' },
  {},
]

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const files: readonly FilePart[] = [
  { type: 'file', mediaType: 'image/png', data: pixel },
  { type: 'file', mediaType: 'image/jpeg', url: 'https://example.org/a.jpg' },
  { type: 'file', mediaType: 'image/*', url: 'https://example.org/b' },
  { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjQK', filename: 'report.pdf' },
  { type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' },
  { type: 'file', mediaType: 'text/plain', data: 'aGVsbG8=', filename: 'half \ud83d.txt' },
  { type: 'file', mediaType: 'image/tiff', data: 'SUkqAA==' },
  { type: 'file', mediaType: 'audio/mpeg', data: 'SUQzBAA=' },
]

function toolsFrom(chance: Chance): readonly ToolSpec[] {
  const count = chance.of([0, 0, 1, 1, 2, 3, 8, 20, ...(chance.is(0.1) ? [128, 129, 200] : [])])
  return Array.from({ length: count }, (_, n) => ({
    name: chance.is(0.1) ? `look_${n}_${'x'.repeat(64 - `look_${n}_`.length)}` : `look_${n}`,
    description: chance.is(0.1) ? chance.of(['', 'd'.repeat(1500), 'half \ud83d', ' ']) : `Looks at ${n}.`,
    parameters: chance.is(0.5) ? closed({ at: { type: 'string' } }) : chance.of(objectSchemas),
  }))
}

function settingsFrom(chance: Chance): ModelSettings | undefined {
  if (chance.is(0.6)) return undefined
  return {
    ...(chance.is(0.4) && { temperature: chance.of([0, 0.2, 1]) }),
    ...(chance.is(0.2) && { topP: chance.of([0.1, 1]) }),
    ...(chance.is(0.1) && { topK: 40 }),
    ...(chance.is(0.4) && { maxOutputTokens: chance.of([1, 10, 100, 4096]) }),
    ...(chance.is(0.2) && { stop: Array.from({ length: chance.of([1, 2, 4, 5, 6]) }, (_, n) => `STOP${n}`) }),
    ...(chance.is(0.1) && { seed: 7 }),
    ...(chance.is(0.1) && { presencePenalty: 0.5 }),
    ...(chance.is(0.1) && { frequencyPenalty: -0.5 }),
  }
}

function userFrom(chance: Chance): Message {
  if (!chance.is(0.15)) return { role: 'user', content: textFrom(chance) }
  const parts = [{ type: 'text' as const, text: textFrom(chance) }, chance.of(files)]
  return { role: 'user', content: chance.is(0.5) ? parts : parts.toReversed() }
}

const inputFrom = (chance: Chance): Json =>
  chance.of<Json>([{ at: 'a' }, {}, { at: 'half \ud83d' }, { big: '2512292042121000001' }, { nested: [{ a: null }] }])

const resultFrom = (chance: Chance): Json =>
  chance.of<Json>(['seen', '', ' ', 'half \ud83d', { a: 1 }, [], null, 0, false, { text: '\ude00' }, 'x'.repeat(5000)])

/** Files of a result: those that no provider takes are described. */
const resultFilesFrom = (chance: Chance): { readonly files?: readonly FilePart[] } =>
  chance.is(0.3) ? { files: Array.from({ length: chance.of([1, 1, 2, 4]) }, () => chance.of(files)) } : {}

/** What another model had said before: its ids are its own. */
function pastFrom(chance: Chance, tools: readonly ToolSpec[]): readonly Message[] {
  const name = tools[0]?.name ?? 'gone'
  const ids = chance.of([
    ['call_1'],
    ['toolu_01', 'toolu_02'],
    [`functions.look:${'9'.repeat(60)}`],
    ['act:0'],
    ['x'.repeat(120), 'y'.repeat(120)],
    ['ünïcode id'],
  ])
  return [
    { role: 'user', content: textFrom(chance) },
    {
      role: 'assistant',
      content: textFrom(chance),
      calls: ids.map((id) => ({ id, name, input: inputFrom(chance) })),
    },
    ...ids.map((callId): Message => ({
      role: 'tool',
      callId,
      name,
      content: resultFrom(chance),
      ...(chance.is(0.2) && { isError: true }),
      ...resultFilesFrom(chance),
    })),
    ...(chance.is(0.7) ? [{ role: 'assistant' as const, content: textFrom(chance) }] : []),
  ]
}

/** What the provider answers: texts and calls as real ones make them. */
function replyFrom(
  chance: Chance,
  preset: ProviderName,
  tools: readonly ToolSpec[],
  output: JsonObject | undefined,
): ProviderAnswer {
  const calls = tools.length === 0 || chance.is(0.4) ? [] : callsFrom(chance, preset, tools)
  return {
    ...(chance.is(0.3) && { reasoning: chance.of(['let me think', 'half \ud83d', '']) }),
    ...(calls.length === 0 || chance.is(0.4)
      ? { text: output === undefined ? textFrom(chance) : JSON.stringify({ name: 'x' }) }
      : {}),
    ...(calls.length > 0 && { calls }),
  }
}

/** Ids as servers make them: those that speak chat completions leave them out, repeat them, or make them long. */
const idsOf = (preset: ProviderName, n: number): readonly (string | null)[] =>
  preset === 'openai' || preset === 'anthropic'
    ? ['call_same', `act:${n}`]
    : [null, 'call_same', 'x'.repeat(60), '', `act:${n}`]

const callsFrom = (chance: Chance, preset: ProviderName, tools: readonly ToolSpec[]): readonly ProviderCall[] =>
  Array.from({ length: chance.of([1, 1, 1, 2, 3]) }, (_, n) => ({
    name: chance.of(tools).name,
    ...(chance.is(0.1) ? { inputText: chance.of(['', '{"at":', 'null', '[]', '"a"']) } : { input: inputFrom(chance) }),
    ...(chance.is(0.15) && { id: chance.of(idsOf(preset, n)) }),
  }))

/** A provider of a preset that answers whatever the conversation at hand wants. */
export interface Stage {
  readonly provider: StrictProvider
  /** Set by the conversation that is played. */
  reply: (request: ProviderRequest) => ProviderReply
}

/** Starts the provider of a preset for many conversations. */
export async function stageFor(preset: ProviderName): Promise<Stage> {
  const stage: { provider?: StrictProvider; reply: Stage['reply'] } = { reply: () => ({ text: 'yes' }) }
  stage.provider = await strictProvider({ preset, answer: (request) => stage.reply(request) })
  return stage as Stage
}

/** Plays one conversation of up to five turns. Two with one seed are the same. */
export async function playConversation(stage: Stage, seed: number): Promise<PlayedConversation> {
  const { provider } = stage
  const chance = new Chance(seed)
  const before = provider.requests.length
  const refusedBefore = provider.refused.length
  const said: Failure[] = []
  const failed: Failure[] = []
  const tools = toolsFrom(chance)
  const output = chance.maybe(0.3, () => (chance.is(0.7) ? chance.of(objectSchemas) : chance.of(otherSchemas)))
  const settings = settingsFrom(chance)
  stage.reply = () => replyFrom(chance, provider.preset, tools, output)
  const messages: Message[] = [
    ...(chance.is(0.8) ? [{ role: 'system' as const, content: textFrom(chance) }] : []),
    ...(chance.is(0.3) ? pastFrom(chance, tools) : []),
    userFrom(chance),
    ...(chance.is(0.1) ? [userFrom(chance)] : []),
  ]
  const model = resolveModel(provider.model, provider.options)
  for (let turn = 0; turn < 5; turn++) {
    const reached = provider.requests.length
    const refused = provider.refused.length
    const choice = chance.maybe(0.1, () => chance.of(['auto', 'none', 'required'] as const))
    const request: ModelRequest = {
      messages: [...messages],
      tools,
      ...(tools.length > 0 && choice !== undefined && { toolChoice: choice }),
      ...(output !== undefined && { outputSchema: output }),
      ...(settings !== undefined && { settings }),
      signal: new AbortController().signal,
      key: `step-${turn}`,
      ...(chance.is(0.5) && { emit: () => undefined }),
    }
    let answer: ModelAnswer
    try {
      answer = await model.call(request)
    } catch (thrown) {
      if (!(thrown instanceof FailureError)) throw thrown
      if (provider.refused.length > refused) break
      if (provider.requests.length > reached) failed.push(thrown.failure)
      else said.push(thrown.failure)
      break
    }
    messages.push(answerMessage(JSON.parse(JSON.stringify(answer)) as ModelAnswer))
    if (answer.calls.length === 0) {
      if (chance.is(0.5)) break
      messages.push(userFrom(chance))
      continue
    }
    for (const call of answer.calls)
      messages.push({
        role: 'tool',
        callId: call.id,
        name: call.name,
        content: resultFrom(chance),
        ...resultFilesFrom(chance),
      })
  }
  return {
    seed,
    preset: provider.preset,
    requests: provider.requests.length - before,
    refused: provider.refused.slice(refusedBefore),
    said,
    failed,
  }
}
