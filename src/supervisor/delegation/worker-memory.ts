/**
 * Memory of workers: what a worker is shown of its earlier work for the same leader, and that such work comes one after
 * the other.
 *
 * Owns: whose memory is whose, when a delegation has its thread, what is shown and kept, the port for memories
 * elsewhere. Does not own: the lock of a thread (thread-lock.ts), the slots (agent/exchange-store.ts), the delegation around
 * it (delegations.ts). Without this option the memory of a delegation is its activation: exactly its brief and its
 * answer, and nobody else is shown it.
 * K4: `$memory.<thread>`, the scope `thread` (before: `memory`) and the names of the steps are persistent format. K3,
 * K10: what a memory elsewhere answers is a recorded step.
 *
 * M1: nobody reads what another user's work has left. M2: one delegation at a time has a thread; it has a slot before
 * it waits for one, so no slot is waited for under a lock. M3: nobody waits for what cannot come: below a delegation
 * that has a thread, nobody gets that thread, and nobody closes a circle of waits. M4: a memory that fails stops no
 * work. M5: what is recorded grows with the delegations, not with their square: each thread has a line of its own; of
 * those of one activation one stands in it and the others wait behind it in memory (they would hold what it holds, so
 * every circle shows all the same), and what that activation has read of a thread it does not read again. What does
 * grow with the square is how many activations wait for one thread at the same time: each writes the line in which the
 * others stand.
 */
import {
  addExchange,
  countExchanges,
  exchangeMessages,
  exchangeSlots,
  releaseLock,
  mostExchanges,
  newestExchanges,
  recalledMessages,
  recallProblem,
  removeFromLock,
  acquireLock,
  type Exchange,
  type LockEntry,
  type KnownExchanges,
  type FifoLock,
  type LockWait,
  type RecalledMemory,
  type ExchangeKeys,
} from '../../agent/index.ts'
import {
  described,
  failure,
  hasNames,
  messageOf,
  unknownNames,
  type Failure,
  type NamesOf,
  type Outcome,
  type RunId,
} from '../../core/index.ts'
import { briefText, type Brief, type Edge, type EdgeMessage } from '../../edge/index.ts'
import { isLeaving, type Context, type StepIO } from '../../engine/index.ts'
import type { Caller } from '../../journal/index.ts'
import { askHook } from './delegation-hooks.ts'
import { Slots, type SlotWaiter } from '../worker/slots.ts'
import { earlierLock, lockOfThread } from './thread-lock.ts'

/** What a memory is asked by. */
export interface MemoryQuery {
  /** Whose memory it is: the same text for the same leader, worker and user, or for the same pinned thread and user. */
  readonly thread: string
  readonly leader: string
  readonly worker: string
  /** Says which user and which session it is. Keep them apart. */
  readonly caller: Caller
  readonly run: RunId
  /** What the worker is about to be asked, or was. */
  readonly prompt: string
}

/** What a worker has answered. */
export interface MemoryExchange extends MemoryQuery {
  readonly answer: string
}

/**
 * Where the memory of workers is kept instead. Both are steps: done once, retried never; `io.key` is the same if a
 * crash makes one run again.
 */
export interface Memory {
  /** What the worker is shown before its brief; a text is shown as a user's. If it fails, nothing is shown. */
  recall(query: MemoryQuery, io: StepIO): RecalledMemory | Promise<RecalledMemory>
  /**
   * Called when the worker has answered (it completed, or a hook or a limit ended it with what there was), with what
   * `onComplete` lets through. If it fails, the answer is told all the same.
   */
  save?(exchange: MemoryExchange, io: StepIO): unknown
}

/** A memory, and how it is shared. */
export interface ThreadMemory extends Partial<Memory> {
  /**
   * A name that is shared by all delegations of the session that name it, whoever leads and whoever works; each user
   * has one of that name. Default: one for each leader, worker and user.
   */
  readonly thread?: string
  /** How many of the newest exchanges are shown. Default 50, at most 100. */
  readonly shown?: number
}

