/**
 * Every way a model can stop, in the words of each provider, played against the strict providers.
 *
 * Owns: that list, what must follow each end, and what was seen. Does not own: the page (scripts/ends.ts), the rules
 * themselves (packages/model/src/finish.ts, packages/model/src/faults.ts, packages/agent/src/model-call/answer-end.ts).
 */
import { z } from 'zod'
import { agent, tool } from '@reeve/agent'
import type { Failure } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import type { RunOutcome } from '@reeve/runtime'
import {
  strictProvider,
  strictProviderNames,
  virtualRuntime,
  type FailureKind,
  type ProviderAnswer,
  type ProviderFailure,
  type ProviderName,
  type ProviderPart,
  type StrictProvider,
} from '@reeve/testing'

/** What Reeve does at the first answer of this kind. */
export type Follows =
  /** Its calls run, or it is the answer. */
  | 'takes the answer'
  /** The model is asked again with what it said, and the parts are one answer. */
  | 'goes on with the text'
  /** The model is told that its calls were not made. */
  | 'tells the model to make the calls again'
  /** The model is told what was wrong with its call. */
  | 'tells the model what is wrong with the call'
  /** The older part of the conversation is summarized, and the model is asked again. */
  | 'compacts and asks again'
  /** The step is tried again: nothing of the answer is kept. */
  | 'asks again'
  /** The agent fails. */
  | 'fails'

/** One way to stop, as a provider says it. */
export interface EndWord {
  /** As the page shows it. */
  readonly word: string
  readonly reply: ProviderAnswer | ProviderFailure
  /** Default: that of the end. */
  readonly code?: Failure['code']
  /** How long the step has to wait before it asks again, in milliseconds. Default: as its policy says. */
  readonly waitMs?: number
}

/** One way to stop. */
export interface ModelEnd {
  /** A slug, unique. */
  readonly id: string
  readonly title: string
  readonly about?: string
  readonly follows: Follows
  /** The failure if the model stops so again and again; absent: it does not fail. */
  readonly code?: Failure['code']
  readonly said: (provider: ProviderName) => readonly EndWord[]
  readonly agent?: 'typed' | 'compacting' | 'impatient'
}

/** What was seen of an end. */
export interface SeenEnd {
  readonly provider: ProviderName
  readonly word: string
  /** After one such answer, a good one follows. */
  readonly follows: Follows
  /** It stops so again and again. */
  readonly code: Failure['code'] | undefined
  readonly class: Failure['class'] | undefined
  /** Requests that the provider saw until then. */
  readonly requests: number
  /** Before it was asked again the first time, in milliseconds. */
  readonly waitMs: number | undefined
  readonly hasPartial: boolean
  /** Calls of the model in the usage, and how many of them are unknown. */
  readonly calls: number
  readonly unknown: number
  /** What the provider refused: nothing, or Reeve has sent something it does not take. */
  readonly refused: readonly string[]
}

type Wire = 'chat' | 'responses' | 'anthropic' | 'google'
const wireOf = (provider: ProviderName): Wire =>
  provider === 'openai' ? 'responses' : provider === 'anthropic' || provider === 'google' ? provider : 'chat'

const said = (word: string, reply: ProviderAnswer | ProviderFailure): EndWord => ({ word, reply })
/** The same answer, with the word that each wire has for its end. */
const stops =
  (words: { readonly [wire in Wire]?: readonly string[] }, answer: ProviderAnswer) =>
  (provider: ProviderName): readonly EndWord[] =>
    (words[wireOf(provider)] ?? []).map((finish) => said(`\`${finish}\``, { ...answer, finish }))
const always = (word: string, reply: ProviderAnswer | ProviderFailure) => (): readonly EndWord[] => [said(word, reply)]

const lengths = {
  chat: ['length'],
  responses: ['max_output_tokens'],
  anthropic: ['max_tokens'],
  google: ['MAX_TOKENS'],
}
const half = 'Half of it'
const look = { name: 'look', input: { at: 'it' } }

