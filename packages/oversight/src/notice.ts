/**
 * Notices: notify people over channels that a request waits for them.
 *
 * Owns: the content of a notice, the port of channels, the record of notifications, the checks of channels. Does not
 * own: channels (adapters), their registration (runtime), requests (approval.ts, interrupt.ts).
 * Holds: a channel works as an activation of its own with one step. So it notifies once over crashes, is retried like
 * every step, and delays no other work (spec team R-16, C84). Views, delegations and limits ignore it; a pause holds it
 * back like every effect. A notice never decides. K4: the prefix of its name (journal) and `tell` are persistent
 * format.
 */
import type { Oversight } from '@reeve/edge'
import {
  described,
  duration,
  failure,
  FailureError,
  failureFrom,
  isName,
  isObject,
  jsonProblem,
  listOf,
  nameCheck,
  nearest,
  openObject,
  required,
  twiceIn,
  unchecked,
  wholeNumber,
  type ActivationId,
  type Check,
  type Json,
  type JsonObject,
  type Outcome,
  type RunId,
} from '@reeve/core'
import type { Context, Orchestration, StepIO } from '@reeve/engine'
import { isNotice, noticePrefix, type ApprovalRequested, type EscalationHit } from '@reeve/journal'

/**
 * The content of a notification. JSON. It contains text of models unchanged: a channel of your own must escape it with
 * `visible` and `visibleJson` of `reeve/notify`.
 */
export interface Notice {
  readonly type: 'approval' | 'interrupt'
  /** The id of the approval or interrupt, needed to decide or answer. */
  readonly id: string
  readonly run: RunId
  /** The names of the agents from the root to the one that asks. */
  readonly path: readonly string[]
  /** One line. */
  readonly title: string
  /** The request in words. */
  readonly text: string
  /** The exact arguments, or the question. */
  readonly input: Json
  /** The hash of the arguments of an approval: `decide` refuses a decision that names another one. */
  readonly inputHash?: string
  readonly risk?: ApprovalRequested['risk']
  /** The kind of subject of an approval, if not a tool call. */
  readonly kind?: ApprovalRequested['kind']
  readonly task?: string
  readonly description?: string
  /** Further information for the approver, such as the report to publish. */
  readonly context?: Json
  /** The delegation and brief of a worker that asks. */
  readonly work?: { readonly delegation?: string; readonly brief?: string }
  /** The allowed decisions. Absent: all. */
  readonly options?: ApprovalRequested['options']
  /** The id of the earlier request. */
  readonly follows?: string
  /** The first approver, who may not approve again. */
  readonly excludes?: readonly string[]
  readonly hits?: readonly EscalationHit[]
  /** The approvers; absent: any. */
  readonly approvers?: readonly string[]
  readonly askedAt: number
  /** The deadline. */
  readonly until?: number
}

/** A way to notify people. */
export interface Channel {
  /** The name that oversight uses. A letter or `_`, then up to 63 letters, digits, `_` or `-`. */
  readonly name: string
  /** Milliseconds for one attempt. Default 30,000. */
  readonly timeoutMs?: number
  /** The maximum number of attempts: after 1 s, 2 s, 4 s and so on, at most 5 minutes apart. Default 3. */
  readonly attempts?: number
  /**
   * Sends a notification. `io.key` is the same for every attempt, also after a crash: pass it on, so that a repeated
   * attempt notifies once. `io.signal` aborts when the request is decided or the attempt takes too long. Throw if it
   * failed: a retryable `FailureError`, and any other error, is retried. A JSON object that it returns, of at most 2,000
   * characters, is recorded as `message` of `notice.sent`: by that the channel finds its message again.
   */
  notify(notice: Notice, io: StepIO): void | JsonObject | Promise<void | JsonObject>
}

/** How long that may be which a channel says of its message. Characters of JSON. */
const longestMessage = 2_000

const attemptMs = 30_000
const attemptsMost = 3
/** The longest wait between two attempts. A receiver that was away for long is notified soon after it is back. */
const longestWaitMs = 5 * 60_000

