/**
 * The keeper: answers what an activation asks of its engine, by adding to the draft of its next commit.
 *
 * Owns: turning verbs into entries, births, posts, questions and account operations.
 * Does not own: commits (seat.ts), effects on their way out and back (outlet.ts), session values (values.ts).
 * Holds: K2 (a question goes in the transaction that asks it), K8 (looked at before every effect), K11 (charges settle where they occur).
 */
import {
  parentOf,
  rootActivation,
  runOf,
  type ActivationId,
  type Failure,
  type Json,
  type MessageId,
  type Outcome,
  type Usage,
  type Shape,
} from '../../core/index.ts'
import {
  encode,
  eventShape,
  mailShape,
  questionShape,
  type AskOpened,
  type Caller,
  type Charge,
  type Earlier,
  type JournalEvent,
} from '../../journal/index.ts'
import {
  askedQuestion,
  codeFor,
  divergenceQuestion,
  doneIn,
  doubtQuestion,
  earlierOf,
  Effects,
  notRegistered,
  reserveFor,
  streamOf,
  type Digests,
  type Mail,
  type Operation,
  type Orchestration,
  type Owner,
  type QuestionRecord,
  type StartOptions,
  pausesIn,
  type Pause,
  type StopCause,
} from '../../engine/index.ts'
import type { Desk, Keeping } from './desk.ts'
import { hasHuman } from './held.ts'
import { readValue, updateValue, valueKeys, type ValueDesk } from './values.ts'

export class Keeper implements Keeping {
  readonly #seat: Desk

  constructor(seat: Desk) {
    this.#seat = seat
  }

  get strict(): boolean {
    return this.#seat.place.options.strict
  }
  get digests(): Digests {
    return this.#seat.place.options.digests
  }
  get redacts(): boolean {
    return this.#seat.place.options.redacts
  }
  get undoWithinMs(): number | undefined {
    return this.#seat.place.options.undoWithinMs
  }
  now(): number {
    return this.#seat.place.clock.now()
  }
  warn(code: string, message: string): void {
    this.#seat.place.options.warn(code, message)
  }
  callerOf(): Caller {
    return this.#seat.caller
  }

  // ---- the log ---------------------------------------------------------------------------------------------------------------------

  append(owner: Owner, event: JournalEvent, at: number, encoded?: string, result?: Shape): string {
    const text = this.#seat.place.options.redact(encoded ?? encode(event), eventShape(event, result))
    if (owner.discarded) return text
    const { draft } = this.#seat
    draft.entries.push({ seq: owner.seq++, at, text })
    if (event.type === 'step.settled') draft.steps.push(`${owner.id}:${event.address}`)
    this.#seat.touched()
    return text
  }
  ready(): void {
    this.#seat.ready = true
  }

  // ---- orchestration ---------------------------------------------------------------------------------------------------------------