/**
 * What a worker remembers of its earlier delegations. `isolated` (default): nothing. `continue`: the next delegation to
 * it, in this run and in later runs of the session, is shown the briefs and answers of the earlier ones; delegations to
 * it come one at a time. Without a session the memory is the run's. An object: the same, with a name, or kept
 * elsewhere.
 */
export type WorkerMemory = 'isolated' | 'continue' | ThreadMemory

const names: NamesOf<ThreadMemory> = { thread: true, shown: true, recall: true, save: true }
const defaultShown = 50

/** What is wrong with the option, one sentence each. */
export function memoryProblems(given: unknown, where: string): string[] {
  if (given === undefined || given === 'isolated' || given === 'continue') return []
  if (!hasNames(given)) return [`${where}: memory is ${described(given)}, expected "isolated", "continue" or an object`]
  const { thread, shown, recall, save } = given as { readonly [name: string]: unknown }
  const plain = Object.getPrototypeOf(given) === Object.prototype
  return [
    ...(plain ? unknownNames(given, names, `${where}: memory`) : []),
    ...(thread === undefined || (typeof thread === 'string' && thread !== '')
      ? []
      : [`${where}: memory.thread is ${described(thread)}, expected a name`]),
    ...(shown === undefined || (Number.isInteger(shown) && (shown as number) > 0 && (shown as number) <= mostExchanges)
      ? []
      : [`${where}: memory.shown is ${described(shown)}, expected a whole number from 1 to ${mostExchanges}`]),
    ...Object.entries({ recall, save }).flatMap(([name, value]) =>
      value === undefined || typeof value === 'function'
        ? []
        : [`${where}: memory.${name} is ${described(value)}, expected a function`],
    ),
    ...(save !== undefined && recall === undefined ? [`${where}: memory.save is given without memory.recall`] : []),
    ...(recall !== undefined && shown !== undefined
      ? [`${where}: memory.shown is for what is kept here; recall decides itself`]
      : []),
  ]
}

/** Whose delegations come one at a time: those of one thread. Undefined: this worker remembers nothing. */
export function threadOf(memory: WorkerMemory | undefined, worker: string): string | undefined {
  if (memory === undefined || memory === 'isolated') return undefined
  return memory === 'continue' || memory.thread === undefined ? `of ${worker}` : `named ${memory.thread}`
}

/** A delegation, as far as its memory depends on it. */
export interface MemoryJob {
  readonly ctx: Context
  readonly call: { readonly id: string }
  readonly state: { readonly edge: Edge }
  readonly worker: { readonly name: string }
  readonly policy: { readonly memory?: WorkerMemory }
  readonly entry: SlotWaiter & { readonly label: string }
  readonly brief: Brief
  readonly grant: { context?: readonly EdgeMessage[]; threads?: readonly string[] }
}

/** What one activation of a leader knows of its threads. In memory only: replay makes it again from the same reads. */
export class Threads {
  readonly #turns = new Map<string, Slots>()
  readonly #known = new Map<string, KnownExchanges>()

  /** Whose turn it is to stand in the line of this thread. */
  turn(key: string): Slots {
    const turn = this.#turns.get(key) ?? new Slots(1)
    this.#turns.set(key, turn)
    return turn
  }

  known(key: string): KnownExchanges | undefined {
    return this.#known.get(key)
  }

  know(key: string, { count, newest }: KnownExchanges): void {
    this.#known.set(key, { count, newest: newest.slice(-mostExchanges) })
  }
}

/**
 * Does the work with what the worker remembers, one delegation of a thread at a time. A failure says why it was not
 * begun. `completed`: what its leader's hook lets through of its end; only that is remembered (undefined: nothing),
 * because others are shown it.
 */
export async function withMemory<Ended extends { readonly outcome: Outcome }>(
  job: MemoryJob,
  threads: Threads,
  work: () => Promise<Ended | Failure>,
  completed: (ended: Ended) => Promise<string | undefined>,
): Promise<Ended | Failure> {
  const { memory } = job.policy
  if (memory === undefined || memory === 'isolated') {
    const ended = await work()
    if ('outcome' in ended) await completed(ended)
    return ended
  }
  const thread = new Thread(job, memory === 'continue' ? {} : memory, threads)
  try {
    return (await thread.enter()) ?? (await workInThread(thread, work, completed))
  } finally {
    thread.pass()
  }
}

