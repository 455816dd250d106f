/**
 * Part: what a worker under test is to do in one case, and the record of what it did.
 *
 * Owns: the turns as data, the model and the tools that play them, what is held back until the case lets it go. Does not
 * own: which turns a case has (cases.ts), how a worker is made of them (the caller of `workerContract`).
 * Holds: a part is stateless towards the worker: what its model says depends on the number of the turn alone, so a worker
 * that begins again is told the same. A part that has died with its process never answers.
 */
import { failure, FailureError } from '@reeve/core'

/**
 * One turn of the model of a worker: its answer, a call of its tool `work` or of its tool `publish`, which needs an
 * approval, a question to a person, or a failure of the model.
 */
export type WorkerTurn =
  | { readonly say: string }
  | { readonly call: 'work'; readonly input: { readonly item: string } }
  | { readonly call: 'publish'; readonly input: { readonly text: string } }
  | { readonly ask: string }
  | { readonly fail: string }

/** What a tool is given by the worker, as far as the worker has it. */
export interface WorkerToolIO {
  /** The idempotency key that it was given. */
  readonly key?: string | undefined
  /** Aborted when the work is stopped. */
  readonly signal?: AbortSignal | undefined
}

/** The model and the tools of a worker under test. Functions need no `this`. */
export interface WorkerPart {
  /** All turns, for a worker in another process. */
  readonly turns: readonly WorkerTurn[]
  /** What each turn uses: the model `part`, so many tokens. */
  readonly usage: { readonly model: string; readonly input: number; readonly output: number }
  /**
   * The model: its n-th turn, from 0. The turn is the number of results of tools, and answers of people, that the model
   * is shown; `shown`: all the text that it is shown. Rejects where the model is to fail.
   */
  readonly model: (turn: number, shown: string) => Promise<Exclude<WorkerTurn, { readonly fail: string }>>
  /** The pieces of an answer, as a model that streams gives them. */
  readonly pieces: (text: string) => AsyncIterable<string>
  /** The tool `work`. Rejects if its signal aborts. */
  readonly work: (input: { readonly item: string }, io?: WorkerToolIO) => Promise<string>
  /** The tool `publish`. */
  readonly publish: (input: { readonly text: string }, io?: WorkerToolIO) => Promise<string>
}

/** What each turn uses. */
export const turnUsage = { model: 'part', input: 11, output: 5 } as const

/** A call of a tool, as it arrived. */
export interface ToolUse {
  readonly subject: string
  readonly key: string | undefined
  aborted: boolean
}

const never = (): Promise<never> => new Promise(() => {})

/** A promise that the case resolves. */
class Latch {
  readonly open: () => void
  readonly opened: Promise<void>
  isOpen = false

  constructor() {
    let resolve = (): void => {}
    this.opened = new Promise((done) => (resolve = done))
    const open = (): void => {
      this.isOpen = true
      resolve()
    }
    this.open = open
  }
}

/** What happens around a worker in one case: the same for every process in which it works. */
export class WorkerWorld {
  readonly turns: readonly WorkerTurn[]
  /** The turns that its model was asked for, with what it was shown. */
  readonly asked: { readonly turn: number; readonly shown: string }[] = []
  readonly worked: ToolUse[] = []
  readonly published: ToolUse[] = []
  /** The part outside: that of servers, which do not die with the process of the runtime. */
  readonly outside: WorkerPart
  readonly #held = new Map<string, Latch>()
  readonly #seen = new Latch()
  #awaitsSeen = false

  constructor(turns: readonly WorkerTurn[]) {
    this.turns = turns
    this.outside = this.part({ dead: false })
  }

  /** Calls of `work` for this item do not answer until `release`. */
  hold(item: string): void {
    this.#held.set(item, new Latch())
  }

  release(item: string): void {
    this.#held.get(item)?.open()
  }

  /** Of an answer, only the first piece is given until `pieceSeen`. */
  holdPieces(): void {
    this.#awaitsSeen = true
  }

  pieceSeen(): void {
    this.#seen.open()
  }

  /** How often `work` was called for an item. */
  works(item: string): readonly ToolUse[] {
    return this.worked.filter(({ subject }) => subject === item)
  }

  /** Lets go of everything that is held. */
  end(): void {
    for (const latch of this.#held.values()) latch.open()
    this.#seen.open()
  }

  /** The part of a process. Once it is `dead`, nothing in it answers, and nothing that it does counts. */
  part(process: { readonly dead: boolean }): WorkerPart {
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (process.dead) return never()
      try {
        const value = await work()
        return process.dead ? await never() : value
      } catch (thrown) {
        if (process.dead) return never()
        throw thrown
      }
    }
    return {
      turns: this.turns,
      usage: turnUsage,
      model: (turn, shown) => alive(() => this.#model(turn, shown)),
      pieces: (text) => this.#pieces(text),
      work: ({ item }, io = {}) => alive(() => this.#work(item, io)),
      publish: ({ text }, io = {}) =>
        alive(async () => {
          this.published.push({ subject: text, key: io.key, aborted: false })
          return `published: ${text}`
        }),
    }
  }

  async #model(turn: number, shown: string): Promise<Exclude<WorkerTurn, { readonly fail: string }>> {
    this.asked.push({ turn, shown })
    const what = this.turns[turn]
    if (what === undefined) throw out(`its model was asked for turn ${turn}, and has ${this.turns.length}`)
    if ('fail' in what) throw out(what.fail)
    return what
  }

  async *#pieces(text: string): AsyncGenerator<string, void> {
    const middle = Math.ceil(text.length / 2)
    yield text.slice(0, middle)
    if (this.#awaitsSeen) await this.#seen.opened
    if (middle < text.length) yield text.slice(middle)
  }

  async #work(item: string, { key, signal }: WorkerToolIO): Promise<string> {
    const use: ToolUse = { subject: item, key, aborted: signal?.aborted === true }
    this.worked.push(use)
    const held = this.#held.get(item)
    if (held !== undefined && !held.isOpen) {
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => {
          use.aborted = true
          reject(new Error(`"${item}" was stopped`))
        })
      })
      aborted.catch(() => {})
      await Promise.race([held.opened, aborted])
    }
    return `done: ${item}`
  }
}

/** A failure of the model that no attempt would cure. */
const out = (message: string): FailureError => new FailureError(failure('model.failed', message, 'internal'))
