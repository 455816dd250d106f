/**
 * Random teams, run against strict providers: agents with tools and typed output, supervisors, transfers, fixed orders,
 * plans, round tables, judges, compaction, approvals that are edited, sessions.
 *
 * Owns: the generator (the same for the same seed), a brain that answers on every wire, playing one team.
 * Does not own: conversations at the level of messages (conversations.ts), what a provider refuses.
 */
import { isObject, ReeveError, type Failure, type Json, type JsonObject } from '../../../src/core/index.ts'
import {
  agent,
  createRuntime,
  parallel,
  router,
  sequential,
  supervisor,
  team,
  tool,
  type Agent,
  type Runtime,
  type SchemaLike,
  type Tool,
} from '../../../src/index.ts'
import { judge, reflect, roundtable } from '../../../src/public/team.ts'
import type { Model } from '../../../src/model/index.ts'
import type { ProviderAnswer, ProviderRequest } from '../../../src/testing/providers/index.ts'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { Chance, objectSchemas, type PlayedConversation, type Stage } from './conversations.ts'

/** What a request offers, on whatever wire it came. */
interface Offer {
  readonly tools: readonly { readonly name: string; readonly schema: JsonObject }[]
  /** The schema of the output that is asked for; `true` for any JSON. */
  readonly output: JsonObject | true | undefined
}

const at = (value: Json | undefined, ...path: readonly string[]): Json | undefined => {
  let found = value
  for (const name of path) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined
  return found
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])

const schemaOf = (...candidates: readonly (Json | undefined)[]): JsonObject | undefined =>
  candidates.find((candidate) => isObject(candidate))

function offerOf({ body }: ProviderRequest): Offer {
  const flat = listOf(at(body, 'tools')).flatMap((each) => [each, ...listOf(at(each, 'functionDeclarations'))])
  const tools = flat.flatMap((each) => {
    const name = at(each, 'function', 'name') ?? at(each, 'name')
    if (typeof name !== 'string') return []
    const schema = schemaOf(
      at(each, 'function', 'parameters'),
      at(each, 'parameters'),
      at(each, 'input_schema'),
      at(each, 'parametersJsonSchema'),
    )
    return [{ name, schema: schema ?? {} }]
  })
  const output = schemaOf(
    at(body, 'response_format', 'json_schema', 'schema'),
    at(body, 'text', 'format', 'schema'),
    at(body, 'output_config', 'format', 'schema'),
    at(body, 'output_format', 'schema'),
    at(body, 'generationConfig', 'responseSchema'),
    at(body, 'generationConfig', 'responseJsonSchema'),
  )
  const json =
    at(body, 'response_format', 'type') === 'json_object' ||
    at(body, 'text', 'format', 'type') === 'json_object' ||
    at(body, 'generationConfig', 'responseMimeType') === 'application/json'
  return { tools, output: output ?? (json ? true : undefined) }
}

/** A value that fits a schema, as far as its plain words go. */
function valueFor(schema: Json | undefined, chance: Chance, root: Json | undefined = schema, depth = 0): Json {
  if (!isObject(schema) || depth > 6) return 'text'
  const ref = at(schema, '$ref')
  if (typeof ref === 'string') return valueFor(at(root, ...ref.split('/').slice(1)), chance, root, depth + 1)
  const choices = listOf(at(schema, 'enum'))
  if (choices.length > 0) return chance.of(choices)
  if (Object.hasOwn(schema, 'const')) return schema.const ?? null
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const some = listOf(at(schema, word))
    if (some.length > 0) return valueFor(chance.of(some), chance, root, depth + 1)
  }
  const types = [at(schema, 'type')].flat().map(String)
  const kind = (types.find((each) => each.toLowerCase() !== 'null') ?? 'object').toLowerCase()
  switch (kind) {
    case 'string':
      return chance.of(['text', 'Look at it.', 'half \ud83d', 'yes', '2026-01-01'])
    case 'integer':
    case 'number':
      return chance.from(0, 1)
    case 'boolean':
      return chance.is(0.5)
    case 'null':
      return null
    case 'array':
      return at(schema, 'items') === undefined ? [] : [valueFor(at(schema, 'items'), chance, root, depth + 1)]
    default: {
      const required = listOf(at(schema, 'required'))
      const members = Object.entries((at(schema, 'properties') as JsonObject | undefined) ?? {})
      return Object.fromEntries(
        members
          .filter(([name]) => required.includes(name) || chance.is(0.3))
          .map(([name, inner]) => [name, valueFor(inner, chance, root, depth + 1)]),
      )
    }
  }
}

