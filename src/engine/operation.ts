/**
 * Operations: whatever an activation can await. Each has an address and ends exactly once.
 *
 * Owns: the record of one operation in memory and how its address is built (persistent format, K4).
 */
import type { OpId } from '../core/index.ts'
import type { Charge, CommandEvent, EffectClass } from '../journal/index.ts'
import type { Activation } from './activation.ts'
import type { StepIO, StepOptions } from './context.ts'

/** One operation of one activation. */
export interface Operation {
  /** What the code holds: the address, or for a worker its activation id. */
  readonly id: string
  readonly address: OpId
  readonly kind: 'step' | 'worker' | 'ask'
  readonly owner: Activation
  readonly type: CommandEvent['type']
  readonly effect: EffectClass | undefined
  /** Whether this process opened it, rather than finding it in the journal. */
  readonly fresh: boolean
  /** The journal already holds its end. */
  endRecorded: boolean
  /** The code has been given its end. */
  ended: boolean
  stopped: string | undefined
  run: ((io: StepIO) => unknown) | undefined
  options: StepOptions<never> | undefined
  reserved: Charge | undefined
  abort: AbortController | undefined
  /** Attempts that failed before, also in other processes. */
  attempts: number
  /** An unanswered "did this happen?" of a `once` effect: its round. */
  doubt: number | undefined
  /** How often it has been in doubt so far. */
  rounds: number
}

/** Effects that must not be swapped for another silently: a new one next to an unclaimed one parks the run (K4). */
export const claimable = (effect: EffectClass | undefined): boolean => effect === 'idempotent' || effect === 'once'

const special = /[%/>#!@]/g

/** A name as it stands in addresses: the characters that addresses are built with are escaped. */
export function addressName(name: string): string {
  return special.test(name) ? name.replace(special, (c) => `%${c.charCodeAt(0).toString(16)}`) : name
}
