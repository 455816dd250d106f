/**
 * What survives of the adversarial engine: for every activation a log, an inbox and an outbox of its own. Bodies are JSON text.
 *
 * Owns: the data, and what one activation's commit changes. Nothing here touches two activations at once: that is the network's business.
 */
import {
  copy,
  rootActivation,
  runOf,
  type ActivationId,
  type Json,
  type Outcome,
  type OutcomeStatus,
  type RunId,
} from '../../core/index.ts'
import { decode, type Caller, type DoneElsewhere, type Earlier, type JournalEvent, type Recorded } from '../../journal/index.ts'
import { runStream, type AccountLimits, type Mail, type PostResult, type Question, type Registry } from '../../engine/index.ts'

/** What goes from one activation to another. */
export type LetterBody =
  | {
      readonly type: 'birth'
      readonly agent: string
      readonly version: string
      readonly input: Json
      readonly limits?: AccountLimits
      readonly path: readonly string[]
      /** The path was given by the leader, instead of following from its own. */
      readonly given: boolean
      /** Of another attempt: what was done before. */
      readonly earlier?: Earlier
      readonly cancelled?: string
    }
  | Extract<Mail, { readonly type: 'end' }>
  | { readonly type: 'cancel'; readonly reason: string; readonly outcome?: Outcome; readonly keeps?: true }
  | { readonly type: 'message'; readonly id: string; readonly from: ActivationId; readonly body: Json; readonly nth: number }

/** Something on its way: sent again and again until the other side has said that it has it. */
export interface Letter {
  readonly key: string
  readonly from: ActivationId
  readonly to: ActivationId
  readonly body: LetterBody
  acked: boolean
}

export interface Row {
  readonly key: string
  readonly body: string
  taken: boolean
}

export interface StoredQuestion extends Question {
  readonly key: string
  readonly timer: boolean
  due: number | undefined
}

/** Everything that is kept of one activation. */
export interface Box {
  readonly id: ActivationId
  readonly path: readonly string[]
  readonly limits: AccountLimits | undefined
  readonly log: { readonly position: number; readonly at: number; readonly body: string }[]
  readonly rows: Map<string, Row>
  /** Messages that came before one that was sent earlier. */
  readonly early: Map<string, Extract<LetterBody, { type: 'message' }>>
  readonly heardFrom: Map<string, number>
  readonly out: Map<string, Letter>
  readonly questions: Map<string, StoredQuestion>
  settled: boolean
  /** It rests until something comes in. */
  parked: boolean
  stuck: string | undefined
  /** Working time on its account, in milliseconds. */
  ms: number
}

export interface StoredRun {
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string
  readonly createdAt: number
  readonly order: number
  /** `cancelled`: it was cancelled while it was paused; what is held back stays so until its own activation knows of it. */
  pause: { at: 'next' | 'now' | 'after-model' | 'after-tools' | 'human' | 'cancelled'; reached: boolean } | undefined
  ended: { readonly status: OutcomeStatus; readonly at: number } | undefined
  /** Of a forked run: what its origin has done, by activation and address. */
  readonly done?: ReadonlyMap<string, DoneElsewhere> | undefined
}

/**
 * What an adversarial engine keeps: the logs of its activations, letters that nobody has taken, and who drives what. It outlives the engine, so a test
 * can drop the engine and open another one over the same store. In memory only.
 */
export class AdversarialStore {
  readonly runs = new Map<RunId, StoredRun>()
  readonly boxes = new Map<ActivationId, Box>()
  readonly values = new Map<string, { version: number; body: string }>()
  readonly written = new Map<string, string>()
  #position = 0
  epoch = 0

  box(id: ActivationId, path: readonly string[], limits: AccountLimits | undefined): Box {
    const box: Box = {
      id,
      path,
      limits,
      log: [],
      rows: new Map(),
      early: new Map(),
      heardFrom: new Map(),
      out: new Map(),
      questions: new Map(),
      settled: false,
      parked: false,
      stuck: undefined,
      ms: 0,
    }
    this.boxes.set(id, box)
    return box
  }

