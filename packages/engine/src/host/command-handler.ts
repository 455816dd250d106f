/**
 * The command handler: carries out what activations ask of their engine, by adding to the batch of the next commit.
 *
 * Owns: turning verbs into entries, rows, questions and accounts.
 * Does not own: when a batch is committed (driver.ts), effects on their way out and back (effect-dispatcher.ts).
 * Holds: K2 (the timer goes where its question goes), K8 (checked before every effect), K11 (charges settle where they
 * occur).
 */
import {
  isWithin,
  andThen,
  childActivation,
  failed,
  failure,
  present,
  rootActivation,
  runOf,
  rootRun,
  type ActivationId,
  type Clock,
  type Failure,
  type Json,
  type MessageId,
  type Now,
  type Outcome,
  type Usage,
  type WithWorkDone,
  type Shape,
} from '@reeve/core'
import {
  decode,
  encode,
  endReasonShape,
  type ActivationStarted,
  type AskOpened,
  type Caller,
  type Charge,
  type DoneEffect,
  type DoneElsewhere,
  type Earlier,
  type JournalEvent,
} from '@reeve/journal'
import { Account, limitsApart } from '../replay/account.ts'
import { awaitsForeign, codeFor, versionToBegin } from '../code-version.ts'
import type { Orchestration, OriginDeed, SentBack, StartWorkerOptions } from '../context.ts'
import { doneEffects, earlierIn, earlierOf, workDoneIn, type Logged } from '../replay/earlier-attempts.ts'
import type { Digests } from '../replay/activation-host.ts'
import type { StopCause } from '../replay/activation-host.ts'
import type { Pause } from '../context.ts'
import { effectKeyOf, notRegistered, nothingUsed, type Operation, type Owner } from '../replay/operation.ts'
import { pausesIn } from '../replay/pauses.ts'
import { endReason, runUsage } from '../run-row.ts'
import { streamOf } from '../streams.ts'
import { writeBirth, type RunBirth } from './birth.ts'
import type { EngineState, Commands } from './engine-state.ts'
import { accountsOf, leave, reserve, settle } from './run-accounts.ts'
import { dropQuestion, putAsk, putDivergence, putDoubt, putMessage } from './questions.ts'
import { EffectDispatcher } from './effect-dispatcher.ts'
import { commandChild, reportEnd } from './children.ts'
import { LoadedActivation, type LoadedRun } from './loaded-run.ts'
import { patiently, readValue, updateValue, valueKeys } from './values.ts'

/** Failures of the set-up, and defects in the code of an agent. */
const unplanned: ReadonlySet<string> = new Set([
  'config.invalid',
  'model.not-authorized',
  'model.not-installed',
  'orchestration.threw',
])

/** An activation and the leaders above it, with the versions of the code that drives them. */
function* upwards(from: LoadedActivation): Generator<{ readonly agent: string; readonly version: string }> {
  for (let each: LoadedActivation | undefined = from; each !== undefined; each = leaderOf(each))
    yield { agent: each.birth.agent, version: each.version }
}

const leaderOf = ({ startedBy }: LoadedActivation): LoadedActivation | undefined =>
  startedBy?.owner as LoadedActivation | undefined

/** The key of an effect that has ended; most of them the code has asked for. */
function keyOf({ id, operations }: LoadedActivation, address: string): string {
  return operations.get(address)?.effectKey ?? effectKeyOf(id, address)
}

export class CommandHandler implements Commands {
  readonly dispatcher: EffectDispatcher
  readonly clock: Clock
  readonly strict: boolean
  readonly redacts: boolean
  readonly digests: Digests
  readonly undoWithinMs: number | undefined
  readonly #engine: EngineState
  /** What was warned about: the agent, or the agent and a code. */
  #warned = new Set<string>()

  constructor(engine: EngineState) {
    const { strict, redactEntry, digests, undoWithinMs } = engine.options
    this.#engine = engine
    this.clock = engine.clock
    this.strict = strict
    this.redacts = redactEntry !== undefined
    this.digests = digests
    this.undoWithinMs = undoWithinMs
    this.dispatcher = new EffectDispatcher(engine)
  }

  now(): number {
    return this.clock.now()
  }
  warn(code: string, message: string): void {
    this.#engine.options.warn(code, message)
  }
  callerOf(owner: Owner): Caller {
    return (owner as LoadedActivation).run.caller
  }

