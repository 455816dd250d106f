/**
 * Worker memory: what a worker sees of its earlier work for the same leader. Such work runs one delegation at a time.
 *
 * Owns: the owner of a memory, when a delegation holds its thread, what is shown and kept, the port for external
 * memories. Does not own: the lock of a thread (thread-lock.ts), the slots (../../agent/exchange-store.ts), the
 * delegation around it (delegations.ts). Without this option a delegation remembers nothing: its activation has exactly
 * its brief and its answer.
 * K4: `$memory.<thread>`, the scope `thread` (before: `memory`) and the names of the steps are persistent format. K3,
 * K10: the reply of an external memory is a recorded step.
 *
 * M1: a user's memory is never shown to another user. M2: one delegation at a time holds a thread. It has a slot before
 * it waits for the thread, so no slot is awaited under a lock. M3: no wait is endless: work below a thread cannot get
 * that thread, and no wait closes a cycle. M4: a failing memory stops no work. M5: records grow with the number of
 * delegations, not with its square. Each thread has its own queue. Of one activation only one delegation stands in it,
 * and the others wait behind it in memory; they would hold the same threads, so every cycle is still detected. What an
 * activation has read of a thread it does not read again. Only the number of activations that wait for one thread at
 * the same time counts squared: each writes the queue with all others.
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
} from '@reeve/agent'
import {
  choiceOr,
  expects,
  failure,
  functionCheck,
  messageOf,
  objectOr,
  objectOrInstance,
  present,
  wholeNumber,
  type Failure,
  type FilePart,
  type Now,
  type Outcome,
  type RunId,
} from '@reeve/core'
import { briefText, workText, type Brief, type Edge, type EdgeMessage } from '@reeve/edge'
import { isLeaving, type Context, type StepIO } from '@reeve/engine'
import type { Caller } from '@reeve/journal'
import { askHook } from './delegation-hooks.ts'
import { Slots, type SlotWaiter } from '../worker/slots.ts'
import { lockOfThread } from './thread-lock.ts'

/** A query to a memory. */
export interface MemoryQuery {
  /**
   * The owner of the memory: the same text for the same leader, worker and user, or for the same named thread and user.
   */
  readonly thread: string
  readonly leader: string
  readonly worker: string
  /** The user and the session. Keep their memories apart. */
  readonly caller: Caller
  readonly run: RunId
  /** The worker's present task. */
  readonly prompt: string
}

/** A query with the worker's answer. */
export interface MemoryExchange extends MemoryQuery {
  readonly answer: string
}

/**
 * An external memory. Both methods are steps, run once without retries; after a crash the step runs again with the same
 * `io.key`.
 */
export interface Memory {
  /** What the worker sees before its brief; a text is shown as a user's message. If it fails, nothing is shown. */
  recall(query: MemoryQuery, io: StepIO): RecalledMemory | Promise<RecalledMemory>
  /**
   * Called when the worker has answered (it completed, or a hook or a limit ended it with a text), with what
   * `onComplete` allows. If it fails, the answer is still reported.
   */
  save?(exchange: MemoryExchange, io: StepIO): unknown
}

/** A memory and how it is shared. */
export interface ThreadMemory extends Partial<Memory> {
  /**
   * A name shared by all delegations of the session that use it, for any leader and worker; each user has their own.
   * Default: one for each leader, worker and user.
   */
  readonly thread?: string
  /** How many of the newest exchanges are shown. Default 50, at most 100. */
  readonly shown?: number
}

/**
 * What a worker remembers of its earlier delegations. `isolated` (default): nothing. `continue`: the next delegation to
 * it, in this run and in later runs of the session, sees the briefs and answers of the earlier ones; delegations to it
 * run one at a time. Without a session the memory belongs to the run. An object: the same, with a name or an external
 * memory.
 */
export type WorkerMemory = 'isolated' | 'continue' | ThreadMemory

const defaultShown = 50

/** The check of the option. */
export const memoryCheck = objectOr(
  objectOrInstance<ThreadMemory>(
    {
      thread: expects((given) => typeof given === 'string' && given !== '', 'a name'),
      shown: wholeNumber(1, mostExchanges),
      recall: functionCheck,
      save: functionCheck,
    },
    ({ shown, recall, save }, where) => [
      save !== undefined && recall === undefined && `${where}.save is given without memory.recall`,
      recall !== undefined && shown !== undefined && `${where}.shown is for what is kept here; recall decides itself`,
    ],
  ),
  choiceOr(() => false, 'an object', 'isolated', 'continue'),
)

/** The thread of a worker: its delegations run one at a time. Undefined: the worker remembers nothing. */
export function threadOf(memory: WorkerMemory | undefined, worker: string): string | undefined {
  if (memory === undefined || memory === 'isolated') return undefined
  return memory === 'continue' || memory.thread === undefined ? `of ${worker}` : `named ${memory.thread}`
}

