/**
 * Activation host: what an activation needs of the engine that keeps it. The seam between replay
 * (activation.ts) and the engine (../host).
 */
import type { ActivationId, Failure, Json, MessageId, Outcome, Sha256, Usage, WithWorkDone, Shape } from '@reeve/core'
import type {
  AskOpened,
  CancelReceived,
  Caller,
  Charge,
  CommandEvent,
  DoneEffect,
  DoneElsewhere,
  Earlier,
  JournalEvent,
} from '@reeve/journal'
import type { Orchestration, OriginDeed, SentBack, StartWorkerOptions } from '../context.ts'
import type { Operation, Owner } from './operation.ts'
import type { Pause } from '../context.ts'

/** How a worker ends that its leader stops, if that is no plain cancel. */
export type StopCause = Pick<CancelReceived, 'timedOutMs' | 'outcome' | 'keeps'>

/** The digests of what is recorded, as fast as the platform makes them. */
export interface Digests {
  /** Plain: of what stays in memory, or may be known. */
  readonly sha256: Sha256
  /**
   * The content key of what an operation depends on, given as canonical text, as it is recorded. Keyed with a secret
   * where redaction is on: without it, guesses at the content cannot be tested.
   */
  keyOf(content: string): string
}

/**
 * Kept by an engine; called by activations. Nothing here waits: everything takes effect with the host's next commit.
 */
export interface ActivationHost {
  now(): number
  /** In strict mode a foreign await is an error. */
  readonly strict: boolean
  /** How long one compensation may work, in milliseconds. Absent: the default. */
  readonly undoWithinMs?: number | undefined
  warn(code: 'orchestration.foreign-await', message: string): void
  orchestration(activation: Owner): Orchestration | undefined
  /** Who asked for the run; frozen, since code is given it as it is. */
  callerOf(activation: Owner): Caller
  /**
   * Adds to the log. `encoded` is the event's text if it is known already; `result` says what the result of an
   * operation that has ended holds (K10). Returns the text that will be stored.
   */
  append(activation: Owner, event: JournalEvent, at: number, encoded?: string, result?: Shape): string
  /**
   * The entry that was added last stands for those since `from`: who takes the run up need not read them. Absent: they
   * are read.
   */
  standsFor?(activation: Owner, from: number): void
  /** Secrets are taken out of what is stored. Absent: nothing is. */
  readonly redacts?: boolean
  /** Absent: no content keys are recorded. */
  readonly digests?: Digests
  /** The version in which this leader starts a worker (`versionToBegin`); undefined if the worker is not registered. */
  versionOf(leader: Owner, worker: string, given?: string): string | undefined
  /** The activation has something to deliver. */
  ready(activation: Owner): void
  /** A row of its inbox is used up with the next commit. */
  useUp(activation: Owner, row: string): void
  /** Lets an effect out once the log it depends on is durable and everything recorded has been delivered (K5). */
  letOut(op: Operation): void
  /** The effect is still running in this process, for an earlier copy of the activation. */
  inFlight(op: Operation): boolean
  /** Stops an effect that is out, or takes it back. Its end arrives in any case. */
  abort(op: Operation): void
  /**
   * It is born with what it has to know of earlier attempts: of those after whom it comes, or else of those at the work
   * of its leader (replay/earlier-attempts.ts).
   */
  startWorker(op: Operation, agent: string, input: Json, options: StartWorkerOptions): void
  /** `keeps`: a human has finished the work above it, so nothing is undone. */
  stopWorker(op: Operation, reason: string, cause: StopCause): void
  openQuestion(op: Operation, event: AskOpened): void
  /** The question needs no answer any more. */
  closeQuestion(op: Operation): void
  /** Whether the run that this one was forked from has made this effect. Absent: none is known to have been made. */
  doneElsewhere?(op: Pick<Operation, 'owner' | 'address'>): DoneElsewhere | undefined
  /**
   * Whether that run has made effects of the worker at this address, or below it. `after`: the attempt that it repeats.
   */
  isDoneBelow?(leader: Owner, address: string, after: ActivationId | undefined): boolean
  /** What that run has done of the work of this activation, in a scope of it and in the workers that begin there. */
  deedsOfOrigin?(owner: Owner, scope: string): readonly OriginDeed[]
  /**
   * Asks the outside whether an effect has happened: a `once` one of this run, or any that the origin of this run has
   * made.
   */
  openDoubt(op: Operation, isNew: boolean): void
  openDivergence(activation: Owner, address: string, unclaimed: readonly string[]): void
  send(from: Owner, to: ActivationId, id: MessageId, body: Json): void
  /** Sets a charge aside on the accounts above, or says why not. */
  reserve(activation: Owner, charge: Charge): Failure | undefined
  settle(activation: Owner, reserved: Charge, actual: Charge | undefined): void
  /** `stream`: one that outlives runs; undefined: that of the session, or of the run itself. */
  readValue(activation: Owner, stream: string | undefined, key: string): Promise<Json>
  /** The keys that hold a value there, in any order. */
  valueKeys(activation: Owner, stream: string | undefined): Promise<readonly string[]>
  updateValue(
    activation: Owner,
    stream: string | undefined,
    key: string,
    change: (value: Json) => Json,
    idempotencyKey: string,
  ): Promise<Json>
  /** What the next round of its work has to know of the rounds so far, which an approver has sent back. */
  earlierRounds(activation: Owner, sentBack: SentBack): Promise<Earlier>
  /** The `once` effects that an activation of its run, those below it and the attempts before it have made. */
  doneBy(activation: Owner, worker: ActivationId): Promise<readonly DoneEffect[]>
  /**
   * Gives what a worker and those below it have done, now or later; nothing if that cannot be read. Absent: nothing is
   * given.
   */
  workDone?(worker: Owner, then: (done: WithWorkDone) => void): void
  /** When the run of this activation has stood still so far. */
  pauses(activation: Owner): Promise<readonly Pause[]>
  /**
   * A human has the run whose root this is: it does not end before they hand it back (spec team R-13); or they have
   * cancelled or finished it, and that end is still to come.
   */
  holdsEnd(activation: Owner): boolean
  settled(activation: Owner, outcome: Outcome, usage: Usage, recorded: boolean): void
}

/**
 * Sets aside what a command needs. If that does not fit, the intent itself says so, and no process will ever run it.
 */
export function admitted(host: ActivationHost, owner: Owner, event: CommandEvent): CommandEvent {
  if ((event.op !== 'step' && event.op !== 'worker') || event.reserve === undefined) return event
  const refused = host.reserve(owner, event.reserve)
  return refused === undefined ? event : { ...event, refused }
}

/** A command as the code gives it, before it has an address. */
export type Command = CommandEvent extends infer E ? (E extends CommandEvent ? Omit<E, 'address'> : never) : never

/** The same object, with its address: whoever gives a command gives it away. */
export function addressed(command: Command, address: string): CommandEvent {
  ;(command as { address?: string }).address = address
  return command as CommandEvent
}
