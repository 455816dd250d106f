/**
 * Replies to questions: decisions, answers, and what became of an effect in doubt, each as the runtime takes it.
 *
 * Owns: finding a question of a run, open or not; that the same reply of the same principal may come again. Does not
 * own: which reply wins, and what it means to the run (../../runtime).
 * Holds: K2: the first reply wins. A request that is sent again after a crash is answered as it was the first time.
 */
import {
  canonical,
  isObject,
  present,
  ReeveError,
  runOf,
  type ActivationId,
  type Json,
  type Outcome,
} from '@reeve/core'
import type { JournalEvent, Run } from '@reeve/runtime'
import { routeDoors, type ProtocolContext, type Role } from '@reeve/server'

/** A question of a run, open or not any more. */
export interface KnownQuestion {
  readonly id: string
  readonly kind: 'approval' | 'interrupt' | 'in-doubt'
  readonly activation: ActivationId
  readonly address: string
  /** When its answer was read, in milliseconds since 1970. Absent: it was not read yet. */
  readonly resolvedAt?: number
}

/** What a caller says to a question. */
export type Reply =
  | { readonly type: 'decision'; readonly decision: 'approve'; readonly comment?: string }
  | { readonly type: 'decision'; readonly decision: 'reject' | 'retry'; readonly comment?: string }
  | { readonly type: 'decision'; readonly decision: 'edit'; readonly input: Json; readonly comment?: string }
  | { readonly type: 'answer'; readonly value: Json }
  | { readonly type: 'happened'; readonly happened: boolean; readonly value?: Json }
  /** It will not be answered: an approval is rejected; without the answer to a question the run is cancelled. */
  | { readonly type: 'abandoned' }

const fits: Readonly<Record<Reply['type'], readonly KnownQuestion['kind'][]>> = {
  decision: ['approval'],
  answer: ['interrupt'],
  happened: ['in-doubt'],
  abandoned: ['approval', 'interrupt'],
}

/** The question of this id in a run and its child runs; undefined if the run has never asked it. */
export async function findQuestion(
  { runtime }: Pick<ProtocolContext, 'runtime'>,
  run: Run,
  id: string,
): Promise<KnownQuestion | undefined> {
  const { approvals, interrupts } = await run.view()
  for (const [kind, all] of [['approval', approvals] as const, ['interrupt', interrupts] as const]) {
    const found = all.find((each) => each.id === id)
    if (found === undefined) continue
    const { activation, address, resolvedAt } = found
    return { id, kind, activation, address, ...present({ resolvedAt }) }
  }
  const [doubt] = await runtime.questions({ run: run.id, id, kind: 'in-doubt' })
  if (doubt === undefined) return undefined
  const { activation, body } = doubt
  const address = isObject(body) && typeof body['address'] === 'string' ? body['address'] : doubt.address
  return { id, kind: 'in-doubt', activation, address }
}

/**
 * Says this to a question, as the principal. Resolves if it is the reply that counts, also where it was sent before.
 * Rejects with what the runtime says of a reply that may not be, or comes too late; with `interrupt.invalid` for one of
 * another kind.
 */
export async function reply(context: ProtocolContext, run: Run, known: KnownQuestion, given: Reply): Promise<void> {
  if (!fits[given.type].includes(known.kind))
    throw new ReeveError('interrupt.invalid', `${JSON.stringify(known.id)}: ${wanted[known.kind]}`, {
      hint: 'Nothing was decided.',
    })
  context.mustAllow(roleFor(known, given))
  if (known.resolvedAt === undefined) {
    try {
      return await send(context, run, known, given)
    } catch (thrown) {
      if (!isTooLate(thrown)) throw thrown
      if (!(await isSettled(context, run, known, given))) throw thrown
      return
    }
  }
  if (await isSettled(context, run, known, given)) return
  // it is closed: the runtime says why
  if (given.type === 'decision' || given.type === 'answer') return send(context, run, known, given)
  throw new ReeveError(
    known.kind === 'approval' ? 'approval.already-decided' : 'interrupt.already-answered',
    `${JSON.stringify(known.id)} is not open any more`,
    { hint: 'The first answer wins. Nothing was changed.' },
  )
}