/** The work while the thread is its own. */
async function workInThread<Ended extends { readonly outcome: Outcome }>(
  thread: Thread,
  work: () => Promise<Ended | Failure>,
  completed: (ended: Ended) => Promise<string | undefined>,
): Promise<Ended | Failure> {
  try {
    await thread.recall()
    const ended = await work()
    const left = 'outcome' in ended ? await completed(ended) : undefined
    if (left !== undefined) await thread.save(left)
    await thread.leave()
    return ended
  } catch (thrown) {
    if (!isLeaving(thrown)) await thread.leave()
    throw thrown
  }
}

/** One delegation's hold on a thread. */
class Thread {
  readonly #job: MemoryJob
  readonly #memory: ThreadMemory
  readonly #threads: Threads
  /**
   * Its journal is of an earlier Reeve, in which all threads had one line, every delegation stood in it, and everything
   * was read each time.
   */
  readonly #isEarlier: boolean
  readonly #ctx: Context
  readonly #lock: FifoLock
  readonly #me: LockEntry
  readonly #key: string
  readonly #shelf: ExchangeKeys
  /** What crosses besides: a delegation that is tried again begins with it again. */
  readonly #crossing: readonly EdgeMessage[] | undefined
  #count = 0
  #newest: readonly Exchange[] = []
  #has = false
  #left = false
  /** Gives on the turn of those of this activation. */
  #pass: (() => void) | undefined

  constructor(job: MemoryJob, memory: ThreadMemory, threads: Threads) {
    const { ctx, worker } = job
    const { agent: leader, activation, caller } = ctx.place
    const key = JSON.stringify([
      ...(memory.thread === undefined ? [leader, worker.name] : [memory.thread]),
      caller.user ?? null,
    ])
    const above = job.state.edge.leader.threads
    this.#job = job
    this.#memory = memory
    this.#threads = threads
    const before = ctx.scope('memory')
    this.#isEarlier = before.wasAsked(`value.update:${earlierLock.key}`)
    this.#ctx = this.#isEarlier ? before : ctx.scope('thread')
    this.#lock = this.#isEarlier ? earlierLock : lockOfThread(key)
    this.#key = key
    this.#me = { id: this.#ctx.id('turn'), at: activation, lane: key, ...(above === undefined ? undefined : { above }) }
    this.#shelf = { count: `$memory.${key}`, slot: (nth) => `$memory.${key}.${nth % exchangeSlots}` }
    this.#crossing = job.grant.context
  }

