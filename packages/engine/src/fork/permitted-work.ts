/**
 * Permitted work: what an approval has led to, and whether that has ended.
 *
 * Owns: finding, in the log of one activation, what followed from a yes. Does not own: what a fork makes of it
 * (fork-cut.ts). Pure.
 *
 * The end of what a yes permits, by the kind of its question:
 * - a call of a tool: the end of the call, or of the worker that does it;
 * - `ctx.approve`: the end of an effect, or of a worker, that followed from it;
 * - a task: the end of the task, or of its last worker if that was completed;
 * - a worker that begins: the end of that worker, so never in the log of one that has not ended;
 * - a plan: the end of every task of it, also of those that were added while it was carried out;
 * - a recruit: the end of its task, since nobody is asked about that;
 * - a retirement, a letter, a result: what is recorded of it right after the yes.
 * A message is no end: a worker tells its leader that it waits no more, and nothing is done by that.
 */
import { isObject, type Outcome, type Slices } from '@reeve/core'
import {
  isArrival,
  type ApprovalRequested,
  type JournalEvent,
  type StepOpened,
  type WorkerStarted,
} from '@reeve/journal'
import { addressName, claimable } from '../replay/operation.ts'
import { isValueStep } from '../replay/value-steps.ts'

/** One entry of the origin's log. */
export interface OriginEntry {
  readonly position: number
  readonly at: number
  readonly event: JournalEvent
}

/** The scope of an address: everything in it begins with this. */
export const scopeOf = (address: string): string => address.slice(0, address.lastIndexOf('/') + 1)

/** The scope around a scope. */
const scopeAround = (scope: string): string => scopeOf(scope.slice(0, -1))