/** Anthropic pauses in the middle of a tool of its own. */
const pausedParts: readonly ProviderPart[] = [
  { type: 'text', text: half },
  {
    type: 'raw',
    value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'it' } },
  },
]

/** All of them. */
export const modelEnds: readonly ModelEnd[] = [
  {
    id: 'whole',
    title: 'The answer is whole',
    follows: 'takes the answer',
    said: stops(
      { chat: ['stop'], responses: ['completed'], anthropic: ['end_turn', 'stop_sequence'], google: ['STOP'] },
      { text: half },
    ),
  },
  {
    id: 'unknown-word',
    title: 'A word that Reeve does not know',
    about: 'The answer has arrived whole and has a text: it counts.',
    follows: 'takes the answer',
    said: stops({ anthropic: ['soon_to_be_invented'], google: ['OTHER'] }, { text: half }),
  },
  {
    id: 'length',
    title: 'The output limit, in a text',
    about: "At most twice, then the agent fails; `onCut: 'fail'` fails at once.",
    follows: 'goes on with the text',
    code: 'model.length',
    said: stops(lengths, { text: half }),
  },
  {
    id: 'length-typed',
    title: 'The output limit, in typed output',
    about: 'Also if what arrived could be read.',
    follows: 'fails',
    code: 'model.length',
    agent: 'typed',
    said: stops(lengths, { text: '{"ok":true}' }),
  },
  {
    id: 'length-calls',
    title: 'The output limit, with calls',
    about: 'None of the calls runs: no provider says which of them are whole. Three times in a row at most.',
    follows: 'tells the model to make the calls again',
    code: 'model.length',
    said: stops(lengths, { calls: [look] }),
  },
  {
    id: 'length-silent',
    title: 'The output limit, before a word',
    about: 'All of it was reasoning.',
    follows: 'fails',
    code: 'model.length',
    said: stops(lengths, {}),
  },
  {
    id: 'refusal',
    title: 'The model refuses',
    follows: 'fails',
    code: 'model.refused',
    said(provider) {
      if (provider === 'anthropic') return [said('`refusal`', { text: half, finish: 'refusal' })]
      return provider === 'openai' || provider === 'openai-chat' || provider === 'openrouter'
        ? [said('a `refusal` in the content', { refusal: half })]
        : []
    },
  },
  {
    id: 'filter',
    title: 'A content filter stops the answer',
    follows: 'fails',
    code: 'model.filtered',
    said: stops(
      {
        chat: ['content_filter'],
        responses: ['content_filter'],
        google: ['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY'],
      },
      { text: half },
    ),
  },
  {
    id: 'blocked',
    title: 'A filter blocks what the model was sent',
    follows: 'fails',
    code: 'model.prompt-blocked',
    said(provider) {
      if (provider === 'google')
        return ['SAFETY', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'OTHER'].map((blocked) =>
          said(`\`promptFeedback.blockReason: ${blocked}\``, { blocked }),
        )
      return provider === 'openai' || provider === 'openai-chat' || provider === 'openrouter'
        ? [said('an error', { failure: 'prompt-blocked' })]
        : []
    },
  },
  {
    id: 'filtered-error',
    title: 'A filter blocks the answer, said as an error',
    follows: 'fails',
    code: 'model.filtered',
    said: (provider) => (provider === 'anthropic' ? [said('an error', { failure: 'prompt-blocked' })] : []),
  },
  {
    id: 'full',
    title: 'The context is full, and there is nothing to compact with',
    follows: 'fails',
    code: 'model.context-full',
    said: fullContext,
  },
  {
    id: 'full-compacting',
    title: 'The context is full, and the agent has `compaction`',
    about: 'Once for each turn.',
    follows: 'compacts and asks again',
    code: 'model.context-full',
    agent: 'compacting',
    said: fullContext,
  },
  {
    id: 'paused',
    title: 'The provider pauses a long answer',
    about: 'It is sent back as it is, the calls of the provider’s own tools included. At most ten times.',
    follows: 'goes on with the text',
    code: 'model.paused',
    said: stops({ anthropic: ['pause_turn'] }, { text: half, parts: pausedParts }),
  },
  {
    id: 'calls',
    title: 'The model calls tools',
    follows: 'takes the answer',
    said: stops(
      { chat: ['tool_calls'], responses: ['completed'], anthropic: ['tool_use'], google: ['STOP'] },
      { calls: [look] },
    ),
  },
  {
    id: 'calls-missing',
    title: 'Calls are announced, and none came',
    follows: 'asks again',
    code: 'model.calls-missing',
    said: stops(
      {
        chat: ['tool_calls'],
        anthropic: ['tool_use'],
        google: ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'],
      },
      {},
    ),
  },
  {
    id: 'malformed',
    title: 'The arguments of a call are no JSON',
    follows: 'tells the model what is wrong with the call',
    said: (provider) =>
      provider === 'google' || provider === 'anthropic'
        ? []
        : [said('arguments `{"at": "i`', { calls: [{ name: 'look', inputText: '{"at": "i' }] })],
  },
  {
    id: 'empty',
    title: 'The answer ends without a word, a call or a file',
    follows: 'asks again',
    code: 'model.empty',
    said: stops({ chat: ['stop'], responses: ['completed'], anthropic: ['end_turn'], google: ['STOP'] }, {}),
  },
  {
    id: 'broken-word',
    title: 'The provider says that the answer broke off',
    follows: 'asks again',
    code: 'model.cut-off',
    said(provider) {
      if (provider === 'openrouter') return [said('`error`', { text: half, finish: 'error' })]
      return provider === 'vllm' ? [said('`abort`', { text: half, finish: 'abort' })] : []
    },
  },
  {
    id: 'stream-error',
    title: 'An error inside the stream',
    about: 'What had arrived is withdrawn from `run.text()`.',
    follows: 'asks again',
    code: 'model.unavailable',
    said: (provider) =>
      (['unavailable', 'overloaded'] as const).map((failure) => ({
        ...said(failure === 'overloaded' ? 'overloaded' : 'an error of its own', {
          text: half,
          breaks: { with: 'error', failure },
        }),
        // older servers send an error that has no member `error`, so that the chunk cannot be read
        ...(provider === 'vllm' && { code: 'model.cut-off' as const }),
      })),
  },
  {
    id: 'stream-limited',
    title: 'An error inside the stream: too many calls',
    follows: 'asks again',
    code: 'model.rate-limited',
    // a server of one's own has no such error of its own
    said: (provider) => (provider === 'ollama' ? [] : inStream('rate-limit')(provider)),
  },
  {
    id: 'stream-full',
    title: 'An error inside the stream: the context is full',
    follows: 'fails',
    code: 'model.context-full',
    said: inStream('context-full'),
  },
  {
    id: 'stream-reset',
    title: 'The connection dies in the middle of the answer',
    follows: 'asks again',
    code: 'model.cut-off',
    said: always('the connection is gone', { text: half, breaks: { with: 'reset' } }),
  },
  {
    id: 'stream-end',
    title: 'The stream ends without an end of the answer',
    follows: 'asks again',
    code: 'model.cut-off',
    said: always('no reason to stop', { text: half, breaks: { with: 'end' } }),
  },
  {
    id: 'silent',
    title: 'The stream falls silent',
    about: 'For `silenceMs`.',
    follows: 'asks again',
    code: 'model.silent',
    agent: 'impatient',
    said: always('nothing', { text: half, breaks: { with: 'stall' } }),
  },
  {
    id: 'limited',
    title: 'Too many calls (429), with or without when to come back',
    about: 'Asked again when the provider says so.',
    follows: 'asks again',
    code: 'model.rate-limited',
    said: (provider) => [
      said('429', { failure: 'rate-limit' }),
      ...(['header', 'body', 'text'] as const)
        .filter((place) => place !== 'body' || provider === 'google' || provider === 'openrouter')
        .map((waitIn) => ({
          ...said(`429, "in 20 seconds" in its ${waitIn}`, { failure: 'rate-limit', retryAfter: 20, waitIn }),
          waitMs: 20_000,
        })),
    ],
  },
  {
    id: 'credit',
    title: 'No credit left',
    follows: 'fails',
    code: 'model.rate-limited',
    said: (provider) =>
      ['openai', 'openai-chat', 'openrouter'].includes(provider) ? [said('an error', { failure: 'no-credit' })] : [],
  },
  {
    id: 'down',
    title: 'The provider is overloaded or not working',
    follows: 'asks again',
    code: 'model.unavailable',
    said: () => [
      said('overloaded', { failure: 'overloaded' }),
      said('an error of its own', { failure: 'unavailable' }),
      said('502 with HTML of a gateway', { failure: 'html' }),
    ],
  },
  {
    id: 'no-answer',
    title: 'A success (200) that is no answer',
    follows: 'asks again',
    code: 'model.cut-off',
    said: () => [
      said('an empty body', { failure: 'empty' }),
      said('HTML of a gateway', { failure: 'html', status: 200 }),
    ],
  },
  {
    id: 'key',
    title: 'The key is refused',
    follows: 'fails',
    code: 'model.not-authorized',
    said: always('401', { failure: 'unauthorized' }),
  },
  {
    id: 'model',
    title: 'The provider does not know the model',
    follows: 'fails',
    code: 'model.unknown',
    said: (provider) => (provider === 'openrouter' ? [] : [said('404', { failure: 'unknown-model' })]),
  },
  {
    id: 'wrong',
    title: 'The request is wrong',
    follows: 'fails',
    code: 'model.bad-request',
    said: always('400', { failure: 'bad-request' }),
  },
]

