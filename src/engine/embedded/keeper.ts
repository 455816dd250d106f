/**
 * The keeper: answers what activations and effects ask of their engine, by adding to the batch of the next commit.
 *
 * Owns: turning verbs into entries, rows, questions and accounts; pause as "do not empty this run's outbox".
 * Does not own: when a batch is committed (driver.ts).
 * Holds: K2 (the timer goes where its question goes), K8 (checked before every effect), K11 (charges settle where they occur).
 */
import { derivedId, failed, failure, rootActivation, runOf, type ActivationId, type Clock, type Failure, type Json, type MessageId, type Outcome, type Usage } from '../../core/index.ts'
import { encode, type AskOpened, type Caller, type Charge, type JournalEvent, type StepSettled } from '../../journal/index.ts'
import { Account, reserveAll } from '../account.ts'
import { Activation } from '../activation.ts'
import type { Orchestration, StartOptions } from '../context.ts'
import { Effects, encodeEnd, type EffectsHost } from '../effects.ts'
import type { Host } from '../host.ts'
import type { Operation, Owner } from '../operation.ts'
import { pack } from './blobs.ts'
import type { Driver } from './driver.ts'
import type { Run } from './run.ts'

export class Keeper implements Host, EffectsHost {
  readonly #driver: Driver
  #warned = new Set<string>()

  constructor(driver: Driver) {
    this.#driver = driver
  }

