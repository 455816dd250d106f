/**
 * Notices: telling people over channels that something waits for them.
 *
 * Owns: what a notice says, the port that a channel keeps, how telling is recorded, what is wrong with channels. Does
 * not own: any channel (adapters), who registers them (runtime), what is waited for (approval.ts, interrupt.ts). A
 * channel is registered under a name and works as an activation of its own with one step: so it is told once over
 * crashes, tried again like every step, and holds up nobody (spec team R-16, C84). It is nobody's worker: views,
 * delegations and limits do not know it. A pause holds it back like every effect. A notice shows; it never decides. K4:
 * the prefix of the name (journal) and `tell` are persistent format.
 */
import {
  described,
  failure,
  FailureError,
  failureFrom,
  nearest,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
} from '../core/index.ts'
import type { Oversight } from '../edge/index.ts'
import type { Context, Orchestration, StepIO } from '../engine/index.ts'
import { isNotice, noticePrefix, type ApprovalRequested, type EscalationHit } from '../journal/index.ts'

/**
 * What somebody is told. JSON. It holds a model's words as they are: a channel of your own shows them with `visible`
 * and `visibleJson` of `reeve/notify`.
 */
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
  /** What an approval is about, if not a call of a tool; of a planned team the task. */
  readonly kind?: ApprovalRequested['kind']
  readonly task?: string
  readonly description?: string
  /** What whoever decides may want to see: the report that is to be published. */
  readonly context?: Json
  /** Of whoever asks, where it works for a leader: what its leader calls this delegation, and its brief. */
  readonly work?: { readonly delegation?: string; readonly brief?: string }
  /** What may be decided. Absent: all of it. */
  readonly options?: ApprovalRequested['options']
  /** The approval before this one. */
  readonly follows?: string
  /** Who may not decide: they have approved it already. */
  readonly excludes?: readonly string[]
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
  /** Milliseconds for one try. Default 30 seconds. */
  readonly timeoutMs?: number
  /** How often it is tried. Default 3. */
  readonly attempts?: number
  /**
   * Tells. `io.key` is the same for every try, also after a crash: hand it on, so that a repeated try is told once.
   * `io.signal` is aborted when nobody has to be told any more, or the try takes too long. Throws if it could not: what
   * a `FailureError` calls retryable, and whatever else is thrown, is tried again.
   */
  notify(notice: Notice, io: StepIO): void | Promise<void>
}

const attemptMs = 30_000
const attemptsMost = 3

/** The channel that this name of an activation stands for; undefined if it is none. */
export const channelOf = (agent: string): string | undefined =>
  isNotice(agent) ? agent.slice(noticePrefix.length) : undefined

/** A channel as what an engine runs. */
export const channelWork = (channel: Channel): Orchestration => telling(channel.name, channel)

/**
 * One that nobody has registered here, as what an engine runs: it tells nobody, and says so; whoever waits goes on
 * waiting.
 */
export const missingChannel = (name: string): Orchestration => telling(name, undefined)

function telling(name: string, channel: Channel | undefined): Orchestration {
  const { timeoutMs = attemptMs, attempts = attemptsMost } = channel ?? {}
  return {
    name: noticePrefix + name,
    version: '1',
    run: async (ctx, notice): Promise<Outcome> => {
      const told = ctx.begin('tell', (io) => tell(name, channel, notice as unknown as Notice, io), {
        timeoutMs,
        retry: { attempts },
      })
      return (await ctx.next(told)).outcome
    },
  }
}

async function tell(name: string, channel: Channel | undefined, notice: Notice, io: StepIO): Promise<null> {
  if (channel === undefined)
    throw new FailureError(
      failure('notice.failed', `there is no channel "${name}" here`, 'validation', { hint: registerIt }),
    )
  try {
    await channel.notify(notice, io)
  } catch (thrown) {
    throw new FailureError(failureFrom(thrown, 'notice.failed'), thrown)
  }
  return null
}

const registerIt = 'Register it: createRuntime({ channels: [...] }).'

/** Tells these channels, and returns at once: who is being told, by the activation that tells them. */
export function announce(ctx: Context, channels: readonly string[], notice: Notice): Map<ActivationId, string> {
  const open = new Map<ActivationId, string>()
  for (const channel of new Set(channels)) {
    const id = ctx.start(noticePrefix + channel, notice as unknown as Json, { purpose: 'notice' })
    open.set(id, channel)
  }
  return open
}

/**
 * Waits for the end of a question, and notes meanwhile who was told. Whoever is still being told then is not told any
 * more.
 */
export async function whileTelling(
  ctx: Context,
  question: string,
  id: string,
  open: Map<ActivationId, string>,
): Promise<Outcome> {
  for (;;) {
    const arrival = await ctx.next((each) => each.id === question || open.has(each.id as ActivationId))
    if (arrival.type === 'ask.settled') {
      for (const still of open.keys()) ctx.stop(still, 'no longer needed')
      return arrival.outcome
    }
    if (arrival.type !== 'worker.settled') continue
    const channel = open.get(arrival.id)!
    open.delete(arrival.id)
    const { outcome } = arrival
    if (outcome.status === 'completed') ctx.emit({ type: 'notice.sent', channel, id })
    else ctx.emit({ type: 'notice.failed', channel, id, failure: whyNot(channel, outcome) })
  }
}

const whyNot = (channel: string, outcome: Exclude<Outcome, { status: 'completed' }>) =>
  outcome.status === 'failed'
    ? outcome.failure
    : failure('notice.failed', `the channel "${channel}" told nobody: ${outcome.status}`, 'transport')

const identifier = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** What is wrong with given channels, one sentence each; empty if nothing. */
export function channelProblems(given: unknown, where: string): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) return [`${where}: channels is ${described(given)}, expected a list of channels`]
  const names = new Set<unknown>()
  return (given as readonly unknown[]).flatMap((each, i) => {
    const { name, notify, timeoutMs, attempts } = (typeof each === 'object' && each !== null ? each : {}) as Partial<
      Record<string, unknown>
    >
    const at = `${where}: channels[${i}]`
    if (typeof notify !== 'function') return [`${at} is ${described(each)}, expected a channel: { name, notify }`]
    const problems: string[] = []
    if (typeof name !== 'string' || !identifier.test(name))
      problems.push(
        `${at}: the name is ${described(name)}, expected a letter or "_", then up to 63 letters, digits, "_" or "-"`,
      )
    else if (names.has(name)) problems.push(`${at}: two channels are called "${name}"`)
    names.add(name)
    if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && (timeoutMs as number) > 0))
      problems.push(`${at}: timeoutMs is ${described(timeoutMs)}, expected milliseconds above 0`)
    if (attempts !== undefined && !(Number.isInteger(attempts) && (attempts as number) >= 1))
      problems.push(`${at}: attempts is ${described(attempts)}, expected a whole number of at least 1`)
    return problems
  })
}

/** Which channels are named that nobody has registered, one sentence each; empty if none. */
export function unregistered(
  oversight: Oversight | undefined,
  channels: readonly string[],
  where: string,
  option = 'oversight.approval.notify',
): string[] {
  const notify = oversight?.approval?.notify
  if (!Array.isArray(notify)) return []
  return [...new Set(notify as readonly string[])]
    .filter((name) => !channels.includes(name))
    .map((name) => {
      const meant = nearest(name, channels)
      return `${where}: ${option} names the channel "${name}", which is not registered${meant === undefined ? '' : `: did you mean "${meant}"?`}`
    })
}
