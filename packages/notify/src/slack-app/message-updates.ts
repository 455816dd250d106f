/**
 * Messages that follow their approvals: once one is decided or over, wherever that was, its message in Slack says so and
 * has no buttons.
 *
 * Owns: which messages are open, reading the feed of all runs, trying again. Does not own: the message
 * (slack-message.ts), the press of a button (slack-app.ts).
 * Holds: the journal says where a message is (`notice.sent`), so any server may follow, and several may: an update says
 * the same again. What was decided while no server followed is updated at the next press of its button.
 */
import { FailureError, isObject, pause, runOf, systemClock, type ActivationId, type JsonObject } from '@reeve/core'
import { backoff } from '@reeve/engine'
import type { Recorded, Run, Runtime } from '@reeve/runtime'
import type { SlackApi } from './slack-api.ts'
import { noticeOf, settledMessage, type SlackEnding, type SlackPlace } from './slack-message.ts'

/** What following needs of the app. */
export interface FollowedChannel {
  /** The name of the channel in `notice.sent`. */
  readonly name: string
  readonly api: SlackApi
  readonly timeoutMs: number
  readonly addressOf: (notice: ReturnType<typeof noticeOf>) => string | undefined
  readonly onError: (error: unknown) => void
}

/** A message with buttons. */
interface OpenMessage {
  readonly run: Run
  readonly activation: ActivationId
  readonly place: SlackPlace
}

/** How many open approvals are looked up when following begins. */
const mostOpen = 1_000
/** Events of a run that are read at once. */
const pageSize = 1_000
/** Attempts of one update, at most 5 minutes apart. */
const attempts = 6
/** After the feed could not be read. Milliseconds. */
const againMs = 5_000

/** The place in what `notify` of the channel has returned. */
export function placeIn(message: unknown): SlackPlace | undefined {
  if (!isObject(message)) return undefined
  const { channel, ts } = message
  return typeof channel === 'string' && typeof ts === 'string' ? { channel, ts } : undefined
}

/** Follows until the signal aborts. */
export async function followMessages(channel: FollowedChannel, runtime: Runtime, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await new MessageUpdates(channel, runtime, signal).follow()
    } catch (thrown) {
      if (signal.aborted) return
      channel.onError(thrown)
      await pause(againMs, signal).catch(() => undefined)
    }
  }
}

class MessageUpdates {
  readonly #channel: FollowedChannel
  readonly #runtime: Runtime
  readonly #signal: AbortSignal
  readonly #open = new Map<string, OpenMessage>()
  /** One update at a time: Slack bounds how many an app makes. */
  #updates: Promise<void> = Promise.resolve()

  constructor(channel: FollowedChannel, runtime: Runtime, signal: AbortSignal) {
    this.#channel = channel
    this.#runtime = runtime
    this.#signal = signal
  }

  async follow(): Promise<void> {
    let from = 0
    const before = this.#runtime.feed({ from: 'now', to: 'now', onBegin: (id) => (from = id), signal: this.#signal })
    for await (const _none of before);
    for (const { run } of await this.#runtime.questions({ kind: 'approval', limit: mostOpen })) await this.#readOf(run)
    for await (const recorded of this.#runtime.feed({ from, signal: this.#signal })) this.#note(recorded)
  }

  /** The messages of a run whose journal goes on. */
  async #readOf(id: string): Promise<void> {
    const run = this.#runtime.handle(id)
    for (let from = 0; ;) {
      const page = await run.journal({ from, limit: pageSize })
      for (const recorded of page) this.#note(recorded)
      if (page.length < pageSize) return
      from = page.at(-1)!.position
    }
  }

  #note({ event, activation }: Recorded): void {
    if (event.type === 'notice.sent' && event.channel === this.#channel.name) {
      const place = placeIn(event.message)
      if (place !== undefined)
        this.#open.set(event.id, { run: this.#runtime.handle(runOf(activation)), activation, place })
    } else if (event.type === 'approval.resolved') {
      const { resolution, approver, comment } = event
      this.#settle(event.id, {
        type: 'resolved',
        resolution,
        ...(approver === undefined ? undefined : { approver }),
        ...(comment === undefined ? undefined : { comment }),
      })
    } else if (event.type === 'activation.settled')
      for (const [id, open] of this.#open) if (open.activation === activation) this.#settle(id, { type: 'over' })
  }

  #settle(id: string, ending: SlackEnding): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    this.#updates = this.#updates.then(() =>
      this.#update(id, open, ending).catch((thrown: unknown) => {
        // the server closes: the next one that follows, or a press, updates it
        if (!this.#signal.aborted) this.#channel.onError(thrown)
      }),
    )
  }

  async #update(id: string, { run, place }: OpenMessage, ending: SlackEnding): Promise<void> {
    const asked = (await run.view()).approvals.find((each) => each.id === id)
    if (asked === undefined) return
    const notice = noticeOf(asked, run.id)
    const at = asked.resolvedAt ?? systemClock.now()
    const body: JsonObject = { ...place, ...settledMessage(notice, ending, at, this.#channel.addressOf(notice)) }
    await updateMessage(this.#channel, body, this.#signal)
  }
}

/** Updates a message; tries again while that may help. Rejects with the last failure. */
export async function updateMessage(
  { api, timeoutMs }: Pick<FollowedChannel, 'api' | 'timeoutMs'>,
  body: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await api('chat.update', body, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))
      return
    } catch (thrown) {
      signal.throwIfAborted()
      const failed = thrown instanceof FailureError ? thrown.failure : undefined
      if (attempt >= attempts || failed?.retryable === false) throw thrown
      await pause(backoff({ attempts, backoffMs: 500, maxBackoffMs: 300_000 }, attempt, failed?.retryAfterMs), signal)
    }
  }
}
