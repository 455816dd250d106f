/**
 * Operations: everything that an activation can await. Each has an address and ends exactly once.
 *
 * Owns: the record of one operation in memory and how its address is built (persistent format, K4).
 */
import {
  childActivation,
  failed,
  failure,
  usageRow,
  type ActivationId,
  type Failure,
  type Json,
  type OpId,
  type Outcome,
  type Usage,
} from '@reeve/core'
import type {
  ArrivalEvent,
  AttemptFailed,
  Charge,
  CommandEvent,
  Copied,
  DoneElsewhere,
  Earlier,
  EffectClass,
  StepOpened,
} from '@reeve/journal'
import type { Account } from './account.ts'
import type { StepIO, StepOptions } from '../context.ts'

/** What an activation was born with. */
export interface Birth {
  readonly id: ActivationId
  readonly agent: string
  readonly version: string
  readonly input: Json
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  readonly accounts: readonly Account[]
  readonly at: number
  /** Of a forked run: whose log the beginning of its own was copied from. */
  readonly copied?: readonly Copied[] | undefined
  /** If it repeats earlier work: what earlier attempts have done. */
  readonly earlier?: Earlier | undefined
}

/** An activation, as its operations and its host see it. */
export interface Owner {
  /** A cancel has come in, or is recorded. */
  readonly cancelKnown: boolean
  readonly id: ActivationId
  readonly birth: Birth
  /** The version of the code that drives it. */
  version: string
  /** Next position in its log. */
  seq: number
  /** How many operations were opened: the place of the next one. */
  opened: number
  /** Why it waits for an operator: its code and its journal disagree, or its code is missing. */
  stuck: string | undefined
  /** Its memory is void: what its code still does has no effect. */
  discarded: boolean
  /** Recorded arrivals are left to deliver. */
  readonly replaying: boolean
  readonly outcome: Outcome | undefined
  /**
   * Something came in. `text`: its stored form, of an event that is as it is read from it; absent: not known. `row`: the
   * inbox row that is used up by it.
   */
  arrive(event: ArrivalEvent, text?: string, row?: string): void
  /** An attempt of one of its effects has failed, and is recorded: what it used counts. */
  noteAttempt(event: AttemptFailed): void
}

/** One operation of one activation. */
export interface Operation {
  /** What the code holds: the address, or for a worker its activation id. */
  readonly id: string
  readonly address: OpId
  readonly kind: 'step' | 'worker' | 'ask'
  /** Of a worker: it is placed apart, as a run of its own. */
  readonly isApart: boolean
  readonly owner: Owner
  /** Its order among the operations of its activation. */
  readonly place: number
  readonly type: CommandEvent['type']
  /** As it is recorded. */
  readonly command: CommandEvent
  readonly effect: EffectClass | undefined
  /** Of a model call: which model is asked. */
  readonly model: string | undefined
  /** Whether this process opened it, rather than finding it in the journal. */
  readonly fresh: boolean
  /** The journal already holds its end, or will never hold one: another end that comes in is not recorded. */
  endRecorded: boolean
  /** The code has been given its end. */
  ended: boolean
  stopped: string | undefined
  run: ((io: StepIO) => unknown) | undefined
  options: StepOptions<never> | undefined
  reserved: Charge | undefined
  /** Why it may not run: it did not fit into an account when it was begun. */
  readonly refused: Failure | undefined
  /** Attempts that failed before, also in other processes. */
  attempts: number
  /** This process has let an attempt out. */
  left: boolean
  /** An attempt has left, perhaps from another process, and nobody knows its end. */
  isOut: boolean
  /** The attempt that another process may have let out left at the earliest then. Milliseconds since 1970. */
  outFrom: number
  /** The journal says of this `once` effect that it has not been let out since it was asked for (`effect.held`). */
  held: boolean
  /** An unanswered "did this happen?" of a `once` effect: its round. */
  doubt: number | undefined
  /** How often it has been in doubt so far. */
  rounds: number
  /** Of a forked run: its origin has made this effect. Of another attempt: an earlier one has, or may have. */
  done: DoneElsewhere | undefined
  /** Of another attempt: an earlier one has made this `once` effect, and it ended so. */
  made: { readonly by: ActivationId; readonly outcome: Outcome } | undefined
  /**
   * The idempotency key that the effect is given: the same for all attempts of the step, and for all attempts at the
   * same work. Of another attempt at work: the key that this effect had in the first one.
   */
  key: string
  /** Of a worker, in another attempt at its leader's work: what was done for its own before. */
  earlier: Earlier | undefined
  /** The key under which it is out in this process. */
  readonly effectKey: string
}

/**
 * Whether an outside can see that it was made. To ask a model once more, or to read once more, changes nothing: it may
 * be forgotten that it was done (K5).
 */
export const hasConsequences = ({ effect }: Operation): boolean => effect !== 'model' && effect !== 'read'

