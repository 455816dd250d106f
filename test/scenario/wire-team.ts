/**
 * The team that is sent over the wires: a leader, a researcher with two tools, a writer whose tool a human must
 * approve; what a fake server is to answer each of them; and the witness, which counts what really went over the wire.
 *
 * Owns: definitions and rules. Does not own: what is asserted.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { agent, tool, type Tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { RetryPolicy } from '@reeve/engine'
import type { LanguageModelLike, ModelRef } from '@reeve/model'
import { supervisor, type Supervisor } from '@reeve/supervisor'
import { fakeKey, inPieces, type FakeLlm, type Match, type Wire } from '../../packages/model/test/fake-llm.ts'

/** Fast enough for tests; the number of attempts is the default. */
export const quick: RetryPolicy = { backoffMs: 5, jitter: false }

/** The provider's own model object for a wire, as a user makes it. */
export function providerObject(wire: Wire, url: string): LanguageModelLike {
  const [baseURL, apiKey] = [`${url}/v1`, fakeKey]
  const name = wire.model.slice(wire.model.indexOf('/') + 1)
  switch (wire.name) {
    case 'openai-compatible':
      return createOpenAICompatible({ name: 'openai-compatible', baseURL, apiKey, includeUsage: true })(name)
    case 'openai chat':
      return createOpenAI({ baseURL, apiKey }).chat(name)
    case 'openai responses':
      return createOpenAI({ baseURL, apiKey }).responses(name)
    case 'anthropic':
      return createAnthropic({ baseURL, apiKey })(name)
    case 'google':
      return createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(name)
  }
}

/** The environment in which ids such as `openai/gpt-5` lead to a fake server. */
export function environmentOf(url: string): Readonly<Record<string, string>> {
  const names = ['OPENAI', 'ANTHROPIC', 'GOOGLE', 'OPENAI_COMPATIBLE']
  return Object.fromEntries(
    names.flatMap((name) => [
      [`${name}_BASE_URL`, url],
      [`${name}_API_KEY`, fakeKey],
    ]),
  )
}

/** What tools did, in order. */
export type Deeds = string[]

/** The three tools of the team; each notes what it does. */
function toolsNoting(note: (deed: string) => void): {
  readonly lookup: Tool
  readonly danger: Tool
  readonly publish: Tool
} {
  const input = {
    type: 'object',
    properties: { topic: { type: 'string' } },
    required: ['topic'],
    additionalProperties: false,
  } as const
  const of = (given: unknown): string => (given as { readonly topic: string }).topic
  return {
    lookup: tool({
      name: 'lookup',
      description: 'Looks something up.',
      effect: 'read',
      input,
      execute: (given): Json => {
        note(`lookup ${of(given)}`)
        return { fact: `${of(given)} is known` }
      },
    }),
    danger: tool({
      name: 'danger',
      description: 'Must never run here.',
      input,
      execute: (given) => note(`danger ${of(given)}`),
    }),
    publish: tool({
      name: 'publish',
      description: 'Publishes.',
      sensitive: true,
      input,
      execute: (given): Json => {
        note(`publish ${of(given)}`)
        return { published: of(given) }
      },
    }),
  }
}

/** Which model each of the team thinks with. */
interface TeamModels {
  readonly lead: ModelRef
  readonly researcher: ModelRef
  readonly writer: ModelRef
}

/** The team. */
export function teamOf(models: TeamModels, note: (deed: string) => void, retry: RetryPolicy = quick): Supervisor {
  const { lookup, danger, publish } = toolsNoting(note)
  const researcher = agent({
    name: 'researcher',
    description: 'Finds facts.',
    instructions: 'You are RESEARCHER.',
    model: models.researcher,
    tools: [lookup, danger],
    retry,
  })
  const writer = agent({
    name: 'writer',
    description: 'Writes and publishes.',
    instructions: 'You are WRITER.',
    model: models.writer,
    tools: [publish],
    retry,
  })
  return supervisor({
    name: 'lead',
    instructions: 'You are LEADER.',
    model: models.lead,
    workers: [researcher, writer],
    retry,
  })
}

const call = (name: string, input: Json): { name: string; input: Json } => ({ name, input })
const usage = { input: 100, output: 20 }

/** Matches what one of the team asks, by its instructions. */
export const who = (name: 'LEADER' | 'RESEARCHER' | 'WRITER'): Match => ({
  predicate: ({ text }) => text.includes(`You are ${name}.`),
})

/** What each of the team answers to what. Rules that a test adds before come first. */
export function answerAsTeam(llm: FakeLlm): void {
  const [lead, researcher, writer] = [who('LEADER'), who('RESEARCHER'), who('WRITER')]
  const delegations = [
    call('delegate', { worker: 'researcher', instructions: 'find facts about ravens' }),
    call('delegate', { worker: 'writer', instructions: 'publish about ravens' }),
  ]
  llm.on({ ...lead, hasToolResult: false }, { text: 'Asking both.', calls: delegations, usage })
  llm.on({ ...lead, hasToolResult: true }, { text: inPieces('The report on ravens.', 6), usage })
  llm.on(
    { ...researcher, hasToolResult: false },
    { calls: ['beaks', 'wings'].map((topic) => call('lookup', { topic })), usage },
  )
  llm.on({ ...researcher, hasToolResult: true }, { text: 'Beaks and wings are known.', usage })
  llm.on({ ...writer, hasToolResult: false }, { calls: [call('publish', { topic: 'ravens' })], usage })
  llm.on({ ...writer, hasToolResult: true }, { text: 'It is published.', usage })
}

/** How often each model step asked, by its idempotency key: one key for all attempts of one step. */
export function askedByKey(llm: FakeLlm): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { headers } of llm.requests()) {
    const key = String(headers['idempotency-key'] ?? '(no key)')
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** How often each distinct prompt was sent. */
export function askedByPrompt(llm: FakeLlm): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { body } of llm.requests()) {
    counts.set(body, (counts.get(body) ?? 0) + 1)
  }
  return counts
}