/** Answers as a model would: calls what it is offered, and comes to an end. */
function brain(chance: Chance): (request: ProviderRequest) => ProviderAnswer {
  let asked = 0
  return (request) => {
    const { tools, output } = offerOf(request)
    const calls = asked++ < 10 && tools.length > 0 && chance.is(0.6) ? chance.of([1, 1, 2]) : 0
    const reasoning = chance.maybe(0.2, () => chance.of(['hm', 'half \ud83d', '\n\n']))
    const thoughts = reasoning === undefined ? {} : { reasoning }
    if (calls > 0) {
      const made = Array.from({ length: calls }, () => {
        const { name, schema } = chance.of(tools)
        return { name, input: valueFor(schema, chance), ...(chance.is(0.1) && { id: 'call_same' }) }
      })
      return { ...thoughts, calls: made, ...(chance.is(0.3) && { text: chance.of(['\n\n', 'One moment.', ' ']) }) }
    }
    if (output !== undefined)
      return { ...thoughts, text: JSON.stringify(output === true ? {} : valueFor(output, chance)) }
    return {
      ...thoughts,
      text: chance.of(['Done.', 'It is 😀.', 'half \ud83d', 'APPROVED', '{"score":1,"reason":""}']),
    }
  }
}

/** Schemas as they are written with each library. */
const libraries: readonly SchemaLike[] = [
  z.object({ city: z.string(), days: z.number().int().min(1).max(7).optional() }),
  z.object({
    pet: z.discriminatedUnion('kind', [z.object({ kind: z.literal('cat') }), z.object({ kind: z.literal('dog') })]),
  }),
  z.object({ when: z.iso.datetime(), link: z.url().nullable(), tags: z.array(z.string()).default([]) }),
  z.object({ pair: z.tuple([z.string(), z.number()]), by: z.record(z.string(), z.number()) }),
  z.object({ tree: z.object({ get next() { return z.array(z.object({ name: z.string() })) } }) }), // prettier-ignore
  v.object({ city: v.pipe(v.string(), v.minLength(1)), note: v.optional(v.string()), size: v.picklist(['s', 'm']) }),
  type({ city: 'string > 0', 'days?': '1 <= number.integer <= 7', kind: "'a' | 'b'" }),
]

const outputs: readonly SchemaLike[] = [
  ...libraries,
  z.array(z.string()),
  z.enum(['yes', 'no']),
  z.number(),
  z.string(),
]

/** A tool as an MCP server gives it: plain JSON Schema. */
const inputOf = (chance: Chance): SchemaLike => (chance.is(0.5) ? chance.of(libraries) : chance.of(objectSchemas))

function toolFrom(chance: Chance, n: number): Tool {
  const results: readonly Json[] = ['seen', 'half \ud83d', '', { a: ['\ude00'] }, null, 'x'.repeat(3000), [1, 2]]
  return tool({
    name: chance.is(0.1) ? `tool_${n}_${'x'.repeat(50)}` : `tool_${n}`,
    description: chance.is(0.1) ? chance.of(['d'.repeat(1500), 'half \ud83d']) : `Does ${n}.`,
    input: inputOf(chance),
    effect: 'read',
    ...(chance.is(0.15) && { sensitive: true as const }),
    execute: () => {
      if (chance.is(0.1)) throw new Error('it failed \ud83d')
      return chance.of(results)
    },
  })
}

const toolsFrom = (chance: Chance): readonly Tool[] =>
  Array.from({ length: chance.of([0, 1, 2, 5, ...(chance.is(0.05) ? [60, 129] : [])]) }, (_, n) => toolFrom(chance, n))

function workerFrom(chance: Chance, name: string, model: Model, typed = false): Agent {
  return agent({
    name,
    description: `Knows ${name}.`,
    instructions: chance.of(['Be short.', 'half \ud83d', ' ', 'Answer in JSON.']),
    model,
    tools: toolsFrom(chance),
    ...(typed && chance.is(0.3) && { input: z.object({ topic: z.string(), urgent: z.boolean().optional() }) }),
    ...(chance.is(0.25) && { output: chance.of(outputs) }),
    ...(chance.is(0.2) && { compaction: { above: chance.of([50, 400]), keep: 2 } }),
    ...(chance.is(0.2) && { settings: { temperature: 0.2, maxOutputTokens: chance.of([50, 1000]) } }),
    ...(chance.is(0.2) && { limits: { tokens: 50_000 } }),
    ...(chance.is(0.5) && { limits: { ownTurns: 4 } }),
    retry: { attempts: 1 },
  })
}

