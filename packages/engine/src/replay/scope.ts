/**
 * Scopes: the context that orchestration holds. A scope turns names into addresses: scope path + name + ordinal among
 * equals (K4).
 *
 * Owns: addressing and the verbs' small checks. Does not own: what becomes of a command (activation.ts).
 * Counters die with the scope, so a leader with a million turns holds none of them.
 */
import {
  copy,
  derivedId,
  failed,
  failure,
  parentOf,
  plainCopy,
  ReeveError,
  RollingHash,
  runOf,
  seededRandom,
  rootRun,
  writingProblem,
  type ActivationId,
  type Draft,
  type Json,
  type MessageId,
  type OpId,
  type Outcome,
  type Shape,
  ChurnMap,
} from '@reeve/core'
import {
  doneShape,
  earlierShape,
  valueShape,
  valuesShape,
  workerContent,
  type AskOpened,
  type DoneEffect,
  type Earlier,
  type EarlierEffect,
  type StepBegun,
  type WorkerStarted,
} from '@reeve/journal'
import { sliceOf } from './account.ts'
import type {
  Arrival,
  AskOptions,
  Context,
  DomainEvent,
  ForeseenCall,
  KnownEffect,
  Matcher,
  OriginDeed,
  Place,
  SentBack,
  SessionValues,
  StartWorkerOptions,
  StepIO,
  StepOptions,
  OnCancelOptions,
  Ordinals,
  SummedTraffic,
} from '../context.ts'
import type { Command, ActivationHost } from './activation-host.ts'
import type { Seeds } from './origin.ts'
import type { Locals } from './locals.ts'
import type { Pause } from '../context.ts'
import type { StopCause } from './activation-host.ts'
import { lastingStream } from '../streams.ts'
import { addressName, againPath, type Operation, type Owner } from './operation.ts'
import { lookSteps, valueStep } from './value-steps.ts'

/** Thrown by `restart`, and by every verb after it, to leave the code. Caught by the activation only. */
export class RestartRequested extends Error {
  constructor() {
    super('this activation restarts')
    this.name = 'RestartRequested'
  }
}

/** Where an activation is, whatever its scope. */
export type Whereabouts = Omit<Place, 'version' | 'scope'>

export const whereaboutsOf = (owner: Owner, host: Pick<ActivationHost, 'callerOf'>): Whereabouts => ({
  run: rootRun(runOf(owner.id)),
  activation: owner.id,
  agent: owner.birth.agent,
  path: Object.freeze([...owner.birth.path]),
  caller: host.callerOf(owner),
  ...(owner.birth.copied === undefined ? undefined : { forked: true as const }),
})

/** What undoes earlier work, told how the activation will have ended. */
export type Undo = (ctx: Context, ended: Outcome) => Promise<void>

/** What a scope asks its activation for. */
export interface Verbs extends Owner {
  readonly host: ActivationHost
  readonly clock: number
  readonly carried: Json | undefined
  /** Of a forked run: what ids and random numbers derive from. Undefined: from the activation's own id. */
  readonly seeds: Seeds | undefined
  readonly operations: ReadonlyMap<string, Operation>
  readonly locals: Locals
  readonly whereabouts: Whereabouts
  /** Why the code may not go on, if so: it is cancelled, or it restarts. */
  blocked(undoing: Undoing | undefined): Error | undefined
  /**
   * Claims the recorded command at this address, or records a new one. Undefined: the activation is stuck and nothing
   * will ever arrive.
   */
  open(
    address: string,
    command: Command,
    scopePath: string,
    options: StepOptions<never> | undefined,
  ): Operation | undefined
  /** Starts to wait for a step's end: a recorded one is in the queue, a new or interrupted one is let out. */
  letOut(operation: Operation): void
  ask(operation: Operation, event: AskOpened): void
  /** Whether the journal holds an operation at this address that the code has yet to ask for again. */
  wasAsked(address: string): boolean
  /** As for `Context`. */
  known(address: string, call: ForeseenCall): KnownEffect | undefined
  knownBefore(worker?: string): readonly EarlierEffect[]
  /** `asked`: the scope of the question. */
  deedsOfOrigin(asked: string, scope: string): readonly OriginDeed[]
  /** What is begun at addresses that begin so knows this of earlier rounds. */
  knows(path: string, earlier: Earlier): void
  /** Records a command that has no end (a fact, a message), unless the journal has it. True if it is new. */
  once(address: string, command: Command): boolean
  wait(match: Matcher | undefined): Promise<Arrival>
  stop(id: string, reason: string, cause?: StopCause): void
  /** The end of this worker counts no more: another attempt follows it. */
  replaced(worker: ActivationId): void
  onCancel(name: string, undo: Undo, options?: OnCancelOptions): void
  sums(parts: SummedTraffic): (message: MessageId) => void
  restart(state: Json): never
}

