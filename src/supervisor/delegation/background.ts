/**
 * Background: delegations that go on while their leader does something else, and how its model hears of their ends.
 *
 * Owns: what stands in the place of a result that is not there yet, putting the result there, when a leader that has nothing else to do is asked again.
 * Does not own: the work (attempts.ts), who may work in the background (dispatch.ts), the loop that asks (agent/loop.ts).
 * Holds: K3: an end that comes in only sets state; it is told before a turn, at a point that replay comes by again. K7: nobody is left behind: a leader that ends stops them.
 * The result of a call is told once, where the call stands: a prompt never shows a placeholder of what has ended, and never ends with an assistant's message.
 */
import { asText, type Outcome } from '../../core/index.ts'
import type { Background, CallResult, Desk } from '../../agent/index.ts'
import type { Attempts, Delegated } from './attempts.ts'
import type { BackgroundPlan } from './dispatch.ts'

/** A delegation that its leader does not wait for. */
interface Deferred {
  readonly entry: Delegated
  readonly placeholder: string
  readonly work: Promise<CallResult>
  /** What its leader is to be told. Undefined while it works. */
  result: CallResult | undefined
}

export class BackgroundWork implements Background {
  readonly #attempts: Attempts
  readonly #plan: BackgroundPlan
  /** What has not been told, in the order of the calls. */
  readonly #untold = new Set<Deferred>()
  /** How the leader ends before it is asked again. */
  #bail: Desk['ending']
  /** Why nothing more can come. */
  #thrown: { readonly why: unknown } | undefined
  #waiting: (() => void) | undefined

  constructor(attempts: Attempts, plan: BackgroundPlan = {}) {
    this.#attempts = attempts
    this.#plan = plan
  }

  /** Lets it work. What the call is answered with meanwhile. */
  defer(entry: Delegated, work: Promise<CallResult>): CallResult {
    const placeholder = `[${entry.label}: "${entry.worker}" works in the background; its result will stand here once it has ended]`
    const deferred: Deferred = { entry, placeholder, work, result: undefined }
    this.#untold.add(deferred)
    work.then(
      (result) => this.#ended(deferred, result),
      (thrown: unknown) => {
        this.#thrown ??= { why: thrown }
        this.#waiting?.()
      },
    )
    return { content: placeholder }
  }

  #ended(deferred: Deferred, result: CallResult): void {
    deferred.result = result
    const outcome = result.finish?.outcome
    if (outcome?.status === 'bailed') this.#bail ??= outcome
    this.#waiting?.()
  }

  /** Stops delegations under way by the name that a model gives them, and waits until those that nobody waits for have ended. What was stopped. */
  async stop(name: string, reason: string): Promise<readonly Delegated[]> {
    const found = this.#attempts.find(name)
    for (const entry of found) this.#attempts.stop(entry, reason)
    for (const { entry, work } of this.#untold) if (found.includes(entry)) await work
    return found
  }

  deliver(desk: Desk): void {
    const ended = [...this.#untold].filter(isEnded)
    if (this.#bail !== undefined) desk.ending = this.#bail
    if (ended.length === 0) return
    desk.note(`Ended since you were last asked: ${ended.map((each) => this.#told(desk, each)).join('; ')}.`)
  }

  /** Puts the result in the place of what was said for it. Says where it stands. */
  #told(desk: Desk, deferred: Ended): string {
    const { entry, result } = deferred
    this.#untold.delete(deferred)
    const name = `${entry.label} ("${entry.worker}", ${entry.outcome?.status ?? 'never begun'})`
    // a summary may stand where it was called
    return put(desk, deferred) ? `${name}, its result stands where you called it` : `${name}: ${asText(result.content)}`
  }

  async more(): Promise<boolean> {
    const { react = 'each', whenDone = 'wait' } = this.#plan
    if (this.#bail !== undefined) return true
    if (whenDone === 'stop') return this.#leave()
    while (this.#untold.size > 0) {
      const ended = [...this.#untold].filter(isEnded).length
      if (this.#bail !== undefined || ended === this.#untold.size || (react === 'each' && ended > 0)) return true
      await this.#news()
    }
    return false
  }

  async rest(): Promise<void> {
    if (this.#plan.whenDone === 'stop') return
    while (this.#bail === undefined && ![...this.#untold].every(isEnded)) await this.#news()
  }

  async end(outcome: Outcome, desk: Desk): Promise<Outcome> {
    const answered = outcome.status === 'completed'
    if (!answered || this.#plan.whenDone === 'stop') this.#stopAll()
    await this.#allEnded()
    // its model is not asked again; those who come after it are shown its conversation
    for (const each of this.#untold) if (isEnded(each)) put(desk, each)
    return answered ? (this.#bail ?? outcome) : outcome
  }

  /** Stops what is still at work, and waits until it has ended. What ended before is told. */
  async #leave(): Promise<boolean> {
    if ([...this.#untold].some(isEnded)) return true
    this.#stopAll()
    await this.#allEnded()
    return false
  }

  #stopAll(): void {
    for (const { entry } of this.#untold)
      for (const each of this.#attempts.find(entry.label)) this.#attempts.stop(each, 'its leader is done')
  }

  async #allEnded(): Promise<void> {
    while (![...this.#untold].every(isEnded)) await this.#news()
  }

  /** Resolves when one has ended; rejects if the leader has to leave. */
  async #news(): Promise<void> {
    if (this.#thrown === undefined) await new Promise<void>((resolve) => (this.#waiting = resolve))
    this.#waiting = undefined
    if (this.#thrown !== undefined) throw this.#thrown.why
  }

  lines(): readonly string[] {
    return [...this.#untold].map(({ entry }) => `${entry.label} "${entry.worker}": ${stateTold(entry)}`)
  }
}

type Ended = Deferred & { readonly result: CallResult }

const isEnded = (deferred: Deferred): deferred is Ended => deferred.result !== undefined

/** Puts the result where its call stands. False: the model is not shown that call any more. */
function put(desk: Desk, { entry, placeholder, result }: Ended): boolean {
  const message = desk.whole.findLast((each) => each.role === 'tool' && each.callId === entry.callId && each.content === placeholder)
  if (message?.role !== 'tool') return false
  const { content, isError } = result
  return desk.replace(message, { ...message, content, ...(isError === true ? { isError } : undefined) })
}

/** Where a delegation stands, in words. */
const stateTold = ({ state }: Delegated): string => (state === 'waiting' ? 'waiting for a human' : state)
