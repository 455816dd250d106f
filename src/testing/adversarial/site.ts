/**
 * The site: what the adversarial engine has in memory. Every activation is loaded, moved and committed alone; nothing is shared but the account.
 *
 * Owns: the host of activations and effects. Does not own: when something moves (engine.ts), how letters travel (post-office.ts), what mail means (mail.ts).
 */
import {
  copy,
  failed,
  failure,
  rootActivation,
  runOf,
  type ActivationId,
  type Clock,
  type Failure,
  type Json,
  type MessageId,
  type OpId,
  type Outcome,
  type RunId,
  type Usage,
} from '../../core/index.ts'
import { decode, encode, type AskOpened, type Caller, type Charge, type JournalEvent, type StepSettled } from '../../journal/index.ts'
import {
  pausesIn,
  type Pause,
  type Account,
  type Activation,
  askedQuestion,
  codeFor,
  divergenceQuestion,
  doneIn,
  doubtQuestion,
  Effects,
  encodeEnd,
  mayLeave,
  noteHeld,
  earlierOf,
  notRegistered,
  reserveFor,
  stoppedEnd,
  streamOf,
  type EffectsHost,
  type Host,
  type LivePart,
  type Operation,
  type Orchestration,
  type Owner,
  type QuestionRecord,
  type Registry,
  type StartOptions,
  type StopCause,
} from '../../engine/index.ts'
import { digestsOf } from '../../engine/embedded/digests.ts'
import { accountsOf } from './accounts.ts'
import type { AdversarialStore, Box, Letter, LetterBody, StoredQuestion } from './store.ts'

/** An activation in memory, with what its next commit will write. */
export interface Loaded {
  readonly activation: Activation
  readonly box: Box
  entries: { at: number; text: string }[]
  letters: Letter[]
  opened: StoredQuestion[]
  closed: OpId[]
  /** Effects that may leave after the commit. */
  sealed: Operation[]
  steps: string[]
  changed: boolean
  /** Rows that were given to it and are not marked as taken yet. */
  readonly handed: Set<string>
  readonly doubts: Map<string, () => void>
  reload: boolean
}

export interface SiteOptions {
  readonly clock: Clock
  readonly store: AdversarialStore
  readonly strict: boolean
  readonly onPart: (run: RunId, part: LivePart) => void
  /** Something is to be done. */
  readonly wake: () => void
}

export class Site implements Host, EffectsHost {
  readonly clock: Clock
  readonly strict: boolean
  readonly store: AdversarialStore
  readonly effects: Effects
  readonly loaded = new Map<ActivationId, Loaded>()
  readonly moving = new Set<ActivationId>()
  /** Effects let out or about to be, whose end nobody has seen. */
  readonly out = new Set<Operation>()
  held: Operation[] = []
  readonly #accounts = new Map<RunId, Account[]>()
  readonly #options: SiteOptions
  readonly digests = digestsOf(undefined)
  registry: Registry | undefined
  dead = false

  constructor(options: SiteOptions) {
    this.#options = options
    this.clock = options.clock
    this.strict = options.strict
    this.store = options.store
    this.effects = new Effects(this)
  }