  /** Waits for its turn. A failure says why it does not get one. */
  async enter(): Promise<Failure | undefined> {
    const { worker, entry, grant } = this.#job
    const { above = [] } = this.#me
    if (above.includes(this.#key)) return busy(worker.name, 'this work is part of it')
    const turn = this.#threads.turn(this.#key)
    // an earlier one stands in its line already: those that begin now wait until it has passed
    if (this.#isEarlier) turn.takeBack()
    else if ((await turn.take(entry)) === false) return busy(worker.name, 'its leader no longer waits for it')
    this.#pass = () => turn.give()
    this.#ctx.onCancel(
      `memory:${entry.label}`,
      async (undo) => {
        if (!this.#left) await (this.#has ? releaseLock : removeFromLock)(undo, this.#lock, this.#me, this.#me)
      },
      { always: true },
    )
    const wait: LockWait = { over: false }
    entry.leave = () => {
      wait.over = true
      wait.wake?.()
    }
    const first = await acquireLock(this.#ctx, this.#lock, this.#me, wait)
    entry.leave = undefined
    if (first?.id !== this.#me.id) {
      this.#left = true
      return busy(
        worker.name,
        wait.over ? 'its leader no longer waits for it' : 'that work waits for work that this is part of',
      )
    }
    this.#has = true
    grant.threads = [...above, this.#key]
    return undefined
  }

  async leave(): Promise<void> {
    await releaseLock(this.#ctx, this.#lock, this.#me, this.#me)
    this.#left = true
  }

  /** The next one of this activation may stand in the line. */
  pass(): void {
    this.#pass?.()
    this.#pass = undefined
  }

  /** Puts what it remembers before what crosses. */
  async recall(): Promise<void> {
    const { grant } = this.#job
    const shown =
      this.#memory.recall === undefined
        ? await this.#kept()
        : await this.#recalled(this.#memory.recall.bind(this.#memory))
    if (shown.length > 0) grant.context = [...shown, ...this.#unheard(shown)]
    else if (this.#crossing !== undefined) grant.context = this.#crossing
  }

  /** What crosses besides, without those of the worker's own answers that it remembers: it is shown each once. */
  #unheard(shown: readonly EdgeMessage[]): readonly EdgeMessage[] {
    const { name } = this.#job.worker
    const isOwn = ({ role, agent }: EdgeMessage): boolean => role === 'assistant' && agent === name
    const known = new Set(shown.flatMap((message) => (isOwn(message) ? [message.text] : [])))
    return (this.#crossing ?? []).filter((message) => !isOwn(message) || !known.has(message.text))
  }

  async #kept(): Promise<readonly EdgeMessage[]> {
    const { values } = this.#ctx
    const { shown = defaultShown } = this.#memory
    try {
      this.#count = await countExchanges(values, this.#shelf)
      const known = this.#isEarlier ? undefined : this.#threads.known(this.#key)
      this.#newest = await newestExchanges(values, this.#shelf, this.#count, shown, known)
      this.#threads.know(this.#key, { count: this.#count, newest: this.#newest })
      return exchangeMessages(this.#newest)
    } catch (thrown) {
      this.#failed('recall', thrown)
      return []
    }
  }

  async #recalled(recall: Memory['recall']): Promise<readonly EdgeMessage[]> {
    const query = this.#query()
    const { word } = await askHook<Exclude<RecalledMemory, void>>(
      this.#ctx,
      this.#about('recall'),
      (io) => recall(query, io),
      recallProblem,
    )
    return recalledMessages(word)
  }

  /**
   * Only an answer is remembered, also one with which a hook or a limit has ended the work: whatever else has said
   * nothing that should be taken for one later.
   */
  async save(answer: string): Promise<void> {
    const { recall, save } = this.#memory
    if (recall === undefined) return this.#keep(answer)
    if (save === undefined) return
    const exchange = { ...this.#query(), answer }
    await askHook(
      this.#ctx,
      this.#about('save'),
      async (io) => {
        await save.call(this.#memory, exchange, io)
      },
      () => undefined,
    )
  }

  async #keep(answer: string): Promise<void> {
    const { run } = this.#ctx.place
    const { brief, worker } = this.#job
    const exchange: Exchange = { run, agent: worker.name, input: briefText(brief), answer }
    try {
      const kept = await addExchange(this.#ctx.values, this.#shelf, this.#count, exchange)
      this.#threads.know(this.#key, { count: this.#count + 1, newest: [...this.#newest, kept] })
    } catch (thrown) {
      this.#failed('save', thrown)
    }
  }

  #query(): MemoryQuery {
    const { run, agent: leader, caller } = this.#ctx.place
    const { worker, brief } = this.#job
    return { thread: this.#key, leader, worker: worker.name, caller, run, prompt: briefText(brief) }
  }

  #about(what: 'recall' | 'save') {
    const { worker, call, entry } = this.#job
    return { hook: `memory.${what}`, worker: worker.name, callId: call.id, delegation: entry.label }
  }

  #failed(what: 'recall' | 'save', thrown: unknown): void {
    if (isLeaving(thrown)) throw thrown
    const about = this.#about(what)
    this.#ctx.emit({
      type: 'hook.failed',
      ...about,
      failure: failure('hook.failed', `${about.hook} failed: ${messageOf(thrown)}`, 'internal'),
    })
  }
}

const busy = (worker: string, why: string): Failure =>
  failure('delegation.refused', `"${worker}" already works in the same thread, and ${why}`, 'policy')
