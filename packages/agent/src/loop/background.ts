/**
 * Background: delegations and calls of tools that continue while the model agent does something else, and how its model
 * learns of their ends.
 *
 * Owns: the extension of the turn loop, the placeholder of a pending result, replacing it, when an idle model agent is
 * called again. Does not own: the work (tool-gate.ts, ../../supervisor/delegation), what may work in the background
 * (the tool, ../../supervisor/delegation/dispatch.ts), the loop (turn-loop.ts).
 * Holds: K3: an arriving end only sets state; the model is told before a turn, at a point that replay repeats. K7: no
 * work is left behind: a model agent that ends stops it. A result is told once, in the place of its call. So a prompt
 * never shows the placeholder of ended work, and never ends with an assistant's message.
 */
import { asText, fileLabel, present, withLines, withNote, type Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import type { Background } from '../tool/binding.ts'
import type { CallResult, DeferrableWork } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Extension } from '../extensions/extension.ts'
import type { TurnBudget } from '../conversation/turn-budget.ts'

/** When an idle model agent is called again, and what happens to pending work once it has its answer. */
export interface BackgroundRules {
  readonly react?: 'each' | 'all'
  readonly whenDone?: 'wait' | 'stop'
}

/** Work that its model agent does not wait for. */
interface DeferredWork {
  readonly what: DeferrableWork
  readonly placeholder: string
  readonly work: Promise<CallResult>
  /** The result to tell. Undefined while it works. */
  result: CallResult | undefined
}

export class BackgroundWork implements Background {
  readonly #rules: BackgroundRules
  /** Work whose end was not told, in the order of the calls. */
  readonly #pending = new Set<DeferredWork>()
  /** How its model agent ends instead of being called again. */
  #ending: ConversationState['ending']
  /** Why no more ends can arrive. */
  #error: { readonly why: unknown } | undefined
  #wake: (() => void) | undefined
  /** The number of tool calls so far. */
  #calls = 0

  constructor(rules: BackgroundRules = {}) {
    this.#rules = rules
  }

  defer(what: DeferrableWork, work: Promise<CallResult>): CallResult {
    const placeholder = `[${what.label}: "${what.who}" works in the background; its result will stand here once it has ended]`
    const deferred: DeferredWork = { what, placeholder, work, result: undefined }
    this.#pending.add(deferred)
    work.then(
      (result) => this.#settle(deferred, result),
      (thrown: unknown) => {
        this.#error ??= { why: thrown }
        this.#wake?.()
      },
    )
    return { content: placeholder, pending: what.label }
  }

  deferCall(ctx: Context, call: ToolCall, work: Promise<CallResult>, isWrapped: boolean): CallResult {
    const label = `t${++this.#calls}`
    let how: string | undefined
    const ended = work.then((result) => {
      const { content, isError, files } = result
      how = isError === true ? 'failed' : 'completed'
      if (isWrapped)
        ctx.emit({
          type: 'result.told',
          callId: call.id,
          content,
          ...(isError === true ? { isError } : undefined),
          ...present({ files }),
        })
      return result
    })
    ctx.emit({ type: 'fact.noted', name: 'tool.deferred', data: { tool: call.name, callId: call.id, call: label } })
    const what: DeferrableWork = {
      callId: call.id,
      label,
      who: call.name,
      status: () => how,
      state: () => 'running',
      stop: (reason) => ctx.stopAll(reason),
    }
    return this.defer(what, ended)
  }