function inStream(failure: FailureKind) {
  return (provider: ProviderName): readonly EndWord[] =>
    provider === 'vllm' ? [] : [said('an error event', { text: half, breaks: { with: 'error', failure } })]
}

function fullContext(provider: ProviderName): readonly EndWord[] {
  const inside =
    provider === 'anthropic' ? stops({ anthropic: ['model_context_window_exceeded'] }, { text: half }) : undefined
  return [...(inside?.(provider) ?? []), said('an error', { failure: 'context-full' })]
}

/** A provider whose answers are set from play to play. */
export interface EndStage {
  readonly provider: StrictProvider
  readonly play: (reply: EndWord['reply'], persists: boolean, more: ModelEnd['agent']) => Promise<PlayedEnd>
}

interface PlayedEnd {
  readonly outcome: RunOutcome
  readonly events: readonly JournalEvent[]
  readonly requests: number
  readonly calls: number
  readonly unknown: number
}

const good: ProviderAnswer = { text: ' and the rest.' }
const goodTyped: ProviderAnswer = { text: '{"ok":false}' }
const reader = tool({
  name: 'look',
  effect: 'read',
  input: z.object({ at: z.string() }),
  execute: ({ at }) => `${at}: ${'seen '.repeat(80)}`,
})

/** Starts a provider to play ends on. */
async function endStage(preset: ProviderName): Promise<EndStage> {
  let answers: (number: number) => ProviderAnswer | ProviderFailure = () => good
  let asked = 0
  const provider = await strictProvider({ preset, answer: () => answers(asked++) })
  return {
    provider,
    async play(reply, persists, kind) {
      const before = provider.requests.length
      // an agent that compacts has read something first, which can be summarized
      const first = kind === 'compacting' ? 3 : 0
      const whole = kind === 'typed' ? goodTyped : good
      asked = 0
      answers = (number) => {
        if (number < first) return { calls: [look] }
        return persists || number === first ? reply : whole
      }
      const worker = agent({
        name: 'worker',
        model: provider.resolve(),
        tools: kind === 'typed' ? [] : [reader],
        limits: { turns: 20 },
        retry: { attempts: 2, backoffMs: 1 },
        ...(kind === 'typed' && { output: z.object({ ok: z.boolean() }) }),
        ...(kind === 'compacting' && { compaction: { above: 1_000_000, keep: 2 } }),
        ...(kind === 'impatient' && { silenceMs: 60 }),
      })
      await using virtual = await virtualRuntime({ agents: [worker], onWarning: () => undefined })
      const run = await virtual.runtime.start('worker', 'Do it.')
      await virtual.runUntilIdle()
      const outcome = await run.outcome()
      const events: JournalEvent[] = []
      for await (const { event } of run.events()) events.push(event)
      const sum = (of: 'calls' | 'unknown'): number => outcome.usage.reduce((total, row) => total + row[of], 0)
      const requests = provider.requests.length - before
      return { outcome, events, requests: requests - first, calls: sum('calls') - first, unknown: sum('unknown') }
    },
  }
}