  append(box: Box, at: number, body: string): void {
    box.log.push({ position: ++this.#position, at, body })
  }

  boxesOf(run: RunId): Box[] {
    const root = rootActivation(run)
    return [...this.boxes.values()].filter(({ id }) => id === root || id.startsWith(`${root}>`))
  }

  *events(box: Box): Generator<{ seq: number; at: number; event: JournalEvent }> {
    for (const [seq, { at, body }] of box.log.entries()) yield { seq, at, event: decode(body) }
  }

  feed(run: RunId, from: number): Recorded[] {
    const entries = this.boxesOf(run).flatMap((box) => box.log.map((entry, seq) => ({ ...entry, seq, activation: box.id })))
    return entries
      .filter(({ position }) => position > from)
      .sort((a, b) => a.position - b.position)
      .map(({ position, activation, seq, at, body }) => ({ position, run, activation, seq, at, event: decode(body) }))
  }

  caller(run: RunId): Caller {
    return JSON.parse(this.runs.get(run)?.caller ?? '{}') as Caller
  }

  questions(run?: RunId): StoredQuestion[] {
    const boxes = run === undefined ? [...this.boxes.values()] : this.boxesOf(run)
    return boxes.flatMap(({ questions }) => [...questions.values()])
  }

  /** A row is there once; whoever puts it first has won. */
  put(box: Box, key: string, body: unknown): boolean {
    if (box.rows.has(key)) return false
    box.rows.set(key, { key, body: JSON.stringify(body), taken: false })
    return true
  }

  /** An answer competes with the deadline for one row. */
  answer(activation: ActivationId, address: string, kinds: readonly Question['kind'][], body: unknown, now: number): PostResult {
    const box = this.boxes.get(activation)
    if (box === undefined) return 'unknown'
    const asked = [...box.questions.values()].find((q) => q.address === address && !q.timer && kinds.includes(q.kind))
    if (asked === undefined) return box.rows.has(`ask:${address}`) ? 'lost' : 'closed'
    const late = asked.until !== undefined && asked.until < now
    if (!this.put(box, asked.key, late ? { type: 'deadline', address } : body)) return 'lost'
    asked.due = undefined
    return late ? 'lost' : 'accepted'
  }

  /** Whether somebody has asked for this activation to be born, though it may not be yet. */
  expected(id: ActivationId): boolean {
    const cut = id.lastIndexOf('>')
    if (cut < 0) return false
    const leader = this.boxes.get(id.slice(0, cut) as ActivationId)
    return leader === undefined ? this.expected(id.slice(0, cut) as ActivationId) : leader.out.has(`birth:${id.slice(cut + 1)}`)
  }

  value(stream: string, key: string): { version: number; value: Json } {
    const stored = this.values.get(`${stream}/${key}`)
    return stored === undefined ? { version: 0, value: null } : { version: stored.version, value: JSON.parse(stored.body) as Json }
  }

  valueKeys(stream: string): readonly string[] {
    return [...this.values.keys()].flatMap((key) => (key.startsWith(`${stream}/`) ? [key.slice(stream.length + 1)] : []))
  }

  /** Others may be faster in between; then it is tried again. */
  async update(stream: string, key: string, change: (value: Json) => Json, once: string | undefined): Promise<Json> {
    for (;;) {
      const { version, value } = this.value(stream, key)
      await new Promise((resolve) => setImmediate(resolve))
      const written = this.#write(stream, key, version, change(value) ?? null, once)
      if (written !== undefined) return written
    }
  }

  /** Compare and set, once per idempotency key. Undefined: somebody else was faster. */
  #write(stream: string, key: string, expected: number, value: Json, once: string | undefined): Json | undefined {
    const done = once === undefined ? undefined : this.written.get(once)
    if (done !== undefined) return JSON.parse(done) as Json
    if (this.value(stream, key).version !== expected) return undefined
    const body = JSON.stringify(value)
    this.values.set(`${stream}/${key}`, { version: expected + 1, body })
    if (once !== undefined) this.written.set(once, body)
    return copy(value)
  }

  remove(run: RunId): void {
    for (const { id } of this.boxesOf(run)) this.boxes.delete(id)
    for (const key of this.values.keys()) if (key.startsWith(`${runStream(run)}/`)) this.values.delete(key)
    const root = rootActivation(run)
    for (const once of this.written.keys()) if (once.startsWith(`${root}:`) || once.startsWith(`${root}>`)) this.written.delete(once)
    this.runs.delete(run)
  }

  /** Runs that this registry can drive and that have not ended. */
  open(registry: Registry): StoredRun[] {
    return [...this.runs.values()].filter((run) => run.ended === undefined && registry.find(run.agent) !== undefined)
  }

  ended(box: Box): boolean {
    return this.runs.get(runOf(box.id))?.ended !== undefined
  }
}
