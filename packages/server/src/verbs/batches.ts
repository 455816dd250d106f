/** Verbs of batches: one command for all runs that match a filter. */
import type { RunId } from '@reeve/core'
import { batchVerbs, mostInBatch, runStatuses, type BatchCause, type BatchView } from '@reeve/runtime'
import { operator } from '../access/door.ts'
import { runsFilter } from '../runs-filter.ts'
import { amount, choice, flag, jsonObject, list, name, object, optional, text, view, whole } from '../wire-schema.ts'
import type { BatchBody } from '../wire.ts'
import { Begun, verb } from './verb.ts'

const { limit: _limit, ...conditions } = runsFilter

const filter = object<BatchBody['filter']>(
  'BatchFilter',
  {
    ...conditions,
    metadata: optional(jsonObject({ description: 'Members of the metadata, each equal to this value.' })),
  },
  { description: 'All given conditions must hold; at least one.' },
)
const reason = optional(text({ maxLength: 10_000, description: 'Recorded with every command.' }))

const cause = view<BatchCause>('BatchCause', {
  code: name(),
  message: text(),
  count: whole(),
  runs: list(name<RunId>()),
})

export const batchView = view<BatchView>('BatchView', {
  id: name<RunId>(),
  verb: choice(batchVerbs),
  status: choice(runStatuses),
  startedAt: whole(),
  total: optional(whole({ description: 'Absent: the runs that match are still being looked for.' })),
  done: whole(),
  before: whole({ description: 'They were so already.' }),
  refused: whole(),
  left: whole(),
  causes: list(cause),
})

export const batchActionVerbs = [
  verb('POST /batches', operator('runs'), {
    summary: 'Retry, cancel, pause or resume all runs that match, as one tracked action. 201 if it begins now.',
    input: object<BatchBody>('BatchBody', {
      verb: choice(batchVerbs),
      filter,
      id: optional(name({ description: 'Makes it idempotent.' })),
      limit: optional(whole({ minimum: 1, maximum: mostInBatch, description: 'The newest runs. Default 10,000.' })),
      reason,
      undo: optional(flag({ description: 'Of cancel. False: what was done stays. Default true.' })),
      at: optional(choice(['next', 'now', 'after-model', 'after-tools'], { description: 'Of pause.' })),
      within: optional(amount({ minimum: 0, description: 'Of pause: when steps in flight are stopped, in ms.' })),
    }),
    answer: batchView,
    begins: true,
    async run({ verb: what, filter: of, ...options }, { runtime, by }) {
      const batch = await runtime.batch(what, of, { ...options, by })
      return new Begun(await batch.view(), batch.created !== false)
    },
  }),
  verb('POST /batches/{id}/cancel', operator('run'), {
    summary: 'Stop a batch: runs that it has not got to stay as they are. What was done stays.',
    input: object<{ readonly reason?: string }>('BatchCancelBody', { reason }),
    answer: batchView,
    async run({ reason: why }, { runtime, path, by }) {
      const batch = runtime.batches.of(path.id)
      await batch.cancel(why, by)
      return batch.view()
    },
  }),
] as const