/** A task of a planned team, by the address of the question about it: the scope around, and the name in it. */
const taskAt = /^(.*?)approval(?:#\d+)?\/([^/]+)\/[^/]+$/

/** The scope of what a question permits, effects and workers. Undefined: none of these. */
export function workScopeOf({ kind, callId, address }: ApprovalRequested): string | undefined {
  if (kind === 'work') return ''
  if (kind === undefined) return callId === undefined ? '' : scopeOf(address)
  const [, above, task] = (kind === 'task' ? taskAt.exec(address) : null) ?? []
  return above === undefined ? undefined : `${above}${task}/`
}

/** An effect that an approval may have been about, rather than something that code reads or writes down on its way. */
export const isAct = (event: StepOpened): boolean =>
  event.type === 'tool.called' || (claimable(event.effect) && !isValueStep(event.address))

/** The scope in which a planned team does its tasks, by the address of one of its questions. */
function workAround({ kind, address }: Pick<ApprovalRequested, 'kind' | 'address'>): string | undefined {
  if (kind === 'task') return /^(.*?)approval(?:#\d+)?\/[^/]+\/[^/]+$/.exec(address)?.[1]
  const above = /^((?:.*?\/)?)(?:planning|staff)(?:#\d+)?\//.exec(address)?.[1]
  return above === undefined ? undefined : `${above}work/`
}

const isWorker = (event: JournalEvent): event is WorkerStarted =>
  event.type === 'worker.started' && event.purpose !== 'notice'

/** Whether an outcome of its question lets something be done. */
export function allowsWork({ onTimeout }: ApprovalRequested, outcome: Outcome): boolean {
  if (outcome.status === 'timed-out') return onTimeout === 'approve'
  if (outcome.status !== 'completed') return false
  const decision = isObject(outcome.output) ? outcome.output['decision'] : undefined
  return decision !== 'reject' && decision !== 'retry'
}

/** A yes to exactly what was shown. */
export const isUneditedYes = (outcome: Outcome): boolean =>
  outcome.status === 'timed-out' ||
  (outcome.status === 'completed' && isObject(outcome.output) && outcome.output['decision'] === 'approve')

/** What is told beside a question, and what is told of its end. */
export const isBeside = (event: JournalEvent): boolean =>
  (event.type === 'worker.started' && event.purpose === 'notice') ||
  event.type === 'notice.sent' ||
  event.type === 'notice.failed' ||
  event.type === 'approval.resolved'

/** What followed from a yes. Indexes of entries. */
interface PermittedWork {
  readonly hasEnded: boolean
  /** Something has followed that is worth keeping: a worker, an effect, a call of a model. */
  readonly hasBegun: boolean
  /** Commands that followed. */
  readonly commands: readonly number[]
  /** Everything that is left out if the work is to begin anew. */
  readonly all: readonly number[]
}

/** The log of one activation, as far as it is looked through here. */
export class LogIndex {
  readonly entries: readonly OriginEntry[]
  /** Where the last segment begins. */
  readonly begin: number
  readonly #outcomeOf: (address: string) => Outcome | undefined
  readonly #ends = new Map<string, number>()
  readonly #about = new Map<string, number[]>()

  private constructor(entries: readonly OriginEntry[], outcomeOf: (address: string) => Outcome | undefined) {
    this.entries = entries
    this.#outcomeOf = outcomeOf
    this.begin = entries.findLastIndex(({ event }) => event.type === 'activation.restarted') + 1
  }

  /** `outcomeOf`: how the worker at an address has ended, whether its leader has heard of it or not. */
  static async of(
    entries: readonly OriginEntry[],
    outcomeOf: (address: string) => Outcome | undefined,
    slices: Slices,
  ): Promise<LogIndex> {
    const index = new LogIndex(entries, outcomeOf)
    let i = 0
    for await (const piece of slices.of(entries)) for (const { event } of piece) index.#take(event, i++)
    return index
  }

  #take(event: JournalEvent, i: number): void {
    if (!('address' in event)) return
    const about = this.#about.get(event.address)
    if (about === undefined) this.#about.set(event.address, [i])
    else about.push(i)
    if (event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled')
      this.#ends.set(event.address, i)
  }

  /** Where an operation ends. */
  endOf(address: string): number | undefined {
    return this.#ends.get(address)
  }

  /** Everything that is recorded of an operation. */
  about(address: string): readonly number[] {
    return this.#about.get(address) ?? []
  }

  /** Commands in a scope from here on. */
  inScope(scope: string, from: number): readonly number[] {
    return this.#commands(from, (event) => event.address.startsWith(scope))
  }

  #commands(from: number, is: (event: Extract<JournalEvent, { op: string }>) => boolean): readonly number[] {
    const found: number[] = []
    for (let i = from; i < this.entries.length; i++) {
      const { event } = this.entries[i]!
      if ('op' in event && is(event)) found.push(i)
    }
    return found
  }

  /** Whether another approval is asked for after this one in its scope: by other approvers, or of other arguments. */
  asksAgain(i: number, address: string): boolean {
    return this.inScope(scopeOf(address), i + 1).some((j) => this.entries[j]!.event.type === 'approval.requested')
  }

  /** Whether a call of a tool, or a worker, has begun in this scope from here on and ended. */
  hasActed(scope: string, from: number): boolean {
    return this.#hasEnded(this.inScope(scope, from))
  }

  #hasEnded(commands: readonly number[]): boolean {
    return commands.some((j) => {
      const { event } = this.entries[j]!
      if (isWorker(event)) return this.#ends.has(event.address) || this.#outcomeOf(event.address) !== undefined
      return 'op' in event && event.op === 'step' && isAct(event) && this.#ends.has(event.address)
    })
  }

  /** What followed from the yes at `end` to the question at `i`. */
  permitted(i: number, end: number, asked: ApprovalRequested): PermittedWork {
    const scope = scopeOf(asked.address)
    const inScope = this.inScope(scope, i + 1)
    const work = (hasEnded: boolean, commands: readonly number[], all: readonly number[]): PermittedWork => ({
      hasEnded,
      hasBegun: commands.some((j) => this.#isWorthKeeping(j)),
      commands,
      all: [...inScope, ...all],
    })
    switch (asked.kind) {
      case 'task': {
        const commands = this.#ofTask(i, workAround(asked), asked.task)
        return work(this.#taskHasEnded(commands, asked.task), commands, commands)
      }
      case 'plan': {
        const commands = this.#commands(end + 1, () => true)
        return work(this.#planHasEnded(end, workAround(asked)), commands, commands)
      }
      case 'recruit':
        return this.#recruited(i, end, asked, work)
      case 'work': {
        const after = this.entries.map((_, j) => j).slice(i + 1)
        return work(false, after, after)
      }
      case undefined: {
        if (asked.callId !== undefined) return work(this.#hasEnded(inScope), inScope, [])
        const { commands, isOpen } = this.#chain(end)
        const around = scopeAround(scope)
        const hasEnded = this.#hasEnded(commands) || (!isOpen && this.hasActed(around, end + 1))
        // a value that was written is written once
        const all = commands.filter((j) => !this.#isWritten(j))
        return work(hasEnded, commands, all)
      }
      default: {
        const { commands } = this.#chain(end)
        return work(
          commands.some((j) => this.#isRecord(j)),
          [],
          commands,
        )
      }
    }
  }

  /**
   * The commands that followed from an arrival: those that the code gave when it heard of it, and of the ends of those.
   * `isOpen`: more may follow.
   */
  #chain(arrival: number): { readonly commands: readonly number[]; readonly isOpen: boolean } {
    const commands: number[] = []
    const addresses = new Set<string>()
    let follows = true
    for (let i = arrival + 1; i < this.entries.length; i++) {
      const { event } = this.entries[i]!
      if (isArrival(event)) follows = 'address' in event && addresses.has(event.address)
      else if (follows && 'op' in event) {
        commands.push(i)
        addresses.add(event.address)
      }
    }
    const isPending = (i: number): boolean => {
      const { event } = this.entries[i]!
      return 'op' in event && event.op !== 'fact' && event.op !== 'send' && !this.#ends.has(event.address)
    }
    return { commands, isOpen: follows || commands.some(isPending) }
  }

  /**
   * Of a planned team: workers, timers and facts of a task. They stand beside the scope in which it was asked about.
   * `above`: the scope of the work.
   */
  #ofTask(from: number, above: string | undefined, task: string | undefined): readonly number[] {
    if (above === undefined || task === undefined) return []
    const name = addressName(task)
    const isOf = (rest: string): boolean => rest.startsWith(`${name}/`) || rest.startsWith(`${name}#`)
    return this.#commands(from + 1, ({ address: each }) => {
      if (!each.startsWith(above)) return false
      const rest = each.slice(above.length)
      return isOf(rest) || (/^result(?:#\d+)?\//.test(rest) && isOf(rest.slice(rest.indexOf('/') + 1)))
    })
  }

  #taskHasEnded(
    commands: readonly number[],
    task: string | undefined,
    from = commands[0] ?? this.entries.length,
  ): boolean {
    let ended = false
    for (let i = from; i < this.entries.length; i++) {
      const { event } = this.entries[i]!
      if (event.type === 'task.settled' && event.task === task) ended = true
      else if (event.type === 'task.reopened' && event.task === task) ended = false
      else if (isWorker(event) && commands.includes(i)) ended = this.#outcomeOf(event.address)?.status === 'completed'
    }
    return ended
  }

  /** Whether every task has ended of the plan that was approved at `end`, or the plan was refused all the same. */
  #planHasEnded(end: number, above: string | undefined): boolean {
    const tasks = new Set<string>()
    let isOpen = false
    const add = (added: readonly { readonly task: string }[]): void => added.forEach(({ task }) => tasks.add(task))
    for (const { event } of this.entries.slice(end + 1)) {
      if (event.type === 'plan.rejected' && !isOpen) return true
      if (event.type === 'plan.created') {
        isOpen = true
        add(event.tasks)
      } else if (event.type === 'plan.revised' || event.type === 'teammate.joined')
        add(event.type === 'plan.revised' ? event.added : [event])
      else if (event.type === 'plan.edited') {
        add(event.added)
        for (const task of event.removed) tasks.delete(task)
      }
    }
    return isOpen && [...tasks].every((task) => this.#taskHasEnded(this.#ofTask(end, above, task), task, end + 1))
  }

  /** What followed from the yes to a recruit: its task, if it has joined. */
  #recruited(
    i: number,
    end: number,
    { address, input }: ApprovalRequested,
    work: (hasEnded: boolean, commands: readonly number[], all: readonly number[]) => PermittedWork,
  ): PermittedWork {
    const request = isObject(input) ? input['request'] : undefined
    const decided = this.entries
      .slice(end + 1)
      .find(({ event }) => event.type === 'recruit.decided' && event.request === request)?.event
    if (decided?.type !== 'recruit.decided') return work(false, [], this.#chain(end).commands)
    const { member, admitted, duplicate } = decided
    if (!admitted || duplicate === true || member === undefined) return work(true, [], [])
    const commands = this.#ofTask(i, workAround({ kind: 'recruit', address }), member)
    const { hasEnded, ...rest } = work(this.#taskHasEnded(commands, member), commands, commands)
    return { ...rest, hasEnded, hasBegun: true }
  }

  #isWorthKeeping(i: number): boolean {
    const { event } = this.entries[i]!
    if (isWorker(event)) return true
    if (!('op' in event) || event.op !== 'step' || !this.#ends.has(event.address)) return false
    return event.type === 'model.requested' || isAct(event)
  }

  #isWritten(i: number): boolean {
    const { event } = this.entries[i]!
    return (
      'op' in event &&
      event.op === 'step' &&
      event.effect !== 'read' &&
      isValueStep(event.address) &&
      this.#ends.has(event.address)
    )
  }

  /** What says that a decision was carried out, rather than how it was decided. */
  #isRecord(i: number): boolean {
    const { event } = this.entries[i]!
    if (!('op' in event) || isBeside(event)) return false
    if (event.op === 'fact') return event.type !== 'escalation.raised'
    return event.op === 'worker' || (event.op === 'step' && event.effect !== 'read' && !isValueStep(event.address))
  }
}