  append(activation: Owner, event: JournalEvent, at: number, encoded?: string, result?: Shape): string {
    const engine = this.#engine
    const plain = encoded ?? encode(event)
    const text = engine.options.redactEntry?.(plain, event, result) ?? plain
    const { run } = activation as LoadedActivation
    if (activation.discarded || run.isVoid || engine.dead || engine.crash?.('append') === true) return text
    engine.batch.log.push({ act: activation.id, run: run.id, seq: activation.seq++, at, body: text })
    if (event.type === 'worker.settled' && event.apart === true)
      run.children.delete(runOf(childActivation(activation.id, event.address, true)))
    if (event.type === 'activation.settled' && event.outcome.status === 'failed') this.#explain(activation, text)
    if (event.type === 'step.settled') engine.recordStep(run.id, keyOf(activation as LoadedActivation, event.address))
    engine.touch(run)
    return text
  }

  /** How a run is held is told by its log: while it is, that is read whole. */
  standsFor(activation: Owner, from: number): void {
    const { run } = activation as LoadedActivation
    if (activation.discarded || run.isVoid || run.pause !== undefined) return
    this.#engine.batch.summed.push({ act: activation.id, from, upTo: activation.seq - 1 })
  }

  /**
   * Says on stderr, once for an agent and code, that an agent failed for a reason that its caller could not plan for: a
   * program that ignores the outcome does not end in silence (docs/decisions/0014). `text`: as it is stored, without
   * secrets.
   */
  #explain(activation: Owner, text: string): void {
    const event = decode(text)
    if (event.type !== 'activation.settled' || event.outcome.status !== 'failed') return
    const { code, message, hint, details } = event.outcome.failure
    const { agent } = activation.birth
    const cause = `${agent} ${code}`
    const isDefect = code === 'model.failed' && details?.['threw'] !== undefined
    if ((!unplanned.has(code) && !isDefect) || this.#warned.has(cause)) return
    this.#warned.add(cause)
    this.warn(
      code,
      `agent "${agent}" failed in ${runOf(activation.id)}: ${message}${hint === undefined ? '' : `. ${hint}`}`,
    )
  }

  ready(activation: Owner): void {
    this.#engine.ready.add(activation as LoadedActivation)
    this.#engine.schedule()
  }

  useUp(activation: Owner, row: string): void {
    const { run } = activation as LoadedActivation
    if (activation.discarded || run.isVoid) return
    this.#engine.batch.taken.push({ act: activation.id, key: row })
    this.#engine.touch(run)
  }

  orchestration(activation: Owner): Orchestration | undefined {
    const { run } = activation as LoadedActivation
    if (run.broughtBack === 'cancel') return undefined
    const { agent } = activation.birth
    const found = codeFor(this.#engine.registry, agent, activation.version)
    if ('code' in found) {
      if (found.moved) {
        this.append(activation, { type: 'agent.moved', from: activation.version, to: found.code.version }, this.now())
        activation.version = found.code.version
      }
      return found.code
    }
    const { missing } = found
    activation.stuck = missing
    this.#stick(activation, missing)
    run.lacksCode = true
    this.#engine.cache.lacksCode(run.id)
    return undefined
  }

  /** The run is not stuck any more. */
  unstick(run: LoadedRun): void {
    run.stuck = undefined
    run.lacksCode = false
    this.#engine.batch.stuck.push({ run: run.id, reason: null })
  }

  #stick(activation: Owner, reason: string): void {
    const { run } = activation as LoadedActivation
    if (run.isVoid) return
    run.stuck = reason
    this.#engine.batch.stuck.push({ run: run.id, reason })
    this.#engine.touch(run)
  }