/**
 * What cannot be written down is refused before anything of it is recorded: else its other half would be missing for
 * ever.
 */
export function mustBeJson(value: Json, what: string): void {
  const problem = value === undefined ? undefined : writingProblem(value)
  if (problem !== undefined) throw new ReeveError('input.not-json', `${what} is not JSON: ${problem}`)
}

/** A copy of what is given, as it is read again after it was recorded. Throws as `mustBeJson`. */
export function asRecorded(value: Json, what: string): Json {
  const plain = plainCopy(value)
  if (plain !== undefined) return plain
  mustBeJson(value, what)
  return copy(value)
}

/** A key as stores keep it. Half a surrogate pair is no text to them: two such keys would be one. */
function storable(key: string): string {
  if (key.isWellFormed()) return key
  throw new ReeveError(
    'input.invalid',
    `the key ${JSON.stringify(key)} of a value holds half a surrogate pair, which stores cannot keep`,
    {
      hint: 'Use keys that are well-formed text. Nothing was read or written.',
    },
  )
}

/** A change of a value whose result can be written down, or that throws. */
const writable =
  (key: string, change: (value: Json) => Json) =>
  (value: Json): Json => {
    const next = change(value)
    mustBeJson(next, `the new value of "${key}"`)
    return next
  }

/** One compensation, as its scopes see it: once it is out of time, its verbs throw. */
export interface Undoing {
  expired: string | undefined
}

/** An invalid time would never come. */
function deadline(name: string, until: Date): number {
  const at = until.getTime()
  if (Number.isNaN(at))
    throw new ReeveError('input.invalid', `timer "${name}": invalid time ${at}`, {
      hint: 'Give a valid Date.',
    })
  return at
}

interface Counter {
  next: number
  last: Operation | undefined
}

export class Scope implements Context {
  readonly #activation: Verbs
  readonly #path: string
  readonly #undoing: Undoing | undefined
  readonly #version: string
  readonly #names = new ChurnMap<string, Counter>()
  #place: Place | undefined
  #values: SessionValues | undefined

  constructor(activation: Verbs, path: string, undoing: Undoing | undefined, version: string) {
    this.#activation = activation
    this.#path = path
    this.#undoing = undoing
    this.#version = version
  }

