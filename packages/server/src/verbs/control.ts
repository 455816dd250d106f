/** Verbs of control: what an operator does to a run. */
import type {
  CancelOptions,
  CompleteByHand,
  FinishByHand,
  HandBack,
  PauseOptions,
  ResumeOptions,
  StopDelegation,
  TakenOver,
  TakeOverOptions,
} from '@reeve/runtime'
import { operator } from '../access/door.ts'
import { amount, choice, flag, json, jsonObject, name, nothing, object, optional, text, view } from '../wire-schema.ts'
import { verb } from './verb.ts'

const reason = optional(text({ maxLength: 10_000 }))
const id = optional(name({ description: 'Makes the command idempotent.' }))
const within = optional(amount({ minimum: 0, description: 'Milliseconds after which steps in flight are stopped.' }))
const output = json({ description: 'The result, as if the agent had given it.' })

export const controlVerbs = [
  verb('POST /runs/{run}/pause', operator('run'), {
    summary: 'Pause the run: nothing new begins until it is resumed.',
    input: object<Omit<PauseOptions, 'by'>>('PauseBody', {
      at: optional(choice(['next', 'now', 'after-model', 'after-tools'])),
      within,
      reason,
      id,
    }),
    answer: nothing,
    run: (input, { run, by }) => run.control.pause({ ...input, by }),
  }),
  verb('POST /runs/{run}/resume', operator('run'), {
    summary: 'Resume a paused run.',
    input: object<Omit<ResumeOptions, 'by'>>('ResumeBody', { reason, id }),
    answer: nothing,
    run: (input, { run, by }) => run.control.resume({ ...input, by }),
  }),
  verb('POST /runs/{run}/cancel', operator('run'), {
    summary: 'Cancel the run and all its workers. Cannot be undone.',
    input: object<CancelOptions & { readonly reason?: string }>('CancelBody', {
      reason,
      undo: optional(flag({ description: 'False: what was done stays. Default true.' })),
    }),
    answer: nothing,
    run: ({ reason: why, ...how }, { run, by }) => run.control.cancel(why, by, how),
  }),
  verb('POST /runs/{run}/take-over', operator('run'), {
    summary:
      'Take the run over: what is in flight ends, nothing new begins. 202: recorded, no process has read it yet.',
    input: object<Omit<TakeOverOptions, 'by' | 'signal'>>('TakeOverBody', {
      at: optional(choice(['next', 'now'])),
      within,
      reason,
      id,
    }),
    answer: view<TakenOver>('TakenOver', {}),
    waits: true,
    run: (input, { run, by, signal }) => run.control.takeOver({ ...input, by, signal }),
  }),
  verb('POST /runs/{run}/hand-back', operator('run'), {
    summary: 'Hand a run back, with an edited plan if that is wanted. 202: recorded, no process has read it yet.',
    input: object<Omit<HandBack, 'by' | 'signal'>>('HandBackBody', {
      plan: optional(jsonObject<NonNullable<HandBack['plan']>>({ description: 'An edit of the plan.' })),
      team: optional(name()),
      reason,
      id,
    }),
    answer: nothing,
    waits: true,
    run: (input, { run, by, signal }) => run.control.handBack({ ...input, by, signal }),
  }),
  verb('POST /runs/{run}/complete', operator('run'), {
    summary: 'Finish one step by hand: a worker, or a task of a planned team. 202: recorded, not decided yet.',
    input: object<Omit<CompleteByHand, 'by' | 'signal'>>('CompleteBody', {
      task: optional(name()),
      delegation: optional(name()),
      output,
      reason,
    }),
    answer: nothing,
    waits: true,
    run: (input, { run, by, signal }) => run.control.complete({ ...input, by, signal }),
  }),
  verb('POST /runs/{run}/finish', operator('run'), {
    summary: 'End a run that was taken over, with this output.',
    input: object<Omit<FinishByHand, 'by'>>('FinishBody', { output, reason }),
    answer: nothing,
    run: (input, { run, by }) => run.control.finish({ ...input, by }),
  }),
  verb('POST /runs/{run}/stop', operator('run'), {
    summary: 'Stop one delegation. The run goes on, and its leader is told.',
    input: object<Omit<StopDelegation, 'by'>>('StopBody', { delegation: name(), reason }),
    answer: nothing,
    run: (input, { run, by }) => run.control.stop({ ...input, by }),
  }),
] as const