/** The channel of an activation's name; undefined if it is not a notice. */
export const channelOf = (agent: string): string | undefined =>
  isNotice(agent) ? agent.slice(noticePrefix.length) : undefined

/** A channel as code for an engine. */
export const channelWork = (channel: Channel): Orchestration => notifierOf(channel.name, channel)

/** The code for a channel that is not registered here: it records the failure, and the request stays open. */
export const missingChannel = (name: string): Orchestration => notifierOf(name, undefined)

function notifierOf(name: string, channel: Channel | undefined): Orchestration {
  const { timeoutMs = attemptMs, attempts = attemptsMost } = channel ?? {}
  return {
    name: noticePrefix + name,
    version: '1',
    run: async (ctx, notice): Promise<Outcome> => {
      const isTrial = ctx.place.caller.trial === true
      const told = ctx.begin(
        'tell',
        (io) => (isTrial ? notSent(name) : tell(name, channel, notice as unknown as Notice, io)),
        {
          timeoutMs,
          retry: { attempts, maxBackoffMs: longestWaitMs },
        },
      )
      return (await ctx.next(told)).outcome
    },
  }
}

/** The request of a trial is for the operator who tries, and stays open. */
const notSent = (name: string): never => {
  throw new FailureError(failure('notice.failed', `nothing is sent over "${name}": the run is a trial`, 'policy'))
}

async function tell(name: string, channel: Channel | undefined, notice: Notice, io: StepIO): Promise<Json> {
  if (channel === undefined)
    throw new FailureError(
      failure('notice.failed', `the channel "${name}" is not registered`, 'validation', { hint: registerIt }),
    )
  try {
    return messageIn(await channel.notify(notice, io))
  } catch (thrown) {
    throw new FailureError(failureFrom(thrown, 'notice.failed'), thrown)
  }
}

/** What a channel says of its message, if that can be recorded; anything else that it returns is nothing. */
function messageIn(given: unknown): Json {
  if (!isObject(given) || jsonProblem(given) !== undefined) return null
  return JSON.stringify(given).length <= longestMessage ? given : null
}

const registerIt = 'Register it: createRuntime({ channels: [...] }).'

/** Starts the notifications and returns at once: the channels by their activation. */
export function announce(ctx: Context, channels: readonly string[], notice: Notice): Map<ActivationId, string> {
  const open = new Map<ActivationId, string>()
  for (const channel of new Set(channels)) {
    const id = ctx.start(noticePrefix + channel, notice as unknown as Json, { purpose: 'notice' })
    open.set(id, channel)
  }
  return open
}

/**
 * Waits for the end of a request, and records meanwhile which channels were notified. Stops the remaining ones then.
 */
export async function settledWithNotices(
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
    if (outcome.status === 'completed') {
      const { output } = outcome
      ctx.emit({ type: 'notice.sent', channel, id, ...(isObject(output) ? { message: output } : undefined) })
    } else ctx.emit({ type: 'notice.failed', channel, id, failure: whyNot(channel, outcome) })
  }
}

const whyNot = (channel: string, outcome: Exclude<Outcome, { status: 'completed' }>) =>
  outcome.status === 'failed'
    ? outcome.failure
    : failure('notice.failed', `the channel "${channel}" did not notify: ${outcome.status}`, 'transport')

const channelCheck = openObject<Channel>({
  name: required(nameCheck),
  timeoutMs: duration,
  attempts: wholeNumber(1),
  notify: unchecked,
})
const channelList = listOf(
  (given, where) =>
    typeof (given as Partial<Channel> | null)?.notify === 'function'
      ? channelCheck(given, where)
      : [`${where} is ${described(given)}, expected a channel: { name, notify }`],
  'channels',
)

/** The check of channels. */
export const channelsCheck: Check = (given, where) => [
  ...channelList(given, where),
  ...twiceIn(
    (Array.isArray(given) ? given : []).map((each) => (each as Partial<Channel> | null)?.name).filter(isName),
    where,
    'channels',
  ),
]

/** The channels that are named but not registered, one sentence each. */
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