  get place(): Place {
    return (this.#place ??= Object.freeze({
      ...this.#activation.whereabouts,
      version: this.#version,
      scope: this.#path,
    }))
  }

  get input(): Json {
    return this.#activation.birth.input
  }

  get #seed(): string {
    return this.#activation.seeds?.current ?? this.#activation.id
  }

  get carried(): Json | undefined {
    return this.#activation.carried
  }

  #guard(): void {
    const blocked = this.#activation.blocked(this.#undoing)
    if (blocked !== undefined) throw blocked
  }

  #counter(name: string): Counter {
    let counter = this.#names.get(name)
    if (counter === undefined) this.#names.set(name, (counter = { next: 0, last: undefined }))
    return counter
  }

  #address(name: string, counter: Counter): string {
    const ordinal = counter.next++
    return ordinal === 0 ? this.#path + addressName(name) : `${this.#path}${addressName(name)}#${ordinal}`
  }

  /** The address that the next operation of this name has. */
  #following(name: string): string {
    return this.#address(name, { ...this.#counter(name) })
  }

  #open(name: string, command: Command, options?: StepOptions<never>): Operation | OpId {
    this.#guard()
    const counter = this.#counter(name)
    const last = counter.last
    if (last !== undefined && !last.ended && last.stopped === undefined) {
      throw new ReeveError(
        'orchestration.address-in-use',
        `"${last.address}" has not ended, and another "${name}" begins in the same scope`,
        {
          hint: 'Concurrent branches need names of their own on replay: open a scope for each, ctx.scope(name), or use different names.',
        },
      )
    }
    const address = this.#address(name, counter)
    const operation = this.#activation.open(address, command, this.#path, options)
    counter.last = operation
    return operation ?? (address as OpId)
  }

  begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options: StepOptions<T> = {}): OpId {
    const reserve = options.reserve
    const command = {
      type: 'step.begun',
      ...options.as,
      op: 'step',
      effect: options.effect ?? 'idempotent',
    } as Draft<StepBegun>
    if (reserve !== undefined) command.reserve = reserve
    const operation = this.#open(name, command, options)
    if (typeof operation === 'string') return operation
    operation.run = effect
    this.#activation.letOut(operation)
    return operation.address
  }

  start(agent: string, given: Json, options: StartWorkerOptions = {}): ActivationId {
    if (options.after !== undefined) this.#activation.replaced(options.after)
    const input = asRecorded(given, `the input of "${agent}"`)
    const command: Draft<Omit<WorkerStarted, 'address'>> = { type: 'worker.started', op: 'worker', agent }
    if (options.callId !== undefined) command.callId = options.callId
    if (options.purpose !== undefined) command.purpose = options.purpose
    if (options.toldBy !== undefined) command.toldBy = options.toldBy
    const name = options.name ?? agent
    if (options.place === 'apart' && !this.#isDoneBelow(name, options.after))
      Object.assign(command, this.#apart(agent, options))
    const content = (): string | undefined => {
      const version = this.#activation.host.versionOf(this.#activation, agent, options.version)
      return version === undefined ? undefined : workerContent(agent, version, input)
    }
    const { equalBy } = options
    const operation = this.#open(name, command, {
      content,
      ...(equalBy === undefined ? {} : { equalBy }),
    })
    if (typeof operation === 'string') return operation as unknown as ActivationId
    const { address, refused } = operation
    if (!operation.endRecorded && refused !== undefined)
      this.#activation.arrive({ type: 'worker.settled', address, outcome: failed(refused), apart: true })
    else if (!operation.endRecorded) this.#activation.host.startWorker(operation, agent, input, options)
    return operation.id as ActivationId
  }

  /**
   * What the origin of a fork has done is known to the run that was forked, and to no other: who is to ask before it is
   * done again works in it.
   */
  #isDoneBelow(name: string, after: ActivationId | undefined): boolean {
    const { host } = this.#activation
    return host.isDoneBelow?.(this.#activation, this.#following(name), after) === true
  }

  #apart(
    agent: string,
    { version: wanted, limits, turns }: StartWorkerOptions,
  ): Pick<WorkerStarted, 'apart' | 'version' | 'reserve'> {
    const { host, birth } = this.#activation
    const version = host.versionOf(this.#activation, agent, wanted)
    const reserve = sliceOf(birth.accounts, limits, turns)
    return { apart: true, ...(version === undefined ? {} : { version }), ...(reserve === undefined ? {} : { reserve }) }
  }

  ask(name: string, options: AskOptions = {}): OpId {
    if (options.as !== undefined) mustBeJson(options.as as unknown as Json, `the question "${name}"`)
    const until =
      options.until === undefined
        ? {}
        : { until: deadline(name, options.until) + (this.#activation.seeds?.shiftMs ?? 0) }
    const command = { type: 'timer.set', ...options.as, op: 'ask', ...until } as Command
    const operation = this.#open(name, command)
    if (typeof operation === 'string') return operation
    this.#activation.ask(operation, { ...command, address: operation.address } as AskOpened)
    return operation.address
  }

  wasAsked(name: string): boolean {
    return this.#activation.wasAsked(this.#following(name))
  }

  known(name: string, call: ForeseenCall): KnownEffect | undefined {
    const { asked } = call
    return this.#activation.known(
      this.#following(name),
      asked === undefined ? call : { ...call, asked: this.#following(asked) },
    )
  }

  knownBefore(worker?: string): readonly EarlierEffect[] {
    return this.#activation.knownBefore(worker)
  }

  deedsOfOrigin(name?: string): readonly OriginDeed[] {
    return this.#activation.deedsOfOrigin(this.#path, name === undefined ? '' : this.#following(name))
  }

  async doneBy(worker = this.#activation.id): Promise<readonly DoneEffect[]> {
    const { host } = this.#activation
    const read = async (): Promise<Json> => (await host.doneBy(this.#activation, worker)) as unknown as Json
    return (await this.#value(lookSteps.done, 'read', read, doneShape)) as unknown as readonly DoneEffect[]
  }

  async again(sentBack: SentBack): Promise<Scope> {
    const { host } = this.#activation
    const read = async (): Promise<Json> => (await host.earlierRounds(this.#activation, sentBack)) as unknown as Json
    const earlier = (await this.#value(lookSteps.earlier, 'read', read, earlierShape)) as unknown as Earlier
    const counter = this.#counter(againPath)
    const ordinal = counter.next++
    const path = `${this.#path}${againPath}${ordinal === 0 ? '' : `#${ordinal}`}/`
    this.#activation.knows(path, earlier)
    return new Scope(this.#activation, path, this.#undoing, this.#version)
  }

  send(to: ActivationId, body: Json): MessageId {
    this.#guard()
    mustBeJson(body, `the message to ${to}`)
    const name = sendName(this.#activation.id, to)
    const address = this.#address(name, this.#counter(name))
    const id = this.#idAt('msg', address) as MessageId
    if (this.#activation.once(address, { type: 'message.sent', op: 'send', to, id }))
      this.#activation.host.send(this.#activation, to, id, body)
    return id
  }

  emit(event: DomainEvent): void {
    this.#guard()
    const address = this.#address(`!${event.type}`, this.#counter(`!${event.type}`))
    this.#activation.once(address, { ...event, op: 'fact' })
  }

  stop(what: OpId | ActivationId, reason: string, { timedOutMs }: { readonly timedOutMs?: number } = {}): void {
    this.#activation.stop(what, reason, timedOutMs === undefined ? {} : { timedOutMs })
  }

  stopAll(reason: string): void {
    for (const { id, address, type } of this.#activation.operations.values())
      if (address.startsWith(this.#path) && type !== 'timer.set') this.#activation.stop(id, reason)
  }

  stopFunctions(reason: string): void {
    for (const { id, address, options } of this.#activation.operations.values())
      if (address.startsWith(this.#path) && options?.isFunction === true) this.#activation.stop(id, reason)
  }

  next(match: OpId): Promise<Extract<Arrival, { id: OpId }>>
  next(match: ActivationId): Promise<Extract<Arrival, { type: 'worker.settled' }>>
  next(match?: Matcher): Promise<Arrival>
  next(match?: Matcher): Promise<Arrival> {
    const blocked = this.#activation.blocked(this.#undoing)
    return blocked === undefined ? this.#activation.wait(match) : Promise.reject(blocked)
  }

  /** `undoing`: the branch is a compensation of its own. */
  scope(name: string, undoing = this.#undoing): Scope {
    return new Scope(this.#activation, `${this.#address(name, this.#counter(name))}/`, undoing, this.#version)
  }

  /** What the addresses of everything in it begin with. */
  get path(): string {
    return this.#path
  }

  onCancel(name: string, undo: Undo, options?: OnCancelOptions): void {
    this.#activation.onCancel(name, undo, options)
  }

  get values(): SessionValues {
    return (this.#values ??= this.#valuesOf(valueStep(), undefined))
  }

  stream(name: string): SessionValues {
    return this.#valuesOf(valueStep(lastingStream(name)), name)
  }

  /** `word`: what the names of its steps begin with. Persistent. */
  #valuesOf(word: string, stream: string | undefined): SessionValues {
    const activation = this.#activation
    const read = async (key: string): Promise<Json> => activation.host.readValue(activation, stream, storable(key))
    const written = async (): Promise<Json> =>
      (await activation.host.valueKeys(activation, stream)).filter((key) => !key.startsWith('$')).toSorted()
    const keys = (): Promise<readonly string[]> =>
      this.#value(`${word}.keys`, 'read', written, 'kept') as Promise<readonly string[]>
    // under a key of this attempt alone: another one changes what it finds, also where this one has changed it
    const update = (key: string, change: (value: Json) => Json): Promise<Json> =>
      this.#value(
        `${word}.update:${key}`,
        'idempotent',
        (own) => activation.host.updateValue(activation, stream, storable(key), writable(key, change), own),
        valueShape(stream, key),
      )
    const set = async (key: string, value: Json): Promise<void> => {
      await update(key, () => value)
    }
    return {
      get: (key) => this.#value(`${word}.get:${key}`, 'read', () => read(key), valueShape(stream, key)),
      getAll: (keys) =>
        this.#value(`${word}.get-all`, 'read', () => Promise.all(keys.map(read)), valuesShape(stream, keys)) as Promise<
          readonly Json[]
        >,
      keys,
      has: async (key) => (await keys()).includes(key),
      update,
      set,
      async setAll(values) {
        for (const [key, value] of Object.entries(values)) mustBeJson(value, `the value "${key}"`)
        for (const [key, value] of Object.entries(values)) await set(key, value)
      },
    }
  }

  async pauses(): Promise<readonly Pause[]> {
    const { host } = this.#activation
    return (await this.#value(
      'pauses',
      'read',
      async () => (await host.pauses(this.#activation)) as unknown as Json,
      'kept',
    )) as unknown as readonly Pause[]
  }

  /** `run` is given the idempotency key of the step in this attempt. */
  async #value(
    name: string,
    effect: 'read' | 'idempotent',
    run: (own: string) => Promise<Json>,
    holds: Shape,
  ): Promise<Json> {
    const { id: activation } = this.#activation
    const more = effect === 'idempotent' ? { aliases: [] } : {}
    const id: OpId = this.begin(name, () => run(`${activation}:${id}`), { effect, holds, ...more })
    const { outcome } = await this.next(id)
    if (outcome.status === 'completed') return outcome.output
    const what =
      outcome.status === 'failed'
        ? outcome.failure
        : failure('store.unavailable', `the value could not be reached: ${outcome.status}`, 'transport')
    throw new ReeveError(what.code, what.message, { retryable: what.retryable })
  }

  sums(parts: SummedTraffic): (message: MessageId) => void {
    return this.#activation.sums(parts)
  }

  ordinals(counted: Ordinals = {}): Ordinals {
    for (const [name, next] of Object.entries(counted)) this.#counter(name).next = next
    return Object.fromEntries(
      [...this.#names].flatMap(([name, { next }]) => (name.startsWith('!') ? [[name, next]] : [])),
    )
  }

  restart(state: Json): never {
    this.#guard()
    this.#activation.restart(state)
  }

  now(): Date {
    return new Date(this.#activation.clock)
  }

  random(): number {
    const counter = this.#counter('!random')
    return seededRandom(this.#seed + this.#path, counter.next++)
  }

  local<T>(make: () => T): T {
    return this.#activation.locals.of(make)
  }

  id(prefix: string): string {
    return this.#idAt(prefix, this.#address(`!id.${prefix}`, this.#counter(`!id.${prefix}`)))
  }

  #idAt(prefix: string, address: string): string {
    return this.#activation.seeds?.id(prefix, address) ?? derivedId(prefix, this.#activation.id, address)
  }
}

/**
 * How a message is addressed: numbered for each receiver, so that in a fork, where others may write first, an answer
 * keeps its place. The same in every fork of a run.
 */
function sendName(from: ActivationId, to: ActivationId): string {
  if (parentOf(from)?.parent === to) return '!send'
  const place = to.indexOf('>')
  return `!send.${new RollingHash()
    .add(place < 0 ? '' : to.slice(place))
    .toString()
    .slice(0, 8)}`
}
