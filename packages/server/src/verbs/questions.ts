/** Verbs of questions: their answers. The approver is the principal. */
import { mostDecided, type Decision, type DecisionResult } from '@reeve/runtime'
import { approver, operator } from '../access/door.ts'
import { shownError } from '../error-status.ts'
import { anyOf, choice, flag, json, list, name, nothing, object, optional, text } from '../wire-schema.ts'
import type {
  AnswerBody,
  DecidedRow,
  DecisionBody,
  DecisionRow,
  DecisionsAnswer,
  DecisionsBody,
  SettleBody,
} from '../wire.ts'
import { errorSchema } from './error-schema.ts'
import { verb } from './verb.ts'

/** What became of one decision, as it may be shown. */
function decidedRow(result: DecisionResult): DecidedRow {
  const { approvalId: id, status } = result
  if (status === 'decided') return { id, status }
  const { status: _status, ...error } = shownError(result.error)
  return { id, status, error }
}

export const questionVerbs = [
  verb('POST /approvals/{id}/decision', approver('question'), {
    summary: 'Decide an approval; the first decision wins.',
    input: object<DecisionBody>('DecisionBody', {
      decision: choice(['approve', 'reject', 'edit', 'retry']),
      input: optional(json({ description: 'Of edit: all the arguments.' })),
      comment: optional(text({ maxLength: 10_000 })),
      grant: optional(json({ description: 'The scope of an approval.' })),
      repeat: optional(
        list(name(), { maxItems: 50, description: 'Of retry: the ids of the effects to make once more.' }),
      ),
      inputHash: optional(name({ description: 'The hash of the arguments that the approver was shown.' })),
    }),
    answer: nothing,
    run: (said, { runtime, path, by }) =>
      runtime.decide({ ...said, approvalId: path.id, approver: by } as unknown as Decision),
  }),
  verb('POST /approvals/decisions', approver('runs'), {
    summary: 'Decide several approvals, each by itself. Never one of critical risk, or that two approvers decide.',
    input: object<DecisionsBody>('DecisionsBody', {
      decisions: list(
        object<DecisionRow>('DecisionRow', {
          id: name(),
          inputHash: name({ description: 'The hash of the arguments that the approver was shown.' }),
          decision: choice(['approve', 'reject']),
          comment: optional(text({ maxLength: 10_000 })),
        }),
        { maxItems: mostDecided },
      ),
    }),
    answer: object<DecisionsAnswer>('DecisionsAnswer', {
      results: list(
        object<DecidedRow>('DecidedRow', {
          id: name(),
          status: choice(['decided', 'lost', 'refused']),
          error: optional(errorSchema('DecisionError')),
        }),
      ),
    }),
    async run({ decisions }, { runtime, by }) {
      const results = await runtime.decideAll(
        decisions.map(({ id, ...said }) => ({ ...said, approvalId: id, approver: by })),
      )
      return { results: results.map(decidedRow) }
    },
  }),
  verb('POST /interrupts/{id}/answer', approver('question'), {
    summary: 'Answer a question; the first answer wins.',
    input: object<AnswerBody>('AnswerBody', { value: json() }),
    answer: nothing,
    run: ({ value }, { runtime, path, by }) => runtime.answer({ interruptId: path.id, value, by }),
  }),
  verb('POST /questions/{id}/settle', operator('question'), {
    summary: 'Say what became of an effect in doubt, or how a diverged run goes on.',
    input: anyOf<SettleBody>(
      object<Extract<SettleBody, { readonly happened: boolean }>>('DoubtBody', {
        happened: flag(),
        value: optional(json()),
      }),
      object<Extract<SettleBody, { readonly action: string }>>('DivergenceBody', {
        action: choice(['map', 'execute', 'drop']),
        to: optional(name()),
      }),
    ),
    answer: nothing,
    run: (input, { runtime, path: { id }, by }) =>
      'happened' in input ? runtime.settleDoubt({ ...input, id, by }) : runtime.settleDivergence({ ...input, id, by }),
  }),
] as const