  foreignAwait(activation: LoadedActivation): void {
    activation.leaveCode(this.#engine.clock)
    const message = awaitsForeign(activation.birth.agent)
    if (this.strict) activation.fail(failed(failure('orchestration.foreign-await', message, 'internal')))
    else if (!this.#warned.has(activation.birth.agent)) {
      this.#warned.add(activation.birth.agent)
      this.warn('orchestration.foreign-await', message)
    }
  }

  openDivergence(activation: Owner, address: string, unclaimed: readonly string[]): void {
    putDivergence(this.#engine, activation, address, unclaimed)
    this.#stick(activation, `replay.diverged: ${activation.stuck ?? address}`)
  }

  letOut(op: Operation): void {
    this.dispatcher.letOut(op)
  }
  inFlight(op: Operation): boolean {
    return this.#engine.effects.has(op)
  }
  abort(op: Operation): void {
    this.dispatcher.abort(op)
  }

  versionOf(leader: Owner, worker: string, given?: string): string | undefined {
    return versionToBegin(this.#engine.registry, upwards(leader as LoadedActivation), worker, given)
  }

  /** The leader's intent and the worker's birth ride in one transaction, so the worker runs ahead in memory at once. */
  startWorker(op: Operation, agent: string, input: Json, options: StartWorkerOptions): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid) return
    const id = op.id as ActivationId
    // it was written with the intent to start it, and its end comes as mail
    if (op.isApart && !op.fresh) return
    let known: LoadedActivation | 'settled' | undefined
    try {
      known = op.fresh ? undefined : (run.activations.get(id) ?? this.#settledOrLoaded(run, op))
    } catch (thrown) {
      // Not the leader's failure: the run stops where it is until its journal can be read.
      return this.#engine.cache.unreadable(run, thrown)
    }
    if (known === 'settled') return
    if (known !== undefined) {
      if (known.over) this.#workerEnded(op, known.outcome!, known.usage)
      return
    }
    const mayBegin = this.#engine.registry?.mayBegin?.(agent, run.caller.tenant) !== false
    const version = mayBegin ? this.versionOf(op.owner, agent, options.version) : undefined
    if (version === undefined) {
      op.owner.arrive({
        type: 'worker.settled',
        address: op.address,
        outcome: notRegistered(agent),
        ...(op.isApart ? { apart: true, charge: nothingUsed } : {}),
      })
      return
    }
    const bear = (earlier: Earlier | undefined): void => {
      if (op.isApart)
        return this.#bearApart(run, op, { agent, version, input, path: options.path, limits: options.limits, earlier })
      this.birth(run, id, {
        agent,
        version,
        input,
        startedBy: op,
        path: options.path,
        limits: options.limits,
        caller: undefined,
        earlier,
      })
    }
    const earlier = earlierOf(op, options, (worker) => this.#logsBelow(worker))
    if (!(earlier instanceof Promise)) return bear(earlier)
    run.unborn.set(id, undefined)
    this.#engine.await(
      earlier.then(
        (known) => {
          const then = run.unborn.get(id)
          run.unborn.delete(id)
          if (op.owner.discarded || op.owner.outcome !== undefined) return
          bear(known)
          then?.()
        },
        (thrown: unknown) => this.#engine.cache.unreadable(run, thrown),
      ),
    )
  }

  /** `input`: a value that nobody else has in their hands. */
  birth(
    run: LoadedRun,
    id: ActivationId,
    born: {
      agent: string
      version: string
      input: Json
      startedBy: Operation | undefined
      path?: readonly string[] | undefined
      limits: StartWorkerOptions['limits']
      caller: Caller | undefined
      earlier?: Earlier | undefined
    },
  ): LoadedActivation {
    const at = this.now()
    const { agent, version } = born
    if (born.limits !== undefined && Object.keys(born.limits).length > 0) run.addAccount(new Account(id, born.limits))
    const event: ActivationStarted = {
      type: 'activation.started',
      agent,
      version,
      input: born.input,
      ...(born.caller === undefined ? {} : { caller: born.caller }),
      ...(born.path === undefined ? {} : { path: born.path }),
      ...(born.earlier === undefined ? {} : { earlier: born.earlier }),
    }
    const encoded = encode(event)
    const text = this.#engine.options.redactEntry?.(encoded, event) ?? encoded
    // what the code begins with is what is recorded (K10)
    const isRead = text === encoded && born.earlier === undefined
    const { input, earlier } = isRead ? event : (decode(text) as typeof event)
    const { startedBy } = born
    const path = born.path ?? (startedBy?.owner.birth.path ?? []).concat(agent)
    const accounts = accountsOf(run, id, startedBy?.owner)
    const activation = new LoadedActivation(
      this,
      { id, agent, version, input, path, accounts, at, earlier },
      run,
      startedBy,
    )
    run.activations.set(id, activation)
    this.#engine.batch.acts.push(id)
    this.append(activation, event, at, text)
    this.ready(activation)
    return activation
  }

  /**
   * A worker that is a run of its own is written in the same transaction, and any process that drives takes it up. Its
   * slice of the limits is its own from now on.
   */
  #bearApart(
    run: LoadedRun,
    op: Operation,
    born: Pick<RunBirth, 'agent' | 'version' | 'input'> & {
      readonly path: readonly string[] | undefined
      readonly limits: StartWorkerOptions['limits']
      readonly earlier: Earlier | undefined
    },
  ): void {
    const { agent, version, input, earlier, path } = born
    const under = op.owner.birth.path
    const child = runOf(op.id as ActivationId)
    const minutes = [
      born.limits,
      ...op.owner.birth.accounts.map((account) => ({ minutes: account.minutesLeft(this.now()) })),
    ]
      .flatMap((limits) => limits?.minutes ?? [])
      .toSorted((a, b) => a - b)[0]
    const limits = { ...limitsApart(born.limits, op.reserved ?? {}), ...present({ minutes }) }
    const caller = Object.keys(run.caller).length === 0 ? undefined : run.caller
    writeBirth(
      this.#engine,
      { run: child, agent, version, input, under, limits, ...present({ path, caller, earlier }) },
      run.id,
    )
    run.children.add(child)
    if (run.pause !== undefined)
      commandChild(this.#engine, run, child, 'born', {
        type: 'pause',
        run: child,
        at: run.pause.at === 'human' ? 'next' : run.pause.at,
      })
    this.#engine.touch(run)
  }