  get clock(): Clock {
    return this.#driver.clock
  }
  get strict(): boolean {
    return this.#driver.options.strict
  }
  now(): number {
    return this.#driver.clock.now()
  }
  warn(code: string, message: string): void {
    this.#driver.options.warn(code, message)
  }
  #run(activation: ActivationId): Run | undefined {
    return this.#driver.runs.get(runOf(activation))
  }
  callerOf(activation: ActivationId): Caller {
    return this.#run(activation)?.caller ?? {}
  }

  // ---- the log ---------------------------------------------------------------------------------------------------------------------

  append(activation: Owner, event: JournalEvent, at: number, encoded?: string): string {
    const text = encoded ?? encode(event)
    const driver = this.#driver
    const run = this.#run(activation.id)
    if (activation.discarded || run === undefined || driver.crashAtAppend()) return text
    const packed = pack(text, (hash, body) => driver.batch.blobs.set(hash, body))
    driver.batch.log.push({ act: activation.id, run: run.id, seq: activation.seq++, at, body: packed?.body ?? text, blobs: packed?.hashes })
    if (event.type === 'step.settled') driver.recordedSteps.push(`${activation.id}:${event.address}`)
    driver.touch(run)
    driver.schedule()
    return text
  }

  ready(activation: Owner): void {
    this.#driver.ready.add(activation as Activation)
    this.#driver.schedule()
  }

  // ---- orchestration ---------------------------------------------------------------------------------------------------------------

  orchestration(activation: Owner): Orchestration | undefined {
    const registry = this.#driver.registry
    const exact = registry?.find(activation.birth.agent, activation.version)
    if (exact !== undefined) return exact
    const newest = registry?.find(activation.birth.agent)
    if (newest !== undefined && registry?.onMissingVersion === 'move') {
      this.append(activation, { type: 'agent.moved', from: activation.version, to: newest.version }, this.now())
      activation.version = newest.version
      return newest
    }
    const missing = newest === undefined ? `the agent "${activation.birth.agent}" is not registered` : `version ${activation.version} of "${activation.birth.agent}" is not registered`
    activation.stuck = missing
    this.#stick(activation, missing)
    return undefined
  }

  #stick(activation: Owner, reason: string): void {
    const run = this.#run(activation.id)
    if (run === undefined) return
    run.stuck = reason
    this.#driver.batch.stuck.push({ run: run.id, reason })
    this.#driver.touch(run)
    this.#driver.schedule()
  }

  foreignAwait(activation: Activation): void {
    const message = `${activation.birth.agent} awaits something that is not of its context: after a crash nothing would bring it back. Put it into an effect: step(ctx, name, () => …).`
    if (this.strict) activation.fail(failed(failure('orchestration.foreign-await', message, 'internal')))
    else if (!this.#warned.has(activation.birth.agent)) {
      this.#warned.add(activation.birth.agent)
      this.warn('orchestration.foreign-await', message)
    }
  }

  openDivergence(activation: Owner, address: string, unclaimed: readonly string[]): void {
    const id = derivedId('int', activation.id, 'diverged', address, String(activation.seq > 0 ? unclaimed.join() : ''))
    if (!this.#driver.reader.questionExists(id)) {
      this.append(activation, { type: 'replay.diverged', address, unclaimed }, this.now())
      this.#question(activation, { id, address, key: `!diverged:${address}`, kind: 'diverged', until: null, body: { address, unclaimed } })
    }
    this.#stick(activation, `replay.diverged: ${activation.stuck ?? address}`)
  }

  // ---- effects ---------------------------------------------------------------------------------------------------------------------

  letOut(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined) return
    run.out.add(op)
    for (const account of op.owner.birth.accounts) this.#enter(account)
    this.#driver.outbox.push(op)
    this.#driver.schedule()
  }

  inFlight(op: Operation): boolean {
    return this.#driver.effects.has(op)
  }

  /** The log it depends on is durable. Pause and stop are looked at once more, then it leaves. */
  release(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || !run.out.has(op)) return
    if (op.stopped !== undefined && !this.#driver.effects.has(op)) this.#arrived(op, { type: 'step.settled', address: op.address, outcome: { status: 'cancelled', reason: op.stopped } })
    else if (run.holds(op)) this.#hold(run, op)
    else this.#driver.effects.release(op)
  }

  #hold(run: Run, op: Operation): void {
    run.out.delete(op)
    run.held.push(op)
    for (const account of op.owner.birth.accounts) account.leave(this.now())
    this.#driver.touch(run)
    this.#driver.schedule()
  }

  abort(op: Operation): void {
    const reason = op.stopped ?? 'stopped'
    const run = this.#run(op.owner.id)
    if (run === undefined || op.endRecorded) return
    const held = run.held.indexOf(op)
    if (held >= 0) run.held.splice(held, 1)
    if (op.doubt !== undefined) this.closeQuestion(op)
    if (held >= 0 || op.doubt !== undefined) op.owner.arrive({ type: 'step.settled', address: op.address, outcome: { status: 'cancelled', reason } })
    else this.#driver.effects.abort(op, reason)
  }

  epochOf(op: Operation): number {
    return this.#run(op.owner.id)?.epoch ?? 0
  }

  attemptFailed(op: Operation, attempt: number, what: Failure, delayMs: number): void {
    this.append(op.owner, { type: 'step.attempt-failed', address: op.address, attempt, failure: what, delayMs }, this.now())
  }

  mayRetry(op: Operation): boolean {
    const run = this.#run(op.owner.id)
    return run !== undefined && !op.owner.discarded && !run.holds(op) && !this.#driver.dead && this.#driver.lease.fresh
  }

  calledBack(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || op.owner.discarded) return
    if (run.holds(op)) this.#hold(run, op)
    else {
      this.#driver.outbox.push(op)
      this.#driver.schedule()
    }
  }

  ended(op: Operation, event: StepSettled): void {
    if (this.#driver.dead) return
    this.#arrived(op, event)
  }

  #arrived(op: Operation, event: StepSettled): void {
    const run = this.#run(op.owner.id)
    if (run?.out.delete(op) === true) {
      for (const account of op.owner.birth.accounts) account.leave(this.now())
      this.#driver.touch(run)
    }
    if (op.owner.outcome !== undefined) return this.#driver.effects.forget(Effects.key(op))
    const end = encodeEnd(event, encode)
    op.owner.arrive(end.event, end.text)
    if (run !== undefined) this.#driver.schedule()
  }

  part(op: Operation, attempt: number, part: Json): void {
    this.#driver.onPart(runOf(op.owner.id), { activation: op.owner.id, address: op.address, attempt, part })
  }

  // ---- workers ---------------------------------------------------------------------------------------------------------------------

  /** The leader's intent and the worker's birth ride in one transaction, so the worker runs ahead in memory at once. */
  startWorker(op: Operation, agent: string, input: Json, options: StartOptions): void {
    const run = this.#run(op.owner.id)
    if (run === undefined) return
    const id = op.id as ActivationId
    const known = op.fresh ? undefined : (run.activations.get(id) ?? this.#settledOrLoaded(run, op))
    if (known === 'settled') return
    if (known !== undefined) {
      if (known.outcome !== undefined) this.#workerEnded(op, known.outcome, known.usage)
      return
    }
    const found = this.#driver.registry?.find(agent, options.version)
    if (found === undefined) {
      op.owner.arrive({ type: 'worker.settled', address: op.address, outcome: failed(failure('agent.not-registered', `no agent "${agent}" is registered`, 'validation')) })
      return
    }
    this.birth(run, id, { agent, version: found.version, input, parentPath: op.owner.birth.path, limits: options.limits, caller: undefined })
  }

  birth(run: Run, id: ActivationId, born: { agent: string; version: string; input: Json; parentPath: readonly string[]; limits: StartOptions['limits']; caller: Caller | undefined }): Activation {
    const at = this.now()
    const { agent, version } = born
    if (born.limits !== undefined && Object.keys(born.limits).length > 0) run.accounts.set(id, new Account(id, born.limits))
    const event: JournalEvent = { type: 'activation.started', agent, version, input: born.input, ...(born.caller === undefined ? {} : { caller: born.caller }) }
    const text = encode(event)
    const { input } = JSON.parse(text) as { input: Json }
    const activation = new Activation(this, { id, agent, version, input, path: [...born.parentPath, agent], accounts: this.accountsOf(run, id), at })
    run.activations.set(id, activation)
    this.#driver.batch.acts.push(id)
    this.append(activation, event, at, text)
    this.ready(activation)
    return activation
  }

  #settledOrLoaded(run: Run, op: Operation): Activation | 'settled' | undefined {
    const id = op.id as ActivationId
    const last = this.#driver.reader.lastEvent(id)
    if (last === undefined) return undefined
    if (last.type === 'activation.settled') {
      for (const row of run.mail.get(id) ?? []) this.#driver.batch.taken.push({ act: id, key: row.key })
      run.mail.delete(id)
      this.#workerEnded(op, last.outcome, last.usage ?? [])
      return 'settled'
    }
    return this.#driver.residents.load(run, id, op.owner.birth.path)
  }

  #workerEnded(op: Operation, outcome: Outcome, usage: Usage): void {
    op.owner.arrive({ type: 'worker.settled', address: op.address, outcome, ...(usage.length === 0 ? {} : { usage }) })
  }

  stopWorker(op: Operation, reason: string): void {
    const worker = this.#run(op.owner.id)?.activations.get(op.id as ActivationId)
    if (worker !== undefined && !worker.cancelKnown) worker.arrive({ type: 'cancel.received', reason })
  }

  settled(owner: Owner, outcome: Outcome, usage: Usage, recorded: boolean): void {
    const activation = owner as Activation
    const run = this.#run(activation.id)
    if (run === undefined) return
    this.#driver.leaves(activation)
    for (const op of [...run.out]) {
      if (op.owner !== activation) continue
      run.out.delete(op)
      for (const account of activation.birth.accounts) account.leave(this.now())
    }
    run.held = run.held.filter((op) => op.owner !== activation)
    if (activation.asked && !recorded) this.#driver.batch.closedActs.push(activation.id)
    if (activation.id === rootActivation(run.id)) {
      run.ended = true
      if (!recorded) this.#driver.batch.ended.push({ run: run.id, status: outcome.status, at: this.now() })
      this.#driver.ends.set(run.id, { outcome, usage })
    } else {
      const cut = activation.id.lastIndexOf('>')
      const parent = run.activations.get(activation.id.slice(0, cut) as ActivationId)
      const op = parent?.operations.get(activation.id.slice(cut + 1))
      if (op !== undefined && !op.endRecorded) this.#workerEnded(op, outcome, usage)
    }
    this.#driver.touch(run)
    this.#driver.schedule()
  }

  // ---- questions and messages ------------------------------------------------------------------------------------------------------

  openQuestion(op: Operation, event: AskOpened): void {
    const kind = event.type === 'timer.set' ? 'timer' : event.type === 'approval.requested' ? 'approval' : 'interrupt'
    const id = event.type === 'timer.set' ? `${op.owner.id}:${op.address}` : event.id
    this.#question(op.owner, { id, address: op.address, key: op.address, kind, until: event.until ?? null, body: event as unknown as Json })
  }

  #question(activation: Owner, q: { id: string; address: string; key: string; kind: string; until: number | null; body: Json }): void {
    const run = this.#run(activation.id)
    if (run === undefined || activation.discarded) return
    if (q.kind !== 'timer') run.questions++
    this.#driver.batch.questions.push({ ...q, act: activation.id, at: this.now(), body: JSON.stringify(q.body) })
  }

  closeQuestion(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || op.owner.discarded) return
    if (op.type !== 'timer.set') run.questions = Math.max(0, run.questions - 1)
    this.#driver.batch.closed.push({ act: op.owner.id, address: op.address })
    this.#driver.touch(run)
    this.#driver.schedule()
  }

  openDoubt(op: Operation, isNew: boolean): void {
    const id = derivedId('int', op.owner.id, op.address, String(op.rounds))
    if (isNew) this.append(op.owner, { type: 'effect.in-doubt', address: op.address, id, round: op.rounds }, this.now())
    const key = `${op.address}!doubt${op.rounds}`
    if (isNew) this.#question(op.owner, { id, address: op.address, key, kind: 'in-doubt', until: null, body: { address: op.address, path: op.owner.birth.path, round: op.rounds, key: Effects.key(op) } })
    const run = this.#run(op.owner.id)
    const early = run?.doubts.get(`${op.owner.id}:${key}`)
    if (early !== undefined) early()
  }

  send(from: Owner, to: ActivationId, id: MessageId, body: Json): void {
    const row = { act: to, target: 'activation', key: id, kinds: undefined, body: JSON.stringify({ type: 'message', id, from: from.id, body }) } as const
    this.#driver.post(row).then(
      (result) => {
        if (result === 'unknown' || result === 'closed') from.arrive({ type: 'message.refused', id, reason: result })
      },
      () => undefined,
    )
  }

  // ---- accounts --------------------------------------------------------------------------------------------------------------------

  /** The accounts that an activation's charges count on: its own and those of everybody above it. */
  accountsOf(run: Run, id: ActivationId): Account[] {
    if (run.accounts.size === 0) return []
    const accounts: Account[] = []
    for (const account of run.accounts.values()) if (id === account.activation || id.startsWith(`${account.activation}>`)) accounts.push(account)
    return accounts
  }

  reserve(activation: Owner, charge: Charge): Failure | undefined {
    const refused = reserveAll(activation.birth.accounts, charge)
    if (refused === undefined) return undefined
    const { account, limit } = refused
    const whose = account.activation === activation.id ? 'its own' : `the ${limit} limit of a leader`
    return failure('budget.exceeded', `the limit of ${account.limits[limit]} ${limit} is reached (${whose})`, 'budget', { details: { limit, activation: account.activation, max: account.limits[limit]! } })
  }

  settle(activation: Owner, reserved: Charge, actual: Charge | undefined): void {
    for (const account of activation.birth.accounts) account.settle(reserved, actual)
  }

  #enter(account: Account): void {
    const until = account.enter(this.now())
    if (until === undefined) return
    this.clock.timer(until, () => {
      const activation = this.#run(account.activation)?.activations.get(account.activation)
      if (activation === undefined || activation.cancelKnown || !account.minutesUsed(this.now())) return
      activation.arrive({ type: 'cancel.received', reason: `worked for ${account.limits.minutes} minutes`, limit: 'minutes' })
    })
  }

  // ---- values ----------------------------------------------------------------------------------------------------------------------

  #stream(activation: Owner): string {
    return this.callerOf(activation.id).session ?? `ses_${runOf(activation.id)}`
  }

  readValue(activation: Owner, key: string): Promise<Json> {
    return Promise.resolve(this.#driver.reader.value(this.#stream(activation), key).value)
  }

  async updateValue(activation: Owner, key: string, change: (value: Json) => Json, once: string): Promise<Json> {
    const stream = this.#stream(activation)
    for (;;) {
      const { version, value } = this.#driver.reader.value(stream, key)
      const changed = change(value) ?? null
      const event = encode({ type: 'value.updated', key, value: changed, version: version + 1, by: runOf(activation.id) })
      const result = await this.#driver.writeValue({ stream, key, expected: version, body: JSON.stringify(changed), once, event, at: this.now() })
      if (result.status === 'written') return changed
      if (result.status === 'repeated') return JSON.parse(result.body) as Json
    }
  }

  // ---- pause -----------------------------------------------------------------------------------------------------------------------

  /** `pausing` has become `paused` as soon as nothing is out. */
  notePaused(run: Run): void {
    const root = run.root
    if (run.pause === undefined || run.pause.reached || run.out.size > 0 || root === undefined) return
    run.pause.reached = true
    this.append(root, { type: 'run.paused' }, this.now())
    this.#driver.batch.control.push({ run: run.id, state: 'paused' })
  }
}