  #settle(deferred: DeferredWork, result: CallResult): void {
    deferred.result = result
    const outcome = result.finish?.outcome
    if (outcome !== undefined && outcome.status !== 'completed') this.#ending ??= outcome
    this.#wake?.()
  }

  /** Waits until the work with these labels has ended. */
  async settled(labels: ReadonlySet<string>): Promise<void> {
    for (const { what, work } of this.#pending) if (labels.has(what.label)) await work
  }

  deliver(state: ConversationState): void {
    const ended = [...this.#pending].filter(hasEnded)
    if (this.#ending !== undefined) state.ending = this.#ending
    if (ended.length === 0) return
    state.note(`Ended since you were last asked: ${ended.map((each) => this.#tellEnd(state, each)).join('; ')}.`)
  }

  /** Replaces the placeholder by the result. Returns where the result is. */
  #tellEnd(state: ConversationState, deferred: EndedWork): string {
    const { what, result } = deferred
    this.#pending.delete(deferred)
    const name = `${what.label} ("${what.who}", ${what.status() ?? 'never begun'})`
    // a summary may have replaced the call
    return placeResult(state, deferred)
      ? `${name}, its result stands where you called it`
      : `${name}: ${asText(withLines(withNote(result.note, result.content), labelsOf(result)))}`
  }

  async more(): Promise<boolean> {
    const { react = 'each', whenDone = 'wait' } = this.#rules
    if (this.#ending !== undefined) return true
    if (whenDone === 'stop') return this.#stopPending()
    while (this.#pending.size > 0) {
      const ended = [...this.#pending].filter(hasEnded).length
      if (this.#ending !== undefined || ended === this.#pending.size || (react === 'each' && ended > 0)) return true
      await this.#nextEnd()
    }
    return false
  }

  async rest(): Promise<void> {
    if (this.#rules.whenDone === 'stop') return
    while (this.#ending === undefined && ![...this.#pending].every(hasEnded)) await this.#nextEnd()
  }

  async end(outcome: Outcome, state: ConversationState): Promise<Outcome> {
    const answered = outcome.status === 'completed'
    if (!answered || this.#rules.whenDone === 'stop') this.#stopAll()
    await this.#allEnded()
    // its model is not called again, but later agents see its conversation
    for (const each of this.#pending) if (hasEnded(each)) placeResult(state, each)
    return answered ? (this.#ending ?? outcome) : outcome
  }

  /** Stops pending work and waits for its end. Work that ended before is told. */
  async #stopPending(): Promise<boolean> {
    if ([...this.#pending].some(hasEnded)) return true
    this.#stopAll()
    await this.#allEnded()
    return false
  }

  #stopAll(): void {
    for (const each of this.#pending) if (!hasEnded(each)) each.what.stop('its leader is done')
  }

  async #allEnded(): Promise<void> {
    while (![...this.#pending].every(hasEnded)) await this.#nextEnd()
  }

  /** Resolves when some work has ended; rejects if the leader must leave. */
  async #nextEnd(): Promise<void> {
    if (this.#error === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = undefined
    if (this.#error !== undefined) throw this.#error.why
  }

  lines(): readonly string[] {
    return [...this.#pending].map(
      ({ what, result }) => `${what.label} "${what.who}": ${result === undefined ? what.state() : 'ended'}`,
    )
  }
}

/** Background work at the moments of the turn loop. */
export const backgroundTurns = (background: Background, state: ConversationState, turns: TurnBudget): Extension => ({
  beforeTurn: () => background.deliver(state),
  beforeModel: () => (turns.isLast(state.asked) ? restBeforeLast(background, state) : undefined),
  beforeAnswer: () => background.more(),
  atEnd: (outcome) => background.end(outcome, state),
})

/** Nothing can be told after the last turn. */
async function restBeforeLast(background: Background, state: ConversationState): Promise<void> {
  await background.rest()
  background.deliver(state)
}

/** What names the files of a result where they have no place. */
const labelsOf = ({ files = [] }: CallResult): readonly string[] => files.map((file) => fileLabel(file, 'not shown'))

type EndedWork = DeferredWork & { readonly result: CallResult }

const hasEnded = (deferred: DeferredWork): deferred is EndedWork => deferred.result !== undefined

/** Replaces the placeholder of a call. False: the model no longer sees that call. */
function placeResult(state: ConversationState, { what, placeholder, result }: EndedWork): boolean {
  const message = state.whole.findLast(
    (each) => each.role === 'tool' && each.callId === what.callId && each.content === placeholder,
  )
  if (message?.role !== 'tool') return false
  const { content, isError, note, isNoteOwn, files } = result
  const ownMessage = { ...message, content, ...(isError === true ? { isError } : undefined), ...present({ files }) }
  const said = note === undefined ? ownMessage : { ...ownMessage, content: withNote(note, content) }
  if (isNoteOwn === true) state.passOn(said, ownMessage)
  return state.replace(message, said)
}
