/**
 * Permission: whether policies, and if they say so a human, grant a staff request (spec team R-8, R-16).
 *
 * Owns: asking the one, then the other; how a no reads. Does not own: the policies' question (../policy.ts), the approval
 * (../../oversight), whether there is room (recruitment.ts).
 * Holds: K4: a scope for each request, so any number may be undecided at once. K6: no question is asked twice, also
 * over a crash.
 */
import { isObject, present, type JsonObject } from '@reeve/core'
import { defaultApprovalTimeoutMs, type Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { escalateToBegin, goodUntil, refusalOf, reviewNote } from '@reeve/oversight'
import type { TaskEntry } from '../state/task-graph.ts'
import type { Scheduler } from '../schedule/scheduler.ts'
import { decide, type PolicyQuestion, type TeamPolicy } from '../policy.ts'

/** What is asked: all that a policy and an approver see of a request. */
export interface PermissionRequest extends Omit<PolicyQuestion, 'run' | 'user' | 'teamSize'> {
  readonly details: JsonObject
}

/** What came of it. `seen`: a human has approved it, and `edited` is what they have changed. */
export type Permission =
  | {
      readonly ok: true
      readonly seen?: true
      /** Until when that is good. */ readonly until?: number
      readonly edited?: JsonObject
      /** What the human has changed, or said, in a sentence for who asked. */
      readonly note?: string
    }
  | { readonly ok: false; readonly reason: 'policy' | 'approval'; readonly message: string }

/** Who asks, the watch on workers, and the oversight. */
export interface PermissionContext {
  readonly entry: TaskEntry | undefined
  readonly work: Pick<Scheduler, 'activationOf' | 'watch'>
  readonly oversight: Oversight | undefined
}

/**
 * Asks a human. From when `asking` is called the member who waits for the answer, if one does, waits for a human: its
 * clock stands, and it holds no slot.
 */
export async function waitingFor<T>(
  member: string | undefined,
  work: PermissionContext['work'],
  ask: (asking: () => void) => Promise<T>,
): Promise<T> {
  const at = member === undefined ? undefined : work.activationOf(member)
  let waits = false
  const said = await ask(() => {
    waits = true
    if (at !== undefined) work.watch.human(at, true)
  })
  if (at !== undefined && waits) work.watch.human(at, false)
  return said
}

/**
 * Asks. Nothing is recorded where no policy is set and no human is in command: that one is asked whatever policies
 * allow. While a human is asked, the member whose request it is waits for one: its clock stands, and it holds no slot.
 * Rejects only with `Cancelled`.
 */
export async function permission(
  ctx: Context,
  policies: readonly (TeamPolicy | undefined)[],
  request: PermissionRequest,
  teamSize: number,
  requester: PermissionContext,
): Promise<Permission> {
  const { run, caller } = ctx.place
  const { user } = caller
  const question: PolicyQuestion = { ...request, run, ...present({ user }), teamSize }
  const { verdict, reason } = await decide(ctx, policies, question)
  if (verdict === 'deny') return { ok: false, reason: 'policy', message: reason ?? 'the policy does not allow it' }
  if (verdict === 'allow' && requester.oversight === undefined) return { ok: true }
  const { action, actor, role, description, details } = request
  const input = {
    ...details,
    ...present({ role, description }),
  }
  const why = reason ?? `"${actor}" asks to ${action}, and the policy of "${ctx.place.agent}" leaves that to a human`
  const about = {
    tool: action,
    toolVersion: ctx.place.version,
    input,
    ...(action === 'recruit' ? { kind: action } : undefined),
  }
  const asks = verdict === 'ask' ? { always: true } : {}
  const said = await waitingFor(requester.entry?.member, requester.work, (asking) =>
    escalateToBegin(ctx, requester.oversight, { subject: 'action', name: action }, asks, {
      ...about,
      asking,
      defaultTimeoutMs: defaultApprovalTimeoutMs,
      ...(verdict === 'ask' ? { reason: why } : undefined),
    }),
  )
  if (said === undefined) return { ok: true }
  if (said.approved)
    return {
      ok: true,
      seen: true,
      ...goodUntil(said),
      ...(said.edited && isObject(said.input) ? { edited: said.input } : undefined),
      ...present({ note: reviewNote({ what: 'this request', ran: said.input }, said) }),
    }
  return { ok: false, reason: 'approval', message: refusalOf({ kind: 'wish' }, said) }
}
