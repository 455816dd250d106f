/**
 * What of a copied log is left out of a fork, so that the code asks for it anew.
 *
 * Owns: the rules about questions, approvals and notes. Does not own: how the end of an approved action is found
 * (permitted-work.ts), what is copied at all, ids, seqs (fork.ts). Pure.
 *
 * - A question that is open at the fork point is not copied: the fork asks it under an id of its own, with the time
 *   that was left. One that a former segment of the log asked cannot be asked again by the code: it is copied under a
 *   new id and stays open.
 * - A yes is copied only together with the recorded end of what it permitted. Without that end, what it permitted waits
 *   for a yes of the fork's own, in one of two ways. If nothing of value has followed, the question is left out with
 *   everything that followed, and the code asks it again. If work has begun, the question stays open, to be approved or
 *   rejected as it stands; what was recorded of the work is taken up with the new yes and not done again. Where that
 *   yes could stand for other arguments (it was edited, or several approvers were asked), the work is left out, too.
 * - The same holds for what a grant has let pass. A refusal stays, since it permits nothing.
 * - Commands of operators are not copied: no pause of the origin holds in the fork. Doubts and divergences are found
 *   anew.
 */
import type { Outcome, Slices } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import { isAct, isBeside, isUneditedYes, allowsWork, scopeOf, LogIndex, type OriginEntry } from './permitted-work.ts'

export type { OriginEntry }

/** What is copied of a log that goes on. */
export interface Cut {
  readonly kept: readonly OriginEntry[]
  /** Addresses of questions of former segments that stay open. */
  readonly carried: ReadonlySet<string>
  /** Addresses of questions that stay open, and whose work has begun. */
  readonly begun: ReadonlySet<string>
  /** Addresses of workers that are left out with everything below them. */
  readonly without: readonly string[]
}

const controls: ReadonlySet<string> = new Set<JournalEvent['type']>([
  'run.pausing',
  'run.paused',
  'run.resumed',
  'run.taken-over',
  'run.handed-back',
  'control.ignored',
  'run.forked',
  'replay.diverged',
])

class Log {
  readonly #index: LogIndex
  readonly #out = new Set<number>()
  readonly #carried = new Set<string>()
  readonly #begun = new Set<string>()

  constructor(index: LogIndex) {
    this.#index = index
  }

  async cut(slices: Slices): Promise<Cut> {
    const { entries } = this.#index
    this.#carry()
    let i = 0
    for await (const piece of slices.of(entries)) for (const { event } of piece) this.#look(i++, event)
    const kept: OriginEntry[] = []
    const without: string[] = []
    i = 0
    for await (const piece of slices.of(entries))
      for (const entry of piece)
        if (!this.#out.has(i++)) kept.push(entry)
        else if (entry.event.type === 'worker.started') without.push(entry.event.address)
    return { kept, carried: this.#carried, begun: this.#begun, without }
  }

  #look(i: number, event: JournalEvent): void {
    const isFormer = i < this.#index.begin
    if (this.#out.has(i)) return
    if ('op' in event && event.op === 'ask') {
      // what a former segment asked is past, but for whether the worker may work at all
      const isLeave = event.type === 'approval.requested' && event.kind === 'work'
      if (!isFormer || (isLeave && this.#index.endOf(event.address) !== undefined)) this.#question(i, event.address)
    } else if (isFormer) return
    else if (controls.has(event.type)) this.#out.add(i)
    else if (event.type === 'approval.granted') this.#grant(i, scopeOf(event.address))
    else if (
      (event.type === 'effect.in-doubt' || event.type === 'effect.cleared') &&
      this.#index.endOf(event.address) === undefined
    )
      this.#out.add(i)
  }

  /** Questions of former segments that are open. */
  #carry(): void {
    const restarted = this.#index.entries[this.#index.begin - 1]?.event
    for (const { address, op } of restarted?.type === 'activation.restarted' ? restarted.open : [])
      if (op === 'ask' && this.#index.endOf(address) === undefined) this.#carried.add(address)
  }

  #question(i: number, address: string): void {
    const { event } = this.#index.entries[i]!
    const end = this.#index.endOf(address)
    if (event.type !== 'approval.requested') return end === undefined ? this.#leaveOut([i]) : undefined
    if (end === undefined) {
      if (event.begun === true) return this.#keepOpen(i, address)
      this.#leaveOut([i])
      return this.#leaveOut(this.#index.inScope(scopeOf(address), i + 1).filter((j) => isBeside(this.#event(j))))
    }
    const ended = this.#event(end)
    if (ended.type !== 'ask.settled' || !allowsWork(event, ended.outcome)) return
    const work = this.#index.permitted(i, end, event)
    if (work.hasEnded) return
    const isPlain = isUneditedYes(ended.outcome) && !this.#index.asksAgain(i, address)
    if (i >= this.#index.begin && isPlain && work.hasBegun) return this.#reopen(i, end, address, work.commands)
    this.#leaveOut([i, end])
    this.#leaveOut(work.all)
  }

  #event(i: number): JournalEvent {
    return this.#index.entries[i]!.event
  }

  #grant(i: number, scope: string): void {
    if (!this.#index.hasActed(scope, i)) this.#leaveOut(this.#index.inScope(scope, this.#index.begin))
  }

  /** The yes is left out, the question and what was recorded of the work stay. */
  #reopen(i: number, end: number, address: string, commands: readonly number[]): void {
    const isOpenAct = (event: JournalEvent): boolean =>
      'op' in event && event.op === 'step' && isAct(event) && this.#index.endOf(event.address) === undefined
    this.#keepOpen(i, address)
    this.#out.add(end)
    this.#leaveOut(commands.filter((j) => isOpenAct(this.#event(j))))
    // its leader is told again that it waits no more
    const told = this.#index.inScope(scopeOf(address), end + 1).find((j) => this.#event(j).type === 'message.sent')
    if (told !== undefined) this.#leaveOut([told])
  }

  #keepOpen(i: number, address: string): void {
    this.#begun.add(address)
    this.#leaveOut(this.#index.inScope(scopeOf(address), i + 1).filter((j) => isBeside(this.#event(j))))
  }

  /** Leaves out these entries; of operations everything that was recorded of them. */
  #leaveOut(indexes: readonly number[]): void {
    for (const i of indexes) {
      this.#out.add(i)
      const event = this.#event(i)
      if ('op' in event) for (const j of this.#index.about(event.address)) this.#out.add(j)
    }
  }
}

/**
 * What of the log of an activation that has not ended is copied. `outcomeOf`: how the worker at an address has ended,
 * whether its leader has heard of it or not.
 */
export const cutLog = async (
  entries: readonly OriginEntry[],
  outcomeOf: (address: string) => Outcome | undefined,
  slices: Slices,
): Promise<Cut> => new Log(await LogIndex.of(entries, outcomeOf, slices)).cut(slices)