  of(owner: { readonly id: ActivationId }): Loaded {
    const loaded = this.loaded.get(owner.id)
    if (loaded === undefined) throw new Error(`${owner.id} is not in memory`)
    return loaded
  }
  now(): number {
    return this.clock.now()
  }
  warn(): void {}
  callerOf(activation: ActivationId): Caller {
    return this.store.caller(runOf(activation))
  }
  paused(activation: ActivationId, op: Operation): boolean {
    const pause = this.store.runs.get(runOf(activation))?.pause
    if (pause?.at === 'cancelled') return this.loaded.get(activation)?.activation.cancelKnown !== true
    return pause !== undefined && !(pause.at === 'after-tools' && op.effect !== 'model')
  }
  accounts(run: RunId): Account[] {
    let accounts = this.#accounts.get(run)
    if (accounts === undefined) this.#accounts.set(run, (accounts = accountsOf(this.store, run)))
    return accounts
  }
  #touch(loaded: Loaded): void {
    loaded.changed = true
    this.#options.wake()
  }

  // ---- the log ---------------------------------------------------------------------------------------------------------------------

  append(owner: Owner, event: JournalEvent, at: number, encoded?: string): string {
    const text = encoded ?? encode(event)
    if (owner.discarded || this.dead) return text
    const loaded = this.of(owner)
    owner.seq++
    loaded.entries.push({ at, text })
    if (event.type === 'step.settled') loaded.steps.push(`${owner.id}:${event.address}`)
    this.#touch(loaded)
    return text
  }
  ready(owner: Owner): void {
    this.moving.add(owner.id)
    this.#options.wake()
  }
  orchestration(owner: Owner): Orchestration | undefined {
    const found = codeFor(this.registry, owner.birth.agent, owner.version)
    if ('missing' in found) {
      this.#stick(owner, found.missing)
      return undefined
    }
    if (found.moved) {
      this.append(owner, { type: 'agent.moved', from: owner.version, to: found.code.version }, this.now())
      owner.version = found.code.version
    }
    return found.code
  }
  #stick(owner: Owner, reason: string): void {
    owner.stuck = reason
    this.of(owner).box.stuck = reason
  }
  foreignAwait(activation: Activation): void {
    activation.leaveCode(this.clock)
    const message = `${activation.birth.agent} awaits something that is not of its context`
    if (this.strict) activation.fail(failed(failure('orchestration.foreign-await', message, 'internal')))
  }

  // ---- effects ---------------------------------------------------------------------------------------------------------------------

  letOut(op: Operation): void {
    const loaded = this.of(op.owner)
    this.out.add(op)
    for (const account of op.owner.birth.accounts) this.#enter(account)
    loaded.sealed.push(op)
    this.#touch(loaded)
  }
  inFlight(op: Operation): boolean {
    return this.effects.has(op)
  }
  release(op: Operation): void {
    if (!this.out.has(op) || op.owner.discarded) return
    if (op.stopped !== undefined && !this.effects.has(op)) this.#arrived(op, stoppedEnd(op))
    else if (this.paused(op.owner.id, op)) this.#hold(op)
    else if (this.effects.has(op) || mayLeave(this, op)) this.effects.release(op)
    else this.of(op.owner).sealed.push(op)
  }
  #hold(op: Operation): void {
    noteHeld(this, op)
    this.#leave(op)
    this.held.push(op)
    this.#options.wake()
  }
  #leave(op: Operation): boolean {
    if (!this.out.delete(op)) return false
    for (const account of op.owner.birth.accounts) account.leave(this.now())
    return true
  }
  abort(op: Operation): void {
    if (op.endRecorded) return
    const held = this.held.indexOf(op)
    if (held < 0 && op.doubt === undefined) return void this.effects.abort(op, op.stopped ?? 'stopped')
    if (held >= 0) this.held.splice(held, 1)
    if (op.doubt !== undefined) this.closeQuestion(op)
    op.doubt = undefined
    op.owner.arrive(stoppedEnd(op))
  }
  epochOf(): number {
    return this.store.epoch
  }
  attemptFailed(op: Operation, attempt: number, what: Failure, delayMs: number): void {
    this.append(op.owner, { type: 'step.attempt-failed', address: op.address, attempt, failure: what, delayMs }, this.now())
  }
  mayRetry(op: Operation): boolean {
    return !this.dead && !op.owner.discarded && !this.paused(op.owner.id, op)
  }
  waits(op: Operation, waiting: boolean): void {
    if (!this.out.has(op)) return
    for (const account of op.owner.birth.accounts) {
      if (waiting) account.leave(this.now())
      else this.#enter(account)
    }
  }
  calledBack(op: Operation): void {
    if (op.owner.discarded || this.dead || !this.out.has(op)) return
    if (this.paused(op.owner.id, op)) return this.#hold(op)
    const loaded = this.of(op.owner)
    loaded.sealed.push(op)
    this.#touch(loaded)
  }
  ended(op: Operation, event: StepSettled): void {
    if (!this.dead) this.#arrived(op, event)
  }
  #arrived(op: Operation, event: StepSettled): void {
    this.#leave(op)
    if (op.owner.outcome !== undefined || op.ended) return this.effects.forget(Effects.key(op))
    const end = encodeEnd(event, encode)
    op.owner.arrive(end.event, end.text)
    this.#options.wake()
  }
  part(op: Operation, attempt: number, part: Json): void {
    this.#options.onPart(runOf(op.owner.id), {
      activation: op.owner.id,
      address: op.address,
      epoch: this.store.epoch,
      attempt,
      part: copy(part),
    })
  }

  // ---- workers and messages --------------------------------------------------------------------------------------------------------

  #post(owner: Owner, key: string, to: ActivationId, body: LetterBody): void {
    const loaded = this.of(owner)
    if (owner.discarded || loaded.box.out.has(key) || loaded.letters.some((letter) => letter.key === key)) return
    loaded.letters.push({ key, from: owner.id, to, body: copy(body as unknown as Json) as unknown as LetterBody, acked: false })
    this.#touch(loaded)
  }
  versionOf(agent: string, version?: string): string | undefined {
    return this.registry?.find(agent, version)?.version
  }
  startWorker(op: Operation, agent: string, input: Json, options: StartOptions): void {
    const { owner, address } = op
    if (this.of(owner).handed.has(`end:${address}`)) return
    const box = this.store.boxes.get(op.id as ActivationId)
    const last = box?.settled === true ? decode(box.log.at(-1)!.body) : undefined
    if (last?.type === 'activation.settled') {
      // its letter may have been taken by an earlier memory of the leader that left without recording it
      this.of(owner).handed.add(`end:${address}`)
      const usage = last.usage === undefined ? {} : { usage: last.usage }
      return owner.arrive({ type: 'worker.settled', address, outcome: last.outcome, ...usage }, undefined, `end:${address}`)
    }
    if (this.of(owner).box.out.has(`birth:${address}`)) return
    const found = this.registry?.find(agent, options.version)
    if (found === undefined) {
      const outcome = notRegistered(agent)
      return owner.arrive({ type: 'worker.settled', address, outcome })
    }
    const path = options.path ?? [...owner.birth.path, agent]
    const given = options.path !== undefined
    const limits = options.limits === undefined ? {} : { limits: options.limits }
    const earlier = earlierOf(op, options, () => this.store.feed(runOf(op.id as ActivationId), 0))
    this.#post(owner, `birth:${address}`, op.id as ActivationId, {
      type: 'birth',
      agent,
      version: found.version,
      input,
      path,
      given,
      ...limits,
      ...(earlier === undefined ? {} : { earlier }),
    })
  }
  stopWorker(op: Operation, reason: string, cause: StopCause): void {
    const birth = this.of(op.owner).letters.find(({ key }) => key === `birth:${op.address}`)
    // born and stopped in one commit: it is stopped before it has done anything
    if (birth?.body.type === 'birth') Object.assign(birth.body, { cancelled: reason })
    else this.#post(op.owner, `cancel:${op.address}`, op.id as ActivationId, { type: 'cancel', reason, ...cause })
  }
  send(from: Owner, to: ActivationId, id: MessageId, body: Json): void {
    const loaded = this.of(from)
    const before = [...loaded.box.out.values(), ...loaded.letters].filter(
      (letter) => letter.to === to && letter.body.type === 'message',
    ).length
    this.#post(from, id, to, { type: 'message', id, from: from.id, body, nth: before })
  }
  holdsEnd({ id, cancelKnown }: Owner): boolean {
    return id === rootActivation(runOf(id)) && (this.store.runs.get(runOf(id))?.pause?.at === 'human' || cancelKnown)
  }
  settled(owner: Owner, outcome: Outcome, usage: Usage): void {
    for (const op of this.out) if (op.owner === owner) this.#leave(op)
    this.held = this.held.filter((op) => op.owner !== owner)
    const cut = owner.id.lastIndexOf('>')
    if (cut < 0) return
    const address = owner.id.slice(cut + 1)
    const used = usage.length === 0 ? {} : { usage }
    this.#post(owner, 'end', owner.id.slice(0, cut) as ActivationId, { type: 'end', address, outcome, ...used })
  }

  // ---- questions -------------------------------------------------------------------------------------------------------------------

  #ask(owner: Owner, { until, ...rest }: QuestionRecord): void {
    const timer = rest.kind === 'timer'
    // an answer at the deadline still counts (team C81)
    const due = until === null ? undefined : timer ? until : until + 1
    const kind = rest.kind === 'timer' ? 'interrupt' : rest.kind
    const placed = { ...rest, kind, timer, due, run: runOf(owner.id), activation: owner.id, askedAt: this.now(), body: copy(rest.body) }
    const loaded = this.of(owner)
    loaded.opened.push(until === null ? placed : { ...placed, until })
    this.#touch(loaded)
  }
  openQuestion(op: Operation, event: AskOpened): void {
    this.#ask(op.owner, askedQuestion(op, event))
  }
  closeQuestion(op: Operation): void {
    if (op.owner.discarded) return
    const loaded = this.of(op.owner)
    loaded.closed.push(op.address)
    this.#touch(loaded)
  }
  doneElsewhere(op: Operation): Operation['done'] {
    return this.store.runs.get(runOf(op.owner.id))?.done?.get(`${op.owner.id} ${op.address}`)
  }
  openDoubt(op: Operation, isNew: boolean): void {
    const { owner, address, rounds: round } = op
    const question = doubtQuestion(op, Effects.given(op))
    if (isNew) {
      this.append(owner, { type: 'effect.in-doubt', address, id: question.id, round, ...doneIn(op) }, this.now())
      this.#ask(owner, question)
    }
    this.of(owner).doubts.get(question.key)?.()
  }
  openDivergence(owner: Owner, address: string, unclaimed: readonly string[]): void {
    const { box } = this.of(owner)
    box.stuck = `replay.diverged: ${owner.stuck ?? address}`
    const question = divergenceQuestion(owner, address, unclaimed)
    if (box.questions.has(question.id)) return
    this.append(owner, { type: 'replay.diverged', address, unclaimed }, this.now())
    this.#ask(owner, question)
  }

  // ---- accounts and values ---------------------------------------------------------------------------------------------------------

  reserve(owner: Owner, charge: Charge): Failure | undefined {
    return reserveFor(owner.id, owner.birth.accounts, charge)
  }
  settle(owner: Owner, reserved: Charge, actual: Charge | undefined): void {
    for (const account of owner.birth.accounts) account.settle(reserved, actual)
  }
  #enter(account: Account): void {
    const until = account.enter(this.now())
    if (until === undefined) return
    this.clock.timer(until, () => {
      const loaded = this.loaded.get(account.activation)
      const box = this.store.boxes.get(account.activation)
      if (this.dead || box === undefined || box.settled || !account.minutesUsed(this.now())) return
      this.store.put(box, '!cancel', { type: 'cancel', reason: `worked for ${account.limits.minutes} minutes`, limit: 'minutes' })
      if (loaded !== undefined) this.#touch(loaded)
      this.#options.wake()
    })
  }
  #stream(owner: Owner): string {
    return streamOf(this.callerOf(owner.id), runOf(owner.id))
  }
  pauses({ id }: Owner): Promise<readonly Pause[]> {
    return Promise.resolve(pausesIn(this.store.events(this.store.boxes.get(rootActivation(runOf(id)))!), this.now()))
  }
  readValue(owner: Owner, stream: string | undefined, key: string): Promise<Json> {
    return Promise.resolve(this.store.value(stream ?? this.#stream(owner), key).value)
  }
  valueKeys(owner: Owner, stream: string | undefined): Promise<readonly string[]> {
    return Promise.resolve(this.store.valueKeys(stream ?? this.#stream(owner)))
  }
  updateValue(owner: Owner, stream: string | undefined, key: string, change: (value: Json) => Json, once: string): Promise<Json> {
    return this.store.update(stream ?? this.#stream(owner), key, change, once)
  }

  /** Whether the run has anything out in this process. */
  works(run: RunId): boolean {
    for (const op of this.out) if (runOf(op.owner.id) === run) return true
    return false
  }
  rootOf(run: RunId): Loaded | undefined {
    return this.loaded.get(rootActivation(run))
  }
}