/** What Reeve did, by what it recorded and what the provider saw. */
function followed({ outcome, events, requests }: PlayedEnd, reply: EndWord['reply']): Follows {
  if (events.some(({ type }) => type === 'context.compacted')) return 'compacts and asks again'
  if (events.some(({ type }) => type === 'step.attempt-failed')) return 'asks again'
  const refused = events.flatMap((event) => (event.type === 'tool.refused' ? [event.failure.code] : []))
  if (refused.includes('model.length')) return 'tells the model to make the calls again'
  if (refused.length > 0) return 'tells the model what is wrong with the call'
  if (outcome.status !== 'completed') return 'fails'
  if (
    requests > 1 &&
    !('failure' in reply) &&
    reply.text !== undefined &&
    outcome.output === `${half}${String(good.text)}`
  )
    return 'goes on with the text'
  return 'takes the answer'
}

/** Plays one end both ways. */
async function seeEnd(stage: EndStage, end: ModelEnd, { word, reply }: EndWord): Promise<SeenEnd> {
  const { provider } = stage
  const refusedBefore = provider.refused.length
  const once = await stage.play(reply, false, end.agent)
  // a model that calls tools for ever, or is told what is wrong with its calls, is not what is asked here
  const ever = end.code === undefined ? once : await stage.play(reply, true, end.agent)
  const failure = ever.outcome.status === 'failed' ? ever.outcome.failure : undefined
  const partial = failure?.details?.['partial']
  return {
    provider: provider.preset,
    word,
    follows: followed(once, reply),
    code: failure?.code,
    class: failure?.class,
    requests: ever.requests,
    waitMs: once.events.flatMap((event) => (event.type === 'step.attempt-failed' ? [event.delayMs] : []))[0],
    hasPartial: typeof partial === 'string' && partial !== '',
    calls: ever.calls,
    unknown: ever.unknown,
    refused: provider.refused.slice(refusedBefore).map(({ rule, why }) => `${rule}: ${why}`),
  }
}

/** All that was seen, by the id of the end. */
export async function seeAllEnds(): Promise<ReadonlyMap<string, readonly SeenEnd[]>> {
  const seen = new Map<string, SeenEnd[]>(modelEnds.map(({ id }) => [id, []]))
  const byProvider = await Promise.all(
    strictProviderNames.map(async (name) => {
      const stage = await endStage(name)
      try {
        const list: [string, SeenEnd][] = []
        for (const end of modelEnds)
          for (const word of end.said(name)) list.push([end.id, await seeEnd(stage, end, word)])
        return list
      } finally {
        await stage.provider.close()
      }
    }),
  )
  for (const [id, one] of byProvider.flat()) seen.get(id)!.push(one)
  return seen
}