/** A command found in the log that the code has not asked for yet. */
export interface RecordedCommand {
  readonly event: CommandEvent
  ended: boolean
  attempts: number
  /** An attempt may have left whose end is not recorded. */
  isOut: boolean
  /** At the earliest then: before that it waited after a failed attempt. Milliseconds since 1970. */
  outFrom: number
  held: boolean
  doubt: number | undefined
  rounds: number
}

/** The record of an operation that the code has just asked for; `known` is what the log holds of it. */
export function openOperation(
  owner: Owner,
  event: CommandEvent,
  known: RecordedCommand | undefined,
  options: StepOptions<never> | undefined,
): Operation {
  const address = event.address as OpId
  const kind = event.op === 'worker' || event.op === 'ask' ? event.op : 'step'
  const step = event.op === 'step' ? event : undefined
  const isApart = event.op === 'worker' && event.apart === true
  const effectKey = effectKeyOf(owner.id, address)
  return {
    id: kind === 'worker' ? childActivation(owner.id, address, isApart) : address,
    address,
    kind,
    isApart,
    owner,
    place: owner.opened++,
    type: event.type,
    command: event,
    effect: step?.effect,
    model: step && modelOf(step),
    fresh: known === undefined,
    endRecorded: known?.ended ?? false,
    ended: false,
    stopped: undefined,
    run: undefined,
    options,
    reserved: reserveOf(event),
    refused: event.op === 'step' || event.op === 'worker' ? event.refused : undefined,
    attempts: known?.attempts ?? 0,
    left: false,
    isOut: known !== undefined && known.isOut && !known.held,
    outFrom: known?.outFrom ?? 0,
    held: known?.held ?? false,
    doubt: known?.doubt,
    rounds: known?.rounds ?? 0,
    // one form for all of them, whatever is added later
    done: undefined,
    made: undefined,
    key: effectKey,
    earlier: undefined,
    effectKey,
  }
}

/** The key under which the effect at an address is out (`Operation.effectKey`). */
export const effectKeyOf = (activation: ActivationId, address: string): string => `${activation}:${address}`

/** An operation's address, from what the code holds of it. */
export function addressOf({ id: owner }: Owner, id: string): string {
  if (!id.startsWith(owner) || id.charCodeAt(owner.length) !== 62) return id
  return id.slice(owner.length + (id.charCodeAt(owner.length + 1) === 62 ? 2 : 1))
}

/** What is set aside for it until its end is known. */
export const reserveOf = (event: CommandEvent): Charge | undefined =>
  (event.op === 'step' || event.op === 'worker') && event.refused === undefined ? event.reserve : undefined

/** Certainly not let out, by this process or by one before it. */
const neverLeft = (op: Operation): boolean => !op.left && (op.fresh || op.held)

/** What an effect used that was never let out: of a `once` effect and of a paid one alike, nothing. */
export const nothingUsed: Charge = { turns: 0, tokens: 0, usd: 0 }

/** Which model a step asks; undefined if it is no model call. */
export const modelOf = (event: StepOpened): string | undefined =>
  event.type === 'model.requested' ? event.model : undefined

/**
 * The usage of a model call that may have left and whose answer is unknown: a call was made, and more is not known
 * (K11).
 */
export const lostCall = ({ birth }: Owner, model: string | undefined): Usage =>
  model === undefined ? [] : [usageRow(birth.agent, model, undefined)]

/** Whether it is known what the attempt used that this event tells of. */
export const isKnownUse = ({ usage = [] }: { readonly usage?: Usage }): boolean =>
  usage.every(({ unknown }) => unknown === 0)

/** Nothing of it is out whose use is not counted: it never left, or its last attempt has failed and is recorded. */
export const nothingOut = (op: Operation): boolean => neverLeft(op) || (op.model !== undefined && !op.isOut)

/** The same of an operation; nothing if nothing of it is out. */
export const lostUsage = (op: Operation): Usage =>
  op.refused !== undefined || nothingOut(op) ? [] : lostCall(op.owner, op.model)

/** The outcome of a worker whose agent is not registered. */
export const notRegistered = (agent: string): Outcome =>
  failed(
    failure('agent.not-registered', `no agent "${agent}" is registered`, 'validation', {
      hint: 'Add it to the `workers` of its leader, or give it to createRuntime({ agents: [...] }).',
    }),
  )

/** Effects that must not be swapped for another silently: a new one next to an unclaimed one parks the run (K4). */
export const claimable = (effect: EffectClass | undefined): boolean => effect === 'idempotent' || effect === 'once'

/** Where the addresses of compensations begin. Persistent. */
export const undoPath = '!cancel/'

/** The name of the scope in which an activation does its work again. Persistent. */
export const againPath = '!again'

/**
 * What addresses are built with, and halves of surrogate pairs: stores keep UTF-8, in which all of these are one and
 * the same.
 */
const special = /[%/>#!@]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** A name as it stands in addresses: different names have different addresses, in every store. */
export function addressName(name: string): string {
  return special.test(name) ? name.replace(special, (c) => `%${c.charCodeAt(0).toString(16)}`) : name
}