/** A delegation, as far as its memory needs it. */
export interface MemoryWork {
  readonly ctx: Context
  readonly call: { readonly id: string }
  readonly state: { readonly edge: Edge }
  readonly worker: { readonly name: string }
  readonly policy: { readonly memory?: WorkerMemory }
  readonly entry: SlotWaiter & { readonly label: string }
  readonly brief: Brief
  readonly grant: { context?: readonly EdgeMessage[]; threads?: readonly string[]; files?: readonly FilePart[] }
}

/** What one activation of a leader knows of its threads. In memory only: replay rebuilds it from the same reads. */
export class Threads {
  #turns: Map<string, Slots> | undefined
  #known: Map<string, KnownExchanges> | undefined

  /** The local queue for this thread. */
  turn(key: string): Slots {
    const turns = (this.#turns ??= new Map<string, Slots>())
    const turn = turns.get(key) ?? new Slots(1)
    turns.set(key, turn)
    return turn
  }

  known(key: string): KnownExchanges | undefined {
    return this.#known?.get(key)
  }

  know(key: string, { count, newest }: KnownExchanges): void {
    ;(this.#known ??= new Map()).set(key, { count, newest: newest.slice(-mostExchanges) })
  }
}

/**
 * Runs the work with its memory, one delegation of a thread at a time. A failure says why it did not begin.
 * `completed`: the part of its end that the leader's hook allows; only that is remembered, because later workers see it
 * (undefined: nothing).
 */
export function withMemory<Ended extends { readonly outcome: Outcome }>(
  job: MemoryWork,
  threads: Threads,
  work: () => Now<Ended | Failure>,
  answer: (ended: Ended) => Now<string | undefined>,
): Now<Ended | Failure> {
  const { memory } = job.policy
  if (memory === undefined || memory === 'isolated') return work()
  return workInTurn(new Thread(job, memory === 'continue' ? {} : memory, threads), work, answer)
}

/** Runs the work when its turn in the thread has come. */
async function workInTurn<Ended extends { readonly outcome: Outcome }>(
  thread: Thread,
  work: () => Now<Ended | Failure>,
  answer: (ended: Ended) => Now<string | undefined>,
): Promise<Ended | Failure> {
  try {
    return (await thread.enter()) ?? (await workInThread(thread, work, answer))
  } finally {
    thread.pass()
  }
}

/** Runs the work while it holds the thread. */
async function workInThread<Ended extends { readonly outcome: Outcome }>(
  thread: Thread,
  work: () => Now<Ended | Failure>,
  answer: (ended: Ended) => Now<string | undefined>,
): Promise<Ended | Failure> {
  try {
    await thread.recall()
    const ended = await work()
    const left = 'outcome' in ended ? await answer(ended) : undefined
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
  readonly #work: MemoryWork
  readonly #memory: ThreadMemory
  readonly #threads: Threads
  readonly #ctx: Context
  readonly #lock: FifoLock
  readonly #entry: LockEntry
  readonly #key: string
  readonly #keys: ExchangeKeys
  /** The context without the memory. Each attempt begins with it again. */
  readonly #context: readonly EdgeMessage[] | undefined
  #count = 0
  #newest: readonly Exchange[] = []
  #holdsLock = false
  #hasLeft = false
  /** Its turn in the queue of this activation, until the next delegation has it. */
  #turn: Slots | undefined

  constructor(job: MemoryWork, memory: ThreadMemory, threads: Threads) {
    const { ctx, worker } = job
    const { agent: leader, activation, caller } = ctx.place
    const key = JSON.stringify([
      ...(memory.thread === undefined ? [leader, worker.name] : [memory.thread]),
      caller.user ?? null,
      ...(caller.tenant === undefined ? [] : [caller.tenant]),
    ])
    const above = job.state.edge.leader.threads
    this.#work = job
    this.#memory = memory
    this.#threads = threads
    this.#ctx = ctx.scope('thread')
    this.#lock = lockOfThread(key)
    this.#key = key
    this.#entry = {
      id: this.#ctx.id('turn'),
      at: activation,
      lane: key,
      ...present({ above }),
    }
    this.#keys = { count: `$memory.${key}`, slot: (nth) => `$memory.${key}.${nth % exchangeSlots}` }
    this.#context = job.grant.context
  }

  /** Waits for the thread. A failure says why it does not get it. */
  async enter(): Promise<Failure | undefined> {
    const { worker, entry, grant } = this.#work
    const { above = [] } = this.#entry
    if (above.includes(this.#key)) return busy(worker.name, 'this work is part of it')
    const turn = this.#threads.turn(this.#key)
    if ((await turn.take(entry)) === false) return busy(worker.name, 'its leader no longer waits for it')
    this.#turn = turn
    this.#ctx.onCancel(
      `memory:${entry.label}`,
      async (undo) => {
        if (!this.#hasLeft)
          await (this.#holdsLock ? releaseLock : removeFromLock)(undo, this.#lock, this.#entry, this.#entry)
      },
      { always: true },
    )
    const wait: LockWait = { over: false }
    const leave = (): void => {
      wait.over = true
      wait.wake?.()
    }
    entry.leave = leave
    const first = await acquireLock(this.#ctx, this.#lock, this.#entry, wait)
    entry.leave = undefined
    if (first?.id !== this.#entry.id) {
      this.#hasLeft = true
      return busy(
        worker.name,
        wait.over ? 'its leader no longer waits for it' : 'that work waits for work that this is part of',
      )
    }
    this.#holdsLock = true
    grant.threads = [...above, this.#key]
    return undefined
  }

  async leave(): Promise<void> {
    await releaseLock(this.#ctx, this.#lock, this.#entry, this.#entry)
    this.#hasLeft = true
  }

  /** Lets the next delegation of this activation into the queue. */
  pass(): void {
    this.#turn?.give()
    this.#turn = undefined
  }

  /** Puts the memory before the context. */
  async recall(): Promise<void> {
    const { grant } = this.#work
    const shown =
      this.#memory.recall === undefined
        ? await this.#readKept()
        : await this.#readExternal(this.#memory.recall.bind(this.#memory))
    if (shown.length > 0) grant.context = [...shown, ...this.#contextWithoutKnown(shown)]
    else if (this.#context !== undefined) grant.context = this.#context
  }

  /** The context without the worker's own answers that the memory holds, so that each is shown once. */
  #contextWithoutKnown(shown: readonly EdgeMessage[]): readonly EdgeMessage[] {
    const { name } = this.#work.worker
    const isOwn = ({ role, agent }: EdgeMessage): boolean => role === 'assistant' && agent === name
    const known = new Set(shown.flatMap((message) => (isOwn(message) ? [message.text] : [])))
    return (this.#context ?? []).filter((message) => !isOwn(message) || !known.has(message.text))
  }

  async #readKept(): Promise<readonly EdgeMessage[]> {
    const { values } = this.#ctx
    const { shown = defaultShown } = this.#memory
    try {
      this.#count = await countExchanges(values, this.#keys)
      const known = this.#threads.known(this.#key)
      this.#newest = await newestExchanges(values, this.#keys, this.#count, shown, known)
      this.#threads.know(this.#key, { count: this.#count, newest: this.#newest })
      return exchangeMessages(this.#newest)
    } catch (thrown) {
      this.#noteFailure('recall', thrown)
      return []
    }
  }

  async #readExternal(recall: Memory['recall']): Promise<readonly EdgeMessage[]> {
    const query = this.#query()
    const { reply } = await askHook<Exclude<RecalledMemory, void>>(
      this.#ctx,
      this.#about('recall'),
      (io) => recall(query, io),
      recallProblem,
    )
    return recalledMessages(reply)
  }

  /** Saves an answer, also one with which a hook or a limit ended the work. Other ends hold no answer to remember. */
  async save(answer: string): Promise<void> {
    const { recall, save } = this.#memory
    if (recall === undefined) return this.#keep(answer)
    if (save === undefined) return
    const exchange = { ...this.#query(), answer }
    await askHook(
      this.#ctx,
      this.#about('save'),
      async (io) => {
        if (this.#ctx.place.caller.trial !== true) await save.call(this.#memory, exchange, io)
      },
      () => undefined,
    )
  }

  async #keep(answer: string): Promise<void> {
    const { run } = this.#ctx.place
    const { brief, worker, grant } = this.#work
    const exchange: Exchange = {
      run,
      agent: worker.name,
      input: workText({ brief, ...present({ files: grant.files }) }),
      answer,
    }
    try {
      const kept = await addExchange(this.#ctx.values, this.#keys, this.#count, exchange)
      this.#threads.know(this.#key, { count: this.#count + 1, newest: [...this.#newest, kept] })
    } catch (thrown) {
      this.#noteFailure('save', thrown)
    }
  }

  #query(): MemoryQuery {
    const { run, agent: leader, caller } = this.#ctx.place
    const { worker, brief } = this.#work
    return { thread: this.#key, leader, worker: worker.name, caller, run, prompt: briefText(brief) }
  }

  #about(what: 'recall' | 'save') {
    const { worker, call, entry } = this.#work
    return { hook: `memory.${what}`, worker: worker.name, callId: call.id, delegation: entry.label }
  }

  #noteFailure(what: 'recall' | 'save', thrown: unknown): void {
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