/** The forms of teams, by name. */
const shapes: { readonly [name: string]: (chance: Chance, model: Model) => Agent } = {
  agent: (chance, model) => workerFrom(chance, 'solo', model),
  supervisor: (chance, model) =>
    supervisor({
      name: 'lead',
      model,
      workers: Array.from({ length: chance.of([1, 2, 3]) }, (_, n) => workerFrom(chance, `worker_${n}`, model, true)),
      limits: { turns: 16 },
      retry: { attempts: 1 },
      ...(chance.is(0.3) && { output: chance.of(outputs) }),
    }),
  transfer: (chance, model) =>
    router({
      name: 'desk',
      model,
      workers: [workerFrom(chance, 'first', model), workerFrom(chance, 'second', model)],
      transfer: { returns: chance.of(['always', 'never', 'on-request']) },
    }),
  sequence: (chance, model) =>
    sequential({
      name: 'line',
      agents: [workerFrom(chance, 'first', model), workerFrom(chance, 'second', model)],
    }),
  parallel: (chance, model) =>
    sequential({
      name: 'fan',
      agents: [
        parallel({ name: 'both', agents: [workerFrom(chance, 'left', model), workerFrom(chance, 'right', model)] }),
        workerFrom(chance, 'last', model),
      ],
    }),
  plan: (chance, model) =>
    team({
      name: 'crew',
      model,
      concurrency: 2,
      fallback: true,
      approvePlan: chance.is(0.3),
      limits: { turns: 20 },
    }),
  table: (chance, model) =>
    roundtable({
      name: 'panel',
      agents: [workerFrom(chance, 'writer', model), workerFrom(chance, 'critic', model)],
      ...(chance.is(0.5) ? { speaker: 'auto' as const, model } : { speaker: 'round-robin' as const }),
      maxRounds: 3,
    }),
  judged: (chance, model) =>
    reflect(workerFrom(chance, 'editor', model), {
      name: 'careful',
      judge: judge({ name: 'critic', criteria: ['It is short.'], model }),
      attempts: 2,
    }),
}

/** Answers what a run waits for, as a person would: yes, no, or something else. */
async function answerAll(runtime: Runtime, chance: Chance): Promise<number> {
  const open = await runtime.questions()
  for (const question of open) {
    if (question.kind === 'approval')
      await runtime.decide({
        approvalId: question.id,
        decision: chance.of(['approve', 'reject']),
        comment: chance.of(['fine', 'half \ud83d']),
      })
    else if (question.kind === 'interrupt') await runtime.answer({ interruptId: question.id, value: 'go on' })
    else if (question.kind === 'in-doubt') await runtime.settleDoubt({ id: question.id, happened: true, value: 'done' })
  }
  return open.length
}

/** Builds one team and runs it once or twice in a session. Two with one seed are the same. */
export async function playTeam(stage: Stage, seed: number): Promise<PlayedConversation & { readonly shape: string }> {
  const { provider } = stage
  const chance = new Chance(seed)
  const requests = provider.requests.length
  const refused = provider.refused.length
  const shape = chance.of(Object.keys(shapes))
  const failed: Failure[] = []
  const said: Failure[] = []
  const answers = brain(chance)
  stage.reply = answers
  const came = (): PlayedConversation & { readonly shape: string } => ({
    seed,
    shape,
    preset: provider.preset,
    requests: provider.requests.length - requests,
    refused: provider.refused.slice(refused),
    said,
    failed,
  })
  let made: Agent
  try {
    const make = shapes[shape]
    if (make === undefined) return came()
    made = make(chance, provider.resolve())
  } catch (thrown) {
    if (!ReeveError.is(thrown)) throw thrown
    said.push({ code: thrown.code, message: thrown.message, class: 'validation' } as Failure)
    return came()
  }
  await using runtime = await createRuntime({ store: ':memory:', agents: [made] })
  const input: Json = chance.is(0.2) ? 'half \ud83d of it' : 'What do ravens do?'
  for (const text of chance.is(0.3) ? [input, 'And then?'] : [input]) {
    const run = await runtime.start(made, text, { session: 's' })
    for (let round = 0; round < 20; round++) {
      const state = await run.until('waiting')
      if (!('waiting' in state)) break
      if ((await answerAll(runtime, chance)) === 0) break
    }
    const outcome = await run.until('waiting')
    const wasRefused = provider.refused.length > refused
    if (!('waiting' in outcome) && outcome.status === 'failed' && !wasRefused) failed.push(outcome.failure)
  }
  return came()
}
