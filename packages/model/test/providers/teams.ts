/**
 * Random teams, run against strict providers: agents with tools and typed output, supervisors, transfers, fixed orders,
 * plans, round tables, judges, compaction, approvals that are edited, sessions, background work, takeovers, forks, chains
 * of models of two providers, answers that are cut, refused or paused, and failures of the provider.
 *
 * Owns: the generator (the same for the same seed), a brain that answers on every wire, playing one team.
 * Does not own: conversations at the level of messages (conversations.ts), what a provider refuses.
 */
import { failure, isObject, ReeveError, type Failure, type Json, type JsonObject } from '@reeve/core'
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
  type Run,
  type Runtime,
  type SchemaLike,
  type Tool,
} from '@reeve/public'
import { judge, reflect, roundtable } from '@reeve/public/team'
import { resolveModel, type Model } from '../../src/index.ts'
import {
  strictProvider,
  strictProviderNames,
  type ProviderAnswer,
  type ProviderName,
  type ProviderReply,
  type ProviderRequest,
} from '../../../testing/src/providers/index.ts'
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
function brain(chance: Chance, hasFaults: boolean): (request: ProviderRequest) => ProviderReply {
  let asked = 0
  return (request) => {
    if (hasFaults && chance.is(0.15)) return faultFrom(chance, request.provider)
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

/** How the answers of each wire are cut, refused and paused, in its own words. */
const ends: { readonly [preset in ProviderName]?: readonly ProviderAnswer[] } = {
  openai: [
    { text: 'half of', finish: 'max_output_tokens' },
    { finish: 'content_filter', text: 'no' },
    { refusal: 'I cannot.' },
  ],
  anthropic: [
    { text: 'half of', finish: 'max_tokens' },
    { text: 'no', finish: 'refusal' },
    { text: 'a part', finish: 'pause_turn' },
    { text: 'long', finish: 'model_context_window_exceeded' },
  ],
  google: [
    { text: 'half of', finish: 'MAX_TOKENS' },
    { text: '', finish: 'SAFETY' },
    { blocked: 'PROHIBITED_CONTENT' },
    { text: '', finish: 'MALFORMED_FUNCTION_CALL' },
  ],
}
const chatEnds: readonly ProviderAnswer[] = [
  { text: 'half of', finish: 'length' },
  { text: '', finish: 'content_filter' },
  { text: '', finish: 'stop' },
  { text: 'calls', finish: 'tool_calls' },
]

/** What goes wrong between a team and its provider. */
function faultFrom(chance: Chance, preset: ProviderName): ProviderReply {
  if (chance.is(0.4)) return chance.of(ends[preset] ?? chatEnds)
  if (chance.is(0.4))
    return {
      text: ['one ', 'two ', 'three'],
      breaks: { with: chance.of(['error', 'reset', 'end']), after: chance.of([0, 1, 2]) },
    }
  return {
    failure: chance.of(['rate-limit', 'overloaded', 'unavailable', 'context-full', 'prompt-blocked', 'html', 'empty']),
    retryAfter: 0.001,
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
    ...(chance.is(0.1) && { background: true }),
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
    retry: quick(chance),
  })
}

/** Attempts that follow at once. */
const quick = (chance: Chance): { readonly attempts: number; readonly backoffMs: number } => ({
  attempts: chance.of([1, 2, 3]),
  backoffMs: 1,
})

/** The forms of teams, by name. */
const shapes: { readonly [name: string]: (chance: Chance, model: Model) => Agent } = {
  agent: (chance, model) => workerFrom(chance, 'solo', model),
  supervisor: (chance, model) =>
    supervisor({
      name: 'lead',
      model,
      workers: Array.from({ length: chance.of([1, 2, 3]) }, (_, n) => workerFrom(chance, `worker_${n}`, model, true)),
      limits: { turns: 16 },
      retry: quick(chance),
      ...(chance.is(0.3) && {
        delegation: { background: { workers: 'all' as const, react: chance.of(['all', 'each'] as const) } },
      }),
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

/** The arguments as a person changes them: every text is another one. */
const edited = (input: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? 'half \ud83d' : value]),
  )

/** Answers what a run waits for, as a person would: yes, no, or something else. */
async function answerAll(runtime: Runtime, chance: Chance): Promise<number> {
  const open = await runtime.questions()
  for (const question of open) {
    if (question.kind === 'approval')
      await runtime
        .decide({
          approvalId: question.id,
          ...(isObject(question.body) && isObject(question.body['input']) && chance.is(0.4)
            ? { decision: 'edit' as const, input: edited(question.body['input']) }
            : { decision: chance.of(['approve', 'approve', 'reject'] as const) }),
          comment: chance.of(['fine', 'half \ud83d']),
        })
        .catch(unlessItEnded)
    else if (question.kind === 'interrupt') await runtime.answer({ interruptId: question.id, value: 'go on' })
    else if (question.kind === 'in-doubt') await runtime.settleDoubt({ id: question.id, happened: true, value: 'done' })
  }
  return open.length
}

/** What people do may come too late; anything else that they are told is a defect. */
function unlessItEnded(thrown: unknown): void {
  if (!ReeveError.is(thrown) || !tooLate.has(thrown.code)) throw thrown
}

const tooLate: ReadonlySet<string> = new Set([
  'run.ended',
  'run.taken-over',
  'run.not-taken-over',
  'approval.already-decided',
  'approval.unknown',
  'approval.invalid',
  'interrupt.already-answered',
  'interrupt.unknown',
  'run.conflict',
])

/** Answers what the run waits for until it ends. The failure that it ended with, if it did. */
async function lived(runtime: Runtime, run: Run<unknown>, chance: Chance): Promise<Failure | undefined> {
  for (let round = 0; round < 30; round++) {
    const state = await run.until('waiting')
    if (!('waiting' in state)) return state.status === 'failed' ? state.failure : undefined
    if ((await answerAll(runtime, chance)) === 0 && state.questions.length === 0)
      return failure('engine.closed', `run ${run.id} waits for nothing`, 'internal')
  }
  await run.control.cancel().catch(unlessItEnded)
  const outcome = await run.outcome()
  return outcome.status === 'failed' ? outcome.failure : undefined
}

/** A failure that says how the team's work went; others are defects of Reeve. */
const isExpected = ({ class: kind }: Failure): boolean => kind !== 'internal' && kind !== 'unknown'

/** Builds one team and runs it once or twice in a session. Two with one seed are the same. */
export async function playTeam(stage: Stage, seed: number): Promise<PlayedConversation & { readonly shape: string }> {
  const { provider } = stage
  const chance = new Chance(seed)
  const requests = provider.requests.length
  const refused = provider.refused.length
  const shape = chance.of(Object.keys(shapes))
  const hasFaults = chance.is(0.5)
  const failed: Failure[] = []
  const said: Failure[] = []
  const answers = brain(chance, hasFaults)
  stage.reply = answers
  await using other = await strictProvider({ preset: chance.of(strictProviderNames), answer: answers })
  const isChain = chance.is(0.25)
  const came = (): PlayedConversation & { readonly shape: string } => ({
    seed,
    shape: isChain ? `${shape} with a chain` : shape,
    preset: provider.preset,
    requests: provider.requests.length - requests + other.requests.length,
    refused: [...provider.refused.slice(refused), ...other.refused],
    said,
    failed,
  })
  let made: Agent
  let opened: Runtime
  try {
    const make = shapes[shape]
    if (make === undefined) return came()
    const one = provider.resolve()
    made = make(chance, isChain ? resolveModel([one, other.resolve()]) : one)
    opened = await createRuntime({ store: ':memory:', agents: [made] })
  } catch (thrown) {
    if (!ReeveError.is(thrown)) throw thrown
    said.push({ code: thrown.code, message: thrown.message, class: 'validation' } as Failure)
    return came()
  }
  await using runtime = opened
  const input: Json = chance.is(0.2) ? 'half \ud83d of it' : 'What do ravens do?'
  for (const text of chance.is(0.3) ? [input, 'And then?'] : [input]) {
    const run = await runtime.start(made, text, { session: 's' })
    if (chance.is(0.15)) {
      await run.control.takeOver({ by: 'ann' }).catch(unlessItEnded)
      await run.control.handBack({ by: 'ann' }).catch(unlessItEnded)
    }
    const first = await lived(runtime, run, chance)
    if (first !== undefined && !isExpected(first)) failed.push(first)
    if (!chance.is(0.2)) continue
    // a position may be none to begin at
    const fork = await runtime
      .fork({
        run: run.id,
        ...(chance.is(0.3) ? { edit: { type: 'input' as const, input: 'And crows?' } } : { at: chance.from(2, 40) }),
      })
      .catch((thrown: unknown) => {
        if (!ReeveError.is(thrown, 'fork.invalid')) throw thrown
      })
    if (fork === undefined) continue
    const second = await lived(runtime, fork, chance)
    if (second !== undefined && !isExpected(second)) failed.push(second)
  }
  return came()
}