const wanted: Readonly<Record<KnownQuestion['kind'], string>> = {
  approval: 'it is an approval, and takes a decision',
  interrupt: 'it is a question, and takes a value',
  'in-doubt': 'it is an effect in doubt, and takes whether that happened',
}

/** What the routes ask for that do the same. */
const roleFor = ({ kind }: KnownQuestion, { type }: Reply): Role =>
  routeDoors[
    kind === 'in-doubt'
      ? 'POST /questions/{id}/settle'
      : kind === 'approval'
        ? 'POST /approvals/{id}/decision'
        : type === 'abandoned'
          ? 'POST /runs/{run}/cancel'
          : 'POST /interrupts/{id}/answer'
  ].role

async function send(
  { runtime, principal: { name } }: ProtocolContext,
  run: Run,
  { id, kind }: KnownQuestion,
  given: Reply,
): Promise<void> {
  switch (given.type) {
    case 'decision': {
      const { type: _type, ...said } = given
      return runtime.decide({ ...said, approvalId: id, approver: name })
    }
    case 'answer':
      return runtime.answer({ interruptId: id, value: given.value, by: name })
    case 'happened':
      return runtime.settleDoubt({ id, happened: given.happened, by: name, ...present({ value: given.value }) })
    case 'abandoned':
      return kind === 'approval'
        ? runtime.decide({ approvalId: id, decision: 'reject', comment: abandoned, approver: name })
        : run.control.cancel(abandoned, name)
  }
}

const abandoned = 'abandoned without an answer'

const isTooLate = (thrown: unknown): boolean =>
  (
    [
      'approval.already-decided',
      'approval.unknown',
      'interrupt.already-answered',
      'interrupt.expired',
      'interrupt.unknown',
    ] as const
  ).some((code) => ReeveError.is(thrown, code))

/** Whether the reply that counts is this one, of this principal. Waits until the code that asked has read it. */
export async function isSettled(
  { runtime, principal, signal }: ProtocolContext,
  run: Run,
  known: KnownQuestion,
  given: Reply,
): Promise<boolean> {
  if (given.type === 'abandoned' && known.kind === 'interrupt') return (await run.view()).cancel?.by === principal.name
  const outcome = await settlementOf({ runtime, signal }, known)
  if (outcome?.status !== 'completed') return false
  if (given.type === 'answer') return outcome.by === principal.name && isEqual(outcome.output, given.value)
  const said = outcome.output
  if (!isObject(said) || said['approver'] !== principal.name) return false
  if (given.type === 'abandoned') return said['decision'] === 'reject' && said['comment'] === abandoned
  return (
    given.type === 'decision' &&
    said['decision'] === given.decision &&
    isEqual(said['input'] ?? null, given.decision === 'edit' ? given.input : null)
  )
}

const isEqual = (a: Json, b: Json): boolean => canonical(a) === canonical(b)

/**
 * How a question was settled, once the code that asked has read it. Undefined: that code has ended without it, or the
 * signal aborts.
 */
export async function settlementOf(
  { runtime, signal }: Pick<ProtocolContext, 'runtime' | 'signal'>,
  { activation, address }: KnownQuestion,
): Promise<Outcome | undefined> {
  for await (const recorded of runtime.handle(runOf(activation)).events({ signal })) {
    if (recorded.activation !== activation) continue
    const { event } = recorded
    if (event.type === 'activation.settled') return undefined
    if (isSettlement(event, address)) return 'outcome' in event ? event.outcome : undefined
  }
  return undefined
}

/** Whether this event of the activation that asked says that it has read the answer. */
export const isSettlement = (
  event: JournalEvent,
  address: string,
): event is Extract<JournalEvent, { type: 'ask.settled' | 'step.settled' | 'effect.cleared' }> =>
  (event.type === 'ask.settled' || event.type === 'step.settled' || event.type === 'effect.cleared') &&
  event.address === address