  /** What is in the logs of a worker and of those below it, with what the next commit holds of them. */
  #logsBelow(worker: ActivationId): Now<Iterable<Logged>> {
    const unwritten = this.#engine.batch.log.filter(({ act }) => isWithin(act, worker))
    const known = unwritten.map(({ act, at, body }) => ({ activation: act, at, event: decode(body) }))
    return andThen(this.#engine.store.reader.below(worker), (written) => [...written, ...known])
  }

  #settledOrLoaded(run: LoadedRun, op: Operation): LoadedActivation | 'settled' | undefined {
    const id = op.id as ActivationId
    const last = run.past?.lastEvent(id)
    if (last === undefined) return undefined
    if (last.type === 'activation.settled') {
      for (const row of run.mail.get(id) ?? []) this.#engine.batch.taken.push({ act: id, key: row.key })
      run.mail.delete(id)
      this.#workerEnded(op, last.outcome, last.usage ?? [])
      return 'settled'
    }
    return this.#engine.cache.load(run, id, op)
  }

  #workerEnded(op: Operation, outcome: Outcome, usage: Usage): void {
    op.owner.arrive({ type: 'worker.settled', address: op.address, outcome, ...(usage.length === 0 ? {} : { usage }) })
  }

  stopWorker(op: Operation, reason: string, cause: StopCause): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid) return
    const id = op.id as ActivationId
    if (run.unborn.has(id)) {
      run.unborn.set(id, () => this.stopWorker(op, reason, cause))
      return
    }
    if (op.isApart) {
      commandChild(this.#engine, run, runOf(id), 'stop', { type: 'cancel', reason, ...cause })
      return
    }
    const worker = run.activations.get(id)
    if (worker === undefined || worker.cancelKnown) return
    if (worker.stuck !== undefined) this.unstick(run)
    worker.arrive({ type: 'cancel.received', reason, ...cause })
  }

  holdsEnd(owner: Owner): boolean {
    const { run } = owner as LoadedActivation
    return run.root === owner && (run.pause?.at === 'human' || owner.cancelKnown)
  }

  settled(owner: Owner, outcome: Outcome, usage: Usage, recorded: boolean): void {
    const activation = owner as LoadedActivation
    const { run } = activation
    if (run.isVoid) return
    this.#engine.forgetSettled(activation)
    for (const op of run.out) {
      if (op.owner !== activation) continue
      run.out.delete(op)
      leave(this.#engine, activation)
    }
    const spent = run.accounts.get(activation.id)?.spent
    // what is still to be written of it is in the list of those that changed
    run.accounts.delete(activation.id)
    if (run.held.length > 0) run.held = run.held.filter((op) => op.owner !== activation)
    if (activation.asked && !recorded) this.#engine.batch.closedActs.push(activation.id)
    if (activation.id === run.rootId) {
      run.ended = true
      if (!recorded)
        this.#engine.batch.ended.push({
          run: run.id,
          status: outcome.status,
          at: this.now(),
          usage: runUsage(usage),
          ...present({ why: this.#whyEnded(outcome) }),
        })
      this.#engine.ends.set(run.id, { outcome, usage })
      if (!recorded) reportEnd(this.#engine, run, { outcome, usage, spent })
    } else {
      // the leader may have carried it over into another segment since: as another operation at the same address
      const { owner: leader, address } = activation.startedBy!
      const op = (leader as LoadedActivation).operations.get(address)
      if (op !== undefined && !op.endRecorded) this.#workerEnded(op, outcome, usage)
    }
    this.#engine.touch(run)
  }

  #whyEnded(outcome: Outcome): string | undefined {
    const why = endReason(outcome)
    return why === undefined ? undefined : this.#engine.options.redact(JSON.stringify(why), endReasonShape)
  }

  openQuestion(op: Operation, event: AskOpened): void {
    putAsk(this.#engine, op, event)
  }
  closeQuestion(op: Operation): void {
    dropQuestion(this.#engine, op)
  }
  doneElsewhere(op: Pick<Operation, 'owner' | 'address'>): DoneElsewhere | undefined {
    return (op.owner as LoadedActivation).run.origin?.effect(op)
  }
  isDoneBelow(leader: Owner, address: string, after: ActivationId | undefined): boolean {
    return (leader as LoadedActivation).run.origin?.isBelow(leader.id, address, after) === true
  }
  deedsOfOrigin(owner: Owner, scope: string): readonly OriginDeed[] {
    return (owner as LoadedActivation).run.origin?.within(owner.id, scope) ?? []
  }
  openDoubt(op: Operation, isNew: boolean): void {
    putDoubt(this.#engine, op, isNew)
  }
  send(from: Owner, to: ActivationId, id: MessageId, body: Json): void {
    putMessage(this.#engine, from, to, id, body)
  }

  reserve(activation: Owner, charge: Charge): Failure | undefined {
    return reserve(activation, charge)
  }
  settle(activation: Owner, reserved: Charge, actual: Charge | undefined): void {
    settle(activation, reserved, actual)
  }
  #stream(activation: Owner): string {
    return streamOf(this.callerOf(activation), rootRun(runOf(activation.id)))
  }
  earlierRounds({ id }: Owner, sentBack: SentBack): Promise<Earlier> {
    return Promise.resolve(andThen(this.#logsBelow(id), (entries) => earlierIn(id, entries, sentBack)))
  }
  doneBy(_activation: Owner, worker: ActivationId): Promise<readonly DoneEffect[]> {
    return Promise.resolve(doneEffects(worker, (each) => this.#logsBelow(each)))
  }
  workDone({ id }: Owner, then: (done: WithWorkDone) => void): void {
    const read = andThen(this.#logsBelow(id), (entries) => workDoneIn(id, entries))
    if (!(read instanceof Promise)) return then(read)
    // its leader is told less, but not for ever nothing
    this.#engine.await(read.then(then, () => then({})))
  }
  pauses(activation: Owner): Promise<readonly Pause[]> {
    const log = patiently(
      this.#engine,
      activation,
    )(() => this.#engine.store.reader.log(rootActivation(runOf(activation.id))))
    return log.then((entries) => pausesIn(entries, this.now()))
  }

  readValue(activation: Owner, stream: string | undefined, key: string): Promise<Json> {
    return readValue(this.#engine, stream ?? this.#stream(activation), key, patiently(this.#engine, activation))
  }
  valueKeys(activation: Owner, stream: string | undefined): Promise<readonly string[]> {
    return valueKeys(this.#engine, stream ?? this.#stream(activation), patiently(this.#engine, activation))
  }
  updateValue(
    activation: Owner,
    stream: string | undefined,
    key: string,
    change: (value: Json) => Json,
    once: string,
  ): Promise<Json> {
    const by = { run: runOf(activation.id), once }
    return updateValue(
      this.#engine,
      stream ?? this.#stream(activation),
      key,
      change,
      by,
      patiently(this.#engine, activation),
    )
  }
}