  orchestration(owner: Owner): Orchestration | undefined {
    const found = codeFor(this.#seat.place.registry, owner.birth.agent, owner.version)
    if ('missing' in found) {
      owner.stuck = found.missing
      this.#seat.lacksCode = true
      this.#seat.draft.stuck = found.missing
      return undefined
    }
    if (this.#seat.wasStuck && owner.stuck === undefined) this.#seat.draft.stuck = null
    if (found.moved) {
      this.append(owner, { type: 'agent.moved', from: owner.version, to: found.code.version }, this.now())
      owner.version = found.code.version
    }
    return found.code
  }

  openDivergence(owner: Owner, address: string, unclaimed: readonly string[]): void {
    this.#seat.draft.stuck = `replay.diverged: ${owner.stuck ?? address}`
    const question = divergenceQuestion(owner, address, unclaimed)
    if (this.#seat.asked.has(question.id)) return
    this.append(owner, { type: 'replay.diverged', address, unclaimed }, this.now())
    this.#ask(owner, question)
  }

  // ---- effects ---------------------------------------------------------------------------------------------------------------------

  letOut(op: Operation): void {
    this.#seat.outlet.letOut(op)
  }
  inFlight(op: Operation): boolean {
    return this.#seat.place.effects.has(op)
  }
  abort(op: Operation): void {
    this.#seat.outlet.abort(op)
  }

  // ---- workers and messages --------------------------------------------------------------------------------------------------------

  versionOf(agent: string, version?: string): string | undefined {
    return this.#seat.place.registry?.find(agent, version)?.version
  }

  /** Its birth rides in the leader's commit; its workflow begins when that is durable. One that was started before is in the store already. */
  startWorker(op: Operation, agent: string, input: Json, options: StartOptions): void {
    const { owner, address } = op
    if (!op.fresh || owner.discarded) return
    const found = this.#seat.place.registry?.find(agent, options.version)
    if (found === undefined) {
      const outcome = notRegistered(agent)
      return owner.arrive({ type: 'worker.settled', address, outcome })
    }
    const { version } = found
    const { build, redact } = this.#seat.place.options
    const first = {
      type: 'activation.started',
      agent,
      version,
      input,
      ...(options.path === undefined ? {} : { path: options.path }),
    } as const
    const write = (earlier: Earlier | undefined): string =>
      redact(encode(earlier === undefined ? first : { ...first, earlier }), eventShape(first))
    this.#seat.draft.births.push({
      id: op.id as ActivationId,
      ...(build === undefined ? {} : { build }),
      agent,
      version,
      path: options.path ?? [...owner.birth.path, agent],
      limits: options.limits,
      first: write(op.earlier),
      at: this.now(),
    })
    // the log of whoever it comes after is read when this is written
    if (options.after !== undefined)
      this.#seat.draft.attempts.set(op.id as ActivationId, (logs) => write(earlierOf(op, options, () => logs)))
    this.#seat.touched()
  }
  stopWorker(op: Operation, reason: string, cause: StopCause): void {
    this.post(op.id as ActivationId, '!cancel', { type: 'cancel', reason, ...cause })
  }
  send(from: Owner, to: ActivationId, id: MessageId, body: Json): void {
    if (!from.discarded) this.post(to, id, { type: 'message', id, from: from.id, body }, true)
  }

  /** Something for another activation's inbox. */
  post(to: ActivationId, key: string, mail: Mail, refusable = false): void {
    this.#seat.draft.posts.push({ to, key, body: this.#seat.place.options.redact(JSON.stringify(mail), mailShape), refusable })
    this.#seat.touched()
  }

  holdsEnd(owner: Owner): boolean {
    return this.#seat.isRoot && (hasHuman(this.#seat.control) || owner.cancelKnown)
  }

  settled(owner: Owner, outcome: Outcome, usage: Usage, recorded: boolean): void {
    this.#seat.outlet.dismiss()
    this.#seat.over = true
    if (recorded) return
    this.#seat.draft.settled = outcome.status
    const leader = parentOf(owner.id)
    if (leader === undefined) return
    const { parent, address } = leader
    this.post(parent, `end:${address}`, { type: 'end', address, outcome, ...(usage.length === 0 ? {} : { usage }) })
  }

  // ---- questions -------------------------------------------------------------------------------------------------------------------

  #ask(owner: Owner, question: QuestionRecord): void {
    if (owner.discarded) return
    const body = this.#seat.place.options.redact(JSON.stringify(question.body), questionShape)
    this.#seat.draft.opened.push({ ...question, at: this.now(), body })
    this.#seat.touched()
  }
  openQuestion(op: Operation, event: AskOpened): void {
    this.#ask(op.owner, askedQuestion(op, event))
  }
  closeQuestion(op: Operation): void {
    if (op.owner.discarded) return
    this.#seat.draft.closed.push(op.address)
    this.#seat.touched()
  }
  doneElsewhere({ owner, address }: Operation): Operation['done'] {
    return this.#seat.doneElsewhere?.get(`${owner.id} ${address}`)
  }
  openDoubt(op: Operation, isNew: boolean): void {
    const { owner, address, rounds: round } = op
    const question = doubtQuestion(op, Effects.given(op))
    if (isNew) {
      this.append(owner, { type: 'effect.in-doubt', address, id: question.id, round, ...doneIn(op) }, this.now())
      this.#ask(owner, question)
    }
    this.#seat.doubts.get(question.key)?.()
  }

  // ---- accounts and values ---------------------------------------------------------------------------------------------------------

  reserve(owner: Owner, charge: Charge): Failure | undefined {
    if (this.#seat.accounts.length === 0) return undefined
    const refused = reserveFor(owner.id, this.#seat.accounts, charge)
    this.#seat.draft.accounts.push({ op: refused === undefined ? 'reserve' : 'refused', charge })
    return refused
  }
  settle(_owner: Owner, reserved: Charge, actual: Charge | undefined): void {
    if (this.#seat.accounts.length === 0) return
    for (const account of this.#seat.accounts) account.settle(reserved, actual)
    this.#seat.draft.accounts.push({ op: 'settle', reserved, actual })
  }
  #stream(owner: Owner): string {
    return streamOf(this.#seat.caller, runOf(owner.id))
  }
  async pauses({ id }: Owner): Promise<readonly Pause[]> {
    const feed = await this.#seat.persist((store) => store.read(runOf(id), 0))
    const root = rootActivation(runOf(id))
    return pausesIn(
      feed.filter(({ activation }) => activation === root),
      this.now(),
    )
  }

  readValue(owner: Owner, stream: string | undefined, key: string): Promise<Json> {
    return readValue(this.#seat, stream ?? this.#stream(owner), key)
  }
  valueKeys(owner: Owner, stream: string | undefined): Promise<readonly string[]> {
    return valueKeys(this.#seat, stream ?? this.#stream(owner))
  }
  updateValue(owner: Owner, stream: string | undefined, key: string, change: (value: Json) => Json, once: string): Promise<Json> {
    const { place } = this.#seat
    const desk: ValueDesk = { clock: place.clock, redact: place.options.redact, persist: (work) => this.#seat.persist(work) }
    return updateValue(desk, stream ?? this.#stream(owner), key, change, { run: runOf(owner.id), once })
  }
}
