/**
 * A context that delegates to another one: the base of wrappers that change a single verb.
 *
 * Owns: passing on, and that everything made of a view is a view: scopes, compensations. Does not own: the change
 * (subclasses).
 */
import type { ActivationId, Json, MessageId, OpId, Outcome } from '@reeve/core'
import type { DoneEffect, EarlierEffect } from '@reeve/journal'
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
import type { Pause } from '../context.ts'

export abstract class ContextView implements Context {
  protected readonly ctx: Context

  constructor(ctx: Context) {
    this.ctx = ctx
  }

  /** The same view of another context. */
  protected abstract of(ctx: Context): Context

  get place(): Place {
    return this.ctx.place
  }

  get input(): Json {
    return this.ctx.input
  }

  get carried(): Json | undefined {
    return this.ctx.carried
  }

  get values(): SessionValues {
    return this.ctx.values
  }

  hook(name: string): unknown {
    return this.ctx.hook?.(name)
  }

  local<T>(make: () => T): T {
    return this.ctx.local(make)
  }

  pauses(): Promise<readonly Pause[]> {
    return this.ctx.pauses()
  }

  stream(name: string): SessionValues {
    return this.ctx.stream(name)
  }

  scope(name: string): Context {
    return this.of(this.ctx.scope(name))
  }

  onCancel(name: string, undo: (ctx: Context, ended: Outcome) => Promise<void>, options?: OnCancelOptions): void {
    this.ctx.onCancel(name, (undoing, ended) => undo(this.of(undoing), ended), options)
  }

  begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    return this.ctx.begin(name, effect, options)
  }

  start(agent: string, input: Json, options?: StartWorkerOptions): ActivationId {
    return this.ctx.start(agent, input, options)
  }

  wasAsked(name: string): boolean {
    return this.ctx.wasAsked(name)
  }

  known(name: string, call: ForeseenCall): KnownEffect | undefined {
    return this.ctx.known(name, call)
  }

  knownBefore(worker?: string): readonly EarlierEffect[] {
    return this.ctx.knownBefore(worker)
  }

  deedsOfOrigin(name?: string): readonly OriginDeed[] {
    return this.ctx.deedsOfOrigin(name)
  }

  doneBy(worker?: ActivationId): Promise<readonly DoneEffect[]> {
    return this.ctx.doneBy(worker)
  }

  async again(sentBack: SentBack): Promise<Context> {
    return this.of(await this.ctx.again(sentBack))
  }

  ask(name: string, options?: AskOptions): OpId {
    return this.ctx.ask(name, options)
  }

  send(to: ActivationId, body: Json): MessageId {
    return this.ctx.send(to, body)
  }

  stop(what: OpId | ActivationId, reason: string, cause?: { readonly timedOutMs?: number }): void {
    this.ctx.stop(what, reason, cause)
  }

  stopAll(reason: string): void {
    this.ctx.stopAll(reason)
  }
  stopFunctions(reason: string): void {
    this.ctx.stopFunctions(reason)
  }

  next(match: OpId): Promise<Extract<Arrival, { id: OpId }>>
  next(match: ActivationId): Promise<Extract<Arrival, { type: 'worker.settled' }>>
  next(match?: Matcher): Promise<Arrival>
  next(match?: Matcher): Promise<Arrival> {
    return this.ctx.next(match)
  }

  emit(event: DomainEvent): void {
    this.ctx.emit(event)
  }

  sums(parts: SummedTraffic): (message: MessageId) => void {
    return this.ctx.sums(parts)
  }

  ordinals(counted?: Ordinals): Ordinals {
    return this.ctx.ordinals(counted)
  }

  restart(state: Json): never {
    return this.ctx.restart(state)
  }

  now(): Date {
    return this.ctx.now()
  }

  random(): number {
    return this.ctx.random()
  }

  id(prefix: string): string {
    return this.ctx.id(prefix)
  }
}
