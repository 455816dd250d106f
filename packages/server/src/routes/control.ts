/** Routes of control: what an operator does to a run. The name under which it is recorded is the principal's. */

import type {
  CompleteByHand,
  FinishByHand,
  HandBack,
  PauseOptions,
  ResumeOptions,
  Run,
  StopDelegation,
  TakenOver,
  TakeOverOptions,
} from '@reeve/runtime'
import { carriedOut } from '../command-wait.ts'
import { answered, ownRun, route, type Route } from '../route.ts'
import { amount, choice, flag, json, jsonObject, name, nothing, object, optional, text, view } from '../wire-schema.ts'

type ControlView = Awaited<ReturnType<Run['control']['state']>>
type ContextView = Awaited<ReturnType<Run['control']['context']>>

interface CancelBody {
  readonly reason?: string
  readonly undo?: boolean
}

const reason = optional(text({ maxLength: 10_000 }))
const id = optional(name({ description: 'Makes the command idempotent.' }))
const within = optional(amount({ minimum: 0, description: 'Milliseconds after which steps in flight are stopped.' }))
const output = json({ description: 'The result, as if the agent had given it.' })

const pauseBody = object<Omit<PauseOptions, 'by'>>('PauseBody', {
  at: optional(choice(['next', 'now', 'after-model', 'after-tools'])),
  within,
  reason,
  id,
})
const resumeBody = object<Omit<ResumeOptions, 'by'>>('ResumeBody', { reason, id })
const cancelBody = object<CancelBody>('CancelBody', {
  reason,
  undo: optional(flag({ description: 'False: what was done stays. Default true.' })),
})
const takeOverBody = object<Omit<TakeOverOptions, 'by' | 'signal'>>('TakeOverBody', {
  at: optional(choice(['next', 'now'])),
  within,
  reason,
  id,
})
const handBackBody = object<Omit<HandBack, 'by' | 'signal'>>('HandBackBody', {
  plan: optional(jsonObject<NonNullable<HandBack['plan']>>({ description: 'An edit of the plan.' })),
  team: optional(name()),
  reason,
  id,
})
const completeBody = object<Omit<CompleteByHand, 'by' | 'signal'>>('CompleteBody', {
  task: optional(name()),
  delegation: optional(name()),
  output,
  reason,
})
const finishBody = object<Omit<FinishByHand, 'by'>>('FinishBody', { output, reason })
const stopBody = object<Omit<StopDelegation, 'by'>>('StopBody', { delegation: name(), reason })

export const controlRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/runs/{run}/control',
    summary: 'Whether the run is paused or taken over, and every command so far.',
    answer: view<ControlView>('ControlState', {}),
    handle: async (context, { path }) => (await ownRun(context, path.run)).control.state(),
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/takeover-context',
    summary: 'The document of a takeover, as it would be now. Nothing is taken over.',
    answer: view<ContextView>('TakeoverContext', {}),
    handle: async (context, { path }) => (await ownRun(context, path.run)).control.context(),
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/pause',
    summary: 'Pause the run: nothing new begins until it is resumed.',
    body: pauseBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body }) {
      await (await ownRun(context, path.run)).control.pause({ ...body, by: context.principal.name })
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/resume',
    summary: 'Resume a paused run.',
    body: resumeBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body }) {
      await (await ownRun(context, path.run)).control.resume({ ...body, by: context.principal.name })
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/cancel',
    summary: 'Cancel the run and all its workers. Cannot be undone.',
    body: cancelBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body: { reason: why, ...how } }) {
      await (await ownRun(context, path.run)).control.cancel(why, context.principal.name, how)
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/take-over',
    summary:
      'Take the run over: what is in flight ends, nothing new begins. 202: recorded, no process has read it yet.',
    body: takeOverBody,
    answer: view<TakenOver>('TakenOver', {}),
    statuses: [202],
    async handle(context, { path, body }) {
      const { control } = await ownRun(context, path.run)
      const by = context.principal.name
      return carriedOut(context, (signal) => control.takeOver({ ...body, by, signal }))
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/hand-back',
    summary: 'Hand a run back, with an edited plan if that is wanted. 202: recorded, no process has read it yet.',
    body: handBackBody,
    answer: nothing,
    statuses: [202, 204],
    async handle(context, { path, body }) {
      const { control } = await ownRun(context, path.run)
      const by = context.principal.name
      return (await carriedOut(context, (signal) => control.handBack({ ...body, by, signal }))) ?? answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/complete',
    summary: 'Finish one step by hand: a worker, or a task of a planned team. 202: recorded, not decided yet.',
    body: completeBody,
    answer: nothing,
    statuses: [202, 204],
    async handle(context, { path, body }) {
      const { control } = await ownRun(context, path.run)
      const by = context.principal.name
      return (await carriedOut(context, (signal) => control.complete({ ...body, by, signal }))) ?? answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/finish',
    summary: 'End a run that was taken over, with this output.',
    body: finishBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body }) {
      await (await ownRun(context, path.run)).control.finish({ ...body, by: context.principal.name })
      return answered(204)
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/stop',
    summary: 'Stop one delegation. The run goes on, and its leader is told.',
    body: stopBody,
    answer: nothing,
    statuses: [204],
    async handle(context, { path, body }) {
      await (await ownRun(context, path.run)).control.stop({ ...body, by: context.principal.name })
      return answered(204)
    },
  }),
]
