/** Verbs that begin another run from one: forks and retries. */
import type { RunId } from '@reeve/core'
import type { DiscardedWork, ForkOptions, RetryFrom, RetryOptions } from '@reeve/runtime'
import { operator } from '../access/door.ts'
import { amount, anyOf, choice, flag, jsonObject, name, object, optional, text, whole } from '../wire-schema.ts'
import type { StartedRetry, StartedRun } from '../wire.ts'
import { Begun, verb } from './verb.ts'

type Fork = Omit<ForkOptions, 'run' | 'by'>

const reason = optional(text({ maxLength: 10_000, description: 'Recorded with it.' }))

const from = object<RetryFrom>(
  'RetryFrom',
  {
    position: amount(),
    agent: name(),
    redoes: choice(['model-call', 'effect', 'worker', 'question', 'code']),
  },
  { description: 'The first event of the origin that is not kept, and what the agent does again there.' },
)
const discarded = object<DiscardedWork>(
  'DiscardedWork',
  { modelCalls: whole({ minimum: 0 }), effects: whole({ minimum: 0 }) },
  { description: 'What the origin recorded and the retry does not keep.' },
)

export const forkVerbs = [
  verb('POST /runs/{run}/fork', operator('run'), {
    summary: 'Start a new run from a position of this one. 201 if it begins now, 200 if before.',
    input: object<Fork>('ForkBody', {
      at: optional(anyOf<number | 'last'>(whole({ minimum: 1 }), { schema: { const: 'last' } })),
      runId: optional(name({ description: 'Makes the fork idempotent.' })),
      edit: optional(jsonObject<NonNullable<Fork['edit']>>({ description: 'What is different in it.' })),
      reason: optional(text({ maxLength: 10_000 })),
    }),
    answer: object<StartedRun>('StartedRun', { run: name<RunId>() }),
    begins: true,
    async run(input, { runtime, run, by }) {
      const fork = await runtime.fork({ ...input, run: run.id, by })
      return new Begun({ run: fork.id }, fork.created !== false)
    },
  }),
] as const

export const retryVerbs = [
  verb('POST /runs/{run}/retry', operator('run'), {
    summary:
      'Go on with a run that ended badly, as a new run that begins before what failed. Once, unless it says again.',
    input: object<Omit<RetryOptions, 'by'>>('RetryBody', {
      runId: optional(name({ description: 'The id of the new run. Makes the retry idempotent.' })),
      again: optional(flag({ description: 'Another retry, though it has been retried before.' })),
      reason,
    }),
    answer: object<StartedRetry>('StartedRetry', { run: name<RunId>(), from, discarded }),
    begins: true,
    async run(input, { runtime, run, by }) {
      const retry = await runtime.retry(run.id, { ...input, by })
      return new Begun({ run: retry.id, from: retry.from, discarded: retry.discarded }, retry.created !== false)
    },
  }),
] as const
