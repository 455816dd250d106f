/**
 * Notices: telling people over channels that something waits for them.
 *
 * Owns: what a notice says, the port that a channel keeps, how telling is recorded. Does not own: any channel (adapters), who registers them (runtime), what is waited for (approval.ts, interrupt.ts).
 * A channel is registered under a name and works as an activation of its own with one step: so it is told once over crashes, retried like every step, and holds up nobody (spec team R-16, C84).
 * A notice shows; it never decides. K4: `notice.` and `tell` are persistent format.
 */
import { failure, type ActivationId, type Json, type Outcome, type RunId } from '../core/index.ts'
import type { Context, Orchestration, StepIO } from '../engine/index.ts'
import type { ApprovalRequested, EscalationHit } from '../journal/index.ts'

/** What somebody is told. JSON. */
export interface Notice {
  readonly type: 'approval' | 'interrupt'
  /** Of the approval or the interrupt: decisions and answers name it. */
  readonly id: string
  readonly run: RunId
  /** Agents' names from the root to the one that asks. */
  readonly path: readonly string[]
  /** One line. */
  readonly title: string
  /** What is asked, for people. */
  readonly text: string
  /** The exact arguments, or the question. */
  readonly input: Json
  readonly risk?: ApprovalRequested['risk']
  readonly hits?: readonly EscalationHit[]
  /** Who may decide; absent: anybody. */
  readonly approvers?: readonly string[]
  readonly askedAt: number
  /** The deadline. */
  readonly until?: number
}

/** Somewhere people look. */
export interface Channel {
  /** Under which oversight names it. A letter or `_`, then up to 63 letters, digits, `_` or `-`. */
  readonly name: string
  /** Tells. `io.key` is the same for every try: hand it on, so that a repeated try is told once. Throws if it could not: a failure that may pass is tried again. */
  notify(notice: Notice, io: StepIO): void | Promise<void>
}

const prefix = 'notice.'

/** The channel that this agent stands for; undefined if it is none. */
export const channelOf = (agent: string): string | undefined => (agent.startsWith(prefix) ? agent.slice(prefix.length) : undefined)

/** A channel as what an engine runs. */
export function channelWork(channel: Channel): Orchestration {
  return {
    name: `${prefix}${channel.name}`,
    version: '1',
    run: async (ctx, notice): Promise<Outcome> => {
      const told = ctx.begin('tell', async (io) => {
        await channel.notify(notice as unknown as Notice, io)
        return null
      })
      return (await ctx.next(told)).outcome
    },
  }
}

/** Tells these channels, and returns at once: who is being told, by the activation that tells them. */
export function announce(ctx: Context, channels: readonly string[], notice: Notice): Map<ActivationId, string> {
  const open = new Map<ActivationId, string>()
  for (const channel of new Set(channels)) {
    const id = ctx.start(`${prefix}${channel}`, notice as unknown as Json, { purpose: 'notice' })
    open.set(id, channel)
  }
  return open
}

/** Waits for the end of a question, and notes meanwhile who was told. Whoever is still being told then is not told any more. */
export async function whileTelling(ctx: Context, question: string, id: string, telling: Map<ActivationId, string>): Promise<Outcome> {
  for (;;) {
    const arrival = await ctx.next((each) => each.id === question || telling.has(each.id as ActivationId))
    if (arrival.type === 'ask.settled') {
      for (const open of telling.keys()) ctx.stop(open, 'no longer needed')
      return arrival.outcome
    }
    if (arrival.type !== 'worker.settled') continue
    const channel = telling.get(arrival.id)!
    telling.delete(arrival.id)
    const { outcome } = arrival
    if (outcome.status === 'completed') ctx.emit({ type: 'notice.sent', channel, id })
    else ctx.emit({ type: 'notice.failed', channel, id, failure: whyNot(channel, outcome) })
  }
}

const whyNot = (channel: string, outcome: Exclude<Outcome, { status: 'completed' }>) =>
  outcome.status === 'failed'
    ? outcome.failure
    : failure('notice.failed', `the channel "${channel}" told nobody: ${outcome.status}`, 'transport')
